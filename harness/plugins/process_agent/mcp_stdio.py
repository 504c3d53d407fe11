"""The MCP server of an episode over standard input and output, for clients that start their servers as commands.

A separate program, which imports nothing of this package: `python -I -S mcp_stdio.py`. Each line of standard input is
one message, which is sent to `CAIRN_MCP_URL` with `CAIRN_TOKEN`; its answer is one line of standard output. It ends
with its standard input.

Source: https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#stdio.
"""

import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

_PARSE_ERROR, _SERVER_ERROR = -32700, -32000
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""The server is on this machine: no proxy of the environment leads there."""


def answer_to(line: bytes, url: str, token: str) -> bytes | None:
    """The answer to one message; None = it is a notification."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _error(None, _PARSE_ERROR, f"the line is not JSON: {error}")
    number = message.get("id") if isinstance(message, dict) else None
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json"}
    try:
        with _DIRECT.open(urllib.request.Request(url, line, headers)) as answer:
            body = bytes(answer.read())
    except urllib.error.HTTPError as error:
        said = error.read().decode("utf-8", "replace")
        return _error(number, _SERVER_ERROR, f"HTTP {error.code}: {said}")
    except (OSError, http.client.HTTPException) as error:
        return _error(number, _SERVER_ERROR, f"the gateway of the episode cannot be reached: {error}")
    return b" ".join(body.split(b"\n")) if body else None


def _error(number: Any, code: int, said: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": said}}).encode()


def main() -> int:
    """Pass messages on until standard input ends; returns the exit code."""
    url, token = os.environ.get("CAIRN_MCP_URL"), os.environ.get("CAIRN_TOKEN")
    if not url or not token:
        sys.stderr.write("CAIRN_MCP_URL and CAIRN_TOKEN are needed; an agent of a run finds them in its environment\n")
        return 2
    for line in sys.stdin.buffer:
        if line.strip() and (answer := answer_to(line.strip(), url, token)) is not None:
            sys.stdout.buffer.write(answer + b"\n")
            sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
