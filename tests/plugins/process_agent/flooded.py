"""Plays an episode of a script as a worker does, in a process of its own, and prints what that came to.

Run: `python -m tests.plugins.process_agent.flooded SCRIPT FOLDER [cdp]`
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path

from benchmarks.gateway import record
from harness.api import Artifacts
from harness.journal.log import read
from harness.journal.store import ArtifactStore
from harness.testing import MemoryJournal, ScriptedPages
from tests.plugins.process_agent.driven import driving, play_driven, shop_browser
from tests.plugins.process_agent.processes import Model, agent_of


def peak_mb() -> int:
    """Of this program alone: `ru_maxrss` begins with what the process had that started it."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) >> 10


async def main(script: str, folder: Path, *, cdp: bool) -> None:
    async with AsyncExitStack() as stack:
        if cdp:
            journal = MemoryJournal()
            artifacts: Artifacts = journal.artifacts
            agent = await stack.enter_async_context(driving(script, folder, timeout_s=300.0))
            _, pool = await stack.enter_async_context(shop_browser())
            episode = await play_driven(agent, pool, journal)
        else:
            agent = await stack.enter_async_context(agent_of(script, folder, Model(), timeout_s=300.0))
            await record(agent, nullcontext(ScriptedPages("[1] link 'one'")), folder / "run")
            artifacts = ArtifactStore(folder / "run" / "artifacts")
            episode = read(folder / "run" / "0.traj.jsonl")
    (ended,) = episode.exited
    assert ended.stdout is not None
    found = {
        "mb": peak_mb(),
        "said": json.loads(artifacts.read(ended.stdout).splitlines()[0]),
        "tries": ended.violations,
        "violations": sorted({one.what for one in episode.violations}),
        "asked": len(episode.asked),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_text(), Path(sys.argv[2]), cdp="cdp" in sys.argv))
