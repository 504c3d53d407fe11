"""Messages, model calls and actions of an episode in the shapes of Inspect AI's log format.

Pictures, and texts of events above 100 characters, are attachments of the sample, each once, as Inspect's own
recorder has them; messages that several requests repeat are in the sample's pool once.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from harness.api import CodecError, JsonObject, Usage, loads
from harness.api.endpoints import mappings
from harness.runs import Request, Run, Step, ToolCall

_LONGEST_TEXT = 100
_ROLES: Mapping[str, str] = {"developer": "system", "system": "system", "assistant": "assistant", "tool": "tool"}
_STOPS: Mapping[str, str] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "max_tokens",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}
_SCHEMA_KEYS = (
    *("type", "format", "description", "default", "enum", "items", "properties", "additionalProperties", "anyOf"),
    *("required", "pattern", "minLength", "maxLength", "minimum", "maximum", "examples"),
)
"""Of JSON Schema: what Inspect's log knows."""


class SampleContent:
    """The messages and events of one sample."""

    def __init__(self, run: Run) -> None:
        self.attachments: dict[str, str] = {}
        self.pool: list[JsonObject] = []
        self.events: list[JsonObject] = []
        self.messages: list[JsonObject] = []
        """The conversation, each message once."""
        self.output: JsonObject = {}
        """Of the last request."""
        self._run = run
        self._positions: dict[str, int] = {}
        self._prompt: tuple[str, ...] = ()
        self._functions: dict[str, str] = {}
        self._working_s = 0.0

    def add(self, move: Request | Step) -> None:
        if isinstance(move, Request):
            self._add_request(move)
        else:
            self._add_action(move)

    def add_error(self, message: str, at: float) -> None:
        self.events.append(self._event("error", "error", at) | {"error": error(message)})

    def attached(self, text: str) -> str:
        """A reference to the text, which becomes an attachment."""
        digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
        self.attachments[digest] = text
        return f"attachment://{digest}"

    def _add_request(self, request: Request) -> None:
        if request.prompt:
            self._add_new(request.prompt)
        reply = _assistant(f"reply-{request.number}", request.reply, request.calls) | {"model": request.model}
        self._functions |= {call.id: call.name for call in request.calls}
        self.output = {
            "model": request.model,
            "choices": [{"message": reply, "stop_reason": _STOPS.get(request.finish_reason, "unknown")}],
            "completion": request.reply,
            "usage": usage(request.own_usage),
            "time": request.ended - request.began,
        }
        event = self._event(f"model-{request.number}", "model", request.began) | {
            "model": request.model,
            "input": [],
            "input_refs": _ranges(self._pooled(digest) for digest in request.prompt),
            "tools": [_tool(tool) for tool in request.tools],
            "tool_choice": "auto",
            "config": {},
            "output": self.output,
            "retries": max(0, request.usage.requests - 1),
            "completed": iso(request.ended),
            "working_time": _worked(request),
        }
        if request.is_cached:
            event["cache"] = "read"
        if request.is_inherited:
            event["metadata"] = {"inherited": True}
        self.events.append(event)
        if request.prompt:  # a request of the agent's own process is an event alone: its text is in its answer
            self.messages.append(reply)
        if not request.is_cached:
            self._working_s += _worked(request)

    def _add_action(self, action: Step) -> None:
        page = action.page
        result = "" if page is None else f"{page.title}\n{page.url}"
        arguments = _arguments(action.call) if action.call else {"arguments": {"action": action.text}}
        event = self._event(f"action-{action.number}", "tool", action.began) | {
            "type": "function",
            "id": action.call.id if action.call else f"step-{action.number}",
            "function": action.name,
            **arguments,
            "result": self._shortened("\n".join(filter(None, (result, *(page.notices if page else ()))))),
            "events": [],
            "completed": iso(action.ended),
            "working_time": _worked(action),
            "metadata": {"step": action.number, "action": self._shortened(action.text)},
        }
        if action.is_inherited:
            event["metadata"]["inherited"] = True
        event.pop("parse_error", None)
        if action.why_not:
            event["error"] = {"type": "unknown", "message": action.why_not}
        self.events.append(event)
        self._working_s += _worked(action)

    def _event(self, name: str, kind: str, at: float) -> JsonObject:
        return {"event": kind, "uuid": name, "timestamp": iso(at), "working_start": self._working_s}

    def _shortened(self, text: str) -> str:
        return self.attached(text) if len(text) > _LONGEST_TEXT else text

    def _pooled(self, digest: str) -> int:
        if digest not in self._positions:
            self._positions[digest] = len(self.pool)
            self.pool.append(self._message(digest, digest[:22], is_pooled=True))
        return self._positions[digest]

    def _add_new(self, prompt: tuple[str, ...]) -> None:
        """Append what of a prompt the conversation does not contain: what follows the answers that it repeats."""
        shared = next((i for i, (a, b) in enumerate(zip(self._prompt, prompt, strict=False)) if a != b), None)
        if shared is None:
            shared = min(len(self._prompt), len(prompt) - 1)
        repeated = [i for i, digest in enumerate(prompt) if self._prompt and self._role(digest) == "assistant"]
        first = max(shared, repeated[-1] + 1 if repeated else 0)
        for digest in prompt[first:]:
            self.messages.append(self._message(digest, f"{digest[:16]}-{len(self.messages)}", is_pooled=False))
        self._prompt = prompt

    def _role(self, digest: str) -> str:
        return str(self.pool[self._pooled(digest)]["role"])

    def _message(self, digest: str, name: str, *, is_pooled: bool) -> JsonObject:
        sent = self._run.message(digest)
        role = _ROLES.get(str(sent.get("role")), "user")
        message: JsonObject = {"id": name, "role": role, "content": self._content(sent.get("content"), is_pooled)}
        if isinstance(named := sent.get("name"), str):
            message["metadata"] = {"name": named}
        if role == "assistant":
            message["tool_calls"] = [
                _call(call) for one in mappings(sent.get("tool_calls")) if (call := _recorded(one)) is not None
            ]
        if role == "tool":
            called = str(sent.get("tool_call_id") or "")
            message |= {"tool_call_id": called, "function": self._functions.get(called)}
        return message

    def _content(self, content: Any, is_pooled: bool) -> Any:
        if isinstance(content, str):
            return self._shortened(content) if is_pooled else content
        parts = content if isinstance(content, list) else []
        return [self._part(part, is_pooled) for part in parts if isinstance(part, dict)]

    def _part(self, part: JsonObject, is_pooled: bool) -> JsonObject:
        match part:
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                return {"type": "image", "image": self.attached(url)}
            case {"text": str(text)}:
                return {"type": "text", "text": self._shortened(text) if is_pooled else text}
        return {"type": "text", "text": f"[{part.get('type')}]"}


