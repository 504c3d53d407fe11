"""A call with literal arguments (a `func:` of a task): parsed, never evaluated."""

import ast

from harness.errors import EvaluatorError

PAGE = object()
"""What `__page__` parses to."""


def parse(text: str) -> tuple[str, list[object]]:
    """Name and arguments of a call; arguments are texts, whole numbers or `__page__`.

    Raises:
        EvaluatorError: It is anything else.
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        # The parser raises the last two for expressions that are nested too deeply.
        raise EvaluatorError(f"func:{text[:80]} is not a call; give func:NAME(…)") from exc
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        raise EvaluatorError(f"func:{text[:80]} does not call a plain name; give func:NAME(…)")
    return node.func.id, [_argument(argument) for argument in node.args]


def _argument(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id == "__page__":
        return PAGE
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int) and not isinstance(node.value, bool):
        return node.value
    raise EvaluatorError("arguments must be strings, integers or __page__")
