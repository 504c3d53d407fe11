"""How near `harness plan` comes to the sweep it foretells.

Run: `python -m benchmarks.planning [--tasks 24] [--lanes 2 8] [--latency-ms 1000]`. Three episodes are played on one
lane; from their step times alone the sweep is foretold for each number of lanes, and then really played. Ours is the
forecast, the reference what the sweep took, the whole process with its start and its browsers.
"""

import asyncio
import sys
from collections.abc import Sequence

from benchmarks.results import Rows, parser, row, tell
from benchmarks.throughput import stage, watched
from harness.cli import configured
from harness.commands.estimator import Estimator, WhatIf
from harness.evaluation.builder import load_tasks
from harness.runner.capacity import machine_capacity
from harness.runner.forecast import STEP_CPU_S
from harness.settings.models import RateLimits

SAMPLE = 3


async def measure(
    *, tasks: int = 24, lanes: Sequence[int] = (2, 8), latency_ms: int = 1000, rpm: int | None = 120
) -> Rows:
    rows: Rows = {}
    async with stage(tasks, max(lanes), latency_ms) as here:
        common = [
            *(f"run.root={here.folder}", f"task.path={here.tasks}", "task.plans=null", "run.report=false"),
            *("run.display=none", "browser.screenshots=false", "fail_under=1.0"),
            *(f"llm.base_url=http://127.0.0.1:{here.port}/v1", f"sites.port={here.sites_port}"),
        ]
        await play(common, "run.id=sample", f"task.limit={SAMPLE}", "workers=1", "executor.lanes=1")
        for limit in (None, rpm) if rpm else (None,):
            for total in lanes if limit is None else lanes[-1:]:
                config = configured(common)
                what_if = WhatIf(
                    limits=RateLimits(requests_per_minute=limit), instances={}, lanes=(total,), step_cpu_s=STEP_CPU_S
                )
                sweep = Estimator(
                    load_tasks(config),
                    config.sites,
                    here.folder / "sample",
                    trials=config.trials,
                    what_if=what_if,
                )
                # In a thread: a simulation has an event loop of its own.
                (option,) = await asyncio.to_thread(lambda sweep=sweep: list(sweep.options(machine_capacity())))
                wall_s = await play(
                    common,
                    *(f"run.id=sweep-{total}-{limit}", f"workers={option.workers}"),
                    *(f"executor.lanes={option.lanes}", f"llm.requests_per_minute={limit or 'null'}"),
                )
                bound = f", {limit} requests/min" if limit else ""
                name = f"planning, forecast beside the sweep, {tasks} tasks, {total} lanes{bound}"
                rows[name] = row([option.forecast.wall_s], [wall_s], "s")
    return rows


async def play(common: Sequence[str], *settings: str) -> float:
    """Wall time of one start, in s."""
    return (await watched([sys.executable, "run.py", *common, *settings])).wall_s


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=24)
    options.add_argument("--lanes", type=int, nargs="+", default=[2, 8])
    options.add_argument("--latency-ms", type=int, default=1000)
    asked = options.parse_args()
    tell(asyncio.run(measure(tasks=asked.tasks, lanes=asked.lanes, latency_ms=asked.latency_ms)))


if __name__ == "__main__":
    main()
