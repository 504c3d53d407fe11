"""The rule of loops, held against what people say of looping in AgentRewardBench's layout. It asks no model."""

from dataclasses import dataclass

from harness.plugins.judge_check.labelled_set import LabelledSet, LabelledTrajectory
from harness.runs.judge_error import Agreement
from harness.runs.loops import is_loop, repeated


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCheck:
    """What came of it; in `counts`, the rule stands in the place of a judge, and looping in that of success."""

    counts: Agreement
    without_pages: int
    """Trajectories whose steps say nothing of the page but its address."""


def check_loops(labels: LabelledSet, limit: int | None = None) -> LoopCheck:
    """How often the rule says what people say.

    Args:
        labels: Of looping.
        limit: Only so many of them; None = all.
    Raises:
        TaskError: A trajectory is missing or wrong.
    """
    found, without_pages = list[tuple[bool, bool]](), 0
    for label in labels.labels[:limit]:
        trajectory, _ = labels.trajectory(label)
        found.append((is_looping(trajectory), label.says))
        without_pages += not any(page for _, page, _ in trajectory.moves)
    counts = Agreement(
        both=found.count((True, True)),
        judge_only=found.count((True, False)),
        people_only=found.count((False, True)),
        neither=found.count((False, False)),
    )
    return LoopCheck(counts=counts, without_pages=without_pages)


def is_looping(trajectory: LabelledTrajectory) -> bool:
    """What the rule says; one that ends without a message was ended by a limit."""
    again = repeated(trajectory.moves)
    return is_loop(again, len(trajectory.moves), is_at_limit=not trajectory.ends_with_message)
