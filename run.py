"""Evaluate a web agent: `python run.py`, `python run.py --help`, `python run.py task=… llm=…`."""

import sys

from harness.cli import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
