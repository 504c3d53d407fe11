"""Serve the demo's tasks over OpenEnv's protocol; arguments are passed on to `harness serve`."""

import sys

from harness.main import main as harness

SETTINGS = ("task=demo", "environments=8")


def main() -> None:
    """Serve until the end is asked for."""
    sys.exit(harness(["serve", *SETTINGS, *sys.argv[1:]]))


if __name__ == "__main__":
    main()
