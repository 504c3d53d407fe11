"""Exploits against evaluators without a browser: made-up evidence, scored in both dialects."""

from collections.abc import Iterable, Mapping, Sequence

from harness.api import NO_EVALUATORS, Evaluator, Task
from harness.api.journals import MemoryArtifacts
from harness.api.records import Scored
from harness.api.scoring import DIALECTS, Scorer
from harness.plugins.audit.exploit import Exploit, Seen
from harness.plugins.audit.findings import Tried
from harness.plugins.audit.obedient_judge import ObedientJudge
from harness.plugins.audit.static_world import made_up, seen_page


async def audit(
    tasks: Sequence[Task],
    exploits: Iterable[Exploit],
    *,
    pages: Mapping[str, str] | None = None,
    task_file: str = "",
    evaluators: Mapping[str, Evaluator] = NO_EVALUATORS,
) -> list[Tried]:
    """Score each exploit on each task that it fits.

    Args:
        tasks: The tasks.
        exploits: What is tried.
        pages: Task id to the text of a page of it, as it was recorded.
        task_file: Where the tasks are from.
        evaluators: By eval type, those that are not shipped ones.
    """
    scorers = {dialect: Scorer(dialect, ObedientJudge(), further=evaluators) for dialect in DIALECTS}
    found = []
    for exploit in exploits:
        for task in tasks:
            if exploit.fits(task):
                seen = seen_page(task, (pages or {}).get(task.task_id, ""), task_file=task_file)
                found.append(await _tried(exploit, task, scorers, seen))
    return found


async def _tried(exploit: Exploit, task: Task, scorers: Mapping[str, Scorer], seen: Seen) -> Tried:
    artifacts = MemoryArtifacts()
    closed = made_up(exploit, task, artifacts, seen)
    scored = {dialect: await scorer.score(task, closed, artifacts) for dialect, scorer in scorers.items()}
    return tried(exploit.name, task.task_id, scored)


def tried(exploit: str, task_id: str, scored: Mapping[str, Scored]) -> Tried:
    """What an exploit came to, from the scores of its episode."""
    return Tried(
        exploit=exploit,
        task_id=task_id,
        scores={dialect: scored[dialect].value if dialect in scored else None for dialect in DIALECTS},
        why={dialect: _why(one) for dialect, one in scored.items() if one.value is None or one.value > 0},
    )


def _why(scored: Scored) -> str:
    return "; ".join(f"{verdict.evaluator}: {verdict.why}" for verdict in scored.verdicts)
