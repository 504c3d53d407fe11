"""Golden cases of actions: what WebArena's code parsed, wrote as history, held for equal, and stopped at."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from harness.actions import (
    Action,
    Box,
    Click,
    CloseTab,
    Code,
    GoBack,
    GoForward,
    Goto,
    Hover,
    InvalidAction,
    Keyboard,
    Mouse,
    NewTab,
    Press,
    Scroll,
    Stop,
    TabFocus,
    Target,
    Type,
    extract,
    resolve,
)
from harness.episode.attempt import stop_rules
from harness.errors import ActionSyntaxError
from harness.evaluation.action_classes import ACTION_SETS, action_set_of
from harness.plugins.webarena.public_urls import to_deployed, to_public
from harness.plugins.webarena.same_action import equivalent
from harness.records import EpisodeLimits
from tests.golden.outcome import Case, Decision, Outcome, same

ANY_CHARACTER = Decision(
    "any-character", "WebArena loses the task when a character outside its table is typed; here every one can be typed"
)
EMPTY_ACTION = Decision(
    "empty-action", "WebArena loses the task when the action is empty; here it is a reply without an action"
)
PLAYWRIGHT_TYPE = Decision(
    "playwright-type", "WebArena loses the task on .type(…) in the playwright set; here it is read as it is meant"
)

EMPTY_STOP = Decision(
    "empty-stop", 'WebArena loses the task on stop("") in the playwright set; here it stops with an empty answer'
)

DEPLOYED = {
    "reddit": "http://forum.test:9999",
    "shopping": "http://shop.test:7770",
    "shopping_admin": "http://shop.test:7780/admin",
    "gitlab": "http://git.test:8023",
    "wikipedia": "http://wiki.test:8888/wikipedia_en_all_maxi_2022-05/A/User:The_other_Kiwix_guy/Landing",
    "map": "http://map.test:3000",
    "homepage": "http://home.test:4399",
}


@dataclass(frozen=True)
class _Node:
    role: str
    name: str
    nth: int
    line: str
    box: Box | None = None


NODES = {
    "7": _Node("textbox", "Find  it", 0, "textbox 'Find  it' focused: True required: False"),
    "12": _Node("link", "A b", 0, "link 'A b'"),
}


def compare_action(case: Case) -> Outcome:
    kind, text = case["action_set"], case["text"]
    if kind == "map_url_to_real":
        return same(to_public(text, DEPLOYED), case["parsed"])
    if kind == "map_url_to_local":
        return same(to_deployed(text, DEPLOYED), case["parsed"])
    if kind == "none_history":
        return same(action_set_of("id_accessibility_tree").render(InvalidAction(), reply=text), case["history"])
    if kind.startswith("extract:"):
        return _compare_extracted(case)
    return _compare_parsed(case, text, kind) if kind in ACTION_SETS.names() else f"no comparer for action set {kind!r}"


def _compare_extracted(case: Case) -> Outcome:
    try:
        raw = extract((case.get("force_prefix") or "") + case["text"])
    except ActionSyntaxError:
        return None if case.get("becomes_none_action") and "extracted" not in case else "ours finds no action"
    text = to_deployed(raw, DEPLOYED)
    return same((raw, text), (case.get("extracted_raw"), case.get("extracted"))) or _compare_parsed(
        case, text, "id_accessibility_tree"
    )


def _compare_parsed(case: Case, text: str, action_set: str) -> Outcome:
    error = case.get("error", {}).get("type")
    try:
        action = action_set_of(action_set).parse(text)
    except ActionSyntaxError as exc:
        if error == "IndexError":
            return EMPTY_ACTION
        return None if case.get("becomes_none_action") else f"ours refuses it: {exc}"
    if error:
        return _read_where_webarena_does_not(action, error)
    outcome = same(_as_webarena(action), case["parsed"])
    if outcome is None and "history" in case:
        outcome = same(action_set_of(action_set).render(resolve(action, NODES)), case["history"])
    return outcome


def _read_where_webarena_does_not(action: Action, error: str) -> Outcome:
    if error == "KeyError" and isinstance(action, Type | Code):
        return ANY_CHARACTER
    if error.startswith("Beartype") and isinstance(action, Code) and action.verb == "type":
        return PLAYWRIGHT_TYPE
    if error.startswith("Beartype") and action == Stop(answer=""):
        return EMPTY_STOP
    return f"ours reads {action!r}, WebArena raises {error}"


def _aimed_by_id(action: Click | Hover | Type) -> dict[str, Any]:
    return {"element_id": action.target.id, "element_role": "link"}


_RECORDS: dict[type, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    Click: ("CLICK", _aimed_by_id),
    Hover: ("HOVER", _aimed_by_id),
    Type: ("TYPE", lambda action: {"text": action.text + "\n" * action.enter, **_aimed_by_id(action)}),
    Press: ("KEY_PRESS", lambda action: {"key_comb": action.key_comb}),
    Scroll: ("SCROLL", lambda action: {"direction": action.direction}),
    Goto: ("GOTO_URL", lambda action: {"url": action.url}),
    TabFocus: ("PAGE_FOCUS", lambda action: {"page_number": action.index}),
    Stop: ("STOP", lambda action: {"answer": action.answer}),
    NewTab: ("NEW_TAB", lambda _: {}),
    CloseTab: ("PAGE_CLOSE", lambda _: {}),
    GoBack: ("GO_BACK", lambda _: {}),
    GoForward: ("GO_FORWARD", lambda _: {}),
}


def _as_webarena(action: Action) -> dict[str, Any]:
    """Our action as the fields of WebArena's record that matter for its type."""
    if not isinstance(action, Code):
        name, fields = _RECORDS[type(action)]
        return {"action_type": name, **fields(action)}
    record = {"action_type": action.verb.upper(), "pw_code": action.pw_code}
    if action.verb in ("click", "hover", "type"):
        record["element_role"] = "link"
    return record | ({"text": action.text} if action.verb == "type" else {})


def compare_equivalence(case: Case) -> Outcome:
    return same(equivalent(_noted(case["a"]), _noted(case["b"])), case["equivalent"])


def compare_early_stop(case: Case) -> Outcome:
    limits = EpisodeLimits(
        max_steps=case["max_steps"],
        parsing_failures=case["parsing_failure_th"],
        repeated_actions=case["repeating_action_failure_th"],
    )
    stop = stop_rules([_noted(note) for note in case["actions"]], limits, equivalent)
    return same((stop is not None, stop.detail if stop else ""), (case["stop"], case["reason"]))


def _noted(note: str) -> Action:
    """An action in the corpus's notation."""
    kind, _, rest = note.partition(":")
    if note == "NONE":
        return InvalidAction(why="unreadable")
    if kind == "pw":
        return action_set_of("playwright").parse(rest)
    if kind == "role":
        verb, role, name = rest.split("/", 2)
        target = Target(id="", role=role, name=name)
        return Click(target=target) if verb == "click" else Type(target=target, text="x")
    if kind == "mouse":
        verb, x, y = rest.split(",")
        pointed: Literal["click", "hover"] = "click" if verb == "click" else "hover"
        return Mouse(verb=pointed, x=float(x), y=float(y))
    if kind == "kbd":
        return Keyboard(text=rest)
    action = action_set_of("id_accessibility_tree").parse(note) if note != "stop []" else Stop()
    return _observed(action)


def _observed(action: Action) -> Action:
    """Aimed at elements of different roles: what was observed must not change the rule."""
    if not isinstance(action, Click | Hover | Type):
        return action
    return replace(action, target=replace(action.target, role="button", name=f"number {action.target.id}"))
