"""A whole run before the package's scorer, as an export of it and the package's command would judge it.

Independent of the scores in the journals: whatever the run was scored by, the scorer reads answers and network traces
again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.api.records import Opened
from harness.plugins.webarena_verified.package_score import dataset_setting
from harness.plugins.webarena_verified.package_verdict import PackageVerdict, run_scorer
from harness.plugins.webarena_verified.verified_export import export_verified, trial_folder
from harness.plugins.webarena_verified.verified_package import VerifiedPackage, find_package


@dataclass
class RunVerdicts:
    """What came of it."""

    verdicts: list[tuple[Opened, PackageVerdict]] = field(default_factory=list)
    """How each episode began, and the verdict on it; in the order of trials and journals."""
    left_out: list[str] = field(default_factory=list)
    """A sentence for each episode without a verdict."""


async def score_folder(folder: Path, arguments: Mapping[str, Any]) -> RunVerdicts:
    """`harness score --verified`; see `score_run`.

    Args:
        folder: The run folder.
        arguments: `task.arguments`: `package`, as `find_package` takes it, and `dataset`.
    """
    return await score_run(find_package(arguments.get("package")), folder, arguments.get("dataset"))


async def score_run(package: VerifiedPackage, folder: Path, dataset: str | None = None) -> RunVerdicts:
    """Let the package's scorer judge every ended episode of a run folder that has a whole network trace.

    Args:
        package: Whose scorer.
        folder: The run folder; nothing is written there.
        dataset: The tasks to judge by; None = the package's own.
    Raises:
        ConfigError: The run has nothing that the scorer can be given.
        JournalError: A journal or trace is damaged.
        EvaluatorError: The scorer fails.
    """
    found = RunVerdicts()
    with TemporaryDirectory(prefix="webarena-verified-") as made:
        into = Path(made)
        exported = export_verified(folder, into, **dataset_setting(dataset))
        found.left_out += exported.left_out
        # What was requested before the resume is not there, and would be judged as if the agent had not done it.
        found.left_out += (f"{one}; run.retry=all with task.ids plays it again" for one in exported.partial.values())
        whole = (one for one in exported.written if (one.task.task_id, one.trial) not in exported.partial)
        played = sorted(whole, key=lambda opened: opened.trial)
        for trial, group in groupby(played, key=lambda opened: opened.trial):
            begun = list(group)
            ids = [opened.task.task_id for opened in begun]
            said = await run_scorer(package, trial_folder(into, trial), ids, into / "config.json")
            for opened in begun:
                if (verdict := said.get(opened.task.task_id)) is not None:
                    found.verdicts.append((opened, verdict))
                else:
                    found.left_out.append(f"task {opened.task.task_id}: the scorer does not know it")
    return found
