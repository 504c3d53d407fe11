"""Brings instances of a set up, puts them back to a snapshot, and takes them down.

The unit of all work is a *group*: the services that are reset together (`SiteSet.groups`), once for each instance. A
group is changed under its own lock. Its phase is on disk before anything is begun, and folders only get their names
when they are whole. So a command that is killed at any moment leaves a phase that the next one sees, and a reset is
simply done again. Until the snapshot `seed` is there, `up` always begins with empty folders, since a patch that was
interrupted must not be run twice.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event

from harness.errors import ConfigError, HarnessError
from harness.plugins.site_sets import folder
from harness.plugins.site_sets.backend import Backend, Instance, NotVerified, Say, SiteFailed
from harness.plugins.site_sets.container_backend import ContainerBackend
from harness.plugins.site_sets.http_request import accepts, free_port, why_unhealthy
from harness.plugins.site_sets.process_backend import ProcessBackend
from harness.plugins.site_sets.remote_backend import RemoteBackend, remote_digest, reset_remote
from harness.plugins.site_sets.set_file import ENGINES, MOST_INSTANCES, Service, SiteSet
from harness.plugins.site_sets.snapshots import Snapshots, make_spare, take_spare
from harness.plugins.site_sets.state import RESETTING, SEED, STARTING, STOPPED, UP, StateFolder

_AT_ONCE = 8
_POLL_S, _LONGEST_POLL_S = 0.03, 2.0
_REPEAT_S = 15.0


@dataclass(frozen=True, slots=True)
class Group:
    """One instance of the services that are reset together, in the order in which they are started."""

    services: tuple[str, ...]
    number: int

    @property
    def name(self) -> str:
        return f"{self.services[0]}@{self.number}"


class Lifecycle:
    """All that can be done with a set in its state folder."""

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
        self.snapshots = Snapshots(state)
        self._say = say
        self._python = python
        self._stopping = Event()
        engine = next((one.backend for one in of.services.values() if one.backend in ENGINES), "podman")
        self.containers = ContainerBackend(engine, of.engine_options)
        self._backends: dict[str, Backend] = {"process": ProcessBackend(), "remote": RemoteBackend()}

    # what there is

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
            "instance": str(number),
            "python": self._python,
            "set": str(self.set.path.parent),
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
        return why_unhealthy(one.service.health, self.url(one), one.port)

    # up

    def up(self, names: Sequence[str], scale: int | None, *, pull: bool = False) -> int:
        """Bring all instances of these sites up, and take the snapshot `seed` once; the number that was not up before.

        Raises:
            HarnessError: Something did not come up.
        """
        with self.state.lock("set"):
            wanted = max(1, self.scale()) if scale is None else scale
            self._choose_ports(wanted)
            groups = self.groups(wanted, names)
            self._check_images(groups, pull=pull)
            first = [one for one in groups if one.number == 0 or self._has(SEED, one)]
            started = self._each(first, self._up)
            later = [one for one in groups if one not in first]
            return sum(started) + sum(self._each(later, self._up))

    def _choose_ports(self, scale: int) -> None:
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

    def _check_images(self, groups: Sequence[Group], *, pull: bool) -> None:
        """Before anything is begun: a run must never wait for a pull."""
        for service in dict.fromkeys(name for group in groups for name in group.services):
            one = self.instance(service, 0)
            if one.service.backend in ENGINES:
                if pull:
                    self.containers.pull(one)
                self.containers.image(one)

    def _up(self, group: Group) -> int:
        with self.state.lock(group.name):
            members = self.members(group)
            if not self._has(SEED, group):
                if group.number:
                    raise SiteFailed(
                        f"{group.name}: the snapshot {SEED} of {group.services[0]}@0 is missing; run up again"
                    )
                self._first_start(group, members)
                return 1
            phases = {one.unit.state().phase for one in members}
            if phases == {UP} and not any(map(self.unhealthy, members)):
                return 0
            if phases == {STOPPED} and all(one.unit.data.is_dir() for one in members if _has_folder(one)):
                self._start_all(members)
            else:
                self._put_back(group, SEED)
            self._say(f"{group.name}: up")
            return 1

    def _first_start(self, group: Group, members: list[Instance]) -> None:
        """Fill, start, patch and take the snapshot; all of it again where it was interrupted."""
        self._stop_all(members)
        for one in members:
            one.unit.enter(STARTING, snapshot=SEED, mark="", verified="")
            folder.discard(one.unit.data)
            fresh = one.unit.folder / "fresh"
            folder.remove(fresh)
            fresh.mkdir(parents=True)
            self.backend(one.service).fill(one, fresh)
            fresh.rename(one.unit.data)
            folder.sweep(one.unit.folder)
        for one in members:
            self._start(one)
        for one in members:
            for number, command in enumerate(one.service.patch):
                self._say(f"{one.name}: patch {number + 1} of {len(one.service.patch)}")
                code, said = self.backend(one.service).execute(one, command)
                if code != 0:
                    raise SiteFailed(f"{one.name}: patch {number + 1} ended with code {code} ({said}); correct it")
        if any(one.service.patch or _has_state(one) for one in members):
            self._stop_all(members)
        digests = self.snapshots.take(SEED, {one.service.name: one.unit.data for one in members if _has_folder(one)})
        for one in members:
            if one.service.digest and digests.get(one.service.name, one.service.digest) != one.service.digest:
                self.snapshots.remove(SEED, group.services)
                self._stop_all(members)
                raise NotVerified(
                    f"{one.name}: its state at the snapshot {SEED} is {digests[one.service.name]}, and {self.set.path}"
                    f" declares {one.service.digest}; use the declared image and seed, or correct `digest`"
                )
        self._start_all(members)
        self._say(f"{group.name}: up, with the snapshot {SEED}")

    def _start_all(self, members: list[Instance]) -> None:
        for one in members:
            one.unit.enter(STARTING)
        for one in members:
            self._start(one)
        for one in members:
            one.unit.enter(UP, mark=folder.stamp(one.unit.data))

    def _start(self, one: Instance) -> None:
        """Start one service, unless it runs, and wait until it is ready."""
        backend = self.backend(one.service)
        if not backend.is_running(one):
            if one.service.backend != "remote" and accepts(one.port):
                raise ConfigError(
                    f"{one.name}: port {one.port} is used by another program; end it, or set another `port` in"
                    f" {self.set.path}"
                )
            backend.start(one)
        self._wait_until_ready(one)

    def _wait_until_ready(self, one: Instance) -> None:
        begun = told_at = time.monotonic()
        pause_s, told, limit_s = _POLL_S, "", one.service.health.timeout_s
        while True:
            why = self.unhealthy(one) or self._unready(one)
            if not why:
                return
            now = time.monotonic()
            is_gone = not self.backend(one.service).is_running(one)
            if is_gone or now - begun >= limit_s or self._stopping.is_set():
                last = [line for line in self.backend(one.service).log(one).splitlines() if line.strip()]
                said = f"; its log ends with: {last[-1].strip()[:200]}" if last else ""
                how = "ended" if is_gone else f"is not ready after {now - begun:.0f} s: {why}"
                raise SiteFailed(f"{one.name} {how}{said} (harness sites logs shows it)")
            if (now - begun > 1.0 and why != told) or now - told_at > _REPEAT_S:
                told, told_at = why, now
                self._say(f"{one.name}: waiting: {why}; {limit_s - (now - begun):.0f} s left")
            time.sleep(pause_s)
            pause_s = min(_LONGEST_POLL_S, pause_s * 1.3)

    def _unready(self, one: Instance) -> str:
        if not one.service.ready:
            return ""
        code, said = self.backend(one.service).execute(one, one.service.ready)
        return "" if code == 0 else f"`ready` ends with code {code}{f' ({said})' if said else ''}"

    def _stop_all(self, members: list[Instance]) -> None:
        for one in reversed(members):
            self.backend(one.service).stop(one)

    # reset

    def reset(self, names: Sequence[str], to: str = SEED) -> list[Group]:
        """Put instances back to a snapshot; those that were.

        Raises:
            NotVerified: What they were put back to is not what the snapshot was.
            HarnessError: A service did not come up again.
        """
        with self.state.lock("set", exclusive=False):
            groups = [one for one in self.groups(self.scale(), names) if names or self._has(SEED, one)]
            if not groups:
                raise ConfigError(f"nothing is up in {self.state.path}; run `harness sites up` first")
            for group in groups:
                self._check_snapshot(group, to)
            self._each(groups, lambda group: self._reset(group, to))
            return groups

    def _reset(self, group: Group, to: str) -> None:
        with self.state.lock(group.name):
            self._put_back(group, to)

    def _has(self, snapshot: str, group: Group) -> bool:
        return self.snapshots.has(snapshot, [one.service.name for one in self.members(group) if _has_folder(one)])

    def _check_snapshot(self, group: Group, to: str) -> None:
        if not self._has(to, group):
            known = ", ".join(self.snapshots.names()) or "none yet"
            raise ConfigError(
                f"{group.name} has no snapshot {to[:80]}; there are: {known}; `harness sites up` makes {SEED}"
            )

    def _put_back(self, group: Group, to: str) -> None:
        self._check_snapshot(group, to)
        members = self.members(group)
        for one in members:
            one.unit.enter(RESETTING, snapshot=to)
        self._stop_all(members)
        for one in members:
            if one.service.control is not None:
                reset_remote(one, one.service.control, self._say)
            if _has_folder(one):
                self._swap(one, to)
        for one in members:
            self._start(one)
        for one in members:
            verified = self._verify_remote(one) if one.service.control else self.snapshots.digest(to, one.service.name)
            one.unit.enter(UP, mark=folder.stamp(one.unit.data), verified=verified)

    def _swap(self, one: Instance, to: str) -> None:
        """Give it a copy of the snapshot: the spare one, or one that is made now."""
        wanted = self.snapshots.digest(to, one.service.name)
        if to == SEED and one.service.digest and wanted != one.service.digest:
            raise NotVerified(
                f"{one.name}: the snapshot {SEED} is {wanted}, and the set declares {one.service.digest}; run"
                " `harness sites down --all` and `up`"
            )
        fresh = take_spare(one.unit, to, wanted)
        if fresh is None:
            fresh = one.unit.folder / "fresh"
            folder.remove(fresh)
            folder.copy(self.snapshots.of(to, one.service.name), fresh)
            if (found := folder.digest(fresh)) != wanted:
                folder.remove(fresh)
                raise NotVerified(
                    f"{one.name}: the snapshot {to} was changed after it was taken ({found}, not {wanted}); take it"
                    f" again: `harness sites {'down --all' if to == SEED else 'snapshot'}`"
                )
        folder.discard(one.unit.data)
        fresh.rename(one.unit.data)

    def _verify_remote(self, one: Instance) -> str:
        """Compare the state that it shows with the declared one, or with the first that it showed after a reset."""
        assert one.service.control is not None
        found = remote_digest(one, one.service.control)
        wanted = one.service.digest or one.unit.state().verified
        if wanted and found and found != wanted:
            one.unit.enter(RESETTING)
            raise NotVerified(
                f"{one.name}: its control plane says that it was reset, but its state is {found}, not {wanted}; the"
                " reset does not restore all, or what `state_urls` show is not constant"
            )
        return wanted or found

    def tidy(self) -> None:
        """Remove what was thrown away, and copy spares for the next resets."""
        for group in self.groups(self.scale()):
            for one in self.members(group):
                with self.state.lock(f"spare-{one.unit.name}"):
                    if not one.unit.folder.is_dir():
                        continue  # taken down meanwhile
                    folder.sweep(one.unit.folder)
                    if _has_folder(one) and self.snapshots.has(SEED, (one.service.name,)):
                        wanted = self.snapshots.digest(SEED, one.service.name)
                        make_spare(one.unit, SEED, self.snapshots.of(SEED, one.service.name), wanted)

    # snapshots, scale, down

    def snapshot(self, name: str, names: Sequence[str], number: int = 0) -> list[Group]:
        """Take a snapshot of an instance of these sites, which is stopped for it.

        Raises:
            ConfigError: There is one of this name, or nothing is up.
        """
        with self.state.lock("set"):
            groups = [one for one in self.groups(self.scale(), names) if one.number == number]
            groups = [one for one in groups if any(map(_has_folder, self.members(one)))]
            if not groups:
                raise ConfigError(
                    f"nothing with state of its own is up in {self.state.path}; run `harness sites up` first"
                )
            for group in groups:
                if self._has(name, group):
                    raise ConfigError(
                        f"there is a snapshot {name} of {group.services[0]}; remove it with `rm`, or name another one"
                    )
                if any(one.unit.state().phase != UP for one in self.members(group)):
                    raise ConfigError(f"{group.name} is not up, so its state is unknown; run `harness sites up` first")
            self._each(groups, lambda group: self._take(group, name))
            return groups

    def _take(self, group: Group, name: str) -> None:
        with self.state.lock(group.name):
            members = self.members(group)
            for one in members:
                one.unit.enter(STARTING)  # where this is interrupted, `up` puts it back to the seed
            self._stop_all(members)
            self.snapshots.take(name, {one.service.name: one.unit.data for one in members if _has_folder(one)})
            self._start_all(members)

    def scale_to(self, scale: int) -> int:
        """Have so many instances of all sites: further ones come up from the snapshot, the last ones are removed."""
        if not 1 <= scale <= MOST_INSTANCES:
            raise ConfigError(f"{scale} is not a number of instances; give 1 to {MOST_INSTANCES}")
        if not self.scale():
            raise ConfigError(f"nothing is up in {self.state.path}; run `harness sites up --scale {scale}`")
        with self.state.lock("set"):
            for group in self.groups(self.scale()):
                if group.number >= scale:
                    self._remove(group)
        return self.up((), scale)

    def _remove(self, group: Group) -> None:
        with self.state.lock(group.name):
            members = self.members(group)
            self._stop_all(members)
            for one in members:
                with self.state.lock(f"spare-{one.unit.name}"):
                    folder.discard(one.unit.folder)
            folder.sweep(self.state.path / "services")

    def down(self, names: Sequence[str], *, keep_data: bool, everything: bool) -> int:
        """Stop instances, and remove them unless their data is to be kept; `everything` = snapshots, too."""
        with self.state.lock("set"):
            groups = self.groups(self.scale(), names)
            for group in groups:
                if not keep_data:
                    self._remove(group)
                    continue
                with self.state.lock(group.name):
                    members = self.members(group)
                    is_whole = all(one.unit.state().phase in (UP, STOPPED) for one in members)
                    self._stop_all(members)
                    for one in members:
                        if is_whole:
                            one.unit.enter(STOPPED)
            if any(one.backend in ENGINES for one in self.set.services.values()) and not names:
                self.containers.remove_networks(self.state.key)
            if everything:
                folder.remove(self.state.path / "snapshots")
            return len(groups)

    def _each(self, groups: Sequence[Group], do: Callable[[Group], int | None]) -> list[int]:
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


def _has_folder(one: Instance) -> bool:
    return one.service.backend != "remote"


def _has_state(one: Instance) -> bool:
    """Whether something of it outlives a restart, so that it is stopped for the snapshot."""
    return one.service.backend == "process" or bool(one.service.seed)
