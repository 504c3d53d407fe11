"""The delete test of the shelf: each plug-in is taken away with its configurations and tests, and the rest must work.

Run: `make shelf ARGS='[PLUGIN …]'`. For each plug-in a copy of the tree loses `harness/plugins/X`, the configurations
that belong to it, `tests/plugins/X` and every test that imports it. What is left must pass the core's tests, print
`harness --help`, and play tasks of the demo (of a task file of one's own where the demo is gone). At last all but the
demo go, and `make run`'s forty tasks must pass. Exit code 1 if anything fails.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import cache_from_source
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SHELF = PROJECT / "harness" / "plugins"
NAMED_OTHERWISE = {
    "attacks": (
        "attack/inject",
        "attack/exfiltrate",
        "attack/stored",
        "attack/wasp",
        "agent/obedient",
        "defence/delimited",
    ),
    "clusters": ("executor/ray", "executor/slurm"),
    "computer_agent": ("agent/computer",),
    "demo": ("task/demo", "task/smoke", "sites/embedded", "llm/scripted"),
    "human": ("agent/human",),
    "live": ("sites/live",),
    "miniwob": ("task/miniwob", "sites/miniwob"),
    "process_agent": (
        *("agent/process", "agent/mcp-loop", "agent/openai-agents", "agent/playwright-mcp"),
        *("agent/browser-use", "agent/tool-loop"),
    ),
    "policies": ("task/demo_policies", "agent/careful"),
    "record": ("agent/plan",),
    "site_sets": ("task/apps", "sites/apps"),
    "tracking": ("tracking/art",),
    "visualwebarena": ("task/visualwebarena", "sites/visualwebarena", "agent/visual"),
    "webarena": ("task/webarena", "sites/webarena", "agent/direct"),
    "webarena_verified": ("task/webarena_verified", "task/webarena_verified_hard", "agent/verified"),
}
"""Configurations of a plug-in; of any other it is `task/NAME`."""
CORE_TESTS = ("actions", "agents", "codec", "config", "evaluators", "journal", "llm", "runner", "runs", "tasks")
FILES = ("test_codec.py", "test_registry.py", "test_schema.py", "test_testing.py")


def main(wanted: Iterable[str]) -> int:
    plugins = sorted(path.name for path in SHELF.iterdir() if (path / "__init__.py").is_file())
    if unknown := sorted(set(wanted) - {*plugins, "all"}):
        sys.stderr.write(f"{unknown[0]} is not on the shelf; choose from: all, {', '.join(plugins)}" + "\n")
        return 2
    failed = 0
    for name in wanted or (*plugins, "all"):
        gone = tuple(one for one in plugins if one != "demo") if name == "all" else (name,)
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="cairn-shelf-") as place:
            tree = copy_without(gone, Path(place) / "tree")
            faults = list(faults_of(tree, gone))
        failed += bool(faults)
        took_s = time.monotonic() - begun
        sys.stdout.write(
            "\n".join((f"without {name:20} {'FAILED' if faults else 'passed'} {took_s:5.0f} s", *faults, ""))
        )
        sys.stdout.flush()
    return int(failed > 0)


def copy_without(gone: tuple[str, ...], tree: Path) -> Path:
    """A copy of what git knows of the project, without some plug-ins."""
    configs = {f"configs/{path}.yaml" for name in gone for path in NAMED_OTHERWISE.get(name, (f"task/{name}",))}
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.split("\0") if (PROJECT / name).is_file()]
    lost = tests_of(gone, names)
    for name in names:
        parts = Path(name).parts
        if name not in configs | lost and not (parts[1:2] == ("plugins",) and parts[2] in gone):
            for path in (name, cache_from_source(name)):  # to compile the package takes longer than its tests
                if (PROJECT / path).is_file():
                    (tree / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(PROJECT / path, tree / path)
    return tree


def tests_of(gone: tuple[str, ...], names: list[str]) -> set[str]:
    """The test modules that import a plug-in, and those that import one of these."""
    texts = {name: (PROJECT / name).read_text() for name in names if name.startswith("tests/") and name.endswith(".py")}
    lost: set[str] = set()
    wanted = [rf"harness\.plugins\.{name}" for name in gone]
    while wanted:
        named = re.compile(rf"\b(?:{'|'.join(wanted)})\b")
        found = {name for name, text in texts.items() if named.search(text)} - lost
        lost |= found
        modules = [name.removesuffix(".py").split("/") for name in found]
        wanted = [
            rf"{re.escape('.'.join(one))}|from {re.escape('.'.join(one[:-1]))} import .*{one[-1]}" for one in modules
        ]
    return lost


def faults_of(tree: Path, gone: tuple[str, ...]) -> Iterable[str]:
    """What does not work any more, with the end of what was printed."""
    run = ("-m", "harness.main", "run", f"run.root={tree / 'results'}")
    with OwnPage(tree) as task:
        if len(gone) > 1:
            played: tuple[str, ...] = ("run.py",)
        else:
            played = (*run, *task, "agent=null", "llm=none") if "demo" in gone else (*run, "task=smoke")
        tests = [f"tests/{name}" for name in (*CORE_TESTS, *FILES) if (tree / "tests" / name).exists()]
        checks = {
            "harness --help": ("-m", "harness.main", "--help"),
            "a run": played,
            "the core's tests": (
                *("-m", "pytest", "-q", "--tb=line", "-n", "logical", "-p", "no:cacheprovider"),
                *("-m", "not integration and not slow and not hostile", *tests),
            ),
        }
        for what, command in checks.items():
            done = subprocess.run(
                [sys.executable, *command], cwd=tree, env=environment(tree), capture_output=True, text=True, check=False
            )
            if done.returncode:
                yield f"  {what}: exit code {done.returncode}\n{(done.stdout + done.stderr)[-20_000:]}"


def environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree), "HYDRA_FULL_ERROR": "1"}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Requests are no news."""


class OwnPage:
    """A site with one page, and the settings of a run with one task on it."""

    def __init__(self, tree: Path) -> None:
        self._folder = tree / "own"
        self._folder.mkdir()
        (self._folder / "index.html").write_text("<!doctype html><title>Own</title><h1>Nothing to do</h1>")
        handler = partial(_Quiet, directory=str(self._folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self) -> tuple[str, ...]:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        task = {
            "task_id": 0,
            "sites": ["shopping"],
            "start_url": "__SHOPPING__",
            "intent": "Say that this cannot be done.",
            "eval": {
                "eval_types": ["string_match"],
                "reference_answers": {"must_include": ["nothing"]},
                "reference_url": "",
                "program_html": [],
            },
        }
        path = self._folder / "tasks.json"
        path.write_text(json.dumps([task]))
        address = f"http://127.0.0.1:{self._server.server_port}"
        return ("task=webarena", f"task.path={path}", f"sites.shopping.url={address}", "sites.shopping.login=null")

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
