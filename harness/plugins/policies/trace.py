"""The trace of an episode's steps, as policies are judged by it: what was done to which element, and what was seen.

Made from the journal alone. What it does not say is told apart from what did not happen: an action by coordinates is
upon some element, and nobody knows which.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from harness.api import Action, CodecError, Evidence, Observation, loads
from harness.api.records import HtmlTarget
from harness.errors import JournalError
from harness.runs import Episode, Step

_NAMES: Mapping[str, str] = {
    **{"click": "click", "dblclick": "click", "check": "click", "mouse": "click", "point_click": "click"},
    **{"hover": "hover", "drag": "drag_and_drop", "point_drag": "drag_and_drop", "type": "fill", "keyboard": "type"},
    **{"select": "select_option", "press": "press", "hold_key": "press", "repeat_key": "press"},
    **{"upload": "upload_file", "scroll": "scroll", "point_scroll": "scroll", "goto": "goto", "new_tab": "new_tab"},
    **{"tab_focus": "tab_focus", "close_tab": "tab_close", "go_back": "go_back", "go_forward": "go_forward"},
    **{"stop": "answer", "ask_user": "send_msg_to_user"},
}
"""Kind of an action to BrowserGym's name for it; others are none of these."""
_VERBS = {"click": "click", "hover": "hover", "type": "fill", "check": "click", "select_option": "select_option"}
"""Verb of an action that is one of several, as a line of Playwright code or the mouse."""
_UNSEEN = ("cdp", "code", "mouse", "point_click", "point_drag", "keyboard")
"""Kinds that are upon elements which the journal does not name."""
_ARGUMENTS = ("text", "option", "key_comb", "url", "answer", "question", "file", "pw_code")
"""Fields of actions that hold what was typed, chosen, opened or said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One action of the agent."""

    step: int
    """Its number in the journal, from 1."""
    name: str
    """BrowserGym's; "" = it has none for it."""
    element: str | None = ""
    """Text of the element, in small letters; "" = it is upon none, None = nobody knows upon which."""
    arguments: tuple[str, ...] = ()
    """What was typed, chosen, opened or said, in small letters."""
    urls: tuple[str, ...] = ()
    """Of the page that it led to, and of all tabs."""
    is_sure: bool = True
    """False: it was interrupted, and may have been performed."""
    is_any: bool = False
    """It may have done anything: a command that the agent sent to the browser itself."""
    matched: frozenset[str] | None = None
    """Selectors that its element matches; None = not known."""
    asked: frozenset[str] | None = None
    """Selectors of which that is known; None = of all."""
    said: str = ""
    """As reports write it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What policies are judged by."""

    acts: tuple[Act, ...]
    """Those that were performed, or may have been, in order."""
    beside: tuple[Act, ...] = ()
    """What was refused or was not an action, and is only there for the page that was seen after it."""
    begun_at: tuple[str, ...] = ()
    """Addresses before the first action."""
    end_url: str = ""
    end_text: str | None = None
    """What could be seen of the last page, in small letters; None = nothing is recorded."""
    is_over: bool = True
    """Whether the episode has ended: before, what is not broken may still be."""
    selected: Mapping[HtmlTarget, Any] = field(default_factory=dict)
    """What each target selected at the end; see `Unread`."""
    refusal: Callable[[str], bool] = lambda _: False
    """Whether the user's answer to a question was no."""


@dataclass(frozen=True, slots=True)
class Unread:
    """In the place of a selected value: why there is none."""

    why: str


def trace_of(episode: Episode) -> Trace:
    """The trace of the newest attempt.

    Raises:
        JournalError: The journal is damaged.
    """
    record = episode.record
    closed, user = record.closed, record.opened.task.user if record.opened else None
    arrival = record.arrival.observation if record.arrival else None
    seen = [step.page for step in episode.steps if step.page is not None]
    last = seen[-1] if seen else arrival
    asked = frozenset(record.opened.task.selectors) if record.opened else frozenset()
    return Trace(
        acts=tuple(_act(step, asked) for step in episode.steps if _is_performed(step)),
        beside=tuple(_act(step, asked) for step in episode.steps if not _is_performed(step)),
        begun_at=_urls(arrival),
        end_url=closed.evidence.url if closed else "",
        end_text=last.text.lower() if last else None,
        is_over=closed is not None,
        selected=_selected(episode, closed.evidence) if closed else {},
        refusal=lambda question: user is not None and user.answer_to(question).consents is False,
    )


def _is_performed(step: Step) -> bool:
    """Whether it was, or may have been; the agent's last word is never said to be done."""
    if step.outcome == "refused" or step.action.kind == "none":
        return False
    return step.outcome != "" or step.action.kind == "stop"


def _act(step: Step, asked: frozenset[str]) -> Act:
    action = step.action
    return Act(
        step=step.number,
        name=_VERBS.get(getattr(action, "verb", ""), "") or _NAMES.get(action.kind, ""),
        element=_element(action),
        arguments=tuple(_arguments(action)),
        urls=_urls(step.page),
        is_sure=step.outcome != "unknown",
        is_any=action.kind == "cdp",
        matched=None if step.acted is None or step.acted.matched is None else frozenset(step.acted.matched),
        asked=asked,
        said=step.text,
    )


def _element(action: Action) -> str | None:
    if action.kind in _UNSEEN:
        return None
    names = [target.name.lower() for target in action.targets]
    return " ".join(names) if names else ""


def _arguments(action: Action) -> Iterator[str]:
    for name in _ARGUMENTS:
        value = getattr(action, name, None)
        if isinstance(value, str) and value:
            yield value.strip().lower()


def _urls(page: Observation | None) -> tuple[str, ...]:
    return () if page is None else tuple(dict.fromkeys((page.url, *(tab.url for tab in page.tabs))))


def _selected(episode: Episode, evidence: Evidence) -> dict[HtmlTarget, Any]:
    """By target: the probes of a task are not those of its policies alone, nor are these always judged by."""
    assert episode.record.opened is not None
    task = episode.record.opened.task
    before = len(task.eval.program_html if evidence.targets is None else evidence.targets)
    found: dict[HtmlTarget, Any] = {}
    for one in evidence.selected:
        if 0 <= (place := one.index - before) < len(task.probes):
            error = one.error or ("" if one.content else "nothing was gathered")
            found[task.probes[place]] = Unread(error) if error else read_artifact(episode, one.content or "")
    return found


def read_artifact(episode: Episode, digest: str) -> Any:
    """A stored JSON value, or why it cannot be read."""
    try:
        return loads(episode.artifacts.read(digest))
    except (JournalError, CodecError) as error:
        return Unread(f"the stored value cannot be read ({error})")


def as_text(value: Any) -> str:
    """A selected value as a text: JSON's words for true and false, nothing for null."""
    if value is None:
        return ""
    return unescape(str(value)) if not isinstance(value, bool) else str(value).lower()
