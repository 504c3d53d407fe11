"""Evaluate a web agent: `python run.py`, `python run.py --help`, `python run.py task=… llm=…`."""

import signal
import sys
import time

if __name__ == "__main__":
    begun = time.monotonic()
    # Until the run listens, Ctrl-C ends this process at once: code that is being imported may swallow an exception.
    at_interrupt = signal.getsignal(signal.SIGINT)
    if at_interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from harness.collector import collect_rarely
    from harness.standard_streams import open_missing_streams

    collect_rarely()
    open_missing_streams()
    from harness.runner.executors.prestart import prestart

    prestart(sys.argv[1:])
    from harness.cli import run  # to import it is part of what the person waits for

    signal.signal(signal.SIGINT, at_interrupt)
    try:
        sys.exit(run(sys.argv[1:], begun=begun))
    except KeyboardInterrupt:  # while it composes
        from harness.errors import ExitCode

        sys.exit(ExitCode.INTERRUPTED)
