"""`harness view`: the live viewer."""

import argparse
import sys
from pathlib import Path

from harness.errors import ConfigError, ExitCode

HELP = "watch runs in the browser, live"
EXAMPLE = "harness view results"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", type=Path, nargs="?", default=Path("results"), help="folder of runs, or one run (default: results)"
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--no-token", action="store_true", help="allow every user of this machine to see it")


def run(options: argparse.Namespace) -> int:
    import asyncio

    from harness.plugins.html_report.viewer.viewer_server import view

    if not options.results.is_dir():
        raise ConfigError(f"{options.results} is not a folder; give the folder that contains runs (run.root)")
    if not 0 <= options.port < 65536:
        raise ConfigError(f"--port {options.port} is not a port; give a number below 65536")

    def announce(url: str) -> None:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()

    asyncio.run(view(options.results, port=options.port, secret=not options.no_token, announce=announce))
    return ExitCode.DONE
