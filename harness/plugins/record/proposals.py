"""How a task could be judged, by what a person answered, changed and saw.

Each proposal is a part of WebArena's `eval`. What was changed comes first: values that pages have with what was done,
in two replays, and do not have without it. Where nothing was changed or answered, the address counts. Texts of pages
are data here: they become texts that are compared, never script.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.api import JsonObject, Stop
from harness.api.actions import Keyboard
from harness.api.scoring import OR
from harness.plugins.record.plan import Plan
from harness.plugins.record.probing import Pages, Place, locator_of

NOT_ACHIEVABLE = "N/A"
_MOST_VALUES = 3
_MOST_CHANGES = 500
"""That are proposed, chosen or not."""
_ON_MANY_PAGES = 2
_MOST_PARTS = 6
_PLACEHOLDER = re.compile(r"__[A-Z]")
_SHORTEST_TYPED = 2
_FIELDS = frozenset("checkbox combobox listbox radio searchbox slider spinbutton switch textbox".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One way to judge the task, or a part of one."""

    kind: str
    """Eval type."""
    content: Mapping[str, Any]
    """What `eval` holds for it; of `program_html`, one target."""
    why: str
    """For the person."""
    chosen: bool = True
    """Whether the task is judged by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is known of a session besides what was done."""

    intent: str
    """What was asked."""
    texts: Sequence[str]
    """Of the pages that the person saw."""
    sent: bool
    """Whether something was sent that may have changed a site. If not, and there is an answer, what differs on pages
    comes from looking at them."""


def proposals_of(plan: Plan, session: Session, *, done: Sequence[Pages], undone: Pages) -> tuple[Proposal, ...]:
    """What is proposed; none of it may be chosen.

    Args:
        plan: What the person did.
        session: What else is known of it.
        done: What is on the pages after each of two replays.
        undone: What is on them without.
    """
    answers = tuple(_answers(plan, session))
    changes = tuple(_changes(plan, done, undone, chooses=session.sent or not answers))
    addresses = tuple(_addresses(plan, done, chosen=not answers and not any(one.chosen for one in changes)))
    return (*answers, *changes, *addresses)


def _answers(plan: Plan, session: Session) -> Iterator[Proposal]:
    stop = plan.steps[-1].action if plan.steps else None
    answer = stop.answer.strip() if isinstance(stop, Stop) else ""
    if not answer or OR in answer or _PLACEHOLDER.search(answer):
        return
    if answer == NOT_ACHIEVABLE:
        note = " ".join(step.note for step in plan.steps if step.note)
        content: JsonObject = {"reference_answers": {"fuzzy_match": NOT_ACHIEVABLE}, "string_note": note}
        yield Proposal(kind="string_match", content=content, why="you said that it cannot be done")
        return
    if answer.casefold() in session.intent.casefold():
        why = f"your answer is {answer!r}, which the question names, so that who repeats the question would include it"
        yield Proposal(kind="string_match", content={"reference_answers": {"exact_match": answer}}, why=why)
    elif parts := _parts(answer, session.texts):
        why = f"your answer names {' and '.join(map(repr, parts))}, which you saw on pages"
        yield Proposal(kind="string_match", content={"reference_answers": {"must_include": list(parts)}}, why=why)
    else:
        why = f"your answer is {answer!r}, which no page says in these words"
        yield Proposal(kind="string_match", content={"reference_answers": {"must_include": [answer]}}, why=why)


def _parts(answer: str, texts: Sequence[str]) -> tuple[str, ...]:
    """The answer, or the parts of a list in it, where pages say each."""
    seen = [" ".join(text.split()).casefold() for text in texts]
    parts = tuple(one.strip() for one in answer.split(", "))
    for found in ((answer,), parts if 1 < len(parts) <= _MOST_PARTS else ()):
        if found and all(one and any(one.casefold() in text for text in seen) for one in found):
            return found
    return ()


