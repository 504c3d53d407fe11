"""The policy's action as a call of one of the tools that a request offers.

A tool is called when its name is the action's verb; the arguments in brackets become its properties, in their order,
each in its type. Without such a tool the action stays text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.plugins.demo.model.conversation import ScriptedCall

_ACTION = re.compile(r"```([a-z_]+)((?: \[.*\])?)```\Z", re.DOTALL)
_BETWEEN = re.compile(r"\] \[")


def as_calls(text: str, tools: Sequence[Mapping[str, Any]]) -> tuple[ScriptedCall, ...]:
    """The call that says what `text` says; () when no tool does."""
    action = _ACTION.search(text)
    if action is None:
        return ()
    tool = next((tool for tool in tools if tool.get("name") == action[1]), None)
    if tool is None:
        return ()
    properties = (tool.get("parameters") or {}).get("properties") or {}
    given = _BETWEEN.split(action[2].strip()[1:-1]) if action[2] else []
    arguments = {name: _typed(value, kind) for (name, kind), value in zip(properties.items(), given, strict=False)}
    return (ScriptedCall(name=action[1], arguments=arguments),)


def _typed(value: str, schema: Any) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "boolean":
        return value in ("1", "true")
    if kind in ("integer", "number") and value.lstrip("-").isdigit():
        return int(value)
    return value
