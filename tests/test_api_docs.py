"""The page of the Python API names all that plug-ins import, and nothing on it is without words."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import harness.api
import harness.testing
from harness.plugins.settings_reference.words import words_of
from harness.plugins.tracking.trajectory import Trajectory, TrajectoryGroup
from tests.test_architecture import DOORS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "pages" / "api.md"
SHOWN = re.findall(r"^::: (\S+)$", PAGE.read_text(), re.MULTILINE)
IMPORT = re.compile(r"^\s*from (harness\.(?:api|runs|testing)[\w.]*) import (\([^)]*\)|[^\n#]*)", re.MULTILINE)


def test_every_public_name_is_on_the_page_once() -> None:
    testing = [
        name
        for name, one in vars(harness.testing).items()
        if not name.startswith("_") and getattr(one, "__module__", "") == "harness.testing"
    ]
    public = [f"harness.api.{name}" for name in (*harness.api.__all__, *DOORS)]
    public += [f"harness.testing.{name}" for name in testing]
    assert sorted(one for one in SHOWN if not one.startswith("harness.plugins.tracking.")) == sorted(public)


def test_pages_examples_and_templates_import_what_there_is() -> None:
    """Strangers copy them, and type checks do not see them."""
    project = PAGE.parents[2]
    folders = (project / "docs" / "pages", project / "docs" / "examples", project / "harness" / "plugins")
    texts = [
        path for folder in folders for end in ("md", "py", "py.template") for path in sorted(folder.rglob(f"*.{end}"))
    ]
    found = {
        (str(path.relative_to(project)), module, name)
        for path in (project / "README.md", *texts)
        for module, names in IMPORT.findall(path.read_text())
        for name in re.findall(r"\w+", re.sub(r" as \w+", "", names))
    }
    assert len(found) > 100
    assert [one for one in sorted(found) if not hasattr(import_module(one[1]), one[2])] == []


def shown() -> Iterator[tuple[str, Any]]:
    for dotted in SHOWN:
        module, _, name = dotted.rpartition(".")
        if name in DOORS:
            continue  # see `test_a_door_says_what_it_is_for_and_each_of_its_names_has_words`
        yield dotted, getattr(import_module(module), name)


def undocumented(name: str, one: Any) -> Iterator[str]:
    if not inspect.isclass(one):
        if inspect.isroutine(one) and not inspect.getdoc(one):
            yield name
        return
    if not one.__doc__ or one.__doc__.startswith(f"{one.__name__}("):
        yield name
    said = words_of(one)
    members = [field.name for field in fields(one)] if is_dataclass(one) else []
    members += list(one.__members__) if issubclass(one, Enum) else []
    yield from (f"{name}.{member}" for member in members if not said.get(member))
    for member, value in vars(one).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not member.startswith("_") and inspect.isfunction(function) and not inspect.getdoc(function):
            yield f"{name}.{member}()"


def test_every_class_field_and_method_on_the_page_has_words() -> None:
    assert [missing for name, one in shown() for missing in undocumented(name, one)] == []


def test_a_door_says_what_it_is_for_and_each_of_its_names_has_words() -> None:
    """The page shows a name only if it has words."""
    modules = {name: import_module(f"harness.api.{name}") for name in sorted(DOORS)}
    assert [name for name, module in modules.items() if not re.search(r"\bFor ", module.__doc__ or "")] == []
    bare = [
        f"{door}.{name}" for door, module in modules.items() for name in module.__all__ if not has_words(module, name)
    ]
    assert bare == []


def has_words(module: ModuleType, name: str) -> bool:
    """Whether a class, a function or a constant has a docstring, wherever it was made."""
    body = ast.parse(inspect.getsource(module)).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.ClassDef(name=found) | ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) if (
                found == name
            ):
                return bool(ast.get_docstring(node))
            case ast.ImportFrom(module=str(source), names=names):
                for one in names:
                    if name == (one.asname or one.name):
                        held = getattr(import_module(source), one.name)
                        return (
                            bool(held.__doc__) if inspect.ismodule(held) else has_words(import_module(source), one.name)
                        )
            case ast.Assign(targets=targets) if name in {left.id for left in names_in(targets)}:
                return is_text(after)
            case ast.AnnAssign(target=ast.Name(id=found)) if found == name:
                return is_text(after)
    raise AssertionError(f"{name} is not in {module.__name__}")


def names_in(targets: list[ast.expr]) -> Iterator[ast.Name]:
    return (one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_the_page_of_tracking_names_each_field_of_what_is_logged() -> None:
    text = (PAGE.parent / "tracking.md").read_text()
    row = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
    said = set(row.findall(text.partition("## What is logged")[2].partition("\n## ")[0]))
    assert said == {field.name for one in (Trajectory, TrajectoryGroup) for field in fields(one)} - {"pending"}


def test_what_has_no_words_is_found() -> None:
    class Bare:
        def method(self) -> None:
            pass

    assert list(undocumented("Bare", Bare)) == ["Bare", "Bare.method()"]
