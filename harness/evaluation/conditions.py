"""What the results of a run come to: its exit code, by `fail_under` and `fail_under.NAME`."""

from collections.abc import Collection, Mapping

from rich.console import Console

from harness.errors import ExitCode
from harness.reports.console import say
from harness.runs.measures import below
from harness.runs.run import Run
from harness.runs.statistics import Group


def below_least(run: Run, least: Mapping[str, float]) -> tuple[str, ...]:
    """A sentence for each figure that is below what `fail_under_of` asks for; without one, no journal is read."""
    return below(run.measured, least) if least else ()


def exit_code(
    console: Console,
    found: Group,
    fail_under: float | None,
    low: Collection[str] = (),
    *,
    left_out: Collection[Exception] = (),
) -> ExitCode:
    """What the results come to. Conditions that are not met are said (`low`: see `harness.runs.measures.below`), and
    journals that turned out to be damaged (`left_out`: see `harness.runs.Run.left_out`).
    """
    for line in (*low, *map(str, left_out)):
        say(console, line)
    # What is unscored may still pass: alone it ends with `UNSCORED`, not with `BELOW`.
    at_most = (found.passed + found.unscored) / found.episodes if found.episodes else 1.0
    # Divided, not multiplied: 0.55 * 100 is a little above 55.
    is_low = fail_under is not None and at_most < fail_under
    if is_low:
        console.print(f"below fail_under={fail_under:g}: {found.passed} of {found.episodes} passed")
    if low or is_low:
        return ExitCode.BELOW
    return ExitCode.UNSCORED if left_out or found.unscored else ExitCode.DONE
