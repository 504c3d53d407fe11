"""`harness settings`: what can be set, what it means, and what it is where nothing is said."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from harness.plugins.settings_reference.setting_reference import DescribedSetting

HELP = "list settings: meaning, values, default, values from groups, and whether they are measured"
EXAMPLE = "harness settings browser    # a group; or a part of a name (timeout), or a pattern ('llm.*_s')"
_WIDEST_DEFAULT = 24
_WIDE_ENOUGH = 110
"""Columns of a terminal; in a narrower one the default stands with the meaning."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="?", metavar="PATTERN", help="a name, a part of one, or one with * and ?")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print them as a JSON array")
    form.add_argument("--markdown", action="store_true", help="print them as a page of the documentation")
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="folder of your own configurations, as for run.py"
    )


def run(options: argparse.Namespace) -> int:
    from harness.api import dumps
    from harness.api.composition import plugin_folders
    from harness.api.configuration import PROJECT
    from harness.plugins.settings_reference.group_files import choices
    from harness.plugins.settings_reference.setting_reference import described
    from harness.plugins.settings_reference.settings_page import page

    if options.config_dir is not None and not options.config_dir.is_dir():
        raise ConfigError(f"--config-dir {options.config_dir} is not a folder; give the folder of your configurations")
    own = [folder for folder in (options.config_dir,) if folder is not None]
    folders = [] if options.markdown else [*own, *plugin_folders().values()]  # the page is of what is shipped
    files = choices((PROJECT / "configs", *folders))
    found = tuple(_matching(options.pattern, described(files, options.config_dir)))
    if options.json:
        sys.stdout.write(f"{dumps([one.plain() for one in found]).decode()}\n")
    elif options.markdown:
        sys.stdout.write(page(found, files))
    else:
        _print(found)
    return ExitCode.DONE


def _matching(pattern: str | None, every: "Iterable[DescribedSetting]") -> "Iterator[DescribedSetting]":
    """The settings that the pattern means: by name or, where no name has it, by words.

    Raises:
        ConfigError: There is none.
    """
    from fnmatch import fnmatchcase

    from harness.api.composition import misspelt

    known = tuple(every)
    if pattern is None:
        yield from known
        return
    text = pattern.strip().lower()
    has = any(sign in text for sign in "*?[")
    found = [one for one in known if (fnmatchcase(one.name.lower(), text) if has else one.is_called(text))]
    found = found or [one for one in known if text and text in one.setting.words.lower()]
    if not found:
        raise ConfigError(f"{misspelt(pattern, (one.name for one in known))}; harness settings lists all")
    yield from found


def _print(found: "Iterable[DescribedSetting]") -> None:
    from rich.table import Table
    from rich.text import Text

    from harness.api.terminal import Terminal

    terminal = Terminal(highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    is_narrow = terminal.width < _WIDE_ENOUGH
    table.add_column("setting", no_wrap=True)
    if not is_narrow:
        table.add_column("default", max_width=_WIDEST_DEFAULT if terminal.is_terminal else None, overflow="fold")
    table.add_column("meaning", overflow="fold")
    for one in found:
        if is_narrow:
            table.add_row(Text(one.name), Text(f"Default: {one.default_text}. {one.explanation}"))
        else:
            table.add_row(Text(one.name), Text(one.default_text), Text(one.explanation))
    terminal.print(table)
