"""The page of the Python API names all that plug-ins import, and nothing on it is without words."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import harness.api
import harness.testing
from harness.config.setting_catalog import words_of
from harness.plugins.tracking.trajectory import Trajectory, TrajectoryGroup

PAGE = Path(__file__).resolve().parent.parent / "docs" / "pages" / "api.md"
SHOWN = re.findall(r"^::: (\S+)$", PAGE.read_text(), re.MULTILINE)


def test_every_public_name_is_on_the_page_once() -> None:
    testing = [
        name
        for name, one in vars(harness.testing).items()
        if not name.startswith("_") and getattr(one, "__module__", "") == "harness.testing"
    ]
    public = [f"harness.api.{name}" for name in harness.api.__all__] + [f"harness.testing.{name}" for name in testing]
    assert sorted(one for one in SHOWN if not one.startswith("harness.plugins.tracking.")) == sorted(public)


def shown() -> Iterator[tuple[str, Any]]:
    for dotted in SHOWN:
        module, _, name = dotted.rpartition(".")
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