def _changes(plan: Plan, done: Sequence[Pages], undone: Pages, *, chooses: bool) -> Iterator[Proposal]:
    first, *others = (one.values for one in done)
    found = [
        (place, value)
        for place, value in first.items()
        if undone.values.get(place) != value and all(one.get(place) == value for one in others) and _is_plain(value)
    ]
    said = tuple(_said(plan))
    everywhere = Counter((place[1:], value) for place, value in found)

    def worth(one: tuple[Place, str]) -> float:
        place, value = one
        in_many = everywhere[place[1:], value] > _ON_MANY_PAGES  # as the number of the cart, in the head of each page
        return _worth(place, value, said) + (0.5 if place in undone.values else 0) - (1.5 if in_many else 0)

    ranked = sorted(found, key=worth, reverse=True)[:_MOST_CHANGES]
    taken: list[tuple[Place, str]] = []
    for place, value in ranked:
        is_new = all(value not in other and other not in value for _, other in taken)
        chosen = chooses and is_new and len(taken) < _MOST_VALUES
        if chosen:
            taken.append((place, value))
        before = undone.values.get(place)
        why = f"{place[0]} has {_cut(value)!r} there" + (
            ", and nothing at all without what you did" if before is None else f", and {_cut(before)!r} without"
        )
        yield Proposal(kind="program_html", content=_target(place, value), why=why, chosen=chosen)


def _target(place: Place, value: str) -> JsonObject:
    wanted = value.capitalize() if place[2] == "checked" else value  # a script's true is Python's True
    return {"url": place[0], "locator": locator_of(place), "required_contents": {"exact_match": wanted}}


def _worth(place: Place, value: str, said: Sequence[str]) -> float:
    """How much a value says of what was done: what was typed or clicked counts most."""
    _, selector, name = place
    folded, worth = value.casefold(), 1.0
    if folded in said:
        worth += 3
    elif any(one in folded for one in said):
        worth += 2
    if name != "outerText":
        worth += 1  # a state of the site, seldom a mere notice
    if " " not in selector and selector.startswith(("#", "[name")):
        worth += 0.5
    return worth - selector.count(">") * 0.05


def _said(plan: Plan) -> Iterator[str]:
    """What was typed, and the names of what was clicked, folded; that of a field is only its label."""
    for step in plan.steps:
        text = step.action.text.strip() if isinstance(step.action, Keyboard) else ""
        name = step.element.name if step.element and step.element.role not in _FIELDS else ""
        for one in (text, name):
            if len(one) >= _SHORTEST_TYPED or (one and one == text):
                yield one.casefold()


def _addresses(plan: Plan, done: Sequence[Pages], *, chosen: bool) -> Iterator[Proposal]:
    ends = {one.address for one in done}
    if len(ends) != 1 or OR in (end := ends.pop()) or end == plan.start.url or not end:
        return
    why = "you ended on this page" + ("; whoever opens the address passes" if chosen else "")
    content: JsonObject = {"reference_url": end, "url_note": "GOLD in PRED"}
    yield Proposal(kind="url_match", content=content, why=why, chosen=chosen)


def eval_of(proposals: Sequence[Proposal]) -> JsonObject | None:
    """WebArena's `eval` of what is chosen; None = nothing is."""
    chosen = [one for one in proposals if one.chosen]
    if not chosen:
        return None
    judged: dict[str, Any] = {
        "eval_types": list(dict.fromkeys(one.kind for one in chosen)),
        "reference_answers": None,
        "reference_url": "",
        "program_html": [one.content for one in chosen if one.kind == "program_html"],
    }
    for one in chosen:
        judged |= one.content if one.kind != "program_html" else {}
    return judged


def _is_plain(value: str) -> bool:
    """Whether an evaluator finds it again as it is."""
    return bool(value) and html.unescape(value) == value and OR not in value and _PLACEHOLDER.search(value) is None


def _cut(value: str) -> str:
    return value if len(value) <= 60 else f"{value[:57]}…"
