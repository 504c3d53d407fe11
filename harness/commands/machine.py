"""Checks of the machine that a run needs: packages, clock, disk."""

import platform
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from packaging.requirements import Requirement

from harness.config import PROJECT
from harness.errors import StorageError
from harness.files.disk_probe import DiskProbe, probe

LEAST_BYTES, FEW_BYTES = 500_000_000, 5_000_000_000
LEAST_FILES = 10_000
CLOCK_S = 5.0
SLOW_MS = 50.0
_PINNED = PROJECT / "constraints.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """What was found about one thing."""

    about: str
    says: str
    fix: str = ""
    fine: bool = True
    """False = a run would fail because of it. A fix may stand beside something fine: then it is advice."""


def machine(root: Path) -> Iterator[DoctorCheck]:
    """Look at packages, disk and clock; `root` is where runs go."""
    yield _python()
    yield from _packages()
    absolute = root.absolute()
    try:
        # The nearest folder that exists, as the results folder may not be there yet, and nothing is left behind.
        proof = probe(next(place for place in (absolute, *absolute.parents) if place.exists()))
    except StorageError as error:
        yield DoctorCheck(about="disk", says=str(error), fix="choose another folder with run.root=DIR", fine=False)
        return
    yield _disk(root, proof)
    yield _clock(proof)


def _python() -> DoctorCheck:
    """For the record: an older one cannot even read this file."""
    return DoctorCheck(about="python", says=f"{platform.python_version()} at {sys.executable}")


def _packages() -> Iterator[DoctorCheck]:
    """What is required must be there; what is pinned should be."""
    try:
        wanted = [Requirement(text) for text in distribution("cairn-harness").requires or ()]
    except PackageNotFoundError:
        yield DoctorCheck(
            about="packages", says="cairn-harness itself is not installed", fix="pip install -e .", fine=False
        )
        return
    core = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    tested = f"pip install -c {shlex.quote(str(_PINNED))} cairn-harness"  # of a checkout as of a wheel: it is there
    bad = [f"{one} ({_installed(one.name) or 'missing'})" for one in core if not _meets(one)]
    if bad:
        yield DoctorCheck(about="packages", says=f"not as required: {', '.join(bad)}", fix=tested, fine=False)
        return
    other = [f"{name} {_installed(name)} (tested with {pin})" for name, pin in _pins(core) if _installed(name) != pin]
    if other:
        advice = f"{tested} installs the tested versions"
        yield DoctorCheck(about="packages", says=f"all required ones; {', '.join(other)}", fix=advice)
    else:
        yield DoctorCheck(about="packages", says=f"all {len(core)} as tested")


def _meets(wanted: Requirement) -> bool:
    installed = _installed(wanted.name)
    return installed is not None and wanted.specifier.contains(installed, prereleases=True)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _pins(core: list[Requirement]) -> Iterator[tuple[str, str]]:
    lines = _PINNED.read_text("utf-8").splitlines() if _PINNED.is_file() else []
    pinned = {name.lower(): pin for name, found, pin in (line.partition("==") for line in lines) if found}
    yield from ((one.name, pinned[one.name.lower()]) for one in core if one.name.lower() in pinned)


def _disk(root: Path, proof: DiskProbe) -> DoctorCheck:
    free = f"{proof.free_bytes / 1e9:.1f} GB free"
    says = f"{root.absolute()}: {free}, a durable write takes {proof.durable_ms:.1f} ms"
    if proof.free_bytes < LEAST_BYTES:
        return DoctorCheck(
            about="disk", says=says, fix="free some space, or choose another disk with run.root=DIR", fine=False
        )
    if proof.free_files is not None and proof.free_files < LEAST_FILES:
        left = f"{says}, room for {proof.free_files} more files"
        return DoctorCheck(
            about="disk", says=left, fix="delete old runs, or choose another disk with run.root=DIR", fine=False
        )
    if proof.free_bytes < FEW_BYTES:
        return DoctorCheck(about="disk", says=says, fix="browser.screenshots=false keeps long runs small")
    if proof.durable_ms > SLOW_MS:
        return DoctorCheck(
            about="disk", says=says, fix="a local disk is faster; journal.durability=task syncs less often"
        )
    return DoctorCheck(about="disk", says=says)


def _clock(proof: DiskProbe) -> DoctorCheck:
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    if abs(proof.clock_offset_s) > CLOCK_S:
        says = f"the disk's clock differs by {proof.clock_offset_s:+.0f} s from this machine's ({now})"
        return DoctorCheck(about="clock", says=says, fix="synchronize both with NTP", fine=False)
    built = Path(__file__).stat().st_mtime
    if time.time() < built - CLOCK_S:
        says = f"the clock says {now}, which is before these files were created"
        return DoctorCheck(about="clock", says=says, fix="set the clock; certificate checks need it", fine=False)
    return DoctorCheck(about="clock", says=now)


class ClockJumpDetector:
    """Whether wall clock and monotonic clock went on alike since this was made."""

    def __init__(self) -> None:
        self._wall, self._monotonic = time.time(), time.monotonic()

    def finding(self) -> DoctorCheck | None:
        """None when they did."""
        jump = (time.time() - self._wall) - (time.monotonic() - self._monotonic)
        if abs(jump) <= 1.0:
            return None
        says = f"the clock jumped by {jump:+.1f} s during the checks"
        return DoctorCheck(about="clock", says=says, fix="let NTP slew it; journals record its times", fine=True)