def _worked(move: Request | Step) -> float:
    """Seconds; of what is inherited another run's."""
    return 0.0 if move.is_inherited else move.ended - move.began


def usage(spent: Usage) -> JsonObject:
    found: JsonObject = {
        "input_tokens": spent.prompt_tokens,
        "output_tokens": spent.completion_tokens,
        "total_tokens": spent.tokens,
        "input_tokens_cache_read": spent.cached_tokens,
        "input_tokens_cache_write": spent.cache_write_tokens,
        "reasoning_tokens": spent.reasoning_tokens,
    }
    return found | ({"total_cost": spent.cost_usd} if spent.priced else {})


def error(message: str) -> JsonObject:
    return {"message": message, "traceback": message, "traceback_ansi": message}


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _assistant(name: str, text: str, calls: Sequence[ToolCall]) -> JsonObject:
    calling = {"tool_calls": [_call(call) for call in calls]} if calls else {}
    return {"id": name, "role": "assistant", "source": "generate", "content": text, **calling}


def _call(call: ToolCall) -> JsonObject:
    return {"id": call.id, "function": call.name, "type": "function", **_arguments(call)}


def _arguments(call: ToolCall) -> JsonObject:
    try:
        found = loads(call.arguments)
    except CodecError:
        found = None
    if isinstance(found, dict):
        return {"arguments": found}
    return {"arguments": {"text": call.arguments}, "parse_error": "the arguments are not a JSON object"}


def _recorded(call: Any) -> ToolCall | None:
    match call:
        case {"id": str(name), "function": {"name": str(function), "arguments": str(arguments)}}:
            return ToolCall(id=name, name=function, arguments=arguments)
    return None


def _tool(tool: JsonObject) -> JsonObject:
    function = tool["function"]
    parameters = _schema(function.get("parameters"))
    return {
        "name": str(function.get("name", "")),
        "description": str(function.get("description") or ""),
        "parameters": {
            "type": "object",
            "properties": parameters.get("properties", {}),
            "required": parameters.get("required", []),
        },
    }


def _schema(schema: Any) -> JsonObject:
    found: JsonObject = {}
    for key in _SCHEMA_KEYS:
        match key, schema.get(key) if isinstance(schema, dict) else None:
            case _, None:
                continue
            case "properties", dict(properties):
                found[key] = {name: _schema(value) for name, value in properties.items()}
            case "anyOf", list(choices):
                found[key] = [_schema(choice) for choice in choices]
            case "items" | "additionalProperties", dict(inner):
                found[key] = _schema(inner)
            case "items", _:
                continue
            case _, value:
                found[key] = value
    return found


def _ranges(positions: Iterable[int]) -> list[list[int]]:
    """Consecutive positions as `[first, after the last]`."""
    ranges: list[list[int]] = []
    for position in positions:
        if ranges and ranges[-1][1] == position:
            ranges[-1][1] += 1
        else:
            ranges.append([position, position + 1])
    return ranges
