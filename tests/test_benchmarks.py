"""`make bench`: every benchmark is known to it, rows have one shape, and a further run replaces its own rows only."""

import json
from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bench, document_reading, documents, pages
from benchmarks.results import Results, Rows, row, said, timed

HERE = Path(bench.__file__).parent
NO_BENCHMARKS = {
    "bench",
    "results",
    "spending",
    "documents",
    "debugging_port",
    "pages",
    "reference",
    "house",
    "scanners",
    "instant_endpoint",
    "shapes",
    "shelf",
}
"""What benchmarks are made of, counts of the code, and installations; chaos is not a benchmark either."""
MODULES = {path.stem for path in HERE.glob("*.py") if not path.stem.startswith("chaos")} - NO_BENCHMARKS
ROW = {"ours", "reference", "ratio", "unit", "runs"}


def rows_in(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_bench_knows_every_benchmark() -> None:
    assert set(bench.BENCHMARKS) == MODULES


def test_the_documentation_says_what_each_measures() -> None:
    page = (HERE.parent / "docs/pages/benchmarks.md").read_text()
    assert not [name for name in bench.BENCHMARKS if f"\n| `{name}` |" not in page]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_each_can_be_measured_in_the_sizes_bench_asks_for_and_run_alone(name: str) -> None:
    module = import_module(f"benchmarks.{name}")
    assert callable(module.main)
    known = signature(module.measure).parameters
    assert all(one.default is not Parameter.empty for one in known.values())
    plan = bench.BENCHMARKS[name]
    assert plan.full and plan.quick
    assert {size for sizes in (*plan.full, *plan.quick) for size in sizes} <= set(known)


def test_a_ratio_is_always_ours_by_reference() -> None:
    assert row([1.0, 9.0, 2.0], [8.0, 8.0], "MB") == {
        "ours": 2.0, "reference": 8.0, "ratio": 0.25, "unit": "MB", "runs": 2,
    }  # fmt: skip
    assert timed([0.001], [0.002], "us") == {
        "ours": 1000.0, "reference": 2000.0, "ratio": 0.5, "unit": "us", "runs": 1,
    }  # fmt: skip
    assert row([1.0], [0.0], "MB")["ratio"] is None


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.0119, "0.012 x (84 x less)"),
        (0.5, "0.50 x (2.0 x less)"),
        (1.02, "1.02 x (about the same)"),
        (1.5, "1.50 x (1.5 x as much)"),
        (0.0, "0.00 x (nothing)"),
        (None, "no ratio (the reference is 0)"),
    ],
)
def test_a_ratio_is_told_so_that_nobody_misreads_it(ratio: float | None, words: str) -> None:
    assert said(ratio) == words


@pytest.mark.slow
def test_rows_are_printed_and_kept_and_a_further_run_replaces_its_own_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    for name, sizes in (
        ("journal_append", {"pages": 2, "items": 3}),
        ("report_scale", {"tasks": 1, "steps": 1, "many": 0}),
    ):
        monkeypatch.setitem(bench.BENCHMARKS, name, bench.Plan(full=(sizes,), quick=(sizes,)))
        assert bench.main(["--only", name, "--into", str(path)]) == 0
    rows = rows_in(path)
    assert {name.partition(",")[0] for name in rows} == {"journal append", "report scale"}
    assert all(set(one) == ROW and one["ratio"] > 0 and one["runs"] >= 1 for one in rows.values())
    shown = capsys.readouterr().out
    assert all(name in shown for name in rows)
    beside = json.loads((tmp_path / "machine.json").read_text())
    assert set(beside["measured"]) == {"journal_append", "report_scale"}
    assert {"cores", "python", "chromium"} < set(beside)

    path.write_text(json.dumps({name: {**one, "unit": "old"} for name, one in rows.items()}))
    assert bench.main(["--only", "journal_append", "--quick", "--into", str(path)]) == 0
    units = {name.partition(",")[0]: one["unit"] for name, one in rows_in(path).items()}
    assert units["report scale"] == "old" and units["journal append"] != "old"


def fails() -> Rows:
    raise SystemExit("the text differs")


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        (fails, "the text differs"),
        (lambda: {}, "no rows"),
        (lambda: {"another name": row([1.0], [1.0], "s")}, "rows of observation begin with 'observation, '"),
    ],
    ids=["wrong", "no-rows", "misnamed"],
)
def test_a_benchmark_that_fails_gives_no_row_and_stops_no_other(
    measure: Callable[[], Rows],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(import_module("benchmarks.observation"), "measure", measure)
    monkeypatch.setitem(bench.BENCHMARKS, "observation", bench.Plan(full=({},), quick=({},)))
    small = bench.Plan(full=({"pages": 1, "items": 1},), quick=())
    monkeypatch.setitem(bench.BENCHMARKS, "journal_append", small)
    path = tmp_path / "results.json"
    assert bench.main(["--only", "observation", "journal_append", "--into", str(path)]) == 1
    assert {name.partition(",")[0] for name in rows_in(path)} == {"journal append"}
    shown = capsys.readouterr().out
    assert why in shown and "without all their rows: observation" in shown


def test_a_benchmark_of_what_is_not_installed_is_skipped_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(import_module("benchmarks.document_reading"), "installed", lambda documents: ())
    assert bench.main(["--only", "document_reading", "--quick", "--into", str(tmp_path / "results.json")]) == 0
    assert "skipped: git-doc not installed (apt-get install git-doc)" in capsys.readouterr().out


@pytest.mark.browser
@pytest.mark.integration
@pytest.mark.slow
def test_documentation_is_read_in_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gitignore.html").write_text(pages.rows(60))  # longer than the window
    monkeypatch.setitem(documents.FOLDERS, "git-doc", tmp_path)
    rows = bench.measured("document_reading", {"pages": ("gitignore",), "runs": 1, "sample": 5})
    offsets = len(document_reading.OFFSETS)
    assert len(rows) == 4 and {one["runs"] for one in rows.values()} == {offsets}
    assert all(one["ours"] > 0 and one["reference"] > 0 for one in rows.values())


@pytest.mark.browser
@pytest.mark.integration
@pytest.mark.slow
def test_the_relay_is_measured_beside_a_browser_with_a_port() -> None:
    rows = bench.measured("relay", {"turns": 4})
    assert {name.partition(",")[0] for name in rows} == {"relay"} and {one["unit"] for one in rows.values()} == {"ms"}


def test_what_a_benchmark_gives_no_more_is_forgotten_by_a_full_run(tmp_path: Path) -> None:
    one, path = row([1.0], [1.0], "s"), tmp_path / "results.json"
    results = Results(path, {"cores": 2})
    results.add("start_up", {"start up, old name": one, "start up, new name": one})
    results.add("resume_scan", {"resume scan, all": one})
    results.leave_only("start_up", ["start up, new name"])
    assert set(rows_in(path)) == {"start up, new name", "resume scan, all"}


def test_rows_of_another_machine_are_not_mixed_with_ours(tmp_path: Path) -> None:
    one, path = row([1.0], [1.0], "s"), tmp_path / "results.json"
    Results(path, {"cores": 2}).add("start_up", {"start up, a": one})
    same = Results(path, {"cores": 2})
    assert not same.begins_anew
    same.add("start_up", {"start up, b": one})
    other = Results(path, {"cores": 64})
    assert other.begins_anew
    other.add("resume_scan", {"resume scan, c": one})
    assert set(rows_in(path)) == {"resume scan, c"}
    assert list(json.loads((tmp_path / "machine.json").read_text())["measured"]) == ["resume_scan"]
