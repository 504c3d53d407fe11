"""Every benchmark, one after the other: `make bench`, `make bench ARGS='--only observation limiter --quick'`.

Prints each row as it comes and keeps it in `benchmarks/results.json` (`benchmarks.results` says how). `--quick` is for
CI: small sizes, a few minutes in all; rows say their sizes. A benchmark that finds something wrong (a text that
differs, a stale page, a task that failed) gives no row for it; the others go on, and the exit code is 1. So it is for a
benchmark without rows, unless what it measures is not installed. No time is ever judged here.
"""

import asyncio
import inspect
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import playwright.async_api

from benchmarks.observation import ROWS
from benchmarks.results import READING, MisnamedRows, NotInstalled, Results, Rows, machine, parser, say, tell
from harness.errors import HarnessError

WRONG = (SystemExit, HarnessError, playwright.async_api.Error, AssertionError, ExceptionGroup, MisnamedRows)
"""How a benchmark says that it found something wrong, or that its reference did: an expectation of playwright is
asserted.
"""
HERE = Path(__file__).resolve().parent
Sizes = dict[str, Any]
"""Arguments of a benchmark's `measure`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls of one benchmark."""

    full: Sequence[Sizes]
    quick: Sequence[Sizes]


MODEL_ONLY = {"beside": "model"}
LANES = tuple({"tasks": lanes, "lanes": lanes, **MODEL_ONLY} for lanes in (1, 2, 4, 8, 16, 32))
TWO_LANES = {"tasks": 2, "lanes": 2, "latency_ms": 100}
BENCHMARKS = {
    "journal_append": Plan(full=({},), quick=({"pages": 20},)),
    "observation": Plan(
        # A call each, so that no page is read in a browser that has sent hundreds of megabytes.
        full=(*({"rows": (count,), "menus": ()} for count in ROWS), {"rows": ()}),
        quick=({"rows": (2, 100, 1000), "menus": (50,), "runs": 2, "sample": 1000},),
    ),
    "document_reading": Plan(
        full=({"long": True},),
        quick=({"pages": ("gitignore",), "runs": 1, "sample": 800},),
    ),
    "marks": Plan(full=({},), quick=({"runs": 3},)),
    "context_reset": Plan(full=({},), quick=({"runs": 3},)),
    "step_overhead": Plan(full=({},), quick=({"episodes": 2},)),
    "agent_overhead": Plan(full=({},), quick=({"episodes": 1},)),
    "gateway": Plan(full=({},), quick=({"turns": 5},)),
    "relay": Plan(full=({},), quick=({"turns": 16},)),
    "process_episode": Plan(full=({},), quick=({"episodes": 1},)),
    "safety_overhead": Plan(full=({},), quick=({"tasks": 2, "runs": 1},)),
    "sandbox_start": Plan(full=({},), quick=({"runs": 3},)),
    "freshness": Plan(full=({},), quick=({"episodes": 8},)),
    "throughput": Plan(
        full=(
            *LANES,
            {"tasks": 16, "lanes": 16, "turns": 3, "beside": "twice"},
            {"tasks": 64, "lanes": 64, "latency_ms": 10_000},
        ),
        quick=({**TWO_LANES, **MODEL_ONLY}, {**TWO_LANES, "beside": "twice"}),
    ),
    "default_size": Plan(
        full=({},),
        quick=({"tasks": 6, "mixes": ("light:100", "heavy:100"), "lanes": (2,)},),
    ),
    "supervisor": Plan(full=({},), quick=({"tasks": 100},)),
    "lane_memory": Plan(full=({},), quick=({"lanes": 2, "latency_ms": 100},)),
    "idle_pages": Plan(
        full=({}, {"stopped": True}),
        quick=({"lanes": 2, "seconds": 1.0, "observations": 70},),
    ),
    "worker_memory": Plan(full=({},), quick=({"steps": 20, "rows": 200},)),
    "start_up": Plan(full=({},), quick=({"tasks": 5, "runs": 2},)),
    "resume_scan": Plan(full=({},), quick=({"tasks": 200, "runs": 2},)),
    "resume_speed": Plan(
        full=({"strategy": "replay"}, {"strategy": "checkpoint"}),
        quick=({"strategy": "replay", "steps": 6, "latency_ms": 200},),
    ),
    "report_scale": Plan(full=({},), quick=({"tasks": 8, "steps": 4, "many": 40},)),
    "questions": Plan(full=({},), quick=({"episodes": 20, "tasks": 20, "steps": 4},)),
    "tracking_write": Plan(full=({},), quick=({"trajectories": 500, "rounds": 1},)),
    "limiter": Plan(full=({},), quick=({"minutes": 0.2, "lanes": 8},)),
    "scanning": Plan(full=({},), quick=({"only": "redaction"},)),
    "planning": Plan(full=({},), quick=({"tasks": 4, "lanes": (2,), "latency_ms": 200, "rpm": None},)),
    "environments": Plan(
        full=({}, {"beside": "browsergym"}, {"beside": "browsergym", "pre_observation_delay": 0.0}),
        quick=({"sessions": 2, "steps": 4},),
    ),
    "site_resets": Plan(full=({},), quick=({"tasks": 6, "instances": 4, "megabytes": 2, "latency_ms": 100},)),
    "instances": Plan(full=({},), quick=({"instances": 2, "tasks": 4, "latency_ms": 100},)),
}
"""Each is a module beside this one, with `measure(**sizes)` that gives rows, at once or awaited."""


def measured(name: str, sizes: Sizes) -> Rows:
    found = import_module(f"benchmarks.{name}").measure(**sizes)
    rows: Rows = asyncio.run(found) if inspect.iscoroutine(found) else found
    return rows


def play(name: str, calls: Sequence[Sizes], results: Results) -> list[str]:
    """Run one benchmark; names of the rows it gave.

    Raises:
        SystemExit: It found something wrong.
    """
    names: list[str] = []
    for sizes in calls:
        rows = measured(name, sizes)
        if not rows:
            raise SystemExit(f"no rows with {sizes or 'its default sizes'}")
        tell(rows)
        results.add(name, rows)
        names += rows
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), metavar="NAME")
    options.add_argument("--quick", action="store_true", help="small sizes")
    options.add_argument("--into", type=Path, default=HERE / "results.json", help="where rows are kept")
    asked = options.parse_args(arguments)
    results = Results(asked.into, machine())
    if results.begins_anew:
        say(f"{asked.into} is of another machine and begins anew")
    say(READING)
    failed = [name for name in asked.only if not succeeds(name, results, quick=asked.quick)]
    if failed:
        say(f"without all their rows: {', '.join(failed)}")
    return int(bool(failed))


def succeeds(name: str, results: Results, *, quick: bool) -> bool:
    begun = time.monotonic()
    try:
        names = play(name, BENCHMARKS[name].quick if quick else BENCHMARKS[name].full, results)
    except NotInstalled as error:
        say(f"{name}: skipped: {error}")
        return True
    except WRONG as error:
        say(f"{name}: {error}")
        return False
    if not quick:
        results.leave_only(name, names)
    say(f"-- {name}: {time.monotonic() - begun:.0f} s")
    return True


if __name__ == "__main__":
    sys.exit(main())
