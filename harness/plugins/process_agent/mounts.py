"""The mounts of a confined process, as arguments of bubblewrap."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.api.processes import READ_ONLY_ROOT, system_mounts
from harness.plugins.process_agent.file_view import ETC, SYSTEM, FileView
from harness.plugins.process_agent.masks import HOME_NAMES, Masks

INSIDE = "/run/cairn"
"""Where a process finds what is its own: `GIVEN`, `out` (for its answer) and `home`."""
GIVEN = ("task.json", "mcp.json", "mcp_stdio.py")
"""Files that each process is given."""
RESOLV = "nameserver 127.0.0.1\noptions attempts:1 timeout:1\n"
"""Nothing answers there, so that names are not found at once, and what was asked for is seen."""
HOSTS = "127.0.0.1 localhost\n::1 localhost\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeFolder:
    """The folder of an episode on the worker's side."""

    path: Path

    @property
    def own(self) -> Path:
        """What the process may write; in memory, and only seen from inside."""
        return self.path / "own"

    def make(self) -> None:
        for name in ("own", "masks", "etc"):
            (self.path / name).mkdir()
        (self.path / "etc" / "resolv.conf").write_text(RESOLV, "utf-8")
        (self.path / "etc" / "hosts").write_text(HOSTS, "utf-8")


def mount_arguments(view: FileView, folder: EpisodeFolder, masks: Masks) -> list[str]:
    """All mounts; what is hidden gets its masks."""
    arguments = [*_system(folder), *_own(folder)]
    mounts = _mounts(view, masks)
    # The outer ones first: a later mount over a folder would cover what lies in it.
    for place in sorted(mounts, key=lambda path: (len(path.parts), path)):
        arguments += ["--ro-bind", str(mounts[place]), str(place)]
    return [*arguments, *READ_ONLY_ROOT, "--chdir", str(view.cwd)]


def _system(folder: EpisodeFolder) -> Iterator[str]:
    yield from system_mounts(SYSTEM)
    for name in ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for name in ("resolv.conf", "hosts"):
        yield from ("--ro-bind", str(folder.path / "etc" / name), f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev")


def _own(folder: EpisodeFolder) -> Iterator[str]:
    for name, place in (("tmp", "/tmp"), ("shm", "/dev/shm"), ("out", f"{INSIDE}/out"), ("home", f"{INSIDE}/home")):
        yield from ("--bind", str(folder.own / name), place)
    for name in GIVEN:
        yield from ("--ro-bind", str(folder.path / name), f"{INSIDE}/{name}")


def _mounts(view: FileView, masks: Masks) -> dict[Path, Path]:
    """Place to source: readable folders, and masks over what is hidden in them."""
    there = [one for one in view.readable if one.exists() and not _in_system(one)]
    # What is below another one is there with it; a link in it, too.
    roots = [one for one in there if not any(up in there for up in one.parents)]
    mounts = {one: one.resolve() for one in roots}
    if not any(view.home.is_relative_to(one) for one in (*mounts, *map(Path, SYSTEM))) and view.home.is_dir():
        mounts[view.home] = mask = masks.add(view.home, HOME_NAMES)
        for one in roots:
            if one.is_relative_to(view.home):
                point = mask / one.relative_to(view.home)
                (point.parent if one.is_file() else point).mkdir(parents=True, exist_ok=True)
                if one.is_file():
                    point.touch()
    made: dict[Path, Path] = {}
    for place, source in [*((one, mounts[one]) for one in roots), *((Path(one), Path(one)) for one in SYSTEM)]:
        for hidden in _outermost(view.hidden, source):
            if hidden not in made:
                inner = [one for one in view.hidden if one != hidden and one.is_relative_to(hidden)]
                made[hidden] = masks.add(hidden, known=inner)
            mounts[place / hidden.relative_to(source)] = made[hidden]
    covered = set(made.values())
    return {
        place: source
        for place, source in mounts.items()
        if source in covered or not any(up in mounts and mounts[up] in covered for up in place.parents)
    }


def _outermost(hidden: Iterable[Path], root: Path) -> list[Path]:
    """What is hidden below a root, without what lies in other hidden folders."""
    inside = [one for one in hidden if one.is_relative_to(root)]
    return [one for one in inside if not any(one != other and one.is_relative_to(other) for other in inside)]


def _in_system(path: Path) -> bool:
    return any(path.is_relative_to(one) for one in SYSTEM)
