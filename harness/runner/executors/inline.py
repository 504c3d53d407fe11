"""All workers in this process: the simplest executor, and the one to debug with."""

import asyncio
from collections.abc import Sequence

from harness.runner.scheduler import Scheduler
from harness.runner.worker import Worker


async def run_inline(workers: Sequence[Worker], lanes: int, schedule: Scheduler) -> None:
    """Run every worker with `lanes` lanes until no job is pending; lane numbers are unique over the run.

    Raises:
        UsageError, JournalError: The first one ends all lanes.
    """
    async with asyncio.TaskGroup() as group:
        for number, worker in enumerate(workers):
            for lane in range(lanes):
                group.create_task(worker.run_lane(number * lanes + lane, schedule))
