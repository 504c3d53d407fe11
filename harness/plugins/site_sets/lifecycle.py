"""Brings instances of a set up, puts them back to a snapshot, and takes them down.

The unit of all work is a *group*: the services that are reset together (`SiteSet.groups`), once for each instance. A
group is changed under its own lock. Its phase is on disk before anything is begun, and folders only get their names
when they are whole. So a command that is killed at any moment leaves a phase that the next one sees, and a reset is
simply done again. Until the snapshot `seed` is there, `up` always begins with empty folders, since a patch that was
interrupted must not be run twice.
"""

from collections.abc import Container, Sequence
from dataclasses import replace

from harness.errors import ConfigError
from harness.plugins.site_sets import folder
from harness.plugins.site_sets.backend import Instance, NotVerified, Say, SiteFailed
from harness.plugins.site_sets.remote_backend import remote_digest, reset_remote
from harness.plugins.site_sets.services import Group, Services
from harness.plugins.site_sets.set_file import ENGINES, MOST_INSTANCES, SiteSet
from harness.plugins.site_sets.snapshots import Snapshots, make_spare, take_spare
from harness.plugins.site_sets.state import RESETTING, SEED, STARTING, STOPPED, UP, StateFolder


class Lifecycle(Services):
    """All that can be done with a set in its state folder."""

    def __init__(self, of: SiteSet, state: StateFolder, say: Say, *, python: str) -> None:
        super().__init__(of, state, say, python=python)
        self.snapshots = Snapshots(state)

    def up(self, names: Sequence[str], scale: int | None, *, pull: bool = False) -> int:
        """Bring all instances of these sites up, and take the snapshot `seed` once; the number that was not up before.

        Raises:
            HarnessError: Something did not come up.
        """
        with self.state.lock("set"):
            wanted = max(1, self.scale()) if scale is None else scale
            self.choose_ports(wanted)
            groups = self.groups(wanted, names)
            self.check_images(groups, pull=pull)
            first = [one for one in groups if one.number == 0 or self._has(SEED, one)]
            started = self.each(first, self._up)
            later = [one for one in groups if one not in first]
            return sum(started) + sum(self.each(later, self._up))

    def _up(self, group: Group) -> int:
        with self.state.lock(group.name):
            members = self.members(group)
            self._check_definition(group)
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
            ours = [one for one in members if _has_folder(one)]
            # Without a time of its stop, nothing is known of what is in its folder.
            is_kept = all(one.unit.state().since and one.unit.data.is_dir() for one in ours)
            if phases == {STOPPED} and is_kept:
                self._start_all(members)
            else:
                self._put_back(group, SEED)
            self.say(f"{group.name}: up")
            return 1

    def _check_definition(self, group: Group) -> None:
        for name in group.services:
            known = self.snapshots.definition(SEED, name)
            if known and known != self.set.services[name].definition:
                raise ConfigError(
                    f"{self.set.path}: services.{name} was changed after its seed was taken; run `harness sites down"
                    f" {self.state.path} --all` and `up`, or change it back"
                )

    def _first_start(self, group: Group, members: list[Instance]) -> None:
        """Fill, start, patch and take the snapshot; all of it again where it was interrupted."""
        self.stop_all(members)
        for one in members:
            one.unit.enter(STARTING, snapshot=SEED, mark="", verified="", image="")
            folder.discard(one.unit.data)
            fresh = one.unit.folder / "fresh"
            folder.remove(fresh)
            fresh.mkdir(parents=True)
            self.backend(one.service).fill(one, fresh)
            fresh.rename(one.unit.data)
            folder.sweep(one.unit.folder)
        for one in members:
            self.start(one)
        for one in members:
            self.execute(one, "patch", one.service.patch)
        digests = self._keep(members, SEED, {one.service.name for one in members if one.service.patch})
        for one in members:
            if one.service.digest and digests.get(one.service.name, one.service.digest) != one.service.digest:
                self.snapshots.remove(SEED, group.services)
                self.stop_all(members)
                raise NotVerified(
                    f"{one.name}: its state at the snapshot {SEED} is {digests[one.service.name]}, and {self.set.path}"
                    f" declares {one.service.digest}; use the declared image and seed, or correct `digest`"
                )
        self._start_all(members)
        self._note_state(members)
        self.say(f"{group.name}: up, with the snapshot {SEED}")

    def _keep(self, members: list[Instance], name: str, images: Container[str]) -> dict[str, str]:
        """Stop services and take their snapshot: their folders, and of the named containers all else in them."""
        kept = {one.service.name: one.unit.state().image for one in members}
        for one in reversed(members):
            if one.service.backend in ENGINES and one.service.name in images:
                kept[one.service.name] = self.backend(one.service).keep(one)
        self.stop_all(members)
        folders = {one.service.name: one.unit.data for one in members if _has_folder(one)}
        definitions = {name: self.set.services[name].definition for name in folders}
        digests = self.snapshots.take(name, folders, kept, definitions)
        for one in members:
            one.unit.enter(STARTING, image=kept[one.service.name])
        return digests

    def _start_all(self, members: list[Instance]) -> None:
        """Start services with the files that they have; what was written before stays known as dirty."""
        written = {one.name for one in members if _is_written(one)}
        for one in members:
            one.unit.enter(STARTING)
        for one in members:
            self.start(one)
        for one in members:
            one.unit.enter(UP, **({} if one.name in written else {"mark": folder.stamp(one.unit.data)}))

    def _note_state(self, members: list[Instance]) -> None:
        """Of services that are at a snapshot: what `restore` has to lead back to."""
        for one in members:
            if one.service.restore:
                one.unit.write(replace(one.unit.state(), shown=self.shown(one)))

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
                for one in self.members(group):
                    if not one.port and one.service.backend != "remote":
                        raise ConfigError(
                            f"{one.name}: {one.unit.folder}/state.json cannot be read, so its port is not known; run"
                            " `harness sites up`, which gives it one"
                        )
            self.each(groups, lambda group: self._reset(group, to))
            return groups

    def _reset(self, group: Group, to: str) -> None:
        with self.state.lock(group.name):
            self._check_definition(group)
            members = self.members(group)
            if to != SEED or not self._can_restore(members) or not self._restore(members):
                self._put_back(group, to)

    def _can_restore(self, members: list[Instance]) -> bool:
        """Whether commands of the set can put services back that run: each has some, or nothing of it was written."""
        if not any(one.service.restore for one in members):
            return False
        for one in members:
            known = one.unit.state()
            if known.phase != UP or known.snapshot != SEED or self.unhealthy(one):
                return False
            unwritten = one.service.backend == "process" and known.mark == folder.stamp(one.unit.data)
            if not (known.shown if one.service.restore else unwritten):
                return False
        return True

    def _restore(self, members: list[Instance]) -> bool:
        """Let `restore` do it, and compare what `state` tells; False = it did not, and folders are to be swapped."""
        for one in members:
            one.unit.enter(RESETTING)
        restored = [one for one in members if one.service.restore]
        try:
            for one in restored:
                self.execute(one, "restore", one.service.restore)
            for one in members:
                self.start(one)  # it runs: this waits until it is ready
            changed = [one.name for one in restored if self.shown(one) != one.unit.state().shown]
        except SiteFailed as error:
            self.say(f"{self.redacted(str(error))}; its files are put back instead")
            return False
        if changed:
            self.say(
                f"{', '.join(changed)}: `state` tells something else after `restore`; its files are put back instead"
            )
            return False
        for one in members:
            one.unit.enter(UP, mark=folder.stamp(one.unit.data))
        return True

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
            image = self.snapshots.image(to, one.service.name)
            if image and not self.containers.has_kept(image):
                raise NotVerified(f"{one.name}: the image {image[:12]} of the snapshot {to} was removed; take it again")
            one.unit.enter(RESETTING, snapshot=to, image=image)
        self.stop_all(members)
        asked: set[str] = set()
        for one in members:
            if (control := one.service.control) is not None and control.whole not in asked:
                reset_remote(one, control, self.say)
                asked |= {control.whole} - {""}
            if _has_folder(one):
                self._swap(one, to)
        for one in members:
            self.start(one)
        if to == SEED:
            self._note_state(members)
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

    def sweep(self) -> None:
        """Remove what resets threw away."""
        for unit in self.state.units():
            folder.sweep(unit.folder)

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
            self.each(groups, lambda group: self._take(group, name))
            return groups

    def _take(self, group: Group, name: str) -> None:
        with self.state.lock(group.name):
            members = self.members(group)
            for one in members:
                one.unit.enter(STARTING)  # where this is interrupted, `up` puts it back to the seed
            self._keep(members, name, {one.service.name for one in members if not one.service.seed})
            self._start_all(members)

    def forget(self, name: str) -> None:
        """Remove a snapshot with the images that were made for it."""
        images = self.snapshots.images(name)
        self.snapshots.remove(name)
        for image in images:
            self.containers.forget(image, self.state.key)

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
            self.stop_all(members)
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
                    self.stop_all(members)
                    for one in members:
                        if is_whole:
                            one.unit.enter(STOPPED)
            if any(one.backend in ENGINES for one in self.set.services.values()) and not names:
                self.containers.remove_networks(self.state.key)
            for name in self.snapshots.names() if everything else ():
                self.forget(name)
            return len(groups)


def _is_written(one: Instance) -> bool:
    """Whether its files are not those of its last reset; a first start has no mark to compare."""
    mark = one.unit.state().mark
    return mark not in ("", folder.stamp(one.unit.data))


def _has_folder(one: Instance) -> bool:
    return one.service.backend != "remote"
