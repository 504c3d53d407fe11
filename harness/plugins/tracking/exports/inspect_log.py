"""A run as a log of Inspect AI (version 2 of its format): the zip file `RUN.eval`, for its viewer and `read_eval_log`.

A sample is a task, an epoch a trial. Each dialect is a scorer. A sample without a score has an error that says why.
One episode at a time is in memory; the same run gives the same bytes.
Source: the classes of `inspect_ai.log` (0.3.285).
"""

import zipfile
from base64 import b64encode
from math import sqrt
from pathlib import Path
from typing import Any

from harness import __version__
from harness.api import JsonObject, Usage, digest, dumps
from harness.api.files import prepared, replacing, translate_os_errors
from harness.api.pictures import media_type
from harness.errors import TrackingError
from harness.plugins.tracking.episodes import run_at
from harness.plugins.tracking.exports.events import DIALECTS, events_of, scores_of, why_of
from harness.plugins.tracking.exports.inspect_messages import SampleContent, error, iso, usage
from harness.runs import Episode, Run
from harness.runs.results import NOT_BEGUN

VERSION = 2
_DAY_ONE = (1980, 1, 1, 0, 0, 0)
_SUMMARY_KEYS = (
    *("id", "epoch", "input", "target", "metadata", "scores", "model_usage", "role_usage", "started_at"),
    *("completed_at", "total_time", "working_time", "uuid"),
)


