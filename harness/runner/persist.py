"""On the way to disk: messages and contents become artifacts before the record that names them is written."""

from collections.abc import Mapping
from typing import Any

from harness.api import Artifacts, Message, ToolCall
from harness.codec import dumps
from harness.protocols import RawEvidence, TargetValue
from harness.records import Evidence, Selected


def store_message(message: Message, artifacts: Artifacts) -> str:
    """The artifact of one chat message, in the shape of chat completions."""
    tree: dict[str, Any] = {"role": message.role}
    if message.name is not None:
        tree["name"] = message.name
    tree["content"] = message.content
    if message.tool_calls:
        tree["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        tree["tool_call_id"] = message.tool_call_id
    if message.items:
        tree["items"] = message.items
    return artifacts.put(dumps(tree))


def store_response(raw: bytes, artifacts: Artifacts) -> str | None:
    """The artifact of an endpoint's answer, byte for byte; None when there was none."""
    return artifacts.put(raw) if raw else None


def _call(call: ToolCall) -> Mapping[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    checks = {"safety_checks": call.safety_checks} if call.safety_checks else {}
    return {"id": call.id, "type": "function", "function": function, **checks}


def store_evidence(gathered: RawEvidence, artifacts: Artifacts) -> Evidence:
    """The record of `gathered`, everything large put among the artifacts."""
    return Evidence(
        url=gathered.url,
        title=gathered.title,
        html=artifacts.put(dumps(gathered.html)),
        selected=tuple(_selected(selection, artifacts) for selection in gathered.selections),
        trace=None if gathered.trace is None else artifacts.put(gathered.trace),
    )


def _selected(selection: TargetValue, artifacts: Artifacts) -> Selected:
    return Selected(
        index=selection.index,
        url=selection.url,
        content=None if selection.error and selection.value is None else artifacts.put(dumps(selection.value)),
        error=selection.error,
        last_content=None if selection.last_value is None else artifacts.put(dumps(selection.last_value)),
    )
