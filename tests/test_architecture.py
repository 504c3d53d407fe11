"""The house rules as a test: arrows go one way, every library has one owner, modules stay small, importing does nothing."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
HARNESS = PROJECT / "harness"

FLOORS = (
    {"errors", "choices"},
    {"actions"},
    {"records"},
    {"protocols", "codec"},
    {"tasks", "journal", "browser", "llm", "agents", "evaluators", "sites"},
    {"runner", "reports", "tracking"},
    {"viewer"},
    {"config"},
    {"compose"},
    {"evaluation", "player"},
    {"cli"},
    {"commands"},
    {"main"},
)
"""A room imports only rooms of lower floors, and itself."""

OWNERS = {
    "playwright": {"browser"},
    "openai": {"llm"},
    "httpx2": {"llm"},
    "tenacity": {"llm"},
    "orjson": {"codec"},
    "ahocorasick_rs": {"journal"},
    "hydra": {"config", "cli"},
    "omegaconf": {"config", "cli", "compose", "player"},
    "starlette": {"sites", "viewer"},
    "uvicorn": {"sites", "viewer"},
    "jinja2": {"sites", "viewer", "reports"},
    "nltk": {"evaluators"},
    "rich": {"reports", "cli", "evaluation", "commands"},
    "pyarrow": {"tracking"},
    "wandb": {"tracking"},
    "ray": {"runner"},
    "submitit": {"runner"},
    "psutil": {"runner", "browser", "journal"},
}

MODULES = sorted(HARNESS.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(HARNESS).parts[0].removesuffix(".py")


def floor_of(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HARNESS)))
def test_a_room_imports_only_lower_floors_and_owns_its_libraries(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        assert not list(imports_of(path))
        return
    for name in imports_of(path):
        package, _, rest = name.partition(".")
        if package == "harness" and not rest.startswith("__"):
            other = rest.partition(".")[0]
            assert other == room or floor_of(other) < floor_of(room), f"{room} must not import {name}"
        elif package in OWNERS:
            assert room in OWNERS[package], f"{package} belongs to {OWNERS[package]}, not to {room}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HARNESS)))
def test_modules_and_functions_stay_readable(path: Path) -> None:
    source = path.read_text()
    assert source.count("\n") <= 300, "a module has at most 300 lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
            assert node.end_lineno - node.lineno < 50, f"{node.name} is longer than 50 lines"
        if isinstance(node, ast.ExceptHandler):
            broad = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}
            )
            assert not broad or path.name == "episode.py", "only the episode's boundary catches everything"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec"}, "nothing is ever evaluated as Python"


def test_run_py_is_only_a_door() -> None:
    assert (PROJECT / "run.py").read_text().count("\n") <= 40


def test_importing_the_package_has_no_effect() -> None:
    program = (
        "import os, sys, logging; before = (dict(os.environ), os.listdir('.'), list(logging.root.handlers));"
        "import harness;"
        "assert before == (dict(os.environ), os.listdir('.'), list(logging.root.handlers));"
        "heavy = {'playwright', 'openai', 'hydra', 'starlette', 'nltk', 'rich'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
