"""A run as OpenTelemetry traces in OTLP/JSON: a trace for each episode, by the semantic conventions for generative AI.

`invoke_agent` contains a `chat` span for each request to the model and an `execute_tool` span for each action. The ids
are hashes of run, task, trial and position, so a repeat has the same ones. Prompts are left out: each would contain the
ones before it.
Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (in development) and
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness import __version__
from harness.api import JsonObject, Usage, dumps
from harness.api.endpoints import maker_of
from harness.api.files import prepared, replacing, translate_os_errors
from harness.plugins.tracking.episodes import run_at
from harness.plugins.tracking.exports.events import events_of, scores_of, why_of
from harness.runs import Episode, Request, Run, Step

INTERNAL, CLIENT, ERROR = 1, 3, 2
"""Numbers of span kinds and of a status in OTLP."""
LONGEST_TEXT = 32_768
"""Characters of an attribute; what is longer is cut."""
_PARAMETERS = ("temperature", "top_p", "max_tokens")


def export_otel(folder: Path, into: Path) -> Path:
    """Write `traces.otlp.jsonl` into a folder: one request of OTLP/HTTP on each line, one episode in each.

    Raises:
        TrackingError: There is no run.
        JournalError: A journal is damaged.
    """
    path = into / "traces.otlp.jsonl"
    with translate_os_errors(into):
        within = prepared(into, folder)
        with replacing(path, durable=False, within=within) as file:
            for body in trace_requests(folder):
                file.write(body + b"\n")
    return path


def trace_requests(folder: Path) -> Iterator[bytes]:
    """The body of an OTLP/HTTP request for each episode of a run."""
    run = run_at(folder)
    settings, described = run.settings, run.description
    resource = {"service.name": "cairn", "service.version": str(described.get("harness", __version__))}
    resource["cairn.run.id"] = run.name
    scope = {"name": "cairn", "version": __version__}
    for episode in run.episodes():
        spans = list(_Trace(run, settings, episode).spans())
        scoped = {"scope": scope, "spans": spans}
        yield dumps({"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scoped]}]})


class _Trace:
    """The spans of one episode."""

    def __init__(self, run: Run, settings: JsonObject, episode: Episode) -> None:
        self._run, self._settings, self._episode = run, settings, episode
        self._name = f"{run.name}/{episode.task_id}/{episode.trial}"
        self._trace = sha256(self._name.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._root = self._id("root")
        api = str(settings.get("llm.api") or "chat")
        self._model = {
            "gen_ai.provider.name": maker_of(api),
            "gen_ai.request.model": str(settings.get("llm.model") or "unknown"),
        }

    def spans(self) -> Iterator[JsonObject]:
        first, last = self._episode.bounds()
        children = []
        for move in events_of(self._episode):
            children.append(self._chat(move) if isinstance(move, Request) else self._tool(move))
            first, last = min(first, move.began), max(last, move.ended)
        yield self._agent(first, last)
        yield from children

    def _agent(self, began: float, ended: float) -> JsonObject:
        episode, agent = self._episode.record, str(self._settings.get("agent.name") or "agent")
        opened, closed = episode.opened, episode.closed
        assert opened is not None
        span = self._span("root", f"invoke_agent {agent}", INTERNAL, (began, ended))
        span["attributes"] = _attributes(
            {
                "gen_ai.operation.name": "invoke_agent",
                **self._model,
                "gen_ai.agent.name": agent,
                "gen_ai.conversation.id": self._name,
                **_tokens(episode.usage),
                "cairn.task.id": opened.task.task_id,
                "cairn.task.intent": opened.task.intent,
                "cairn.trial": opened.trial,
                "cairn.attempt": opened.attempt,
                "cairn.steps": len(episode.steps) + (episode.pending is not None),
                "cairn.closed": closed.reason.value if closed else "",
                "cairn.answer": closed.answer if closed else "",
            }
        )
        span["events"] = [
            {
                "timeUnixNano": _nanoseconds(scored.at),
                "name": "gen_ai.evaluation.result",
                "attributes": _attributes(
                    {
                        "gen_ai.evaluation.name": dialect,
                        "gen_ai.evaluation.score.value": float(scored.value or 0.0),
                        "gen_ai.evaluation.score.label": "pass" if scored.value == 1.0 else "fail",
                        "gen_ai.evaluation.explanation": why_of(scored),
                    }
                ),
            }
            for dialect, scored in scores_of(self._episode)
        ]
        if why := self._episode.why_unscored():
            kind = episode.failures[-1].type if episode.failures and closed is None else "unscored"
            _fail(span, kind, why)
        return span

    def _chat(self, request: Request) -> JsonObject:
        name = f"chat {self._model['gen_ai.request.model']}"
        span = self._child(f"chat-{request.number}", name, CLIENT, request)
        parameters = {f"gen_ai.request.{key}": self._settings.get(f"llm.{key}") for key in _PARAMETERS}
        calls = [
            {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
            for call in request.calls
        ]
        said = [{"type": "text", "content": request.reply}] if request.reply else []
        answer = {"role": "assistant", "parts": [*said, *calls], "finish_reason": request.finish_reason}
        attributes = {
            "gen_ai.operation.name": "chat",
            **self._model,
            **parameters,
            "gen_ai.response.model": request.model or None,
            "gen_ai.response.finish_reasons": [request.finish_reason] if request.finish_reason else None,
            "gen_ai.output.messages": dumps([answer]).decode() if request.prompt else None,
            **({} if request.is_inherited else _tokens(request.usage)),
            "cairn.request_id": request.request_id or None,
            "cairn.from_cache": True if request.is_cached else None,
            "cairn.inherited": True if request.is_inherited else None,
        }
        span["attributes"] = _attributes(attributes)
        return span

    def _tool(self, action: Step) -> JsonObject:
        span = self._child(f"action-{action.number}", f"execute_tool {action.name}", INTERNAL, action)
        page = action.page
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": action.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": action.call.id if action.call else None,
            "gen_ai.tool.call.arguments": action.call.arguments if action.call else None,
            "cairn.step": action.number,
            "cairn.inherited": True if action.is_inherited else None,
            "cairn.action": action.text,
            "cairn.page.url": page.url if page else None,
            "cairn.page.title": page.title if page else None,
            "cairn.effects": len(action.acted.effects) if action.acted else None,
        }
        span["attributes"] = _attributes(attributes)
        if action.why_not:
            _fail(span, "refused", action.why_not)
        return span

    def _child(self, key: str, name: str, kind: int, move: Request | Step) -> JsonObject:
        return self._span(key, name, kind, (move.began, move.ended)) | {"parentSpanId": self._root}

    def _span(self, key: str, name: str, kind: int, bounds: tuple[float, float]) -> JsonObject:
        began, ended = bounds
        return {
            "traceId": self._trace,
            "spanId": self._id(key),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": _nanoseconds(began),
            "endTimeUnixNano": _nanoseconds(max(began, ended)),
        }

    def _id(self, key: str) -> str:
        return sha256(f"{self._name}/{key}".encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _fail(span: JsonObject, kind: str, why: str) -> None:
    span["attributes"] += _attributes({"error.type": kind})
    span["status"] = {"code": ERROR, "message": why[:LONGEST_TEXT]}


def _tokens(usage: Usage) -> Mapping[str, Any]:
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens or None,
        "cairn.cost_usd": usage.cost_usd if usage.priced else None,
    }


def _attributes(values: Mapping[str, Any]) -> list[JsonObject]:
    """The attributes that are not None."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> JsonObject:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value[:LONGEST_TEXT]}
        case Sequence():
            return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": str(value)[:LONGEST_TEXT]}


def _nanoseconds(at: float) -> str:
    return str(round(at * 1_000_000) * 1000)
