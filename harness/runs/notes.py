"""What readers of a rate have to know about how it was made, a sentence each."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from harness.codec import JsonObject
from harness.escape import listed, one_line
from harness.evaluators.result import DIALECTS
from harness.files.side_file import SideFile
from harness.journal.index import EpisodeResult
from harness.runs.results import Result, natural
from harness.runs.trials import amount

UNCONFINED = (
    "it could read what the user can, the task files with their answers and the journals included, and use the network"
)
"""Of a process without a sandbox."""


def unconfined_notes(episodes: int) -> tuple[str, ...]:
    """The agent was a process that nothing confined; () without such an episode."""
    if not episodes:
        return ()
    return (f"the agent's process was not confined in {amount(episodes, 'episode')} (agent.sandbox): {UNCONFINED}",)


def surplus_notes(surplus: Collection[EpisodeResult]) -> tuple[str, ...]:
    """The folder has episodes of earlier starts that the run is not about any more; () = it has none."""
    if not surplus:
        return ()
    ordered = sorted(surplus, key=lambda one: (natural(one.task_id), one.trial))
    names = [one_line(one.task_id, 60) + (f" trial {one.trial}" if one.trial else "") for one in ordered]
    several = "s" * (len(names) > 1)
    return (
        f"not counted: {amount(len(names), 'episode')} of earlier starts with other tasks or trials (task{several}"
        f" {listed(names, 5)})",
    )


def corrected_notes(scores: int) -> tuple[str, ...]:
    """References were corrected after an episode was played; () without such a score."""
    if not scores:
        return ()
    return (f"{amount(scores, 'score')} with a corrected reference (eval), not with the one that was played",)


def rescored_name(dialect: str) -> str:
    """Name of the file in which `harness score` leaves the scores of a dialect."""
    return f"rescored-{dialect}.json"


def rescored_notes(folder: Path, results: Iterable[Result]) -> Iterator[str]:
    """A sentence for each file that has scores with a corrected reference which the journals do not have.

    Args:
        folder: The run folder; its files may be missing or damaged.
        results: Of the run.
    """
    shown = {one.task_id: one.digest for one in results}
    for dialect in sorted(DIALECTS):
        name = rescored_name(dialect)
        references = (SideFile[JsonObject](name, dict).find(folder) or {}).get("references")
        if not isinstance(references, dict):
            continue
        if others := sum(shown.get(task, digest) != digest for task, digest in references.items()):
            yield (
                f"{name} has scores of {amount(others, 'task')} with a corrected reference (eval), which are not in"
                " these figures; the run's own command with the corrected tasks and resume.accept_drift=true takes"
                " them over"
            )
