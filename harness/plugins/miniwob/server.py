"""Serves the pages on loopback: `python -m harness.plugins.miniwob.server --port 8000`."""

import argparse

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from harness.api.http_server import run
from harness.plugins.miniwob.package_pages import html_folder


async def _reset(_: Request) -> Response:
    """What embedded sites are asked before an episode; there is nothing to put back."""
    return Response(status_code=204)


def main() -> None:
    parser = argparse.ArgumentParser(description="the pages of MiniWoB++")
    parser.add_argument("--port", type=int, default=0, help="0 = any free one")
    parser.add_argument("--state", help="given by Cairn to every server of embedded sites; the pages have no state")
    parser.add_argument("--no-stdin", action="store_true", help="keep running when standard input ends")
    options = parser.parse_args()
    pages = Mount("/", StaticFiles(directory=html_folder()))
    app = Starlette(routes=[Route("/__reset__", _reset, methods=["POST"]), pages])
    run(app, name="miniwob", port=options.port, watch_stdin=not options.no_stdin)


if __name__ == "__main__":
    main()
