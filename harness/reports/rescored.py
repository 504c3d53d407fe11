"""What `rescored-*.json` of a run folder says that is in none of the figures, which are those of the journals."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.evaluators.result import DIALECTS
from harness.reports.rows import Row
from harness.reports.trials import amount
from harness.runs.run import side_file


def rescored_notes(folder: Path, rows: Sequence[Row]) -> Iterator[str]:
    """A sentence for each file that has scores with a corrected reference which the journals do not have.

    Args:
        folder: The run folder; its files may be missing or damaged.
        rows: Of the run.
    """
    shown = {row.task_id: row.digest for row in rows}
    for dialect in sorted(DIALECTS):
        name = f"rescored-{dialect}.json"
        references = side_file(folder / name).get("references")
        if not isinstance(references, dict):
            continue
        if others := sum(shown.get(task, digest) != digest for task, digest in references.items()):
            yield (
                f"{name} has scores of {amount(others, 'task')} with a corrected reference (eval), which are not in"
                " these figures; the run's own command with the corrected tasks and resume.accept_drift=true takes"
                " them over"
            )
