"""A site whose state is files and SQLite, a set of it, and `harness sites` as people type it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil

from tests.e2e.conftest import environment

SERVER = """
import http.server, json, os, pathlib, sqlite3, sys

port, data = int(sys.argv[1]), pathlib.Path(sys.argv[2])
db = sqlite3.connect(data / "orders.db", check_same_thread=False)
db.execute("CREATE TABLE IF NOT EXISTS orders (name TEXT)")
db.commit()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        rows = [row[0] for row in db.execute("SELECT name FROM orders")]
        files = sorted(path.name for path in data.iterdir() if path.name != "orders.db")
        self.answer(json.dumps({"orders": rows, "files": files, "pid": os.getpid()}))

    def do_POST(self):
        name = self.path.strip("/")
        db.execute("INSERT INTO orders VALUES (?)", (name,))
        db.commit()
        (data / f"{name}.txt").write_text(name)
        self.answer("{}")

    def answer(self, text):
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        return


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@dataclass(frozen=True, slots=True)
class Typed:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class SmallSite:
    """A set file in a folder of its own, and its state."""

    folder: Path
    name: str = "small"

    def write(self, services: Mapping[str, Any] | None = None, **more: Any) -> Path:
        """Write the set file; without services, one that serves `shop`."""
        (self.folder / "server.py").write_text(SERVER)
        path = self.folder / f"{self.name}.yaml"
        path.write_text(json.dumps({"services": services or {"app": shop()}, **more}))
        return path

    @property
    def state(self) -> Path:
        return self.folder / "sites" / self.name

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "harness.main", "sites", words[0], f"{self.name}.yaml", *words[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**environment(), **(env or {})},
        )

    def type(self, *words: str, env: Mapping[str, str] | None = None) -> Typed:
        """`harness sites WORDS[0] SET WORDS[1:]`."""
        with self.start(*words, env=env) as process:
            out, err = process.communicate(timeout=1200)
        return Typed(process.returncode, out, err)

    def done(self, *words: str) -> str:
        """The same of what has to succeed."""
        typed = self.type(*words)
        assert typed.code == 0, typed
        return typed.out

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.type("status", "--json").out.splitlines()]

    def states(self) -> dict[str, str]:
        return {row["instance"]: row["state"] for row in self.rows()}

    def urls(self, site: str = "shop") -> list[str]:
        served = json.loads((self.state / "sites.json").read_text())[site]
        return [served["url"], *served["instances"]]

    def processes(self) -> list[psutil.Process]:
        """All that this set has started and that still runs."""
        key = subprocess.run(
            [
                sys.executable,
                "-c",
                f"from harness.plugins.site_sets.state import *; print(StateFolder(Path({str(self.state)!r})).key)",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        return [one for one in psutil.process_iter() if _mark(one).startswith(f"{key}/")]


def shop(**more: Any) -> dict[str, Any]:
    command = "exec {python} server.py {port} {data}"
    return {"command": command, "sites": ["shop"], "health": {"timeout_s": 60}, "stop_s": 2, **more}


def order(url: str, name: str) -> None:
    with urlopen(Request(f"{url}/{name}", method="POST", data=b"")):
        return


def look(url: str) -> dict[str, Any]:
    """What a visitor sees."""
    try:
        with urlopen(url) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except (OSError, HTTPError):
        return {}


def tree_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder with their bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()  # nothing where it has ended already
    process.communicate()


def _mark(process: psutil.Process) -> str:
    try:
        return process.environ().get("CAIRN_SITE", "")
    except (psutil.Error, OSError):
        return ""
