"""Modules, parsed and walked once for all rules of the source."""

import ast
from functools import cache
from pathlib import Path


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return nodes_in(ast.parse(path.read_bytes()))


def nodes_in(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))
