"""Mutants by name: code that is put behind a module's own and replaces functions or methods which must be there.

A text to be replaced moves with every reformatting; a name does not. The module has run by then, and whoever imports
from it gets what was put in its place. What the code assigns to at its top level must be in the module already, except
names with a leading underscore and `mutant` (`_mutant_original = plan`), and a function must take the parameters of the
one it replaces. So a mutant that did not follow the code is refused: it would crash the run and break no promise.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PRIVATE = "_mutant"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    file: str
    """Of the project, as in `harness/browser/session/restoration.py`."""
    code: str


def apply(project: Path, patch: Patch) -> None:
    """Change the copy of a project.

    Raises:
        SystemExit: A name the patch replaces is not in the module, or a function takes other parameters: the mutant
            must follow the code.
    """
    path = project / patch.file
    source = path.read_text()
    if missing := sorted(set(_replaced(patch.code)) - set(_there(source))):
        raise SystemExit(f"{patch.file} has no {missing[0]}, which a mutant replaces")
    ours, theirs = _functions(patch.code), _functions(source)
    if moved := sorted(name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]):
        raise SystemExit(f"{patch.file}: {moved[0]} takes other parameters than the mutant that replaces it")
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


def _functions(code: str) -> Mapping[str, str]:
    """How functions are called, by `name` or `Class.name`; also those that are assigned: `Box.open = _mutant_open`."""
    found: dict[str, str] = {}
    for node in ast.parse(code).body:
        if isinstance(node, _Function):
            found[node.name] = _call(node)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}": _call(inner) for inner in node.body if isinstance(inner, _Function)}
        elif isinstance(node, ast.Assign) and (call := found.get(ast.unparse(node.value))):
            found |= {ast.unparse(target): call for target in node.targets}
    return found


def _call(function: _Function) -> str:
    """Whether it is awaited, and the names of its parameters."""
    taken = function.args
    placed = [one.arg for one in (*taken.posonlyargs, *taken.args)]
    named = sorted(one.arg for one in taken.kwonlyargs)
    rest = [one.arg for one in (taken.vararg, taken.kwarg) if one is not None]
    return f"{type(function).__name__} {placed} {named} {rest}"


def _members(node: ast.ClassDef) -> Iterator[str]:
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner.name
        elif isinstance(inner, ast.AnnAssign):
            yield ast.unparse(inner.target)
