"""`harness doctor`: checks everything that a run needs, and says how to fix what fails."""

import argparse
from typing import TYPE_CHECKING

from harness.commands.own_settings import add_own_settings
from harness.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from harness.evaluation.run_context import RunContext

HELP = "check machine, disk, browser, endpoint, sites and logins, and say how to fix what fails"
EXAMPLE = "harness doctor task=webarena task.path=test.raw.json llm=openai"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_own_settings(
        parser, "the settings to check, as for run.py; a model that is not scripted gets one short request"
    )


def run(options: argparse.Namespace) -> int:
    import asyncio

    from harness.cli import configured
    from harness.config.config_tree import build_redactor
    from harness.evaluation.run_context import RunContext
    from harness.reports.console import Terminal
    from harness.secrets.redacting_stream import redact_output, restore_output

    config = configured(options.overrides, options.config_dir)
    redact_output(build_redactor(config.tree()))
    with RunContext.for_checks(config) as context:
        code = asyncio.run(_check(context, Terminal(highlight=False, soft_wrap=True)))
    restore_output()
    return code


async def _check(context: "RunContext", console: "Console") -> int:
    from harness.commands.checkup import checkup

    wrong = 0
    async for finding in checkup(context):
        wrong += not finding.fine
        mark = "[red]WRONG[/]" if not finding.fine else "[yellow]note [/]" if finding.fix else "[green]ok   [/]"
        console.print(mark, end=" ")
        console.print(f"{finding.about:<14} {finding.says}", markup=False)
        if finding.fix:
            console.print(f"{'':6}{'-> ' + finding.fix}", markup=False)
    console.print("all checks passed" if not wrong else f"{wrong} check{'s' * (wrong != 1)} failed")
    return ExitCode.BELOW if wrong else ExitCode.DONE
