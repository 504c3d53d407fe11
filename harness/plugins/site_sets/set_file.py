"""Reads a set file: which services some sites consist of, how they are started, and where their state is.

A set is data: nothing of it is run here. Every mistake is one sentence that names file, field and fix.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from harness.errors import ConfigError
from harness.plugins.site_sets.compose_file import is_compose, set_tree

SHIPPED = Path(__file__).with_name("sets")
ENGINES = ("podman", "docker")
BACKENDS = ("process", *ENGINES, "remote")
CONTROLS = ("gasse", "webharbor", "classifieds")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CREDENTIAL = re.compile(r"(?i)(password|passwd|secret|token|api_?key)$")
_GIVEN = re.compile(r"(?:--env=|-e=?)?([A-Za-z_][A-Za-z0-9_]*)=.+", re.DOTALL)
"""A variable with its value among the arguments of `run`, which all users of a machine can read."""
_MOST_BYTES = 1 << 20
MOST_INSTANCES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """When a service is ready to be used."""

    path: str = "/"
    """Asked for on its port; "" = that the port accepts connections is enough."""
    status: tuple[int, ...] = ()
    """The answers that count; () = all below 500."""
    host: str = ""
    """Of the Host header; "" = the address itself."""
    timeout_s: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The control plane of a service that runs elsewhere."""

    kind: str
    """One of `CONTROLS`: which addresses it has, and what their answers mean."""
    url: str
    token_variable: str | None = None
    """Environment variable with the token that it asks for."""
    timeout_s: float = 900.0
    """Of a reset, busy times included."""
    state_urls: tuple[str, ...] = ()
    """Addresses whose answers together tell the state: their digest is compared after each reset."""

    @property
    def whole(self) -> str:
        """What names all that one reset of it resets; "" = the one service."""
        return self.url if self.kind == "gasse" else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One server of a set."""

    name: str
    backend: str
    command: str = ""
    """Of `process`: for the shell; of containers: after the image, split as the shell does; "" = the image's own."""
    image: str = ""
    port: int | None = None
    """Of instance 0; the next ones have the next ports. None = a free one."""
    container_port: int | None = None
    """The port inside of a container; None = the same."""
    internal: bool = False
    """Of containers: it has no port on this machine; only the other services of its instance reach it."""
    url: str = ""
    """Of `remote`: its address."""
    sites: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name of a site to settings of it (`sites.NAME.…`); `url` may hold `{port}` and `{instance}`."""
    health: Health = field(default_factory=Health)
    seed: tuple[str, ...] = ()
    """Of `process`: the folder whose copy it begins with. Of containers: the paths inside that hold state."""
    prepare: tuple[str, ...] = ()
    """Commands on this machine that fill the data folder before the first start."""
    ready: str = ""
    """Command that ends with 0 once the service is ready, beside `health`."""
    patch: tuple[str, ...] = ()
    """Commands that are run once, before the snapshot `seed` is taken."""
    configure: tuple[str, ...] = ()
    """Commands that are run after every start: what differs between instances, such as an address that is stored."""
    restore: tuple[str, ...] = ()
    """Commands that put the running service back to `seed`, such as a database with a template of it."""
    state: str = ""
    """Command whose last line tells the state, by which `restore` is verified."""
    after: tuple[str, ...] = ()
    """Services that must be ready before; they are reset together."""
    environment: Mapping[str, str] = field(default_factory=dict)
    pass_environment: tuple[str, ...] = ()
    """Variables of our environment that it gets, too: the place for credentials."""
    options: tuple[str, ...] = ()
    """Of containers: further arguments of `run`."""
    stop_s: float = 10.0
    """How long it may take to end; 0 = it is killed at once."""
    digest: str = ""
    """The digest of its state at the snapshot `seed`, as `harness sites snapshots` shows it; "" = not declared."""
    control: Control | None = None

    @property
    def definition(self) -> str:
        """Digest of what its seed depends on: another one needs a new seed."""
        of = (
            self.backend,
            self.command,
            self.image,
            self.seed,
            self.prepare,
            self.patch,
            sorted(self.environment.items()),
        )
        return hashlib.sha256(repr(of).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSet:
    """All of a set file."""

    name: str
    path: Path
    services: Mapping[str, Service]
    base: str = ""
    """The choice of `sites=` whose settings (accounts, canonical addresses) hold below those of the set."""
    engine_options: tuple[str, ...] = ()
    """Arguments of podman or docker before the verb, such as `--runtime runc`."""
    install: tuple[str, ...] = ()
    """Commands that install what the services are made of, for `harness sites install`."""

    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The services that are reset together, each group in the order in which its services are started."""
        order = start_order(self)
        found: list[list[str]] = []
        for name in order:
            joined = [group for group in found if any(self._are_reset_together(name, other) for other in group)]
            found = [group for group in found if group not in joined]
            found.append(sorted((*(one for group in joined for one in group), name), key=order.index))
        return tuple(tuple(group) for group in found)

    def _are_reset_together(self, name: str, earlier: str) -> bool:
        mine, other = self.services[name].control, self.services[earlier].control
        is_one_plane = mine is not None and other is not None and mine.whole == other.whole != ""
        return is_one_plane or earlier in self.services[name].after

    def group_of(self, site: str) -> tuple[str, ...]:
        """The group that serves a site, or has a service of this name.

        Raises:
            ConfigError: There is none.
        """
        for group in self.groups():
            if any(site == name or site in self.services[name].sites for name in group):
                return group
        known = sorted({*self.services, *(site for one in self.services.values() for site in one.sites)})
        near = get_close_matches(site, known, 1)
        hint = f"; did you mean {near[0]}" if near else ""
        raise ConfigError(f"{self.path}: no site or service {site[:80]!r}{hint}; choose one of {', '.join(known)}")


