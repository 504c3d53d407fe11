"""Spare copies: what is taken is whole, whoever else is at work in the folder."""

import os
from pathlib import Path

import pytest

from harness.plugins.site_sets import folder, snapshots
from harness.plugins.site_sets.http_request import free_port
from harness.plugins.site_sets.snapshots import Snapshots, make_spare, take_spare
from harness.plugins.site_sets.state import SEED, StateFolder, Unit


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = tmp_path / "snapshot"
    (made / "empty").mkdir(parents=True)
    (made / "file").write_text("of the seed")
    return made


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    (tmp_path / "app@0").mkdir()
    return Unit(tmp_path / "app@0", "app", 0)


def test_a_spare_that_is_being_taken_is_not_removed_by_who_makes_the_next_one(
    unit: Unit, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tidy` begins when the facts of the spare are gone; it must not find the spare any more."""
    wanted = folder.digest(source)
    make_spare(unit, SEED, source, wanted)
    unlink = Path.unlink

    def interrupted(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.name == "spare.json":
            monkeypatch.setattr(Path, "unlink", unlink)
            folder.remove(unit.folder / "spare")

    monkeypatch.setattr(Path, "unlink", interrupted)
    fresh = take_spare(unit, SEED, wanted)
    assert fresh is not None and folder.digest(fresh) == wanted


def test_a_copy_is_no_spare_before_it_was_compared(unit: Unit, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, digest = folder.digest(source), folder.digest
    taken = []

    def compared(path: Path) -> str:
        taken.append(take_spare(unit, SEED, wanted))
        return digest(path)

    monkeypatch.setattr(folder, "digest", compared)
    make_spare(unit, SEED, source, wanted)
    monkeypatch.undo()
    assert taken == [None]
    fresh = take_spare(unit, SEED, wanted)
    assert fresh is not None and folder.digest(fresh) == wanted


@pytest.mark.parametrize("change", ["folder gone", "folder more", "mode"])
def test_a_spare_whose_folders_were_changed_is_not_taken(unit: Unit, source: Path, change: str) -> None:
    """Databases need folders that are empty."""
    wanted = folder.digest(source)
    make_spare(unit, SEED, source, wanted)
    empty = unit.folder / "spare" / "empty"
    if change == "folder gone":
        empty.rmdir()
    elif change == "folder more":
        (empty / "more").mkdir()
    else:
        empty.chmod(0o700)
    assert take_spare(unit, SEED, wanted) is None
    assert not (unit.folder / "fresh").exists() and not (unit.folder / "spare").exists()


@pytest.mark.parametrize("number", ['"x"', "null", "1e400", "[]"])
def test_numbers_of_a_snapshot_that_were_written_by_hand_are_shown_as_0(number: str, tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.snapshot(SEED).mkdir(parents=True)
    (state.snapshot(SEED) / "app.json").write_text(f'{{"digest": "sha256:1", "bytes": {number}, "at": {number}}}')
    assert Snapshots(state).rows() == [(SEED, "app", "sha256:1", 0, 0.0)]


def test_a_copy_for_which_the_disk_has_no_room_is_not_begun(
    unit: Unit, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.statvfs(source)
    monkeypatch.setattr(snapshots.shutil, "disk_usage", lambda _: type("Usage", (), {"free": full.f_bsize * 0})())
    make_spare(unit, SEED, source, folder.digest(source))
    assert list(unit.folder.iterdir()) == []


def test_a_port_is_none_that_the_system_gives_to_connections() -> None:
    """Else one of another program may have it while a reset has stopped the service."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(10_000 <= free_port() < max(first, 11_001) or first <= 11_000 for _ in range(200))
