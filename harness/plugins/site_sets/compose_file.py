"""Reads one's own compose file as a set: labels say which service is which site, and where its state is.

It is turned into the tree of a set file, so that the same checks hold. What would change what is run and cannot be done
here is refused by name; what is about starting by another program (`restart`, `container_name`) is left out. Volumes
with names are refused but for paths of `cairn.seed`: instances would share them, and a reset would not put them back.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import ConfigError

_COPIED = ("ready", "patch", "configure", "restore", "state", "digest")
LABELS = ("site", "seed", "health", "timeout_s", "canonical", *_COPIED)
"""Behind `cairn.`."""
_FOR_OTHERS = frozenset(
    ("build", "container_name", "deploy", "expose", "healthcheck", "init", "logging", "networks", "pull_policy")
) | frozenset(("restart", "stdin_open", "tty"))
_OPTIONS = {
    **{"user": "--user", "working_dir": "--workdir", "entrypoint": "--entrypoint", "network_mode": "--network"},
    **{"shm_size": "--shm-size", "mem_limit": "--memory", "hostname": "--hostname", "platform": "--platform"},
}
_KNOWN = frozenset(
    ("image", "command", "ports", "environment", "env_file", "depends_on", "volumes", "labels", "stop_grace_period")
) | {"ulimits"}
_OF_COMPOSE = frozenset(("labels", "ports", "depends_on", "build", "volumes"))
_DEFAULT = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*:?-([^}$]*)\}")
_ITSELF = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def is_compose(tree: object) -> bool:
    """Whether it is a compose file: no field of a service of a set has one of these names."""
    services = tree.get("services") if isinstance(tree, Mapping) else None
    return isinstance(services, Mapping) and any(
        isinstance(one, Mapping) and not _OF_COMPOSE.isdisjoint(one) for one in services.values()
    )


def set_tree(tree: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The same as the tree of a set file.

    Raises:
        ConfigError: It has something that cannot be done here.
    """
    own = tree.get("x-cairn") or {}
    if not isinstance(own, Mapping):
        raise ConfigError(f"{path}: x-cairn must be a mapping, as {{backend: podman}}")
    if own.get("backend", "docker") not in ("podman", "docker"):
        raise ConfigError(
            f"{path}: x-cairn.backend: the services of a compose file are containers; give podman or docker"
        )
    name, settings = str(tree.get("name") or path.parent.name), _settings(own, path)
    services = {
        str(name): _service(one, f"{path}: services.{name}", path.parent, settings)
        for name, one in tree["services"].items()
    }
    if unknown := sorted(map(str, settings.keys() - {site for one in services.values() for site in one["sites"]})):
        raise ConfigError(f"{path}: x-cairn.sites.{unknown[0]}: no service has this site in its label cairn.site")
    return {
        "backend": "docker",
        "name": re.sub(r"[^a-z0-9_-]", "-", name.lower()).lstrip("-_0123456789")[:40] or "compose",
        **{key: value for key, value in own.items() if key != "sites"},
        "services": services,
    }


