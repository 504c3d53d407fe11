"""The services of a set on this machine: their instances, ports and health, and how one is started and stopped."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event

from harness.errors import ConfigError, HarnessError
from harness.plugins.site_sets.backend import Backend, Instance, NotVerified, Say, SiteFailed
from harness.plugins.site_sets.container_backend import ContainerBackend
from harness.plugins.site_sets.http_request import accepts, free_port, why_unhealthy
from harness.plugins.site_sets.process_backend import ProcessBackend
from harness.plugins.site_sets.remote_backend import RemoteBackend
from harness.plugins.site_sets.set_file import ENGINES, MOST_INSTANCES, Service, SiteSet
from harness.plugins.site_sets.state import StateFolder

_AT_ONCE = 8
_POLL_S = 0.03
_LONGEST_POLL_S = {"process": 0.2}
"""By back end; 2 s of others, whose engine is asked each time. Half a second late is much of a start of three."""
_ALIVE_EVERY_S = 1.0
"""How often it is asked whether a server that does not answer still runs: this costs more than a request."""
_REPEAT_S = 15.0


@dataclass(frozen=True, slots=True)
class Group:
    """One instance of the services that are reset together, in the order in which they are started."""

    services: tuple[str, ...]
    number: int

    @property
    def name(self) -> str:
        return f"{self.services[0]}@{self.number}"


class Services:
    """Those of a set in its state folder."""

    def __init__(self, of: SiteSet, state: StateFolder, say: Say, *, python: str) -> None:
        """
        Args:
            of: The set.
            state: Where it is kept.
            say: Hears what is waited for and what was done.
            python: What `{python}` stands for in commands.
        """
        self.set = of
        self.state = state
        self.say = say
        self._python = python
        self._stopping = Event()
        engine = next((one.backend for one in of.services.values() if one.backend in ENGINES), "podman")
        self.containers = ContainerBackend(engine, of.engine_options)
        self._backends: dict[str, Backend] = {"process": ProcessBackend(), "remote": RemoteBackend()}

    def backend(self, service: Service) -> Backend:
        return self._backends.get(service.backend, self.containers)

    def scale(self) -> int:
        """The number of instances that were asked for; 0 = it is down."""
        return 1 + max((one.number for one in self.state.units() if one.service in self.set.services), default=-1)

    def groups(self, scale: int, names: Sequence[str] = ()) -> list[Group]:
        """Those that serve the named sites (`shop`, `shop@1`; () = all).

        Raises:
            ConfigError: There is no such site, or no such instance.
        """
        if not names:
            return [Group(one, number) for one in self.set.groups() for number in range(self._instances(one, scale))]
        found: list[Group] = []
        for name in names:
            site, at, given = name.partition("@")
            services = self.set.group_of(site)
            there = range(self._instances(services, scale))
            if at and (not given.isdecimal() or int(given) not in there):
                raise ConfigError(f"{name[:80]}: there is no such instance; give 0 to {max(0, len(there) - 1)}")
            found += [Group(services, number) for number in ([int(given)] if at else there)]
        return list(dict.fromkeys(found))

    def _instances(self, services: tuple[str, ...], scale: int) -> int:
        """A remote service is the one that it is."""
        is_remote = all(self.set.services[name].backend == "remote" for name in services)
        return min(1, scale) if is_remote else scale

    def instance(self, service: str, number: int) -> Instance:
        """With its port: the declared one, or the one that it got first."""
        of, unit = self.set.services[service], self.state.unit(service, number)
        ports = {f"port.{name}": str(self._port(name, number)) for name in self.set.services}
        port = self._port(service, number)
        words = {
            **ports,
            "port": str(port),
            "data": str(unit.data.absolute()),
            **({"scratch": str(unit.scratch.absolute())} if of.backend == "process" else {}),
            "instance": str(number),
            "python": self._python,
            "set": str(self.set.path.parent),
            "url": of.url.rstrip("/") or f"http://127.0.0.1:{port}",
        }
        return Instance(unit=unit, service=of, key=self.state.key, port=port, words=words, folder=self.set.path.parent)

    def members(self, group: Group) -> list[Instance]:
        return [self.instance(name, group.number) for name in group.services]

    def _port(self, service: str, number: int) -> int:
        declared = self.set.services[service].port
        return declared + number if declared else self.state.unit(service, number).state().port

    def url(self, one: Instance) -> str:
        """Where a service answers."""
        return one.service.url.rstrip("/") or f"http://127.0.0.1:{one.port}"

    def unhealthy(self, one: Instance) -> str:
        """Why it cannot be used; "" = it can."""
        if not self.backend(one.service).is_running(one):
            return "it does not run"
        return self._unanswered(one)

    def _unanswered(self, one: Instance) -> str:
        """Why it does not answer as it should; of one that only other services reach, nothing can be asked."""
        return "" if one.service.internal else why_unhealthy(one.service.health, self.url(one), one.port)

    def choose_ports(self, scale: int) -> None:
        if not 1 <= scale <= MOST_INSTANCES:
            raise ConfigError(f"--scale={scale} is not a number of instances; give 1 to {MOST_INSTANCES}")
        taken: dict[int, str] = {}
        for name, one in sorted(self.set.services.items(), key=lambda named: named[1].port is None):
            for number in range(scale if one.backend != "remote" else 0):
                unit = self.state.unit(name, number)
                port = self._port(name, number)
                while not port or (one.port is None and port in taken):
                    port = free_port()
                if port in taken or port > 65_535:
                    raise ConfigError(
                        f"{self.set.path}: services.{name}.port: {unit.name} would have port {port}, as"
                        f" {taken.get(port, 'no service can')}; instance N has the declared port + N: set another one"
                    )
                taken[port] = unit.name
                if (known := unit.state()).port != port:
                    unit.write(replace(known, port=port))

    def check_images(self, groups: Sequence[Group], *, pull: bool) -> None:
        """Before anything is begun: a run must never wait for a pull."""
        for service in dict.fromkeys(name for group in groups for name in group.services):
            one = self.instance(service, 0)
            if one.service.backend in ENGINES:
                if pull:
                    self.containers.pull(one)
                self.containers.image(one)

    def start(self, one: Instance) -> None:
        """Start one service, unless it runs, and wait until it is ready."""
        backend = self.backend(one.service)
        if not backend.is_running(one):
            if one.service.backend != "remote" and not one.service.internal and accepts(one.port):
                raise ConfigError(
                    f"{one.name}: port {one.port} is used by another program; end it, or set another `port` in"
                    f" {self.set.path}"
                )
            backend.start(one)
        self._wait_until_ready(one)
        self.execute(one, "configure", one.service.configure)

    def execute(self, one: Instance, field: str, commands: tuple[str, ...]) -> None:
        for number, command in enumerate(commands):
            self.say(f"{one.name}: {field} {number + 1} of {len(commands)}")
            code, said = self.backend(one.service).execute(one, command)
            if code != 0:
                why = f" ({said})" if said else ""
                raise SiteFailed(
                    f"{one.name}: {field} {number + 1} ended with code {code}{why}; correct it in the set file"
                )

    def redacted(self, text: str) -> str:
        """What a service, a command or a control plane said, without the credentials that they were given."""
        from harness.api.secrets import Redactor, secrets_in  # only where there is something to say

        given = {name for one in self.set.services.values() for name in one.pass_environment}
        planes = (one.control for one in self.set.services.values() if one.control is not None)
        given |= {plane.token_variable for plane in planes if plane.token_variable}
        own = {name: os.environ[name] for name in given if os.environ.get(name)}
        return Redactor(secrets_in(os.environ) | own).text(text)

    def log(self, one: Instance) -> str:
        return self.redacted(self.backend(one.service).log(one))

    def _wait_until_ready(self, one: Instance) -> None:
        begun = told_at = time.monotonic()
        alive_at, is_gone = -math.inf, False
        pause_s, told, limit_s = _POLL_S, "", one.service.health.timeout_s
        while True:
            why = self._unanswered(one) or self._unready(one)
            now = time.monotonic()
            if not why or now - alive_at >= _ALIVE_EVERY_S:
                alive_at, is_gone = now, not self.backend(one.service).is_running(one)
            if not why and not is_gone:
                return
            if is_gone or now - begun >= limit_s or self._stopping.is_set():
                last = [line for line in self.log(one).splitlines() if line.strip()]
                said = f"; its log ends with: {last[-1].strip()[:200]}" if last else ""
                how = "ended" if is_gone else f"is not ready after {now - begun:.0f} s: {why}"
                raise SiteFailed(f"{one.name} {how}{said} (harness sites logs shows it)")
            if (now - begun > 1.0 and why != told) or now - told_at > _REPEAT_S:
                told, told_at = why, now
                self.say(f"{one.name}: waiting: {why}; {limit_s - (now - begun):.0f} s left")
            time.sleep(pause_s)
            pause_s = min(_LONGEST_POLL_S.get(one.service.backend, 2.0), pause_s * 1.3)

    def _unready(self, one: Instance) -> str:
        if not one.service.ready:
            return ""
        code, said = self.backend(one.service).execute(one, one.service.ready)
        return "" if code == 0 else f"`ready` ends with code {code}{f' ({self.redacted(said)})' if said else ''}"

    def shown(self, one: Instance) -> str:
        """What the command `state` of a service tells.

        Raises:
            SiteFailed: It fails, or tells nothing.
        """
        code, said = self.backend(one.service).execute(one, one.service.state)
        if code != 0 or not said:
            raise SiteFailed(f"{one.name}: `state` ended with code {code} ({said or 'it says nothing'}); correct it")
        return said

    def stop_all(self, members: list[Instance]) -> None:
        for one in reversed(members):
            self.backend(one.service).stop(one)

    def each(self, groups: Sequence[Group], do: Callable[[Group], int | None]) -> list[int]:
        """Do it for all at the same time; what failed is raised together once all have ended."""
        failed: list[HarnessError] = []

        def one(group: Group) -> int:
            try:
                return do(group) or 0
            except HarnessError as error:
                failed.append(error)
                return 0

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            with self._stop_on_interrupt():
                done = list(threads.map(one, groups))
        if failed:
            worst = next((kind for kind in (NotVerified, ConfigError) if isinstance(failed[0], kind)), type(failed[0]))
            raise worst("; ".join(dict.fromkeys(map(str, failed))))
        return done

    @contextmanager
    def _stop_on_interrupt(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self._stopping.set()
            raise