def start_order(of: SiteSet) -> list[str]:
    """All services, each behind those that it comes after.

    Raises:
        ConfigError: They wait for each other.
    """
    order: list[str] = []
    while len(order) < len(of.services):
        free = [name for name, one in of.services.items() if name not in order and set(one.after) <= set(order)]
        if not free:
            circle = ", ".join(sorted(set(of.services) - set(order)))
            raise ConfigError(f"{of.path}: services {circle}: `after` makes them wait for each other; remove one of it")
        order.append(free[0])
    return order


def find_set(named: str) -> Path:
    """The file of a set that is named by its path, or of a shipped set.

    Raises:
        ConfigError: There is none.
    """
    if "/" not in named and (shipped := SHIPPED / f"{named}.yaml").is_file():
        return shipped
    if (path := Path(named)).is_file():
        return path.resolve()
    known = ", ".join(sorted(one.stem for one in SHIPPED.glob("*.yaml")))
    raise ConfigError(
        f"set {named[:200]}: no such file, and no shipped set; give the path of a set file, or one of {known}"
    )


def read_set(path: Path) -> SiteSet:
    """The set in a file.

    Raises:
        ConfigError: It cannot be read, or a field of it cannot be used.
    """
    import yaml

    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ConfigError(f"{path} has more than {_MOST_BYTES:,} bytes; a set file is small")
        tree = yaml.safe_load(text.decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}; give the path of a set file") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ConfigError(f"{path} is not valid YAML: {' '.join(str(error).split())[:300]}") from error
    return parse_set(set_tree(tree, path) if is_compose(tree) else tree, path)


def parse_set(tree: object, path: Path) -> SiteSet:
    """Raises: ConfigError: A field cannot be used."""
    top = _Fields(tree, str(path))
    top.known({"name", "base", "backend", "services", "engine_options", "install"})
    name, backend = top.name("name", path.stem.lower()), top.word("backend", BACKENDS, "process")
    services = {
        one: _service(one, _Fields(value, f"{path}: services.{one}"), backend)
        for one, value in top.mapping("services").items()
    }
    if not services:
        raise ConfigError(f"{path}: services is missing or empty; name at least one service")
    found = SiteSet(
        name=name,
        path=path,
        services=services,
        base=top.text("base"),
        engine_options=top.texts("engine_options"),
        install=top.texts("install"),
    )
    _check_whole(found)
    return found


def _check_whole(found: SiteSet) -> None:
    served: dict[str, str] = {}
    for name, one in found.services.items():
        if unknown := [other for other in one.after if other not in found.services]:
            raise ConfigError(f"{found.path}: services.{name}.after: there is no service {unknown[0]}")
        for site in one.sites:
            if site in served:
                raise ConfigError(f"{found.path}: site {site} is served by {served[site]} and by {name}; remove one")
            served[site] = name
    if not served:
        raise ConfigError(f"{found.path}: no service has `sites`; name the site that a service serves")
    if len(backends := {one.backend for one in found.services.values()} & set(ENGINES)) > 1:
        raise ConfigError(f"{found.path}: services use {' and '.join(sorted(backends))}; use one engine for a set")
    start_order(found)


