"""A run as a run of MLflow: settings as parameters, sums as metrics, the tasks as a table, a trace for each episode.

A second export finds the run and its traces by tags: it adds what is new and replaces the traces of episodes that
changed. Needs the package `mlflow` or `mlflow-skinny`, 3.17 or newer; its telemetry is off. One episode at a time is in
memory, and a row for each.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.api import JsonObject, digest, dumps
from harness.api.files import prepared, translate_os_errors
from harness.api.records import plain
from harness.errors import TrackingError
from harness.plugins.tracking.episodes import run_at
from harness.plugins.tracking.exports.events import events_of, scores_of
from harness.runs import Episode, Request, Run, Step, task_row
from harness.runs.results import NOT_BEGUN
from harness.runs.rows import Row

EXPERIMENT = "cairn"
RUN_TAG, EPISODE_TAG, STATE_TAG = "cairn.run", "cairn.episode", "cairn.state"
TABLE = "tasks.json"
LONGEST_TEXT = 32_768
_LONGEST_PARAMETER = 500
_BATCH = 100
_OFF = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}


def local_store(into: Path, folder: Path) -> str:
    """The address of a store in a folder, which is made if it is missing."""
    with translate_os_errors(into):
        prepared(into, folder)
    return f"sqlite:///{into.resolve() / 'mlflow.db'}"


def export_mlflow(folder: Path, uri: str, *, dialect: str) -> str:
    """Write a run to MLflow's store at `uri`; the id of MLflow's run.

    Raises:
        TrackingError: There is no run, the package is not installed, or the store refuses.
        JournalError: A journal is damaged.
    """
    os.environ.update({name: value for name, value in _OFF.items() if name not in os.environ})
    try:
        mlflow = import_module("mlflow")
    except ImportError as exc:
        raise TrackingError("this export needs the package mlflow, which is not installed: pip install mlflow") from exc
    with _store_errors(mlflow, uri):
        mlflow.set_tracking_uri(uri)
        return _Store(mlflow.MlflowClient(tracking_uri=uri), run_at(folder, scoring=dialect), uri).export()


@contextmanager
def _store_errors(mlflow: Any, uri: str) -> Iterator[None]:
    try:
        yield
    except mlflow.exceptions.MlflowException as exc:
        raise TrackingError(f"MLflow cannot write the run: {str(exc)[:500]}") from exc
    except ImportError as exc:
        kind = uri.partition(":")[0]
        raise TrackingError(
            f"MLflow needs the package {exc.name} for a {kind} store: pip install mlflow; or give a server with --to"
        ) from exc


class _Store:
    """The place of one run."""

    def __init__(self, client: Any, run: Run, uri: str) -> None:
        self._client, self._run = client, run
        self._experiment = self._found_experiment(uri)
        self._id = ""

    def export(self) -> str:
        rows: list[Row] = []
        last = 0.0
        for episode in self._run.episodes():
            began, ended = episode.bounds()
            self._id = self._id or self._found_run(began)
            last = max(last, ended)
            rows.append(task_row(episode))
            self._keep_trace(episode)
        if not rows:
            raise TrackingError(
                f"{self._run.folder} contains no episodes; give a run folder in which a task was played"
            )
        client, at = self._client, round(last * 1000)
        entities = import_module("mlflow.entities")
        params = [entities.Param(key, _text(value)) for key, value in self._run.settings.items()]
        for first in range(0, len(params), _BATCH):
            client.log_batch(self._id, params=params[first : first + _BATCH])
        client.log_batch(
            self._id, metrics=[entities.Metric(*one, 0) for one in self._changed(_metrics(rows, self._not_begun()), at)]
        )
        columns = list(rows[0])
        table = {"columns": columns, "data": [[row[column] for column in columns] for row in rows]}
        client.log_text(self._id, dumps(table).decode(), TABLE)
        client.set_tag(self._id, "mlflow.loggedArtifacts", f'[{{"path": "{TABLE}", "type": "table"}}]')
        client.set_terminated(self._id, end_time=at)
        return self._id

    def _not_begun(self) -> int:
        return sum(one.cause == NOT_BEGUN for one in self._run.results)

    def _changed(self, metrics: Iterator[tuple[str, float]], at: int) -> Iterator[tuple[str, float, int]]:
        """Metrics with another value than before. MLflow shows the larger of two at the same time."""
        known = self._client.get_run(self._id).data.metrics
        for key, value in metrics:
            if key not in known:
                yield key, value, at
            elif known[key] != value:
                last = max(one.timestamp for one in self._client.get_metric_history(self._id, key))
                yield key, value, max(at, last + 1)

    def _found_experiment(self, uri: str) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        # MLflow's default is a folder in the current one.
        place = Path(uri.removeprefix("sqlite:///")).parent / "artifacts" if uri.startswith("sqlite:///") else None
        return str(self._client.create_experiment(name, artifact_location=place.as_uri() if place else None))

    def _found_run(self, began: float) -> str:
        key = sha256(self._run.name.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        found = self._client.search_runs([self._experiment], filter_string=f"tags.`{RUN_TAG}` = '{key}'")
        if found:
            return str(found[0].info.run_id)
        tags = {RUN_TAG: key, "cairn.run_id": self._run.name}
        made = self._client.create_run(
            self._experiment, start_time=round(began * 1000), tags=tags, run_name=self._run.name
        )
        return str(made.info.run_id)

    def _keep_trace(self, episode: Episode) -> None:
        """Have one trace of this episode, as it is now."""
        place = f"{self._run.name}/{episode.task_id}/{episode.trial}"
        key, state = (
            sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32],
            digest(plain(episode.record))[:32],
        )
        found = self._traces(key)
        kept = [trace for trace in found if trace.info.tags.get(STATE_TAG) == state][:1]
        if old := [trace.info.trace_id for trace in found if trace not in kept]:
            self._client.delete_traces(self._experiment, trace_ids=old)
        if kept:
            return
        self._write(episode, {EPISODE_TAG: key, STATE_TAG: state, "cairn.place": place})
        if not self._traces(key):
            raise TrackingError(f"MLflow did not store the trace of {place}; its log says why")

    def _traces(self, key: str) -> Sequence[Any]:
        found: Sequence[Any] = self._client.search_traces(
            locations=[self._experiment], filter_string=f"tags.`{EPISODE_TAG}` = '{key}'", include_spans=False
        )
        return found

    def _write(self, episode: Episode, tags: dict[str, str]) -> None:
        client = self._client
        began, ended = episode.bounds()
        scores = {f"cairn.score.{name}": str(scored.value) for name, scored in scores_of(episode)}
        root = client.start_trace(
            f"task {episode.task_id}, trial {episode.trial}",
            span_type="AGENT",
            inputs={"intent": episode.intent},
            tags=tags | scores,
            experiment_id=self._experiment,
            start_time_ns=_nanoseconds(began),
            run_id=self._id,
        )
        for move in events_of(episode):
            self._write_span(root, move)
            ended = max(ended, move.ended)
        why = episode.why_unscored()
        outputs = {"answer": episode.answer, "unscored": why}
        client.end_trace(
            root.trace_id,
            outputs=outputs,
            status="ERROR" if why else "OK",
            end_time_ns=_nanoseconds(ended),
        )

    def _write_span(self, root: Any, move: Request | Step) -> None:
        client, is_request = self._client, isinstance(move, Request)
        span = client.start_span(
            f"chat {move.number}" if isinstance(move, Request) else f"{move.number}. {move.name}",
            trace_id=root.trace_id,
            parent_id=root.span_id,
            span_type="CHAT_MODEL" if is_request else "TOOL",
            inputs=self._asked(move) if isinstance(move, Request) else {"action": move.text[:LONGEST_TEXT]},
            attributes=(_usage(move) if isinstance(move, Request) else {"cairn.step": move.number})
            | ({"cairn.inherited": True} if move.is_inherited else {}),
            start_time_ns=_nanoseconds(move.began),
        )
        refused = "" if isinstance(move, Request) else move.why_not
        client.end_span(
            root.trace_id,
            span.span_id,
            outputs=_answered(move) if isinstance(move, Request) else _page(move),
            status="ERROR" if refused else "OK",
            end_time_ns=_nanoseconds(max(move.began, move.ended)),
        )

    def _asked(self, request: Request) -> JsonObject:
        """The last message of the prompt; its pictures are named only."""
        if not request.prompt:
            return {"messages": []}
        sent = request.messages[-1]
        content = sent.get("content")
        parts = content if isinstance(content, list) else [{"text": content or ""}]
        text = "\n".join(str(part.get("text", "[image]")) for part in parts if isinstance(part, dict))
        return {"messages": [{"role": str(sent.get("role")), "content": text[:LONGEST_TEXT]}]}


def _usage(request: Request) -> JsonObject:
    spent = request.own_usage
    counted = {"input_tokens": spent.prompt_tokens, "output_tokens": spent.completion_tokens}
    return {
        "mlflow.chat.tokenUsage": counted | {"total_tokens": spent.tokens},
        "mlflow.llm.model": request.model,
        "cairn.cost_usd": spent.cost_usd if spent.priced else None,
        "cairn.from_cache": request.is_cached,
    }


def _answered(request: Request) -> JsonObject:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in request.calls
    ]
    return {"role": "assistant", "content": request.reply[:LONGEST_TEXT], "tool_calls": calls}


def _page(action: Step) -> JsonObject:
    page = action.page
    return {"url": page.url if page else "", "title": page.title if page else "", "refused": action.why_not}


def _metrics(rows: Sequence[Row], not_begun: int) -> Iterator[tuple[str, float]]:
    """Sums, and the rate with unscored episodes in its denominator, those included that have not begun."""
    episodes = len(rows) + not_begun
    found = {status: sum(row["status"] == status for row in rows) for status in ("passed", "failed", "unscored")}
    found["unscored"] += not_begun
    yield from ((status, float(count)) for status, count in found.items())
    yield "episodes", float(episodes)
    yield "rate", found["passed"] / episodes
    for key in ("steps", "prompt_tokens", "completion_tokens", "requests", "cost_usd", "judge_cost_usd", "working_s"):
        yield key, float(sum(float(row[key] or 0) for row in rows))


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else dumps(value).decode())[:_LONGEST_PARAMETER]


def _nanoseconds(at: float) -> int:
    return round(at * 1_000_000) * 1000
