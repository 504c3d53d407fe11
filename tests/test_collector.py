"""The garbage collector, in processes of the harness from their first import to their end."""

import subprocess
import sys

import pytest

from harness.evaluation.first_worker import PLAYER

pytestmark = pytest.mark.integration

STARTS = {
    "run.py": "sys.argv = ['run.py', '--help']; runpy.run_path('run.py', run_name='__main__')",
    "harness": "from harness.main import main; main(['doctor', '--help'])",
    "worker": f"runpy.run_module({PLAYER[1]!r}, run_name='__main__')",
}
# Registered first, so it is called last. With Python's own threshold, imports of run.py and of a worker are searched more
# than 130 times.
TELLING = """
import atexit, gc, runpy, sys
def tell():
    print(gc.get_freeze_count() > 0, gc.get_stats()[0]['collections'] < 80, file=sys.stderr)
atexit.register(tell)
"""


@pytest.mark.parametrize("process", STARTS)
def test_what_a_process_has_imported_is_searched_neither_often_nor_at_its_end(process: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TELLING + STARTS[process]],
        stdin=subprocess.DEVNULL,  # a worker ends with it
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "True True\n")
