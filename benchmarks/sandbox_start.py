"""What the sandbox costs an agent's process: the whole episode of one that only answers, confined and not.

Run: `python -m benchmarks.sandbox_start [--runs 30]`. Both play in turn, without a browser, each with a gateway of its
own: the process is started, reads its task, writes its answer and is ended with all it started. Nothing but the sandbox
differs: `agent.sandbox=bubblewrap` (ours) and `none` (the reference).
"""

import asyncio
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from benchmarks.gateway import record, with_settings
from benchmarks.results import Rows, parser, tell, timed
from harness.choices import Sandbox
from harness.errors import ConfigError
from harness.plugins.process_agent.scripted import scripted_process
from harness.sandbox.bubblewrap import choose_sandbox
from harness.testing import ScriptedPages

AGENT = """
import os, sys
sys.stdin.read()
with open(os.environ["CAIRN_ANSWER"], "w") as file:
    file.write("done")
"""


async def measure(*, runs: int = 30) -> Rows:
    """Raises: SystemExit: There is no sandbox here."""
    try:
        sandbox, _ = choose_sandbox(Sandbox.bubblewrap)
    except ConfigError as error:
        raise SystemExit(str(error)) from error
    times: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "agent.py"
        script.write_text(AGENT)
        async with scripted_process([sys.executable, "-I", "-S", str(script)]) as agent:
            agent = with_settings(agent, cwd=folder)
            for turn in range(runs + 2):
                for confined in (True, False) if turn % 2 else (False, True):
                    playing = replace(agent, plan=replace(agent.plan, sandbox=sandbox if confined else None))
                    with tempfile.TemporaryDirectory() as run:
                        begun = time.perf_counter()
                        await record(playing, nullcontext(ScriptedPages("")), Path(run))
                        if turn >= 2:
                            times[confined].append(time.perf_counter() - begun)
    return {"sandbox start, an episode that only answers": timed(times[True], times[False])}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=30)
    tell(asyncio.run(measure(runs=options.parse_args().runs)))


if __name__ == "__main__":
    main()
