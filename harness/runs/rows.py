"""Episodes and steps as flat rows, for data frames, CSV and Parquet.

import pandas as pd
from harness.runs import Run, step_rows, task_row

run = Run("results/demo-prompt-scripted")
tasks = pd.DataFrame(task_row(episode) for episode in run.episodes())
steps = pd.DataFrame(row for episode in run.episodes() for row in step_rows(episode))
"""

from collections.abc import Iterator

from harness.runs.episode import Episode, Step

Row = dict[str, str | int | float | bool | None]


class Tasks:
    """Columns of the table `tasks`: one row per task and trial."""

    task_id: str
    trial: int
    sites: str
    intent: str
    status: str
    """`passed`, `failed` or `unscored`."""
    score: float | None
    scoring: str
    closed: str
    answer: str
    steps: int
    attempts: int
    resumed_from: int | None
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    priced: bool
    requests: int
    judge_prompt_tokens: int
    """What judging cost, in all attempts and dialects; in no other column."""
    judge_completion_tokens: int
    judge_cost_usd: float
    judge_priced: bool
    judge_requests: int
    working_s: float
    failures: int
    failure: str
    why: str
    """Why it did not pass, as `Episode.score` has it; "" = it passed."""
    failure_class: str
    """Whose failure it is (`harness attribute`); "" = it passed, or that is not known."""
    failure_rule: str
    failure_step: int | None
    task_digest: str
    config_digest: str


class Steps:
    """Columns of the table `steps`: one row per decision of the last attempt of each task and trial.

    An inherited step has no tokens, cost or times: they are those of another run.
    """

    task_id: str
    trial: int
    attempt: int
    step: int
    action: str
    reply: str
    refused: str
    url: str
    title: str
    effects: int
    reward: float | None
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    deciding_ms: float | None
    acting_ms: float | None
    at: float
    inherited: bool
    """It was recorded by the run that this one is a fork of."""


def task_row(episode: Episode) -> Row:
    """One episode, see `Tasks`.

    Raises:
        JournalError: Its journal is damaged.
    """
    result, record, score = episode.result, episode.record, episode.score
    usage, judge, found = result.usage, result.judge_usage, episode.attribution
    return {
        "task_id": episode.task_id,
        "trial": episode.trial,
        "sites": "+".join(episode.sites),
        "intent": episode.intent,
        "status": score.status,
        "score": score.value,
        "scoring": score.scoring,
        "closed": result.closed.value if result.closed else "",
        "answer": episode.answer,
        "steps": result.steps,
        "attempts": result.attempt,
        "resumed_from": result.resumed_from,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "priced": usage.priced,
        "requests": usage.requests,
        "judge_prompt_tokens": judge.prompt_tokens,
        "judge_completion_tokens": judge.completion_tokens,
        "judge_cost_usd": judge.cost_usd,
        "judge_priced": judge.priced,
        "judge_requests": judge.requests,
        "working_s": result.elapsed_ms / 1000,
        "failures": len(record.failures),
        "failure": record.failures[-1].message if record.failures else "",
        "why": score.why,
        "failure_class": found.kind if found else "",
        "failure_rule": found.rule if found else "",
        "failure_step": found.step if found else None,
        "task_digest": result.task_digest,
        "config_digest": result.config_digest,
    }


def step_rows(episode: Episode) -> Iterator[Row]:
    """The steps of an episode, see `Steps`.

    Raises:
        JournalError: Its journal is damaged.
    """
    return (step_row(episode, step) for step in episode.steps)


def step_row(episode: Episode, step: Step) -> Row:
    """One step, see `Steps`."""
    page, decided, acted, usage = step.page, step.decided, step.acted, step.own_usage
    return {
        "task_id": episode.task_id,
        "trial": episode.trial,
        "attempt": episode.attempt,
        "step": step.number,
        "action": step.text,
        "reply": step.reply,
        "refused": step.why_not if step.outcome == "refused" else "",
        "url": page.url if page else "",
        "title": page.title if page else "",
        "effects": len(step.effects),
        "reward": step.reward,
        "model": decided.model,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "deciding_ms": None if decided.is_cached or step.is_inherited else decided.elapsed_ms,
        "acting_ms": acted.elapsed_ms if acted and not step.is_inherited else None,
        "at": decided.at,
        "inherited": step.is_inherited,
    }
