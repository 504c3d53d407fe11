"""`harness score --verified RUN`: the verdicts of webarena-verified's scorer, beside the run's own scores."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api import dumps
from harness.api.files import Within, write_atomic
from harness.errors import ConfigError, EvaluatorError, ExitCode
from harness.plugins.webarena_verified.whole_run import RunVerdicts, score_folder
from harness.runs import Run, one_line
from harness.runs.verified import VERIFIED_NAME, agreed, status_of

if TYPE_CHECKING:
    from harness.api.terminal import Terminal


def score_verified(folder: Path, arguments: Mapping[str, Any], dialect: str | None, console: "Terminal") -> int:
    """Judge the run, store the verdicts, and name each episode on which it and the scorer differ.

    Args:
        folder: The run folder.
        arguments: `task.arguments` of the person's own settings: `package` and `dataset`; {} = the defaults.
        dialect: Scoring to compare with; None = that of the run.
        console: Where to say it.

    Raises:
        ConfigError: The package is not installed, or the run has nothing that its scorer can be given.
    """
    try:
        found = asyncio.run(score_folder(folder, arguments))
    except EvaluatorError as error:
        raise ConfigError(str(error)) from error
    _store(folder, found)
    for sentence in found.left_out:
        console.print(f"left out: {sentence}", markup=False, soft_wrap=True)
    return _tell(folder, dialect, console, complete=not found.left_out)


def _store(folder: Path, found: RunVerdicts) -> None:
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
    run = Run(folder, scoring=dialect)
    known, held = run.about, agreed(run.results)
    console.print(str(folder / VERIFIED_NAME), markup=False, soft_wrap=True)
    if known.verified is None or held is None:
        raise ConfigError(f"webarena-verified gave no verdict on {folder}")
    for one in held.differences:
        console.print(f"differs: {one_line(str(one), 300)}", markup=False, soft_wrap=True)
    console.print(f"{known.verified.scorer}: {held} ({known.dialect} scoring)", markup=False, soft_wrap=True)
    return ExitCode.DONE if complete else ExitCode.UNSCORED
