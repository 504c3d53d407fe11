"""Classes of settings, and what repeats their fields: read from the source, so that nothing is imported for it."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

_FEW = 3
"""So many fields of one class that stand in another are not a chance."""


@dataclass(frozen=True)
class DataClass:
    name: str
    fields: dict[str, str]
    """Name to type, as written."""
    bases: tuple[str, ...]
    declares: bool
    """Whether it says what one of its fields means as a setting."""


def data_classes(modules: Iterable[Iterable[ast.AST]]) -> dict[str, DataClass]:
    found = {}
    for node in (node for nodes in modules for node in nodes if isinstance(node, ast.ClassDef)):
        if any("dataclass" in ast.unparse(one) for one in node.decorator_list):
            lines = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            found[node.name] = DataClass(
                name=node.name,
                fields={ast.unparse(one.target): ast.unparse(one.annotation) for one in lines},
                bases=tuple(ast.unparse(one) for one in node.bases),
                declares=any(_calls(one.value) in ("setting", "derived") for one in lines),
            )
    return found


def _calls(value: ast.expr | None) -> str:
    return ast.unparse(value.func) if isinstance(value, ast.Call) else ""


def copies(modules: Iterable[Sequence[ast.AST]]) -> Iterator[str]:
    """A sentence for each class that has the fields of a class of settings, and for each call that copies them.

    A module is all nodes of its tree.
    """
    modules = list(modules)
    classes = data_classes(modules)
    of_settings = {name for name, one in classes.items() if one.declares or name.endswith("Settings")}

    def above(name: str) -> set[str]:
        bases = [base for base in classes[name].bases if base in classes]
        return {name}.union(*map(above, bases)) if bases else {name}

    def single(name: str) -> dict[str, str]:
        """Its own fields and its bases', without groups: a group is handed on as it is."""
        every = {key: kind for one in above(name) for key, kind in classes[one].fields.items()}
        return {key: kind for key, kind in every.items() if not of_settings & set(kind.split(" | "))}

    for one, other in combinations(sorted(classes), 2):
        if {one, other} & of_settings and not above(one) & above(other):
            fields, others = single(one), single(other)
            both = sorted(key for key, kind in fields.items() if others.get(key) == kind)
            if len(both) >= _FEW and 2 * len(both) >= min(len(fields), len(others)):
                yield f"{one} and {other} both have {', '.join(both)}"
    known = [set(single(name)) for name in of_settings]
    yield from (said for nodes in modules for said in _copying(nodes, known))


def _copying(nodes: Iterable[ast.AST], known: list[set[str]]) -> Iterator[str]:
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        taken: dict[str, set[str]] = {}
        for keyword in call.keywords:
            if isinstance(keyword.value, ast.Attribute) and keyword.value.attr == keyword.arg:
                taken.setdefault(ast.unparse(keyword.value.value), set()).add(keyword.arg)
        for source, keys in taken.items():
            if len(keys) >= _FEW and any(keys <= fields for fields in known):
                yield f"{ast.unparse(call.func)}(…) copies {', '.join(sorted(keys))} of {source}"
