"""The trace of an episode's steps, as policies are judged by it: what was done to which element, and what was seen.

Made from the journal alone. What it does not say is told apart from what did not happen: an action by coordinates is
upon some element, and nobody knows which.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from harness.api import Action, CodecError, Evidence, Observation, loads
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
    said: str = ""
    """As reports write it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What policies are judged by."""

    acts: tuple[Act, ...]
    """Those that were performed, or may have been, in order."""
    begun_at: tuple[str, ...] = ()
    """Addresses before the first action."""
    end_url: str = ""
    end_text: str | None = None
    """What could be seen of the last page, in small letters; None = nothing is recorded."""
    is_over: bool = True
    """Whether the episode has ended: before, what is not broken may still be."""
    selected: Mapping[int, Any] = field(default_factory=dict)
    """What each of the targets of its policies selected, by their place; see `Unread`."""
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
    return Trace(
        acts=tuple(act for step in episode.steps if (act := _act(step)) is not None),
        begun_at=_urls(arrival),
        end_url=closed.evidence.url if closed else "",
        end_text=last.text.lower() if last else None,
        is_over=closed is not None,
        selected=_selected(episode, closed.evidence) if closed else {},
        refusal=lambda question: user is not None and user.answer_to(question).consents is False,
    )


def _act(step: Step) -> Act | None:
    """None for what was not performed, but for the agent's last word."""
    action = step.action
    if step.outcome == "refused" or action.kind == "none":
        return None
    if step.outcome == "" and action.kind != "stop":
        return None
    return Act(
        step=step.number,
        name=_VERBS.get(getattr(action, "verb", ""), "") or _NAMES.get(action.kind, ""),
        element=_element(action),
        arguments=tuple(_arguments(action)),
        urls=_urls(step.page),
        is_sure=step.outcome != "unknown",
        is_any=action.kind == "cdp",
        matched=None if step.acted is None or step.acted.matched is None else frozenset(step.acted.matched),
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


def _selected(episode: Episode, evidence: Evidence) -> dict[int, Any]:
    """By place among the task's probes."""
    assert episode.record.opened is not None
    task = episode.record.opened.task
    before = len(task.eval.program_html if evidence.targets is None else evidence.targets)
    found: dict[int, Any] = {}
    for one in evidence.selected:
        if one.index >= before:
            error = one.error or ("" if one.content else "nothing was gathered")
            found[one.index - before] = Unread(error) if error else read_artifact(episode, one.content or "")
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
