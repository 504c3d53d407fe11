"""Mutants by name: code that is put behind a module's own and replaces functions or methods which must be there.

A text to be replaced moves with every reformatting; a name does not. The module has run by then, and whoever imports
from it gets what was put in its place. What the code assigns to at its top level must be in the module already, except
names with a leading underscore and `mutant` (`_mutant_original = plan`), so a mutant whose function was renamed is
refused and not run in vain.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PRIVATE = "_mutant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    file: str
    """Of the project, as in `harness/browser/session/restoration.py`."""
    code: str


def apply(project: Path, patch: Patch) -> None:
    """Change the copy of a project.

    Raises:
        SystemExit: A name the patch replaces is not in the module: the mutant must follow the code.
    """
    path = project / patch.file
    source = path.read_text()
    if missing := sorted(set(_replaced(patch.code)) - set(_there(source))):
        raise SystemExit(f"{patch.file} has no {missing[0]}, which a mutant replaces")
    path.write_text(f"{source}\n\n{patch.code.strip()}\n")


def _replaced(code: str) -> Iterator[str]:
    """What is assigned or defined at the top level: `name`, or `Class.name`."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [ast.unparse(target) for target in node.targets]
        else:
            continue
        yield from (name for name in names if not name.startswith(_PRIVATE))


def _there(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}.{name}" for name in _members(node))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from (
                ast.unparse(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            )


def _members(node: ast.ClassDef) -> Iterator[str]:
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner.name
        elif isinstance(inner, ast.AnnAssign):
            yield ast.unparse(inner.target)
