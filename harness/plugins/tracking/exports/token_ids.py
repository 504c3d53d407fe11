"""A run's tokens for training: `tokens.jsonl`, a line for each answer of the model under test.

    {"task", "trial", "attempt", "step", "request", "answer", "inherited", "model",
     "prompt_ids", "completion_ids", "logprobs", "status", "reward"}

Ids are those of the endpoint (`llm.token_ids`), read from its answers as the run folder keeps them. `reward` is the
score of the episode, null as long as there is none: a failure of the infrastructure is not a reward of 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.api import JsonObject, dumps
from harness.api.files import prepared, replacing, translate_os_errors
from harness.plugins.tracking.episodes import run_at
from harness.runs import Episode

NAME = "tokens.jsonl"


@dataclass(slots=True)
class TokenExport:
    """What was written."""

    path: Path
    answers: int = 0
    without: int = 0
    """Answers without token ids."""


def export_tokens(folder: Path, into: Path, *, dialect: str) -> TokenExport:
    """Write `tokens.jsonl` of a run folder into a folder; it appears when it is complete.

    Args:
        folder: A run folder.
        into: Made if it is missing.
        dialect: Whose score is the reward.

    Raises:
        TrackingError: There is no run.
        JournalError: A journal or an artifact is damaged.
    """
    found = TokenExport(into / NAME)
    with translate_os_errors(into):
        within = prepared(into, folder)
        with replacing(found.path, durable=False, within=within) as file:
            for episode in run_at(folder, scoring=dialect).episodes():
                for row in _rows(episode, found):
                    file.write(dumps(row) + b"\n")
                    found.answers += 1
    return found


def _rows(episode: Episode, found: TokenExport) -> Iterator[JsonObject]:
    for request in episode.requests:
        for number, one in enumerate(request.tokens_by_answer):
            if one is None:
                found.without += 1
                continue
            yield {
                "task": episode.task_id,
                "trial": episode.trial,
                "attempt": episode.attempt,
                "step": request.step,
                "request": request.number,
                "answer": number,
                "inherited": request.is_inherited,
                "model": request.model,
                "prompt_ids": one.prompt_ids,
                "completion_ids": one.completion_ids,
                "logprobs": one.logprobs,
                "status": episode.status,
                "reward": episode.score.value,
            }
