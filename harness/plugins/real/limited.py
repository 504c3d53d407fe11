"""Runs a Python script under limits that it cannot raise: `python -I -S limited.py LIMITS SCRIPT ARGUMENT`.

A separate program, which imports nothing of this package. LIMITS are bytes of memory, seconds of processor time and
bytes of output, as in `1000,30,1000`. The line `STARTED` comes before what the script writes, so that a script that
fails can be told from a sandbox that does.
"""

import resource
import runpy
import sys

STARTED = "started"


def main(arguments: list[str]) -> None:
    memory, seconds, output = map(int, arguments[0].split(","))
    for limit, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        # Its output goes to files, whose size this limits.
        (resource.RLIMIT_FSIZE, output),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))
    sys.stdout.write(f"{STARTED}\n")
    sys.stdout.flush()
    sys.argv = arguments[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
