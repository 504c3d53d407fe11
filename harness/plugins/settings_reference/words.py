"""What is said of the fields of settings: the docstrings below them, which Python itself does not keep."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def words_of(owner: type) -> dict[str, str]:
    """Field or member of a class to the docstring below it, in one line; those of its bases are included."""
    found: dict[str, str] = {}
    for one in reversed(owner.__mro__):
        found |= _attribute_docstrings(one.__module__).get(one.__qualname__, {})
    return found


@cache
def _attribute_docstrings(module: str) -> dict[str, dict[str, str]]:
    """Class to field to docstring."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not file.endswith(".py"):
        return {}
    classes = (node for node in ast.parse(Path(file).read_bytes()).body if isinstance(node, ast.ClassDef))
    return {node.name: dict(_docstrings(node)) for node in classes}


def _docstrings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for one, after in zip(node.body, node.body[1:], strict=False):
        match one, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())
