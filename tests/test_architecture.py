"""The house rules as a test: arrows go one way, every library has one owner, modules stay small, importing does
nothing.
"""

import ast
import gc
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest

from tests.named_things import PAGES, dangling, exists
from tests.settings_classes import copies
from tests.walked import nodes_in, nodes_of

PROJECT = Path(__file__).resolve().parent.parent
HARNESS = PROJECT / "harness"

FLOORS = (
    {"errors", "choices", "collector", "interpreter", "shelf", "standard_streams", "trees", "working_time"},
    {"registry"},
    {"actions", "escape", "settings", "loopback_server", "sandbox"},
    {"records"},
    {"codec"},
    {"api"},
    {"protocols", "pictures"},
    {"files", "secrets"},
    {"tasks", "journal", "browser", "llm", "agents", "evaluators"},
    {"runs", "embedded_server"},
    {"episode", "reports"},
    {"runner"},
    {"testing"},
    {"config"},
    {"internal_error"},
    {"evaluation"},
    {"cli"},
    {"commands"},
    {"main"},
    {"doors"},
    {"plugins"},
)
"""A room imports only rooms of lower floors, and itself. The doors are those modules of `harness.api` that show plug-ins a
part of the core, see `DOORS`."""

OWNERS = {
    "playwright": {"browser", "live"},
    "openai": {"llm", "tracking"},
    "anthropic": {"llm"},
    "httpx2": {"llm"},
    "tenacity": {"llm", "tracking"},
    "orjson": {"codec"},
    "ahocorasick_rs": {"secrets"},
    "hydra": {"config", "cli", "evaluation", "settings_reference"},
    "omegaconf": {"config", "cli", "evaluation", "settings_reference"},
    "starlette": {"demo", "doors", "environments", "html_report", "human", "miniwob", "process_agent"},
    "uvicorn": {"loopback_server"},
    "websockets": {"environments", "process_agent"},
    "jinja2": {"demo", "html_report", "doors"},
    "nltk": {"evaluators", "visualwebarena"},
    "skimage": {"visualwebarena"},
    "numpy": {"visualwebarena"},
    "rich": {
        "reports",
        "cli",
        "evaluation",
        "commands",
        "tracking",
        "audit",
        "judge_check",
        "bundles",
        "process_agent",
        "attribution",
        "compare",
        "diff",
        "policies",
        "attacks",
        "settings_reference",
    },
    "pyarrow": {"tracking"},
    "wandb": {"tracking"},
    "ray": {"clusters"},
    "submitit": {"clusters"},
    "protego": {"live"},
    "psutil": {"runner", "browser", "site_sets"},
    "PIL": {"pictures", "visualwebarena"},
    "zstandard": {"bundles"},
    "mlflow": {"tracking"},
    "matplotlib": {"plot"},
}

PLUGINS = sorted(path.name for path in (HARNESS / "plugins").iterdir() if (path / "__init__.py").is_file())

PUBLIC = {"api", "runs", "testing", "errors"}
"""What a plug-in imports of `harness`, and the versions that are written into files."""
_VERSIONS = {"__version__", "EVALUATOR_VERSION"}

_IMPORT = re.compile(r"^ *from (harness\.[\w.]+) import ([\w, ]+)$", re.MULTILINE)
_BOUNDARIES = ("episode/episode.py", "errors.py", "plugins/tracking/gather.py")
"""Who may catch everything: the episode, `errors.plugin_boundary` for code of a person's own, and what gathers rollouts
of a person's own as ART does.
"""

MODULES = sorted(HARNESS.rglob("*.py"))
ON_SHELF = sorted((HARNESS / "plugins").rglob("*.py"))


@pytest.fixture(scope="module", autouse=True)
def uncollected() -> Iterator[None]:
    """The garbage collector does not search the million nodes: not now, and not when pytest ends."""
    gc.disable()
    yield
    nodes_of.cache_clear()
    gc.enable()


def _doors() -> set[str]:
    contracts = {name.split(".")[2] for name in imports_of(HARNESS / "api" / "__init__.py") if ".api." in name}
    return {path.stem for path in (HARNESS / "api").glob("*.py")} - contracts - {"__init__"}


def room_of(path: Path) -> str:
    """A plug-in is a room of its own."""
    return room_named(path.relative_to(PROJECT).with_suffix("").parts)


def room_named(parts: Sequence[str]) -> str:
    match parts:
        case ("harness", "plugins", plugin, _, *_):
            return plugin
        case ("harness", "api", name, *_) if name in DOORS:
            return "doors"
    return parts[1]


