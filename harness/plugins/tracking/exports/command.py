"""`harness export`: writes runs in other formats, from their journals alone.

Formats are found by name (`cairn.exports`), so that one of an installed package is chosen like a shipped one.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from harness.api import Export
from harness.api.command_line import Registry, add_scoring
from harness.api.text import visible
from harness.errors import ConfigError, ExitCode

HELP = "write runs as training data (art, sft), tables (parquet, csv), datasets (hf), or for other programs"
EXAMPLE = "harness export art results/demo-prompt-scripted --project shopping"
_FORMATS = Registry(group="cairn.exports", noun="format")


def arguments(parser: argparse.ArgumentParser) -> None:
    names = _FORMATS.names()
    parser.add_argument("format", choices=names, metavar="FORMAT", help=", ".join(names))
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders")
    parser.add_argument(
        "--to",
        metavar="DIR",
        help="where to write (default: .art for art, else export/ in each RUN); otel and mlflow also take an address",
    )
    add_scoring(parser, "scoring to export (default: of each run)")
    groups: dict[str, argparse._ArgumentGroup] = {}
    parser.set_defaults(groups=groups)
    for name in names:
        try:
            made = _made(name)
            groups[name] = parser.add_argument_group(name)
            with _FORMATS.running(name):
                made.arguments(groups[name])
        except (ConfigError, argparse.ArgumentError) as error:
            parser.epilog = f"{parser.epilog}\n{name} cannot be used: {error}".replace("%", "%%")


def run(options: argparse.Namespace) -> int:
    from harness.runs import one_line
    from harness.runs.notes import surplus_notes
    from harness.runs.run import Run, run_folder

    made, given = _made(options.format), options.scoring
    _check_options(options)
    folders = [run_folder(one) for one in options.runs]
    names = [folder.resolve().name for folder in folders]
    if options.to is not None and (again := next((name for name in names if names.count(name) > 1), "")):
        raise ConfigError(f"two of the runs are called {again}; export each with a --to of its own")
    for folder in folders:
        one = Run(folder, scoring=given)
        options.scoring = one.scoring
        for notice in surplus_notes(one.surplus):
            sys.stderr.write(f"harness: {one_line(f'{folder}: {notice}')}\n")
        for path in _written(made, folder, options):
            sys.stdout.write(f"{visible(str(path))}\n")
    return ExitCode.DONE


def _check_options(options: argparse.Namespace) -> None:
    """Raises: ConfigError: An option of another format is given, which would change nothing."""
    for name, group in options.groups.items():
        for action in group._group_actions if name != options.format else ():
            # What is not given is the very object that stands as default, unless argparse reads it from a text.
            is_read = isinstance(action.default, str) and action.type is not None
            if not is_read and getattr(options, action.dest, action.default) is not action.default:
                option = action.option_strings[0]
                raise ConfigError(f"{option} is for harness export {name}; leave it out for {options.format}")


def _written(made: Export, folder: Path, options: argparse.Namespace) -> list[object]:
    """Raises: ConfigError: The format of an installed package fails, or does not say what it wrote."""
    with _FORMATS.running(options.format):
        written = made.write(folder, _into(folder, options), options)
        if isinstance(written, str) or not isinstance(written, Iterable):
            said = f"`write` returned {type(written).__name__}; return the paths that it wrote, in a list"
            raise ConfigError(f"format={options.format}: {said}")
        return list(written)


def _made(name: str) -> Export:
    """Raises: ConfigError: What the name is registered for is not an `Export`."""
    kind = _FORMATS.find(name)
    if not (isinstance(kind, type) and issubclass(kind, Export)):
        raise ConfigError(f"format={name}: {kind!r:.80} is not a harness.api.Export; derive the class from it")
    with _FORMATS.running(name):
        return kind()


def _into(folder: Path, options: argparse.Namespace) -> Path:
    """The folder for the files of a run; with several runs, each into a separate folder."""
    if options.to is None:
        return folder / "export"
    to = Path(options.to)
    return to / folder.resolve().name if len(options.runs) > 1 else to
