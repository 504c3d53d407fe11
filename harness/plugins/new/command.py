"""`harness new`: writes a package to begin a plug-in with."""

import argparse
import keyword
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.errors import ConfigError, ExitCode

HELP = "write a package for an action, agent, benchmark, evaluator or site, with configuration and a passing test"
EXAMPLE = "harness new agent my_agent"
_CHOICE = {"action": "agent", "agent": "agent", "benchmark": "task", "evaluator": "+evaluators", "site": "task"}
"""Kind to the group of settings it is chosen in."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}", re.ASCII)
_TEMPLATES = Path(__file__).parent / "templates"
"""The files of each kind, and those of all; NAME, CLASS, UPPER and KIND are replaced in their paths and texts."""
_SUFFIX = ".template"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=tuple(_CHOICE), help="what to add")
    parser.add_argument("name", metavar="NAME", help="of the package and what it adds: lower case, digits and _")
    parser.add_argument("--process", action="store_true", help="an agent that is a separate process (agent=process)")
    parser.add_argument("--into", type=Path, default=Path(), metavar="DIR", help="parent folder (default: here)")


def run(options: argparse.Namespace) -> int:
    name, folder = options.name, options.into / options.name
    if not _NAME.fullmatch(name) or keyword.iskeyword(name) or name in sys.stdlib_module_names or name == "harness":
        raise ConfigError(
            f"{name[:80]!r} cannot name a package; give lower-case letters, digits and _, as in my_{options.kind}"
        )
    if folder.exists():
        raise ConfigError(f"{folder} is already there; give another name, or another place with --into")
    if options.process and options.kind != "agent":
        raise ConfigError(f"--process is for agents; leave it out for the {options.kind} {name}")
    files = dict(_files_of("process" if options.process else options.kind, name))
    options.into.mkdir(parents=True, exist_ok=True)
    # It has its name once it is whole: a part, as of a full disk, would keep the same command from writing it.
    with TemporaryDirectory(prefix=f".{name}-", dir=options.into) as temporary:
        made = Path(temporary) / name
        for path, text in files.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text, "utf-8")
        made.rename(folder)
    sys.stdout.write("".join(f"{folder / path}\n" for path in files))
    package, then = shlex.quote(f"{folder}[test]"), f"harness run {_CHOICE[options.kind]}={name}"
    if _CHOICE[options.kind] == "task":  # the scripted endpoint has no plan for its tasks, and its site no address yet
        then = f"{name.upper()}=http://HOST:PORT {then} llm=openai llm.model=MODEL"
    sys.stdout.write(f"next: pip install -e {package}, then pytest {shlex.quote(str(folder))}, then {then}\n")
    return ExitCode.DONE


def _files_of(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """Path and text of each file of a package."""
    class_name = "".join(part.capitalize() for part in name.split("_"))
    words = {"NAME": name, "CLASS": class_name, "UPPER": name.upper(), "KIND": kind.capitalize()}

    def filled(text: str) -> str:
        return re.sub("|".join(words), lambda found: words[found[0]], text)

    found: dict[str, Path] = {}
    for folder in (_TEMPLATES / "common", _TEMPLATES / kind):
        found |= {str(path.relative_to(folder)): path for path in sorted(folder.rglob(f"*{_SUFFIX}"))}
    for path, template in found.items():
        yield filled(path.removesuffix(_SUFFIX)), filled(template.read_text("utf-8"))