def floor_of(room: str) -> int:
    room = "plugins" if room in PLUGINS else room
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def imports_of(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


DOORS = _doors()
"""Modules of `harness.api` that its front page does not show, and that the core must not import."""


def test_a_room_imports_only_lower_floors_and_owns_its_libraries() -> None:
    wrong = []
    for path in MODULES:
        room, names = room_of(path), list(imports_of(path))
        if room == "__init__":
            wrong += [f"the package imports {name}" for name in names]
            continue
        for name in names:
            package = name.partition(".")[0]
            other = room_named(name.split(".")) if package == "harness" else ""
            if room in PLUGINS and other in PLUGINS:
                continue  # see `test_a_plugin_imports_no_other`
            if package == "harness" and other != room and other not in _VERSIONS and floor_of(other) >= floor_of(room):
                wrong.append(f"{path.relative_to(HARNESS)} must not import {name}")
            elif package in OWNERS and room not in OWNERS[package]:
                wrong.append(f"{path.relative_to(HARNESS)} must not import {name}: it belongs to {OWNERS[package]}")
    assert wrong == []


def test_a_plugin_imports_no_other() -> None:
    found = {
        (room, other)
        for path in MODULES
        if (room := room_of(path)) in PLUGINS
        for name in imports_of(path)
        if name.startswith("harness.plugins.") and (other := name.split(".")[2]) != room
    }
    assert found == set()


def test_a_plugin_imports_only_what_is_public() -> None:
    wrong = [
        f"{path.relative_to(HARNESS)} must not import {name}"
        for path in ON_SHELF
        for name in imports_of(path)
        if name.startswith("harness.") and name.split(".")[1] not in {*PUBLIC, "plugins", *_VERSIONS}
    ]
    assert wrong == []


def shown_imports() -> Iterator[tuple[Path, str]]:
    """What people are shown: in pages, in examples, in the packages that `harness new` writes. `main` is the program."""
    folders = (("docs", "*.md"), ("docs/examples", "*.py"), ("harness/plugins/new/templates", "*.template"))
    for folder, pattern in folders:
        for path in sorted((PROJECT / folder).rglob(pattern)):
            for module, names in _IMPORT.findall(path.read_text()):
                yield from ((path, f"{module}.{name.strip()}") for name in names.split(","))


def test_people_are_shown_only_what_is_public() -> None:
    found = list(shown_imports())
    assert len(found) > 20
    assert [one for one in found if one[1].split(".")[1] not in {*PUBLIC, "plugins", "main"}] == []


def test_a_door_shows_nothing_that_nobody_takes() -> None:
    taken = {name for path in ON_SHELF for name in imports_of(path)} | {name for _, name in shown_imports()}
    shown = {f"harness.api.{door}.{name}" for door in DOORS for name in import_module(f"harness.api.{door}").__all__}
    assert sorted(shown - taken) == []


def test_modules_and_functions_stay_readable() -> None:
    wrong = []
    for path in MODULES:
        source, name = path.read_text(), path.relative_to(HARNESS)
        if source.count("\n") > 500:
            wrong.append(f"{name} has {source.count(chr(10))} lines, more than 500")
        wrong += [f"{name}: {fault}" for fault in faults_of(nodes_of(path), name.as_posix())]
    assert wrong == []


def faults_of(nodes: Iterable[ast.AST], name: str) -> Iterator[str]:
    """What a module must not hold: long functions, broad excepts, and text that is run as Python."""
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if (node.end_lineno or 0) - node.lineno >= 60:
                yield f"{node.name} is longer than 60 lines"
            case ast.ExceptHandler(type=caught) if catches_everything(caught) and name not in _BOUNDARIES:
                yield f"line {node.lineno} catches everything, which only boundaries do"
            case ast.Call(func=ast.Name(id="eval" | "exec")):
                yield f"line {node.lineno} runs text as Python"
            case ast.Call() if reads_as_the_locale(node):
                yield f"line {node.lineno} leaves the encoding to the locale"


def catches_everything(caught: ast.expr | None) -> bool:
    """Whether an `except` names everything, alone or among others."""
    match caught:
        case None | ast.Name(id="Exception" | "BaseException"):
            return True
        case ast.Tuple(elts=named):
            return any(map(catches_everything, named))
        case _:
            return False


def reads_as_the_locale(call: ast.Call) -> bool:
    """Whether a call reads or writes text and names no encoding."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    match call.func:
        case ast.Attribute(attr="read_text"):
            encoded = bool(call.args)
        case ast.Attribute(attr="write_text"):
            encoded = len(call.args) > 1
        case ast.Name(id="open") | ast.Attribute(attr="fdopen"):
            mode = named.get("mode", call.args[1] if len(call.args) > 1 else None)
            encoded = isinstance(mode, ast.Constant) and "b" in str(mode.value)
        case ast.Attribute(attr="FileHandler" | "TextIOWrapper") | ast.Name(id="TextIOWrapper"):
            encoded = False
        case ast.Attribute(attr="run" | "Popen"):
            encoded = "text" not in named
        case _:
            return False
    return not encoded and "encoding" not in named


def test_only_one_module_calls_fsync() -> None:
    """On macOS it is not enough."""
    asking = [path for path in MODULES if re.search(r"os\.(?:fsync|fdatasync)\(", path.read_text())]
    assert asking == [HARNESS / "files" / "sync.py"]


def test_the_faults_are_found() -> None:
    text = "def f():\n" + "    1\n" * 60 + "try: eval('1')\nexcept Exception: pass\ntry: 1\nexcept: exec('1')\n"
    text += "try: 1\nexcept (OSError, Exception): pass\n"
    text += "path.read_text()\npath.write_text('ä')\nopen(path, 'w')\nsubprocess.run(command, text=True)\n"
    assert len(list(faults_of(nodes_in(ast.parse(text)), "x/episode.py"))) == 10
    named = "path.read_text('utf-8')\nopen(path, 'rb')\nsubprocess.run(command, text=True, encoding='utf-8')\n"
    assert list(faults_of(nodes_in(ast.parse(named)), "x.py")) == []


def test_files_are_text_whatever_the_locale(tmp_path: Path) -> None:
    program = (
        "import sys; from harness.main import main; from harness.plugins.human.app import HumanPage;"
        " HumanPage(None); sys.exit(main(['new', 'agent', 'x', '--into', sys.argv[1]]))"
    )
    strict = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning")
    command = [sys.executable, *strict, "-c", program, str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_run_py_is_only_a_door() -> None:
    assert (PROJECT / "run.py").read_text().count("\n") <= 40


def test_importing_the_package_has_no_effect() -> None:
    program = (
        "import os, sys, logging; before = (dict(os.environ), os.listdir('.'), list(logging.root.handlers));import"
        " harness;assert before == (dict(os.environ), os.listdir('.'), list(logging.root.handlers));heavy ="
        " {'playwright', 'openai', 'hydra', 'starlette', 'nltk', 'rich'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_names_in_docstrings_and_comments_exist() -> None:
    assert [one for path in MODULES for one in dangling(path)] == []


def test_names_in_pages_exist() -> None:
    assert [one for path in PAGES for one in dangling(path)] == []


def test_a_dangling_name_is_seen() -> None:
    gone = ("harness.journal.gone", "harness/gone.py", "GoneClass", "gone_function()", "JournalStore.gone", "goners")
    there = (
        "harness.journal.store",
        "harness/api/agent.py",
        "run.root",
        "asyncio.gather",
        "CAIRN_URL",
        "my_agent.MyAgent",
    )
    assert [name for name in (*gone, *there) if not exists(name, page=False)] == list(gone)


def test_the_core_names_no_plugin() -> None:
    """Not even in a text: it finds them by `harness.shelf`, and runs from before a move by `MOVED`."""
    tables = {HARNESS / "shelf.py", HARNESS / "settings" / "plugin.py"}
    found = [
        (str(path.relative_to(HARNESS)), node.value)
        for path in MODULES
        if room_of(path) not in PLUGINS and path not in tables
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "harness.plugins." in node.value
    ]
    assert [one for one in found if one[1].count("\n") < 3 and "former name" not in one[1]] == []


def test_a_setting_is_declared_once_and_handed_on_in_its_own_class() -> None:
    assert list(copies(nodes_of(path) for path in MODULES)) == []


def test_a_copy_of_settings_is_seen() -> None:
    source = """
@dataclass
class LimitSettings:
    steps: int = setting(3)
    tokens: int = setting(4)
    cost: float = setting(0.5)
@dataclass
class Limits:
    steps: int
    tokens: int
    cost: float
def made(settings):
    return Budget(steps=settings.steps, tokens=settings.tokens, cost=settings.cost)
"""
    assert list(copies([nodes_in(ast.parse(source))])) == [
        "LimitSettings and Limits both have cost, steps, tokens",
        "Budget(…) copies cost, steps, tokens of settings",
    ]
