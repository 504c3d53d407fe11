"""What a process imports is what somebody waits for: none imports what it does not need."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import harness.api
from harness.registry import _may_declare

pytestmark = pytest.mark.integration

COMPOSING = ("hydra", "omegaconf", "yaml", "antlr4")
SENDING = ("openai", "pydantic", "tenacity", "harness.llm.exchange", "harness.llm.endpoint_model")
NEEDLESS = {
    "worker": ("harness.evaluation.worker_main", (*COMPOSING, "openai", "rich", "jinja2", "harness.reports")),
    "run.py": ("harness.evaluation.orchestrator", (*SENDING, "playwright", "jinja2", "starlette")),
    "first worker": (
        "harness.evaluation.first_worker",
        ("harness.runner.executors.worker_messages", "playwright", "rich"),
    ),
    "sites": ("harness.plugins.demo.__main__", (*COMPOSING, *SENDING, "harness.records", "harness.actions")),
    "endpoint": ("harness.plugins.demo.model.model_server", (*COMPOSING, *SENDING, "harness.records", "jinja2")),
}
"""Process to what it begins with, and what it has to do without until it is needed."""


@pytest.mark.sample(2)
@pytest.mark.parametrize("process", NEEDLESS)
def test_a_process_imports_nothing_that_it_does_not_need(process: str) -> None:
    module, needless = NEEDLESS[process]
    if process != "run.py" and not any(map(_may_declare, sys.path)):  # an installed plug-in has to be read
        needless += ("importlib.metadata",)
    program = f"import sys, {module}\nprint(*set({needless!r}) & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == ([], "")


def _shown() -> Iterator[tuple[str, str]]:
    """Name of the front page of `harness.api` to the module that it says the name is of."""
    tree = ast.parse(Path(str(harness.api.__file__)).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("harness."):
            yield from ((alias.name, node.module) for alias in node.names)


def test_the_front_page_gives_each_name_of_the_module_that_it_says() -> None:
    shown = dict(_shown())
    assert sorted(shown) == sorted(harness.api.__all__)
    assert [
        name for name, module in shown.items() if getattr(harness.api, name) is not getattr(import_module(module), name)
    ] == []


def test_a_name_that_the_front_page_does_not_have_is_an_error_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'harness\.api' has no attribute 'Redactor'"):
        harness.api.Redactor  # noqa: B018