def _settings(own: Mapping[str, Any], path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Further settings of sites, such as their logins, which are more than a label can hold."""
    found = own.get("sites") or {}
    if not isinstance(found, Mapping) or not all(isinstance(one, Mapping) for one in found.values()):
        raise ConfigError(f"{path}: x-cairn.sites must be a mapping of sites to settings, as {{shop: {{login: …}}}}")
    return found


def _service(one: object, place: str, folder: Path, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    if not isinstance(one, Mapping):
        raise ConfigError(f"{place} must be a mapping of fields to values")
    for key in one:
        if key not in _KNOWN | _FOR_OTHERS | _OPTIONS.keys() and not str(key).startswith("x-"):
            raise ConfigError(
                f"{place}.{key} of a compose file cannot be used; write a set file (docs/pages/site_sets.md)"
            )
    if not one.get("image"):
        raise ConfigError(f"{place}.image is missing; build the image and name it, as an image is never built here")
    labels = {
        key.removeprefix("cairn."): value
        for key, value in _pairs(one.get("labels"), f"{place}.labels")
        if key.startswith("cairn.")
    }
    if unknown := sorted(labels.keys() - set(LABELS)):
        raise ConfigError(
            f"{place}.labels: there is no label cairn.{unknown[0]}; there are cairn.{', cairn.'.join(LABELS)}"
        )
    seed = _words(labels.get("seed"))
    options = []
    for key, option in _OPTIONS.items():
        if isinstance(value := one.get(key), str | int):
            options.append(f"{option}={value}")
        elif value is not None:
            raise ConfigError(f"{place}.{key} must be a text")
    return {
        "image": _put_in(str(one["image"]), f"{place}.image"),
        "command": _command(one.get("command"), place),
        **_ports(one.get("ports") or [], place),
        **_environment(one.get("environment"), place),
        "after": list(one.get("depends_on") or ()),
        **_stop_s(one.get("stop_grace_period"), place),
        "seed": seed,
        "sites": {
            site: {**({"canonical": labels["canonical"]} if "canonical" in labels else {}), **settings.get(site, {})}
            for site in _words(labels.get("site"))
        },
        "health": _health(labels, place, is_open=bool(one.get("ports"))),
        **{key: labels[key] for key in _COPIED if key in labels},
        "options": [
            *options,
            *_limits(one.get("ulimits"), place),
            *_env_files(one.get("env_file"), folder),
            *_volumes(one.get("volumes") or [], seed, place, folder),
        ],
    }


def _words(text: object) -> list[str]:
    return [word.strip() for word in str(text or "").split(",") if word.strip()]


def _pairs(tree: object, place: str) -> Iterator[tuple[str, str | None]]:
    """Names and values of a mapping, or of a list of `NAME=VALUE`; None = there is no value."""
    if isinstance(tree, Mapping):
        yield from ((str(key), None if value is None else str(value)) for key, value in tree.items())
    elif isinstance(tree, list):
        for name, has, value in (str(one).partition("=") for one in tree):
            yield name, value if has else None
    elif tree is not None:
        raise ConfigError(f"{place} must be a mapping, or a list of NAME=VALUE")


def _command(command: object, place: str) -> str:
    import shlex

    if isinstance(command, list):
        return shlex.join(_put_in(str(word), f"{place}.command") for word in command)
    if command is not None and not isinstance(command, str):
        raise ConfigError(f"{place}.command must be a text or a list")
    return _put_in(command or "", f"{place}.command")


def _ports(ports: object, place: str) -> dict[str, Any]:
    """Of the first port, where it is asked for and published; without one, only other services reach it."""
    if not isinstance(ports, list):
        raise ConfigError(f"{place}.ports must be a list")
    if not ports:
        return {"internal": True}
    first = ports[0]
    if isinstance(first, Mapping):
        inside, outside = first.get("target"), first.get("published")
    else:
        *_, outside, inside = [None, *str(first).partition("/")[0].split(":")]
    try:
        return {"container_port": int(str(inside)), "port": int(str(outside or inside))}
    except ValueError:
        raise ConfigError(f'{place}.ports: {str(first)[:80]!r} is not a port; write it as "8080:80"') from None


def _environment(tree: object, place: str) -> dict[str, Any]:
    """Variables with their values, and the names of those that are taken from our environment."""
    values, passed = {}, []
    for name, value in _pairs(tree, f"{place}.environment"):
        if value is None or ((found := _ITSELF.fullmatch(value)) and found[1] == name):
            passed.append(name)
        else:
            values[name] = _put_in(value, f"{place}.environment.{name}")
    return {"environment": values, "pass_environment": passed}


def _put_in(text: str, place: str) -> str:
    """A text with its defaults put in and `$$` as `$`."""
    found = _DEFAULT.sub(lambda one: one[1], text).replace("$$", "\0")
    if "$" in found:
        raise ConfigError(
            f"{place}: of variables only defaults are put in (${{NAME:-value}}); write the value, or, in `environment`,"
            " the name alone to take it from your environment"
        )
    return found.replace("\0", "$")


def _health(labels: Mapping[str, str | None], place: str, *, is_open: bool) -> dict[str, Any]:
    """`cairn.health`: a path, and behind it the answers that count; without it, of a published port that it accepts."""
    path, _, answers = str(labels.get("health") or "").strip().partition(" ")
    found: dict[str, Any] = {"path": path or ("/" if is_open and labels.get("site") else "")}
    try:
        found |= {"status": [int(one) for one in _words(answers)]} if answers else {}
        found |= {"timeout_s": float(str(labels["timeout_s"]))} if "timeout_s" in labels else {}
    except ValueError:
        raise ConfigError(
            f'{place}.labels: cairn.health is a path with statuses behind it, as "/ready 200,302"; cairn.timeout_s is a'
            " number"
        ) from None
    return found


def _stop_s(given: object, place: str) -> dict[str, float]:
    if given is None:
        return {}
    found = re.fullmatch(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?", str(given)) if given else None
    if not found:
        raise ConfigError(f"{place}.stop_grace_period: {str(given)[:80]!r} is not a time; write it as 10s or 1m30s")
    return {"stop_s": 60 * int(found[1] or 0) + float(found[2] or 0)}


def _limits(tree: object, place: str) -> list[str]:
    found = []
    for name, value in tree.items() if isinstance(tree, Mapping) else () if tree is None else [("", tree)]:
        soft, hard = (value.get("soft"), value.get("hard")) if isinstance(value, Mapping) else (value, value)
        if type(soft) is not int or type(hard) is not int:
            raise ConfigError(
                f"{place}.ulimits: write it as {{nofile: 1024}} or {{nofile: {{soft: 1024, hard: 2048}}}}"
            )
        found.append(f"--ulimit={name}={soft}:{hard}")
    return found


def _env_files(files: object, folder: Path) -> list[str]:
    given = [files] if isinstance(files, str) else list(files) if isinstance(files, list) else []
    return [f"--env-file={folder / str(one)}" for one in given]


def _volumes(volumes: object, seed: list[str], place: str, folder: Path) -> Iterator[str]:
    """Folders that are mounted to be read; what is written is state, and is where `cairn.seed` says."""
    for one in volumes if isinstance(volumes, list) else [volumes]:
        source, inside, mode = _mount(one)
        if inside in seed:
            continue
        if not source.startswith((".", "/", "~")) or "ro" not in mode.split(","):
            raise ConfigError(
                f"{place}.volumes: {inside or source} could be written to, and would not be reset; add it to the label"
                " cairn.seed, or mount a folder with :ro"
            )
        yield f"--volume={(folder / Path(source).expanduser()).resolve()}:{inside}:ro"


def _mount(one: object) -> tuple[str, str, str]:
    """Source, path inside and mode."""
    if isinstance(one, Mapping):
        return str(one.get("source") or ""), str(one.get("target") or ""), "ro" if one.get("read_only") else ""
    source, _, rest = str(one).partition(":")
    inside, _, mode = rest.partition(":")
    return (source, inside, mode) if rest else ("", source, "")
