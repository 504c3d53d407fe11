"""Evaluate a web agent: `python run.py`, `python run.py --help`, `python run.py task=… llm=…`."""

import sys
import time

if __name__ == "__main__":
    try:
        begun = time.monotonic()
        from harness.collector import collect_rarely
        from harness.standard_streams import open_missing_streams

        collect_rarely()
        open_missing_streams()
        from harness.runner.executors.prestart import prestart

        prestart(sys.argv[1:])
        from harness.cli import run  # to import it is part of what the person waits for

        sys.exit(run(sys.argv[1:], begun=begun))
    except KeyboardInterrupt:  # while it imports or composes; later it is the run's
        from harness.errors import ExitCode

        sys.exit(ExitCode.INTERRUPTED)
