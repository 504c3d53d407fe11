"""OpenAI's Responses API on the wire: nothing is stored, and reasoning models give and demand encrypted reasoning."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.api import JsonObject, dumps
from harness.plugins.demo.model.chat_api import MODEL, call_id, not_supported, openai_error
from harness.plugins.demo.model.conversation import (
    REASONING,
    Answer,
    Conversation,
    Ending,
    ScriptedCall,
    spoken,
    unanswered,
    unsupported,
)
from harness.plugins.demo.model.prompt_cache import CachedPrompt, Segment

_CALLS = ("function_call", "computer_call")
_OUTPUTS = ("function_call_output", "computer_call_output")


class ResponsesFormat:
    """Fits `WireFormat`."""

    def read(self, body: JsonObject, digest: str) -> Conversation | None:
        """See `WireFormat.read`."""
        items, tools = body.get("input"), [tool for tool in body.get("tools") or () if isinstance(tool, dict)]
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            return None
        parameter = unsupported(body, ("max_tokens", "max_completion_tokens"))
        model = str(body.get("model") or MODEL)
        messages = _messages(items)
        thinks = model.startswith(REASONING)
        refused = not_supported(parameter) or unanswered(messages) or (_unreasoned(items) if thinks else "")
        return Conversation(
            model=model,
            messages=tuple(messages),
            tools=tuple(tool for tool in tools if tool.get("type") == "function"),
            computer=next((kind for tool in tools if (kind := str(tool.get("type"))).startswith("computer")), ""),
            segments=tuple(
                Segment(text=text) for text in ([str(tools)] if tools else []) + [str(one) for one in items]
            ),
            digest=digest,
            refused=refused,
            refused_parameter=parameter,
            thinks=thinks,
        )

    def whole(self, asked: Conversation, answer: Answer, cached: CachedPrompt, ending: Ending) -> JsonObject:
        """See `WireFormat.whole`."""
        output: list[JsonObject] = []
        if asked.thinks:
            encrypted = f"encrypted-{asked.digest}"
            output.append(
                {"id": f"rs_{asked.digest[:24]}", "type": "reasoning", "summary": [], "encrypted_content": encrypted}
            )
        if answer.text or not answer.calls:
            said: JsonObject = {"type": "output_text", "text": answer.text, "annotations": []}
            content = [{"type": "refusal", "refusal": answer.text} if ending is Ending.refusal else said]
            head = {"id": f"msg_{asked.digest[:24]}", "type": "message", "role": "assistant", "status": "completed"}
            output.append({**head, "content": content})
        output += [_call(asked, number, call) for number, call in enumerate(answer.calls)]
        return {
            **_frame(asked),
            "status": "incomplete" if ending is Ending.length else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if ending is Ending.length else None,
            "output": output,
            "usage": _usage(asked, answer, cached),
        }

    def empty(self, asked: Conversation) -> JsonObject:
        """See `WireFormat.empty`."""
        return {**_frame(asked), "status": "completed"}

    def error(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> JsonObject:
        """See `WireFormat.error`."""
        return openai_error(status, message, code=code, param=param)


def _messages(items: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """Input items as messages of chat completions; calls belong to the turn before them."""
    found: list[JsonObject] = []
    for item in items:
        kind = item.get("type") or "message"
        if kind in _CALLS:
            if not found or found[-1]["role"] != "assistant":
                found.append({"role": "assistant", "content": ""})
            found[-1].setdefault("tool_calls", []).append(_as_call(item))
        elif kind in _OUTPUTS:
            content = _content(item.get("output"))
            found.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})
        elif kind == "message":
            found.append({"role": item.get("role"), "content": _content(item.get("content"))})
    return found


def _as_call(item: Mapping[str, Any]) -> JsonObject:
    if item["type"] == "computer_call":
        name, arguments = "computer", dumps(item.get("action") or item.get("actions")).decode()
    else:
        name, arguments = str(item.get("name")), str(item.get("arguments"))
    return {"id": item.get("call_id"), "type": "function", "function": {"name": name, "arguments": arguments}}


def _content(content: Any) -> Any:
    """Content parts as chat completions have them."""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return content
    return [_part(part) for part in content if isinstance(part, dict)]


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    match part:
        case {"type": "input_text" | "output_text", "text": text}:
            return {"type": "text", "text": text}
        case {"type": "input_image" | "computer_screenshot", "image_url": url}:
            return {"type": "image_url", "image_url": {"url": url}}
    return part


def _unreasoned(items: Sequence[Mapping[str, Any]]) -> str:
    """A reasoning model's call has to come back with the reasoning that led to it."""
    reasoned = False
    for item in items:
        reasoned = reasoned or item.get("type") == "reasoning"
        if item.get("type") in _CALLS and not reasoned:
            return f"Item of type '{item['type']}' was provided without its required 'reasoning' item."
        if item.get("type") in _OUTPUTS:
            reasoned = False
    return ""


def _call(asked: Conversation, number: int, call: ScriptedCall) -> JsonObject:
    head = {"call_id": call_id(asked, number), "status": "completed"}
    if call.name == "computer":
        action = {"actions": [call.arguments]} if asked.computer == "computer" else {"action": call.arguments}
        return {"type": "computer_call", "id": f"cu_{asked.digest[:20]}_{number}", **head, **action} | {
            "pending_safety_checks": []
        }
    arguments = dumps(call.arguments).decode()
    return {
        "type": "function_call",
        "id": f"fc_{asked.digest[:20]}_{number}",
        **head,
        "name": call.name,
        "arguments": arguments,
    }


def _frame(asked: Conversation) -> JsonObject:
    return {"id": f"resp_{asked.digest[:24]}", "object": "response", "created_at": 0, "model": asked.model}


def _usage(asked: Conversation, answer: Answer, cached: CachedPrompt) -> JsonObject:
    thought = 64 if asked.thinks else 0
    completion = spoken(answer) + thought
    return {
        "input_tokens": cached.total,
        "input_tokens_details": {"cached_tokens": cached.read},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": cached.total + completion,
    }
