"""What a docstring, a comment or a page of the documentation names in backticks exists.

A name is taken for one of ours by its form: `snake_case`, `CapWords`, `name()`, these with dots between, and paths of files.
Names in camelCase belong to browsers, names in capitals to the environment, and names that begin with `my_` to the reader. It exists if every part is bound in our
code, or is a text there (a setting, a key of a file); a part that follows a module or a class must be a member of it.
"""

import ast
import io
import keyword
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.walked import nodes_in, nodes_of

PROJECT = Path(__file__).resolve().parent.parent
HARNESS = PROJECT / "harness"
NO_SOURCE = {"node_modules", "test_architecture.py"}
"""Not ours; and what names things that do not exist."""
PAGES = (
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((PROJECT / "docs" / "pages").glob("*.md")),
    *sorted((PROJECT / "docs" / "decisions").glob("*.md")),
)
QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
WORD = r"(?:_?[a-z][a-z0-9_]*|_?[A-Z]+[a-z][A-Za-z0-9]*)"
NAME = re.compile(rf"{WORD}(?:\.{WORD})*(?:\(\))?")
FILE = re.compile(r"\.(?:json|jsonl|csv|md|sh|xml|txt|html|css|yaml|log)$")
"""Files of runs and of others; their names are not names of code."""
QUOTED_COMMENT = re.compile(r"#[^\n]*`")
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
OUR_PATH = re.compile(r"(?:harness|tests|benchmarks|docs)/[\w./-]+\.\w+|[\w/]+\.(?:py|js)")


@dataclass(slots=True)
class Known:
    words: set[str] = field(default_factory=set)
    modules: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    classes: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    bases: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def has(self, name: str) -> bool:
        parts = name.removesuffix("()").split(".")
        if not all(part in self.words or keyword.iskeyword(part) for part in parts):
            return False
        if parts[0] in {"harness", "tests", "benchmarks"} and len(parts) > 1:
            return resolves(parts)
        return len(parts) != 2 or self._belongs(*parts)

    def _belongs(self, owner: str, member: str) -> bool:
        if owner in self.classes:
            return self._inherits(owner, member)
        return owner not in self.modules or member in self.modules[owner]

    def _inherits(self, owner: str, member: str) -> bool:
        if owner not in self.classes:  # a base of a library: it may have anything
            return True
        return member in self.classes[owner] or any(self._inherits(base, member) for base in self.bases[owner])


def resolves(parts: list[str]) -> bool:
    """Whether a dotted name below `harness` is a package, a module, or something that one binds."""
    at = PROJECT
    for part in parts:
        if (at / part).is_dir():
            at = at / part
        elif (at / f"{part}.py").exists():
            at = at / f"{part}.py"
        else:
            source = at / "__init__.py" if at.is_dir() else at
            return source.exists() and part in bound(nodes_of(source))  # members of it are looked for as words
    return True


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """All names that occur in a piece of code."""
    found = set()
    for node in nodes:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.keyword(arg=str(name)):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found |= {*name.split("."), *([other] if other else [])}
    return found


@cache
def known() -> Known:
    known = Known()
    for path in HARNESS.rglob("*.py"):
        nodes = nodes_of(path)
        names = bound(nodes)
        known.words |= names | texts(nodes) | set(path.relative_to(PROJECT).with_suffix("").parts)
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                known.classes[node.name] |= bound(nodes_in(node))
                known.bases[node.name] |= {ast.unparse(base).split(".")[-1].partition("[")[0] for base in node.bases}
        known.modules[path.parent.name if path.name == "__init__.py" else path.stem] |= names
        known.modules[path.parent.name] |= {path.stem}
        known.modules[path.parent.parent.name] |= {path.parent.name}
    for path in others():
        known.words |= set(re.findall(r"\w+", path.read_text())) | {path.stem, path.parent.name}
    for module in list(known.modules):
        if module in plain_words():  # `task.name` is a setting first, then perhaps a module
            del known.modules[module]
    return known


@cache
def plain_words() -> set[str]:
    """What settings, variables and attributes are called: no module is meant by these."""
    return {name for path in HARNESS.rglob("*.py") for name in variables(nodes_of(path))}


def variables(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.keyword(arg=str(name)):
                yield name


def others() -> Iterator[Path]:
    """Files beside the package whose words are known, whatever they say there."""
    for base in ("tests", "benchmarks", "docs/examples"):
        yield from (path for path in (PROJECT / base).rglob("*.py") if not NO_SOURCE & {path.name, *path.parts})
    yield from (PROJECT / "configs").rglob("*.yaml")
    yield from HARNESS.rglob("*.js")
    yield PROJECT / "pyproject.toml"


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """Docstrings, and the texts that stand below a constant or a field to explain it."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def texts(nodes: Iterable[ast.AST]) -> set[str]:
    """The words of code that are names: keys, settings, names of files and commands."""
    explained = {id(one) for one in docstrings(nodes)}
    constants = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in explained)
    named = (one.value for one in constants if isinstance(one.value, str) and re.fullmatch(r"[\w./-]+", one.value))
    return {word for text in named for word in re.findall(r"\w+", text)}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of what a file says to people."""
    source = path.read_text()
    if path.suffix == ".md":
        yield 1, CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), source)
        return
    yield from ((one.lineno, str(one.value)) for one in docstrings(nodes_of(path)))
    if not QUOTED_COMMENT.search(source):  # few files have one, and tokens of all take half the time of this test
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def exists(name: str, *, page: bool) -> bool:
    if OUR_PATH.fullmatch(name) and name.startswith(("harness/", "tests/", "benchmarks/", "docs/")):
        return (PROJECT / name).exists() or not tracked(name)
    if FILE.search(name) or not NAME.fullmatch(name) or name.startswith("my_"):
        return True
    if page and name.isalpha() and name.islower():  # an ordinary word, a command, a value
        return True
    return known().has(name)


def tracked(name: str) -> bool:
    """Whether a path would be in the repository: results of benchmarks are made."""
    return name.endswith((".py", ".js", ".md", ".css", ".toml"))


def dangling(path: Path) -> list[str]:
    return [
        f"{path.relative_to(PROJECT)}:{line + text.count(chr(10), 0, found.start())}: {found[1]}"
        for line, text in prose(path)
        for found in QUOTED.finditer(text)
        if not exists(found[1], page=path.suffix == ".md")
    ]
