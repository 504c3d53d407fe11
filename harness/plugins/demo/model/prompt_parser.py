"""What a chat request says: the sections of the prompt, and the elements of the observation in it.

Pure. Sections are looked for from the end of the message backwards, because the page's text comes first and may
imitate a header; history lines are numbered and cannot.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ELEMENT = re.compile(r"""\t*\[(\d+)\] (\S+) ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?: .*)?""")
_HEADER = re.compile(r"^(?:OBJECTIVE|PREVIOUS ACTIONS|OBSERVATION|NOTE|NOTICES|URL|RESULT):", re.MULTILINE)
_TAB = re.compile(r"(?:^|\| )Tab \d+(?: \(current\))?: ")
_NUMBERED = re.compile(r"(\d+)\.(?: (.*))?")
"""A line may be silent; at the end of a prompt it then has lost its blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptElement:
    """A line `[id] role 'name'` of the observation."""

    id: str
    role: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPrompt:
    """One request for a decision."""

    system: str
    """All system messages; the action syntax is in there."""
    objective: str
    elements: tuple[PromptElement, ...]
    previous: tuple[str, ...]
    """History lines without their numbers."""
    tabs: int = 1
    """How many the observation's first line has."""


def read_request(messages: Sequence[Mapping[str, Any]]) -> ParsedPrompt | None:
    """The request for a decision in these messages; None when they hold none.

    A decision is asked for by the last user message, in sections headed `OBSERVATION:`, `URL:`, `OBJECTIVE:` and
    `PREVIOUS ACTIONS:`, in this order.
    """
    texts = [(message.get("role"), text_of(message.get("content"))) for message in messages]
    user = next((text for role, text in reversed(texts) if role == "user"), "")
    rest, previous = _cut(user, "PREVIOUS ACTIONS")
    rest, objective = _cut(rest, "OBJECTIVE")
    rest, url = _cut(rest, "URL")
    observation = _cut_first(rest, "OBSERVATION")
    if previous is None or objective is None or url is None or observation is None:
        return None
    return ParsedPrompt(
        system="\n".join(text for role, text in texts if role in ("system", "developer")),
        objective=objective,
        elements=tuple(elements_of(observation)),
        previous=_history(previous),
        tabs=max(1, len(_TAB.findall(observation.strip().partition("\n")[0]))),
    )


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _cut(text: str, header: str) -> tuple[str, str | None]:
    """Text before the last such header, and the section under it."""
    before, found, section = ("\n" + text).rpartition(f"\n{header}:")
    return (before, section.strip()) if found else (text, None)


def _cut_first(text: str, header: str) -> str | None:
    _, found, section = ("\n" + text).partition(f"\n{header}:")
    return section if found else None


def section_of(text: str, header: str) -> str | None:
    """The text under a header, up to the next one; None without it."""
    _, found, section = ("\n" + text).partition(f"\n{header}:\n")
    return _HEADER.split(section, maxsplit=1)[0].strip("\n") if found else None


def elements_of(observation: str) -> list[PromptElement]:
    """The elements that an observation shows, in order."""
    elements = []
    for line in observation.split("\n"):
        match = _ELEMENT.fullmatch(line)
        if match:
            elements.append(PromptElement(id=match[1], role=match[2], name=_unquoted(match[3])))
    return elements


def _unquoted(literal: str) -> str:
    """The text of a Python string literal; `literal_eval` reads constants and runs nothing."""
    try:
        return str(ast.literal_eval(literal))
    except (SyntaxError, ValueError):
        return literal[1:-1]


def _history(section: str) -> tuple[str, ...]:
    """Lines numbered 1, 2, 3 …; anything else in the section is not history."""
    lines: list[str] = []
    for line in section.split("\n"):
        match = _NUMBERED.fullmatch(line)
        if match and int(match[1]) == len(lines) + 1:
            lines.append(match[2] or "")
    return tuple(lines)
