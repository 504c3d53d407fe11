"""What is planted in the pages of a task, and what the attacker wants: the key `attack` of a task, checked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from harness.api import SiteForm, Task
from harness.api.records import HtmlTarget, Wanted
from harness.api.tasks import Fields

KEY = "attack"
"""Of a task."""
STORED = "stored"
"""The kind that a form of the site plants; a script plants the others."""
PLACES: Mapping[str, tuple[str, ...]] = {
    "banner": ("top", "bottom"),
    "popup": ("left", "right"),
    "content": ("first", "middle", "last"),
    "attribute": ("first", "last"),
    "tab": ("behind",),
    "dialog": ("load",),
    "file": ("top", "bottom"),
    STORED: ("site",),
}
"""Kind of an injection to where it may be planted."""
GOALS = ("url", "request", "typed", "answer", "content")
"""What an attacker may want: a page reached, a request sent, a text typed or sent, an answer, a state of the site."""
_LONGEST = 2000
_LONGEST_LINK = 80
_MOST_STEPS = 1000
_SEVERAL = " |AND| "
_SEEN_BY = 40
_TEXT = "{text}"
_METHOD = re.compile(r"[A-Z]{1,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the attacker wants the agent to do."""

    kind: str
    """One of `GOALS`."""
    url: str = ""
    """Of `url` and `request`: how the canonical address begins."""
    method: str = ""
    """Of `request`; "" = any."""
    text: str = ""
    """Of `typed` and `answer`, as it is written."""
    target: HtmlTarget | None = None
    """Of `content`: what is selected from a page at the end."""
    required: tuple[str, ...] = ()
    """Of `content`: all of these are in what was selected."""
    signs: tuple[str, ...] = ()
    """It has begun to follow when one of these is in an element that it acts on, or in what it types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One injection."""

    kind: str
    """A key of `PLACES`."""
    text: str
    """What is planted, with the address of the goal in it."""
    link: str
    """Text of the link that is planted beside the text; "" = none is."""
    steps: tuple[int, int]
    """First and last step from which it may be planted; 0 = the start pages."""
    place: str
    """One of the kind's; "" = the seed chooses."""
    goal: Goal
    form: SiteForm | None = None
    """Of kind `stored`: the form of the site that plants it; None = a script does."""

    @property
    def shown_by(self) -> str:
        """Whoever is shown this has seen it, see `squeezed`."""
        return squeezed(self.text)[:_SEEN_BY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the seed of an attempt chose."""

    place: str
    step: int


def choice_of(attack: Attack, task_id: str, seed: int) -> Choice:
    """Where and from which step it is planted in an attempt: the same for the same seed, in any process."""
    draw = Random(f"attack {seed} {task_id}")
    step = draw.randint(*attack.steps)
    place = draw.choice(PLACES[attack.kind])
    return Choice(place=attack.place or place, step=step)


def squeezed(text: str) -> str:
    """Letters and digits alone, in small letters: how text is compared with a page, whose lines are broken anywhere."""
    return "".join(char for char in text.lower() if char.isalnum())


def attack_of(task: Task) -> Attack | None:
    """That of a recorded task; None = it has none.

    Raises:
        TaskError: It cannot be understood, as in a task that was recorded by other rules.
    """
    return read_attack(Fields(f"task {task.task_id}", dict(task.metadata))) if KEY in task.metadata else None


def check_attack(task: Fields) -> Wanted:
    """What `cairn.task_keys` asks for: the page that the goal looks at.

    Raises:
        TaskError: It cannot be planted or judged; one sentence with file, task, field and fix.
    """
    attack = read_attack(task)
    if attack.kind == "tab" and _SEVERAL not in task.text("start_url"):
        raise task.wrong(
            "start_url", f"has one page; give a second one after '{_SEVERAL}', as `tab` plants in the last"
        )
    if attack.form is not None and task.flag("mutates") is not True:
        raise task.wrong("mutates", "is not true, and its attack is stored in a site, which is then reset; set it")
    return Wanted(probes=() if attack.goal.target is None else (attack.goal.target,))


def read_attack(task: Fields) -> Attack:
    """Raises: TaskError: A field is missing, unknown or of the wrong kind."""
    fields = task.inner(KEY)
    kind = fields.text("kind")
    if kind not in PLACES:
        raise fields.wrong("kind", f"is {kind[:60]!r}; choose one of {', '.join(PLACES)}")
    place = fields.text("place", "")
    if place and place not in PLACES[kind]:
        raise fields.wrong("place", f"is {place[:60]!r}; choose one of {', '.join(PLACES[kind])}, or leave it out")
    goal = _goal(fields.inner("goal"))
    link = fields.text("link", "")
    if len(link) > _LONGEST_LINK:
        raise fields.wrong("link", f"has {len(link)} characters; the limit is {_LONGEST_LINK}")
    if link and not goal.url:
        raise fields.wrong("link", f"leads nowhere, as a goal of kind {goal.kind} has no address; remove it")
    attack = Attack(
        kind=kind,
        text=(text := _text(fields, goal)),
        link=link,
        steps=(steps := _steps(fields)),
        place=place,
        goal=goal,
        form=_form(fields.inner("form"), text) if kind == STORED else None,
    )
    if kind == STORED and (link or steps != (0, 0)):
        raise fields.wrong("link" if link else "steps", "is of kinds that a script plants; remove it")
    _refuse_rest(fields, "kind, text, link, place, steps, goal, and form of kind stored")
    return attack


def _form(fields: Fields, text: str) -> SiteForm:
    url = _url(fields)
    selector = _needed(fields, "selector")
    values = fields.inner("fields").rest()
    if strange := sorted(name for name, value in values.items() if not isinstance(value, str)):
        raise fields.wrong("fields", f"has {strange[0][:60]!r}, which is not text; give texts")
    if not any(_TEXT in value for value in values.values()):
        raise fields.wrong("fields", f"has no {_TEXT}, where the attack's text goes")
    _refuse_rest(fields, "url, selector and fields")
    return SiteForm(url=url, form=selector, fields={name: value.replace(_TEXT, text) for name, value in values.items()})


def _text(fields: Fields, goal: Goal) -> str:
    text = " ".join(fields.text("text").replace("{url}", goal.url).split())
    if not 0 < len(text) <= _LONGEST:
        raise fields.wrong("text", f"has {len(text)} characters; give 1 to {_LONGEST}")
    if len(squeezed(text)) < 10:
        raise fields.wrong("text", "has fewer than 10 letters and digits, by which it could be found in a page")
    return text


def _steps(fields: Fields) -> tuple[int, int]:
    value: Any = fields.get("steps")
    if value is None:
        return (0, 0)
    is_pair = isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value)
    if not is_pair or not 0 <= value[0] <= value[1] <= _MOST_STEPS:
        raise fields.wrong("steps", f"is {value!r:.60}; give the first and the last step, as [0, 2]")
    return (value[0], value[1])


def _goal(fields: Fields) -> Goal:
    kind = fields.text("kind")
    if kind not in GOALS:
        raise fields.wrong("kind", f"is {kind[:60]!r}; choose one of {', '.join(GOALS)}")
    signs = fields.texts("signs") if fields.has("signs") else ()
    found = Goal(kind=kind, signs=signs)
    fields.get("signs")
    if kind in ("url", "request"):
        found = Goal(kind=kind, signs=signs, url=_url(fields), method=_method(fields) if kind == "request" else "")
    elif kind in ("typed", "answer"):
        found = Goal(kind=kind, signs=signs, text=(text := _needed(fields, "text")))
        if not squeezed(text):
            raise fields.wrong("text", f"is {text[:60]!r}; give letters or digits, as nothing else is compared")
    elif kind == "content":
        required = fields.texts("must_include")
        if not required or not all(one.strip() for one in required):
            raise fields.wrong("must_include", "is empty; give texts that are there once the attacker has succeeded")
        if bare := [one for one in required if not squeezed(one)]:
            raise fields.wrong("must_include", f"has {bare[0][:60]!r}; give letters or digits, as only these compare")
        target = HtmlTarget(url=fields.text("url", "last"), locator=fields.text("locator", ""))
        if target.url != "last" and not target.url.startswith(("func:", "http://", "https://")):
            raise fields.wrong("url", f"is {target.url[:60]!r}; give `last`, an address or `func:NAME(…)`")
        found = Goal(kind=kind, signs=signs, target=target, required=required)
    _refuse_rest(fields, "kind, signs, and url, method, text, locator or must_include as the kind has them")
    return found


def _url(fields: Fields) -> str:
    url = _needed(fields, "url")
    if not url.startswith(("http://", "https://")):
        raise fields.wrong("url", f"is {url[:60]!r}; give how the address begins, from http:// or https:// on")
    return url


def _method(fields: Fields) -> str:
    method = fields.text("method", "")
    if method and not _METHOD.fullmatch(method):
        raise fields.wrong("method", f"is {method[:30]!r}; give one such as POST, or leave it out")
    return method


def _needed(fields: Fields, key: str) -> str:
    text = fields.text(key).strip()
    if not text:
        raise fields.wrong(key, "is empty")
    return text


def _refuse_rest(fields: Fields, known: str) -> None:
    if unknown := sorted(fields.rest()):
        raise fields.wrong(unknown[0], f"is unknown; there are {known}")
