"""The garbage collector, in processes of the harness from their first import to their end."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.runner.executors.prestart import PLAYER

pytestmark = pytest.mark.integration

PROJECT = Path(__file__).resolve().parents[1]

STARTS = {
    "run.py": "sys.argv = ['run.py', '--help']; runpy.run_path('run.py', run_name='__main__')",
    "harness": "from harness.main import main; main(['doctor', '--help'])",
    "worker": f"runpy.run_module({PLAYER[-1]!r}, run_name='__main__')",
    "server": "from harness.loopback_server import run; run(None, name='server', port=0, watch_stdin=True)",
}
# Registered first, so it is called last. With Python's own threshold, imports of run.py and of a worker are searched more
# than 130 times.
TELLING = """
import atexit, gc, runpy, sys
def tell():
    print(gc.get_freeze_count() > 0, gc.get_stats()[0]['collections'] < 100, file=sys.stderr)
atexit.register(tell)
"""


@pytest.mark.parametrize("process", STARTS)
def test_what_a_process_has_imported_is_searched_neither_often_nor_at_its_end(process: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TELLING + STARTS[process]],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,  # with which a worker and a server end
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "True True\n")
