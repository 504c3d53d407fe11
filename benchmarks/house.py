"""How plainly the code is laid out, in counts: `make house`.

They are a thermometer. A count that falls because a name got worse or a line was packed has not been met.

Usage: `python -m benchmarks.house [--names]`; `--names` lists what was counted.
"""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "harness"
SHELF = "plugins"
PUBLIC = ("api", "runs", "testing", "errors", SHELF)
"""What a plug-in may import of `harness`."""
MODULE_NAMES_EXCEPTED = ("__init__", "schema")
WIDEST = 120


@dataclass(frozen=True)
class Count:
    """One figure, what it should be at most, and what it counted."""

    what: str
    figure: float
    most: float
    found: tuple[str, ...] = ()
    least: bool = False
    """It should be at least so many."""

    def __str__(self) -> str:
        is_share = isinstance(self.figure, float)
        shown, most = (f"{self.figure:.1%}", f"{self.most:.0%}") if is_share else (f"{self.figure:,}", f"{self.most:,}")
        is_met = self.figure >= self.most if self.least else self.figure <= self.most
        wanted, missed = ("at least", "BELOW") if self.least else ("at most", "ABOVE")
        return f"{self.what:<44} {shown:>8}   {wanted:>8} {most:>7}   {'ok' if is_met else missed}"


def main() -> None:
    parser = argparse.ArgumentParser(description="counts of how plainly the code is laid out")
    parser.add_argument("--names", action="store_true", help="list what was counted")
    names = parser.parse_args().names
    for count in counts(PACKAGE):
        sys.stdout.write(f"{count}\n")
        sys.stdout.writelines(f"    {found}\n" for found in count.found if names)


def counts(package: Path) -> list[Count]:
    """The counts of a package's core, and what its shelf takes of it."""
    every = {path: path.read_text() for path in sorted(package.rglob("*.py"))}
    on_shelf = {path: text for path, text in every.items() if path.relative_to(package).parts[0] == SHELF}
    modules = {path: text for path, text in every.items() if path not in on_shelf}
    trees = {path: ast.parse(text) for path, text in modules.items()}
    stems = [path.stem for path in modules if path.stem not in MODULE_NAMES_EXCEPTED]
    gerunds = sorted({str(path.relative_to(package)) for path in modules if path.stem.endswith("ing")})
    see_config = [str(path.relative_to(package)) for path, tree in trees.items() if _sees_config(tree)]
    untyped = [
        f"{path.relative_to(package)}: {text.count('dict[str, Any]')}"
        for path, text in modules.items()
        if "dict[str, Any]" in text
    ]
    lines = [line for text in modules.values() for line in text.splitlines()]
    reasons = sum(line.lstrip().startswith("#") or "  # " in line for line in lines)
    inside = [
        f"{path.relative_to(package)}: {name}"
        for path, text in on_shelf.items()
        for name in _imported(ast.parse(text))
        if name.startswith("harness.") and name.split(".")[1] not in PUBLIC
    ]
    readme = (package.parent / "README.md").read_text().count("\n")
    return [
        _twice("class names used twice", _class_names(trees, package), most=3),
        _twice("module names used twice", _places(modules, package), most=6),
        Count("modules whose name ends in -ing", len(gerunds) / len(stems), 0.05, tuple(gerunds)),
        Count("files that see the whole Config", len(see_config), 6, tuple(see_config)),
        Count("dict[str, Any]", sum(text.count("dict[str, Any]") for text in modules.values()), 30, tuple(untyped)),
        Count("lines of the core", len(lines), 33_000),
        Count("imports of the core's inside by the shelf", len(inside), 0, tuple(inside)),
        Count("comments in 100 lines", reasons / len(lines), 0.02, least=True),
        Count("lines of the README", readme, 120),
        Count("longest line", max(map(len, lines)), WIDEST),
        Count(f"lines above {WIDEST} characters", sum(len(line) > WIDEST for line in lines), 0),
    ]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _class_names(trees: dict[Path, ast.Module], package: Path) -> dict[str, list[str]]:
    where: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(str(path.relative_to(package)))
    return where


def _places(modules: dict[Path, str], package: Path) -> dict[str, list[str]]:
    where: dict[str, list[str]] = defaultdict(list)
    for path in modules:
        if path.stem not in MODULE_NAMES_EXCEPTED:
            where[path.stem].append(str(path.relative_to(package)))
    return where


def _twice(what: str, where: dict[str, list[str]], *, most: int) -> Count:
    found = tuple(f"{name}: {', '.join(paths)}" for name, paths in sorted(where.items()) if len(paths) > 1)
    return Count(what, len(found), most, found)


def _sees_config(tree: ast.Module) -> bool:
    """Whether an annotation or a base names `Config`, the whole of the settings."""
    return any(isinstance(node, ast.Name) and node.id == "Config" for node in _annotations(tree))


def _annotations(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if annotation is not None:
                yield from ast.walk(annotation)


if __name__ == "__main__":
    main()