def _service(name: str, at: "_Fields", backend: str) -> Service:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{at.place}: {name[:80]!r} cannot be used as a name; use a-z, 0-9, _ and -, at most 40")
    at.known({*Service.__dataclass_fields__} - {"name"})
    backend = at.word("backend", BACKENDS, backend)
    found = Service(
        name=name,
        backend=backend,
        command=at.text("command"),
        image=at.text("image"),
        port=at.port("port"),
        container_port=at.port("container_port"),
        internal=at.flag("internal"),
        url=at.address("url"),
        sites=_sites(at),
        health=_health(_Fields(at.tree.get("health") or {}, f"{at.place}.health")),
        seed=at.texts("seed"),
        prepare=at.texts("prepare"),
        ready=at.text("ready"),
        patch=at.texts("patch"),
        configure=at.texts("configure"),
        restore=at.texts("restore"),
        state=at.text("state"),
        after=at.texts("after"),
        environment=at.variables("environment"),
        pass_environment=at.texts("pass_environment"),
        options=at.texts("options"),
        stop_s=at.seconds("stop_s", 10.0, least=0.0),
        digest=at.matching("digest", _DIGEST, "sha256: and 64 hexadecimal digits"),
        control=_control(_Fields(at.tree["control"], f"{at.place}.control")) if at.tree.get("control") else None,
    )
    _check_service(found, at)
    return found


_NEEDED = {"process": ("command",), "podman": ("image", "port"), "docker": ("image", "port"), "remote": ("url",)}
_CONTAINER_FIELDS = ("image", "container_port", "options", "internal")
_LOCAL_FIELDS = (
    *("command", "seed", "prepare", "ready", "patch", "configure", "restore", "state"),
    *("environment", "pass_environment", "port"),
)
_FOREIGN = {
    "process": (*_CONTAINER_FIELDS, "url", "control"),
    "podman": ("url", "control", "prepare"),
    "docker": ("url", "control", "prepare"),
    "remote": (*_CONTAINER_FIELDS, *_LOCAL_FIELDS),
}


def _check_service(one: Service, at: "_Fields") -> None:
    for need in _NEEDED[one.backend]:
        if not getattr(one, need) and not (need == "port" and one.internal):
            raise ConfigError(f"{at.place}.{need} is missing; a service of the back end {one.backend} needs it")
    for foreign in _FOREIGN[one.backend]:
        if at.tree.get(foreign):
            raise ConfigError(f"{at.place}.{foreign} cannot be used with the back end {one.backend}; remove it")
    if one.backend == "remote" and one.digest and not (one.control and one.control.state_urls):
        raise ConfigError(
            f"{at.place}.digest: nothing can be compared with it; give the addresses that show the state in"
            " control.state_urls"
        )
    _check_lists(one, at)


def _check_lists(one: Service, at: "_Fields") -> None:
    if bool(one.restore) != bool(one.state):
        raise ConfigError(
            f"{at.place}: `restore` needs `state`, a command whose last line tells the state, and `state` is only of"
            " use with `restore`; give both"
        )
    if one.internal and (one.port or one.sites):
        raise ConfigError(f"{at.place}.internal cannot be used with `port` or `sites`; remove one of them")
    if one.backend == "process" and len(one.seed) > 1:
        raise ConfigError(f"{at.place}.seed is one folder for the back end process; join the folders")
    if one.backend in ENGINES and (wrong := [path for path in one.seed if not re.fullmatch(r"/[^:,]*[^:,/]", path)]):
        raise ConfigError(f"{at.place}.seed: {wrong[0][:80]!r} is not an absolute path inside the container")
    for option in one.options:
        if option.split("=")[0] in ("--name", "--label", "-l", "--rm", "--pull", "-d", "--detach"):
            raise ConfigError(f"{at.place}.options: {option} is set by Cairn; remove it")
    for variable in (*one.environment, *one.pass_environment):
        if not _VARIABLE.fullmatch(variable):
            raise ConfigError(f"{at.place}.environment: {variable[:80]!r} is not the name of a variable")
    given = (found[1] for option in one.options if (found := _GIVEN.fullmatch(option)))
    if secret := next((name for name in (*one.environment, *given) if _CREDENTIAL.search(name)), None):
        raise ConfigError(
            f"{at.place}.environment.{secret}: no credential may stand in a file; put it into your environment and name"
            " it in pass_environment"
        )


def _sites(at: "_Fields") -> Mapping[str, Mapping[str, Any]]:
    tree = at.tree.get("sites") or {}
    if isinstance(tree, list):
        tree = dict.fromkeys(tree)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{at.place}.sites must be a list of names, or a mapping of names to settings")
    found = {}
    for name, settings in tree.items():
        if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            raise ConfigError(f"{at.place}.sites: {str(name)[:80]!r} cannot be used as a name; use a-z, 0-9 and _")
        if not isinstance(settings or {}, Mapping):
            raise ConfigError(f"{at.place}.sites.{name} must be a mapping of settings, as of sites.{name}")
        found[name] = dict(settings or {})
    return found


