"""Named states of services, and the spare copies that make a reset quick.

A snapshot of a service is a folder and, written after it, a file with its digest: without the file there is none. A
spare is a copy of a snapshot in the folder of an instance; it was compared in full when it was made, and is only used
while sizes, times and inodes of its files are the same.
"""

import math
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.plugins.site_sets import folder
from harness.plugins.site_sets.state import StateFolder, Unit, read_json, write_json


class Snapshots:
    """Those of a state folder."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state

    def has(self, name: str, services: Sequence[str]) -> bool:
        """Whether there is a whole snapshot of all these services."""
        return all((self._state.snapshot(name) / f"{service}.json").is_file() for service in services)

    def names(self) -> list[str]:
        return sorted({path.parent.name for path in (self._state.path / "snapshots").glob("*/*.json")})

    def of(self, name: str, service: str) -> Path:
        return self._state.snapshot(name) / service

    def digest(self, name: str, service: str) -> str:
        return str(self._facts(name, service).get("digest") or "")

    def image(self, name: str, service: str) -> str:
        """What the container of a service is made of in a snapshot; "" = the image of the set."""
        return str(self._facts(name, service).get("image") or "")

    def definition(self, name: str, service: str) -> str:
        """What the service was made by when the snapshot was taken; "" = there is no snapshot."""
        return str(self._facts(name, service).get("definition") or "")

    def images(self, name: str) -> list[str]:
        """All that a snapshot has."""
        found = (self.image(name, path.stem) for path in self._state.snapshot(name).glob("*.json"))
        return [image for image in found if image]

    def rows(self) -> list[tuple[str, str, str, int, float]]:
        """Snapshot, service, digest, bytes, and when it was taken (seconds since the epoch)."""
        found = []
        for name in self.names():
            for path in sorted(self._state.snapshot(name).glob("*.json")):
                facts = read_json(path)
                size, at = _number(facts, "bytes"), _number(facts, "at")
                found.append((name, path.stem, str(facts.get("digest")), int(size), at))
        return found

    def take(
        self, name: str, folders: Mapping[str, Path], images: Mapping[str, str], definitions: Mapping[str, str]
    ) -> dict[str, str]:
        """Copy the folders of services that are stopped; their digests. All of it is a snapshot, or nothing.

        Args:
            name: Of the snapshot.
            folders: Service to the folder of its data.
            images: Service to what its container is made of then; "" = the image of the set.
            definitions: Service to what it was made by (`Service.definition`).
        """
        digests = {}
        for service in folders:
            (self._state.snapshot(name) / f"{service}.json").unlink(missing_ok=True)
        for service, data in folders.items():
            to = self.of(name, service)
            folder.remove(to)
            folder.copy(data, to)
            digests[service] = folder.digest(to)
        for service, found in digests.items():
            facts: dict[str, object] = {
                "digest": found,
                "bytes": folder.size(self.of(name, service)),
                "at": time.time(),
            }
            facts |= {"image": images.get(service, ""), "definition": definitions.get(service, "")}
            write_json(self._state.snapshot(name) / f"{service}.json", facts)
        return digests

    def remove(self, name: str, services: Sequence[str] = ()) -> None:
        """Remove a snapshot: its files first, so that no half of it is taken for one."""
        place = self._state.snapshot(name)
        for path in sorted(place.glob("*.json")):
            if not services or path.stem in services:
                path.unlink(missing_ok=True)
                folder.remove(place / path.stem)
        folder.sweep(place)
        if not services:
            folder.remove(place)

    def _facts(self, name: str, service: str) -> dict[str, object]:
        return read_json(self._state.snapshot(name) / f"{service}.json")


def _number(facts: Mapping[str, object], name: str) -> float:
    """0 where the file was written by hand: only a table shows it, and what a reset trusts is the digest."""
    value = facts.get(name)
    return value if isinstance(value, int | float) and math.isfinite(value) else 0


def make_spare(unit: Unit, snapshot: str, source: Path, wanted: str) -> None:
    """Copy a snapshot for the next reset, unless there is a spare, or the disk has no room for it."""
    spare, facts = _spare(unit)
    if _is_good(facts, spare, snapshot, wanted):
        return
    facts.unlink(missing_ok=True)
    folder.remove(spare)
    if shutil.disk_usage(unit.folder).free < 2 * folder.size(source):
        return
    made = unit.folder / "spare.new"  # under another name until it is compared: no reset takes it before
    folder.remove(made)
    folder.copy(source, made)
    if folder.digest(made) == wanted:
        write_json(facts, {"snapshot": snapshot, "digest": wanted, "stamp": folder.stamp(made)})
        made.rename(spare)
    else:
        folder.remove(made)


def take_spare(unit: Unit, snapshot: str, wanted: str) -> Path | None:
    """A verified copy of the snapshot, no longer a spare; None = there is none."""
    spare, facts = _spare(unit)
    fresh = unit.folder / "fresh"
    folder.remove(fresh)
    try:
        spare.rename(fresh)  # before it is looked at: `tidy`, which may remove what it does not trust, finds nothing
    except FileNotFoundError:
        return None
    is_good = _is_good(facts, fresh, snapshot, wanted)
    facts.unlink(missing_ok=True)
    if not is_good:
        folder.remove(fresh)
    return fresh if is_good else None


def _spare(unit: Unit) -> tuple[Path, Path]:
    return unit.folder / "spare", unit.folder / "spare.json"


def _is_good(facts: Path, at: Path, snapshot: str, wanted: str) -> bool:
    """Whether the copy is the one that was compared, and has not been touched since."""
    known = read_json(facts)
    is_wanted = known.get("snapshot") == snapshot and known.get("digest") == wanted
    return is_wanted and at.is_dir() and folder.stamp(at) == known.get("stamp")