def export_inspect(folder: Path, into: Path) -> Path:
    """Write `RUN.eval` into a folder.

    Raises:
        TrackingError: There is no run, or nothing was played in it.
        JournalError: A journal is damaged.
    """
    run = run_at(folder)
    path = into / f"{run.name}.eval"
    with translate_os_errors(into):
        within = prepared(into, folder)
        with replacing(path, durable=False, within=within) as file, zipfile.ZipFile(file, "w") as archive:
            log = _Log(run)
            for episode in run.episodes():
                sample = log.add(episode)
                _put(archive, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
            if not log.summaries:
                raise TrackingError(f"{folder} contains no episodes; give a run folder in which a task was played")
            header = log.header()
            start = {key: header[key] for key in ("version", "eval", "plan")}
            _put(archive, "_journal/start.json", start)
            _put(archive, "summaries.json", log.summaries)
            _put(archive, "reductions.json", log.reductions())
            _put(archive, "header.json", header)
    return path


def _put(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    member = zipfile.ZipInfo(name, _DAY_ONE)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, dumps(value))


class _Log:
    """What all samples add up to."""

    def __init__(self, run: Run) -> None:
        self.summaries: list[JsonObject] = []
        self._run = run
        self._values: dict[str, dict[str, list[float]]] = {dialect: {} for dialect in DIALECTS}
        self._usage: dict[str, Usage] = {}
        self._bounds = (float("inf"), 0.0)
        self._pending = 0
        self._not_begun = [one.task_id for one in run.results if one.cause == NOT_BEGUN]

    def add(self, episode: Episode) -> JsonObject:
        sample = _sample(self._run, episode)
        summary = {key: sample[key] for key in _SUMMARY_KEYS}
        summary |= {"completed": episode.is_finished, "message_count": len(sample["messages"])}
        summary["metadata"] = {key: sample["metadata"][key] for key in ("sites", "closed", "steps")}
        summary["input"] = episode.intent
        if "error" in sample:
            summary["error"] = sample["error"]["message"]
        self.summaries.append(summary)
        for dialect, scored in scores_of(episode):
            self._values[dialect].setdefault(str(sample["id"]), []).append(scored.value or 0.0)
        for model in sample["model_usage"]:
            self._usage[model] = self._usage.get(model, Usage()) + episode.record.usage
        began, ended = episode.bounds()
        self._bounds = min(self._bounds[0], began), max(self._bounds[1], ended)
        self._pending += not episode.is_finished and not episode.record.failures
        return sample

    def header(self) -> JsonObject:
        spent = {model: usage(total) for model, total in self._usage.items()}
        began, ended = map(iso, self._bounds)
        return {
            "version": VERSION,
            "status": "cancelled" if self._pending or self._not_begun else "success",
            "eval": self._spec(began),
            "plan": {"name": "plan", "steps": [{"solver": self._agent, "params": {}}], "config": self._generation()},
            "results": {
                "total_samples": self._total,
                "completed_samples": sum(summary["completed"] for summary in self.summaries),
                "scores": [self._score(dialect) for dialect in DIALECTS],
            },
            "stats": {"started_at": began, "completed_at": ended, "model_usage": spent, "role_usage": {}},
        }

    def reductions(self) -> list[JsonObject]:
        return [
            {
                "scorer": dialect,
                "reducer": "mean",
                "samples": [{"sample_id": name, "value": _mean(values)} for name, values in by_task.items()],
            }
            for dialect, by_task in self._values.items()
        ]

    @property
    def _total(self) -> int:
        """Of the run: those that have not begun have no sample in the log."""
        return len(self.summaries) + len(self._not_begun)

    @property
    def _agent(self) -> str:
        return str(self._run.settings.get("agent.name") or "agent")

    def _generation(self) -> JsonObject:
        settings = self._run.settings
        found = {key: settings.get(f"llm.{key}") for key in ("temperature", "top_p", "max_tokens")}
        return {key: value for key, value in found.items() if value is not None}

    def _spec(self, created: str) -> JsonObject:
        run, described = self._run, self._run.description
        settings = run.settings
        names = list(dict.fromkeys((*(str(summary["id"]) for summary in self.summaries), *self._not_begun)))
        spec: JsonObject = {
            "eval_id": digest([run.name, created])[:22],
            "run_id": digest([run.name, created, "run"])[:22],
            "created": created,
            "task": run.name,
            "task_id": digest([names, settings])[:22],
            "task_version": 0,
            "solver": self._agent,
            "dataset": {"name": run.name, "samples": len(names), "sample_ids": names, "shuffled": False},
            "model": str(settings.get("llm.model") or next(iter(self._usage), "none")),
            "model_generate_config": self._generation(),
            "config": {"epochs": max(summary["epoch"] for summary in self.summaries), "fail_on_error": False},
            "packages": {"cairn-harness": str(described.get("harness", __version__))},
            "scorers": [{"name": dialect, "metrics": [{"name": "mean"}, {"name": "stderr"}]} for dialect in DIALECTS],
            "metadata": {"settings": settings},
        }
        match described.get("revision"):
            case {"commit": str(commit), **rest}:
                dirty = {"dirty": rest["dirty"]} if isinstance(rest.get("dirty"), bool) else {}
                spec["revision"] = {"type": "git", "origin": "", "commit": commit, **dirty}
        return spec

    def _score(self, dialect: str) -> JsonObject:
        by_task = self._values[dialect]
        scored = sum(map(len, by_task.values()))
        means = [_mean(values) for values in by_task.values()]
        spread = sum((value - _mean(means)) ** 2 for value in means)
        error_of_mean = sqrt(spread / (len(means) - 1) / len(means)) if len(means) > 1 else 0.0
        metrics = {"mean": _mean(means), "stderr": error_of_mean} if means else {}
        return {
            "name": dialect,
            "scorer": dialect,
            "reducer": "mean",
            "scored_samples": scored,
            "unscored_samples": self._total - scored,
            "params": {},
            "metrics": {name: {"name": name, "value": value, "params": {}} for name, value in metrics.items()},
        }


def _sample(run: Run, episode: Episode) -> JsonObject:
    record = episode.record
    opened, closed = record.opened, record.closed
    assert opened is not None
    content = SampleContent(run)
    model = str(run.settings.get("llm.model") or "none")
    for move in events_of(episode):
        content.add(move)
    for failed in record.failures:
        content.add_error(f"{failed.type}: {failed.message}", failed.at)
    began, ended = episode.bounds()
    # A clock may be set back between two invocations; what was worked has passed all the same.
    ended = max(began + record.elapsed_ms / 1000, closed.at if closed else ended)
    sample: JsonObject = {
        "id": opened.task.task_id,
        "epoch": opened.trial + 1,
        "input": _input(run, episode, content),
        "target": _target(episode),
        "messages": content.messages,
        "output": content.output or {"model": model, "choices": []},
        "scores": {dialect: _score(episode, dialect) for dialect, _ in scores_of(episode)},
        "metadata": _metadata(episode),
        "store": {},
        "events": content.events,
        "events_data": {"messages": content.pool, "calls": []},
        "model_usage": {model: usage(record.usage)} if record.usage.tokens or record.usage.requests else {},
        "role_usage": {},
        "started_at": iso(began),
        "completed_at": iso(ended),
        "total_time": ended - began,
        "working_time": record.elapsed_ms / 1000,
        "uuid": digest([run.name, opened.task.task_id, opened.trial, opened.at])[:22],
        "attachments": content.attachments,
    }
    if why := episode.why_unscored():
        sample["error"] = error(why)
    return sample


def _score(episode: Episode, dialect: str) -> JsonObject:
    scored, closed = episode.record.scores[dialect], episode.record.closed
    return {
        "value": scored.value,
        "answer": closed.answer if closed else None,
        "explanation": why_of(scored),
        "metadata": {
            "evaluator_version": scored.evaluator_version,
            "verdicts": [
                {"evaluator": verdict.evaluator, "status": verdict.status, "value": verdict.value}
                for verdict in scored.verdicts
            ],
        },
        "history": [],
    }


def _input(run: Run, episode: Episode, content: SampleContent) -> Any:
    """The intent, with the pictures that belong to it."""
    opened = episode.record.opened
    assert opened is not None
    if not opened.images:
        return episode.intent
    pictures = [content.attached(_data_url(run.artifacts.read(digest))) for digest in opened.images]
    parts = [{"type": "text", "text": episode.intent}, *({"type": "image", "image": picture} for picture in pictures)]
    return [{"id": "intent", "role": "user", "content": parts}]


def _data_url(picture: bytes) -> str:
    return f"data:{media_type(picture)};base64,{b64encode(picture).decode()}"


def _target(episode: Episode) -> list[str]:
    opened = episode.record.opened
    assert opened is not None
    wanted = opened.task.eval
    answers = [_text(value) for value in (wanted.reference_answers or {}).values()]
    return [*answers, *([wanted.reference_url] if wanted.reference_url else ())] or [""]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _metadata(episode: Episode) -> JsonObject:
    record = episode.record
    opened, closed = record.opened, record.closed
    assert opened is not None
    return {
        "sites": "+".join(opened.task.sites),
        "start_urls": list(opened.task.start_urls),
        "evaluators": list(opened.task.eval.eval_types),
        "attempts": record.attempt,
        "steps": len(episode.steps),
        "closed": closed.reason.value if closed else "",
        "detail": closed.detail if closed else "",
        "task_digest": opened.task_digest,
        "config_digest": opened.config_digest,
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