def _health(at: "_Fields") -> Health:
    at.known({*Health.__dataclass_fields__})
    given = at.tree.get("status", ())
    status = tuple(given) if isinstance(given, list | tuple) else (given,)
    if wrong := [one for one in status if type(one) is not int or not 100 <= one <= 599]:
        raise ConfigError(f"{at.place}.status: {wrong[0]!r} is not a status; give numbers such as 200")
    path = at.tree.get("path", "/")
    if not isinstance(path, str) or (path and not path.startswith("/")) or re.search(r"[\s\x00-\x1f]", path):
        raise ConfigError(f"{at.place}.path: {str(path)[:80]!r} is not a path; it begins with /")
    return Health(path=path, status=status, host=at.text("host"), timeout_s=at.seconds("timeout_s", 300.0))


def _control(at: "_Fields") -> Control:
    at.known({*Control.__dataclass_fields__})
    if not (url := at.address("url")):
        raise ConfigError(f"{at.place}.url is missing; give the address of the control plane")
    return Control(
        kind=at.word("kind", CONTROLS, ""),
        url=url.rstrip("/"),
        token_variable=at.matching("token_variable", _VARIABLE, "the name of an environment variable") or None,
        timeout_s=at.seconds("timeout_s", 900.0),
        state_urls=tuple(at.addresses("state_urls")),
    )


class _Fields:
    """A mapping of a file, whose values are read by kind."""

    def __init__(self, tree: object, place: str) -> None:
        if not isinstance(tree, Mapping):
            raise ConfigError(f"{place} must be a mapping of fields to values, not {str(tree)[:80]!r}")
        self.tree: Mapping[Any, Any] = tree
        self.place = place

    def known(self, names: set[str]) -> None:
        for key in self.tree:
            if key not in names:
                near = get_close_matches(str(key), names, 1)
                hint = f"; did you mean {near[0]}" if near else ""
                raise ConfigError(
                    f"{self.place}: unknown field {str(key)[:80]!r}{hint}; known: {', '.join(sorted(names))}"
                )

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.tree.get(key) or {}
        if not isinstance(value, Mapping):
            raise ConfigError(f"{self.place}: {key} must be a mapping, not {str(value)[:80]!r}")
        return {str(name): one for name, one in value.items()}

    def flag(self, key: str) -> bool:
        value = self.tree.get(key, False)
        if not isinstance(value, bool):
            raise ConfigError(f"{self._at(key)}: {str(value)[:80]!r} cannot be used; it is true or false")
        return value

    def text(self, key: str) -> str:
        value = self.tree.get(key)
        if value is None:
            return ""
        if not isinstance(value, str) or "\0" in value:
            raise ConfigError(f"{self._at(key)} must be a text, not {str(value)[:80]!r}; put it in quotes")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.tree.get(key)
        if value is None:
            return ()
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(one, str) and one and "\0" not in one for one in value):
            raise ConfigError(f"{self._at(key)} must be a text or a list of texts; put each in quotes")
        return tuple(value)

    def variables(self, key: str) -> dict[str, str]:
        tree = self.mapping(key)
        for name, value in tree.items():
            if not isinstance(value, str | int | float) or isinstance(value, bool) or "\0" in str(value):
                raise ConfigError(f"{self._at(key)}.{name} must be a text; put it in quotes")
        return {name: str(value) for name, value in tree.items()}

    def name(self, key: str, default: str) -> str:
        value = self.text(key) or default
        if not _NAME.fullmatch(value):
            raise ConfigError(f"{self.place}: {key}: {value[:80]!r} cannot be used as a name; use a-z, 0-9, _ and -")
        return value

    def word(self, key: str, words: Iterable[str], default: str) -> str:
        value = self.tree.get(key, default)
        if value not in tuple(words):
            raise ConfigError(f"{self._at(key)}={str(value)[:80]!r} is unknown; choose one of {', '.join(words)}")
        return str(value)

    def matching(self, key: str, pattern: re.Pattern[str], what: str) -> str:
        value = self.text(key)
        if value and not pattern.fullmatch(value):
            raise ConfigError(f"{self._at(key)}: {value[:80]!r} is not {what}")
        return value

    def port(self, key: str) -> int | None:
        value = self.tree.get(key)
        if value is not None and (type(value) is not int or not 1 <= value <= 65_535):
            raise ConfigError(f"{self._at(key)}: {str(value)[:80]!r} is not a port; give a number from 1 to 65535")
        return value

    def address(self, key: str) -> str:
        value = self.text(key)
        if value and not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", value):
            raise ConfigError(
                f"{self._at(key)}: {value[:80]!r} must be an http:// or https:// address without a password"
            )
        return value

    def addresses(self, key: str) -> list[str]:
        return [_Fields({key: one}, self.place).address(key) for one in self.texts(key)]

    def seconds(self, key: str, default: float, *, least: float = 0.1) -> float:
        value = self.tree.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 86_400:
            raise ConfigError(f"{self._at(key)}: {str(value)[:80]!r} is not a time; give seconds, {least:g} to 86400")
        return float(value)

    def _at(self, key: str) -> str:
        return f"{self.place}.{key}"
