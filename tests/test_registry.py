"""What plug-ins register is found by name, imported when it is asked for and not before, and refused in a sentence."""

import sys
from pathlib import Path

import pytest

from harness import registry, shelf
from harness.errors import ConfigError
from harness.registry import Registry

UNLISTED = ("undefined", "class E(Exception): ...\nraise E('mine')")
"""Code whose errors are of no kind that one would think of."""
LAMPS = Registry(group="cairn.lamps", noun="lamp", core={"plain": "json:loads", "whole": "json"})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(place: Path, package: str, lamps: str, code: str = "") -> None:
    info = place / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[cairn.lamps]\n{lamps}")
    (place / f"{package}.py").write_text(code)


def test_an_installed_one_is_named_and_is_imported_when_it_is_asked_for(place: Path) -> None:
    install(place, "wick_for_cairn", "wick = wick_for_cairn:Wick\nplain = wick_for_cairn:Wick\n", "class Wick: ...")
    assert LAMPS.names() == ("plain", "whole", "wick")
    assert "wick_for_cairn" not in sys.modules
    assert LAMPS.find("wick").__module__ == "wick_for_cairn"
    assert LAMPS.find("plain").__module__ == "json", "a package takes the place of nothing that is shipped"
    assert LAMPS.find("whole").__name__ == "json"


@pytest.mark.parametrize("name", ["os.system", "os:system", "json", "Wick", "-"])
def test_a_name_that_nothing_is_registered_under_imports_nothing(name: str) -> None:
    known = set(sys.modules)
    with pytest.raises(ConfigError, match=r"^lamp=.* is unknown; choose one of plain, whole$"):
        LAMPS.find(name)
    assert set(sys.modules) == known


@pytest.mark.parametrize(
    "code",
    [
        "import no_such_module",
        "Wick = 1 / 0",
        "def",
        "raise RuntimeError('no\\noil')",
        "raise SystemExit",
        "class Other: ...",
        *UNLISTED,
    ],
)
def test_a_package_that_cannot_be_loaded_is_one_sentence(place: Path, code: str) -> None:
    install(place, "broken_for_cairn", "wick = broken_for_cairn:Wick\n", code)
    with pytest.raises(
        ConfigError, match=r"^lamp=wick: broken_for_cairn:Wick cannot be loaded: .*; fix or uninst"
    ) as no:
        LAMPS.find("wick")
    assert "\n" not in str(no.value)
    sys.modules.pop("broken_for_cairn", None)


def test_two_packages_of_one_name_are_refused_and_one_found_twice_is_one(place: Path) -> None:
    install(place, "one_for_cairn", "wick = one_for_cairn:Wick\n", "class Wick: ...")
    install(place, "same_for_cairn", "wick = one_for_cairn:Wick\n")
    assert LAMPS.find("wick").__module__ == "one_for_cairn"
    install(place, "two_for_cairn", "wick = two_for_cairn:Wick\n")
    registry._all_on.cache_clear()
    registry._installed_on.cache_clear()
    with pytest.raises(ConfigError, match=r"one_for_cairn:Wick and two_for_cairn:Wick|two_for_cairn:Wick and one"):
        LAMPS.find("wick")


def test_what_was_taken_off_the_shelf_is_no_choice_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"there": "harness.registry:Registry", "folder": "harness.llm:x", "gone": "harness.no_such_room.lamp:Lamp"}
    monkeypatch.setattr(shelf, "SHELF", {"cairn.lamps": rows})
    assert LAMPS.names() == ("plain", "whole", "there", "folder")
    assert LAMPS.find("there") is Registry
    with pytest.raises(ConfigError, match="lamp=gone is unknown"):
        LAMPS.find("gone")


def test_every_row_of_the_shelf_is_there() -> None:
    for group, rows in shelf.SHELF.items():
        there = shelf.on_shelf(group)
        for name in rows.keys() - there.keys():  # taken away as a whole (`make shelf`)
            package = Path(shelf.__file__).parent.joinpath(*rows[name].split(".")[1:3])
            assert rows[name].startswith("harness.plugins.") and not package.exists(), rows[name]
        for name in there:
            assert Registry(group=group, noun="row").find(name) is not None


@pytest.mark.parametrize("folder", ["wick_for_cairn-1.0.egg-info", "wick_for_cairn-1.0.dist-info"])
def test_what_reads_packages_is_imported_only_where_one_is_for_us(
    folder: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(place)])
    (place / folder).mkdir()
    entries = place / folder / "entry_points.txt"
    entries.write_text("[console_scripts]\nwick = wick_for_cairn:main\n")
    assert registry._all_on((str(place),)) is None
    entries.write_text("[cairn.lamps]\nwick = wick_for_cairn:Wick\n")
    assert registry._all_on((str(place), "")) is not None


def test_packages_in_an_archive_are_read(tmp_path: Path) -> None:
    (tmp_path / "packages.zip").write_bytes(b"PK")
    assert registry._may_declare(str(tmp_path / "packages.zip"))
    assert not registry._may_declare(str(tmp_path / "nowhere"))
