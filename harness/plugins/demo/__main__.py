"""`python -m harness.plugins.demo --port 0`: serve the embedded sites."""

import argparse
import os
from pathlib import Path

from harness.api.http_server import KEY_VARIABLE, run
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import SitesApp


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m harness.plugins.demo", description="Serve the embedded demo sites."
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 = any free one")
    parser.add_argument("--no-stdin", action="store_true", help="keep running when standard input ends")
    parser.add_argument(
        "--state",
        type=Path,
        help="folder to keep what tenants did in, for a next server after a crash; its files are deleted at the end",
    )
    options = parser.parse_args()
    app = SitesApp(SITES, options.state, key=os.environ.get(KEY_VARIABLE, ""))
    run(app, name="sites", port=options.port, watch_stdin=not options.no_stdin)
    app.forget()


if __name__ == "__main__":
    main()
