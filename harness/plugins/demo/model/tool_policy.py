"""The scripted policy for requests that offer functions: the same plan, followed by calls.

A pure function of the request, like the policy for prompts, and made of it: the conversation is read as a prompt whose
history is what was performed, and the action that the plan has next is said as a call. Fields of a form that are all in
sight are filled in by several calls of one answer, with the step that follows, so that parallel calls are exercised.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from harness.api import Action, AskUser, CairnActionSet, CodecError, Target, extract, loads, read_arguments
from harness.errors import ActionSyntaxError
from harness.plugins.demo.model.conversation import ScriptedCall
from harness.plugins.demo.model.prompt_parser import ParsedPrompt, elements_of, section_of, text_of
from harness.plugins.demo.model.scripted_policy import NO_REQUEST, Misfit, ScriptedAnswer, follow_plan, next_action
from harness.plugins.demo.model.scripts import Script, Scripts

_SET = CairnActionSet((AskUser,))
_BY_NAME = {action.kind: action for action in _SET.actions}
_SYSTEM = "click [id] clear [id]"
"""By which the prompt's policy knows what it may write."""
MOST_AT_ONCE = 8


def is_conversation(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether it begins as that of `agent=tools`; a prompt of `agent=prompt` begins with what is seen."""
    first = next((message for message in messages if message.get("role") == "user"), {})
    return text_of(first.get("content")).startswith("OBJECTIVE:\n")


def reply_with_calls(messages: Sequence[Mapping[str, Any]], plans: Scripts) -> ScriptedAnswer:
    """Answer a request that offers functions; the same messages always give the same answer."""
    asked = _read(messages)
    if asked is None:
        return NO_REQUEST
    return follow_plan(plans, asked.objective, len(asked.previous), lambda plan: _calls(asked, plan))


def _calls(asked: ParsedPrompt, plan: Script) -> tuple[str, tuple[ScriptedCall, ...]]:
    """The next step; those after it as long as only fields are filled in."""
    said = ""
    calls: list[ScriptedCall] = []
    while len(calls) < MOST_AT_ONCE:
        try:
            text = next_action(asked, plan)
        except Misfit:
            if not calls:
                raise
            break
        written = extract(text)
        action = _SET.parse(written)
        if calls and not action.targets and action.kind != "stop":
            break  # such as a search for what is not in sight
        if calls and action.kind == "stop":
            break
        said = said or text.partition(". In summary")[0] + "."
        calls.append(ScriptedCall(name=action.kind, arguments=_arguments(action)))
        if not action.only_fills_in():
            break
        asked = replace(asked, previous=(*asked.previous, written))
    return said, tuple(calls)


def _arguments(action: Action) -> dict[str, Any]:
    values = {one.name: getattr(action, one.name) for one in fields(action)}
    return {name: value.id if isinstance(value, Target) else value for name, value in values.items()}


def _read(messages: Sequence[Mapping[str, Any]]) -> ParsedPrompt | None:
    """The conversation as a prompt; None when it is none of the agent's."""
    objective, page = None, None
    lines: list[str] = []
    waiting: dict[str, str] = {}
    for message in messages:
        text = text_of(message.get("content"))
        match message.get("role"):
            case "user" if objective is None:
                objective = section_of(text, "OBJECTIVE")
                lines += _numbered(section_of(text, "PREVIOUS ACTIONS") or "")
            case "assistant":
                waiting = dict(_called(message))
            case "tool":
                lines += performed(waiting.get(str(message.get("tool_call_id")), ""), text)
        if message.get("role") in ("user", "tool") and (seen := section_of(text, "OBSERVATION")) is not None:
            page = seen
    if objective is None or page is None:
        return None
    return ParsedPrompt(system=_SYSTEM, objective=objective, elements=tuple(elements_of(page)), previous=tuple(lines))


def _called(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Id of each call, and its action as a line of a history."""
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        kind = _BY_NAME.get(str(function.get("name")))
        try:
            arguments = loads(str(function.get("arguments")).encode())
            line = "" if kind is None else read_arguments(kind, arguments).render()
        except (CodecError, ValueError, ActionSyntaxError):
            line = ""
        yield str(call.get("id")), line


def performed(line: str, text: str) -> list[str]:
    """The line of the history that the result of a call makes."""
    outcome, _, why = text.partition("\n")[0].removeprefix("RESULT: ").partition(": ")
    match outcome:
        case "done" | "unknown":
            return [line]
        case "refused":
            return [f"{line} -> refused: {why}"]
        case _:
            return []


def _numbered(section: str) -> list[str]:
    return [line.partition(". ")[2] for line in section.split("\n") if line.partition(". ")[0].isdecimal()]
