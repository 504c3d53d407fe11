"""What a whole process takes, from being started to being gone.

It is started by a small process, not by the benchmark: Linux hands a parent's peak memory down to the child it starts.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_STARTING = """
import json, resource, subprocess, sys, time
begun = time.perf_counter()
code = subprocess.call(sys.argv[1:])
wall_s = time.perf_counter() - begun
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("\\n" + json.dumps([wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
sys.exit(code)
"""


class Spent(NamedTuple):
    wall_s: float
    cpu_s: float
    """With the processes it waited for."""
    peak_mb: float
    """Resident at most, of the largest of them."""
    said: str


def spent(command: Sequence[str], *, cwd: Path) -> Spent:
    """Run a command to its end.

    Raises:
        SystemExit: It failed; what it said is the message.
    """
    starting = [sys.executable, "-S", "-c", _STARTING, *command]
    done = subprocess.run(starting, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    said, _, used = done.stdout.rstrip().rpartition("\n")
    return Spent(*json.loads(used), said)
