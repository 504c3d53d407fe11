"""`harness audit`: what passes without being done."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api.command_line import add_own_settings
from harness.errors import ConfigError, ExitCode
from harness.runs import listed
from harness.runs.trials import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.api.terminal import Terminal
    from harness.plugins.audit.exploit import Exploit
    from harness.plugins.audit.findings import ExploitRow, Tried

HELP = "try known exploits on tasks or on a run's tasks, and list what passes without being done"
EXAMPLE = "harness audit tasks/demo.json --play; harness audit test.raw.json --json"
_SHOWN = 12
"""Task ids of one exploit that are named in the terminal."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", type=Path, metavar="TASKS|RUN", help="task file or folder of tasks, or run folder")
    add_own_settings(parser, "your settings: sites, evaluators and, with --play, browser and workers")
    parser.add_argument(
        "--play",
        action="store_true",
        help="play the exploits in a browser on the configured sites (default: score made-up evidence, no browser)",
    )
    parser.add_argument(
        "--controls",
        action="store_true",
        help="play agents with known figures on tasks with policies or attacks, and list different results",
    )
    parser.add_argument(
        "--exploit", action="append", default=[], metavar="NAME", help="only this exploit; repeatable (default: all)"
    )
    parser.add_argument("--root", type=Path, default=Path("results"), help="where runs are kept, in audit/")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    import asyncio

    from harness.api.scoring import DIALECTS
    from harness.api.terminal import Terminal
    from harness.plugins.audit.findings import rows_of
    from harness.plugins.audit.task_audit import played, scored

    console = Terminal(highlight=False)
    options.of = _place(options.of)
    if options.controls:
        return _run_controls(options, console)
    exploits = _chosen(options.exploit)
    if options.play:
        tried = played(options, exploits, console)
    else:
        tried = asyncio.run(scored(options, exploits))
    rows = rows_of(tried, {one.name: one.about for one in exploits}, DIALECTS)
    (_print_json if options.json else _print)(console, options, rows, tried)
    if any(row.passed["corrected"] for row in rows):
        return ExitCode.BELOW
    return ExitCode.UNSCORED if any(row.unscored["corrected"] for row in rows) else ExitCode.DONE


def _place(of: Path) -> Path:
    """The path, or what is shipped under it where there is nothing of one's own (`tasks/demo.json`)."""
    from harness.api.configuration import PROJECT

    shipped = PROJECT / of
    return shipped if not of.exists() and shipped.is_file() else of


def _run_controls(options: argparse.Namespace, console: "Terminal") -> ExitCode:
    from harness.plugins.audit.controls import as_data, is_known, played_controls, print_controls

    if options.play or options.exploit:
        raise ConfigError("--controls plays agents and no exploits; leave --play and --exploit out")
    found = played_controls(options, console)
    if options.json:
        from harness.api import dumps

        console.out(dumps(as_data(options, found), pretty=True).decode(), highlight=False)
    else:
        print_controls(console, found)
    if any(not one.is_expected for one in found):
        return ExitCode.BELOW
    return ExitCode.DONE if is_known(found) else ExitCode.UNSCORED


def _chosen(names: "Sequence[str]") -> "tuple[Exploit, ...]":
    from harness.plugins.audit.catalogue import EXPLOITS

    if unknown := [name for name in names if name not in EXPLOITS]:
        raise ConfigError(f"--exploit {unknown[0]}: there is no such exploit; choose one of {', '.join(EXPLOITS)}")
    return tuple(one for name, one in EXPLOITS.items() if not names or name in names)


def _print_json(
    console: "Terminal", options: argparse.Namespace, rows: "Sequence[ExploitRow]", tried: "Sequence[Tried]"
) -> None:
    from harness.api import dumps

    content = {
        "of": str(options.of),
        "mode": "played" if options.play else "static",
        "tasks": len({one.task_id for one in tried}),
        "exploits": [
            {
                "exploit": row.exploit,
                "about": row.about,
                "tried": row.tried,
                "passed": {dialect: list(ids) for dialect, ids in row.passed.items()},
                "unscored": {dialect: list(ids) for dialect, ids in row.unscored.items()},
            }
            for row in rows
        ],
        "results": [one for one in tried if one.why],
    }
    console.out(dumps(content, pretty=True).decode(), highlight=False)


def _print(
    console: "Terminal", options: argparse.Namespace, rows: "Sequence[ExploitRow]", tried: "Sequence[Tried]"
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    how = "played" if options.play else "static, without a browser"
    table = Table(
        title=Text(f"exploits on {options.of} ({how})"), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("exploit", no_wrap=True)
    for name in ("tasks", "webarena", "corrected", "unscored"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        counts = (row.tried, len(row.passed["webarena"]), len(row.passed["corrected"]), len(row.unscored["corrected"]))
        table.add_row(row.exploit, *map(str, counts))
    console.print(table)
    for dialect in ("webarena", "corrected"):
        for row in rows:
            if ids := row.passed[dialect]:
                console.say(f"{dialect} passes {row.exploit} ({row.about}): {listed(ids, _SHOWN)}")
    for one in tried:
        if one.scores["corrected"] is None:
            console.say(f"unscored: {one.exploit} on task {one.task_id}: {one.why.get('corrected', 'not finished')}")
    passed = {dialect: len({id for row in rows for id in row.passed[dialect]}) for dialect in ("webarena", "corrected")}
    count = len({one.task_id for one in tried})
    console.say(
        f"{len(rows)} exploits, {amount(len(tried), 'episode')} on {amount(count, 'task')}; tasks that pass"
        f" without being done: {passed['webarena']} under webarena, {passed['corrected']} under corrected"
    )
