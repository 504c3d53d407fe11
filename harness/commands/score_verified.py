"""`harness score --verified RUN`: the verdicts of webarena-verified's scorer, beside the run's own scores."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ConfigError, EvaluatorError, ExitCode
from harness.registry import Registry

if TYPE_CHECKING:
    from harness.config import Config
    from harness.reports.console import Terminal

SCORERS = Registry(group="cairn.scorers", noun="harness score")
"""Name to what is awaited with run folder and `task.arguments`, and gives somebody else's verdicts on its episodes."""


def score_verified(folder: Path, config: "Config | None", dialect: str | None, console: "Terminal") -> int:
    """Judge the run, store the verdicts, and name each episode on which it and the scorer differ.

    Args:
        folder: The run folder.
        config: The person's own settings: `task.arguments.package` and `.dataset`; None = the defaults.
        dialect: Scoring to compare with; None = that of the run.
        console: Where to say it.

    Raises:
        ConfigError: The package is not installed, or the run has nothing that its scorer can be given.
    """
    score = SCORERS.find("verified")
    try:
        found = asyncio.run(score(folder, {} if config is None else config.task.arguments))
    except EvaluatorError as error:
        raise ConfigError(str(error)) from error
    _store(folder, found)
    for sentence in found.left_out:
        console.print(f"left out: {sentence}", markup=False, soft_wrap=True)
    return _tell(folder, dialect, console, complete=not found.left_out)


def _store(folder: Path, found: Any) -> None:
    from harness.codec import dumps
    from harness.files.disk import Within, write_atomic
    from harness.runs.verified import VERIFIED_NAME, status_of

    versions = sorted({verdict.version for _, verdict in found.verdicts})
    results = [
        {
            "task_id": opened.task.task_id,
            "trial": opened.trial,
            "attempt": opened.attempt,
            "status": status_of(verdict.value),
            "verdict": verdict.status,
            "why": verdict.why,
        }
        for opened, verdict in found.verdicts
    ]
    content = {"scorer": f"webarena-verified {', '.join(versions)}".strip(), "results": results}
    write_atomic(folder / VERIFIED_NAME, dumps(content, pretty=True), within=Within(folder))


def _tell(folder: Path, dialect: str | None, console: "Terminal", *, complete: bool) -> int:
    from harness.escape import one_line
    from harness.runs.run import Run
    from harness.runs.statistics import agreed
    from harness.runs.verified import VERIFIED_NAME

    run = Run(folder, scoring=dialect)
    known, held = run.about, agreed(run.results)
    console.print(str(folder / VERIFIED_NAME), markup=False, soft_wrap=True)
    if known.verified is None or held is None:
        raise ConfigError(f"webarena-verified gave no verdict on {folder}")
    for one in held.differences:
        console.print(f"differs: {one_line(str(one), 300)}", markup=False, soft_wrap=True)
    console.print(f"{known.verified.scorer}: {held} ({known.dialect} scoring)", markup=False, soft_wrap=True)
    return ExitCode.DONE if complete else ExitCode.UNSCORED
