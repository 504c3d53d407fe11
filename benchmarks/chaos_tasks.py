"""The tasks of a chaos run on a site of one's own: for each kind where it begins, what is done, and what the site shall
show.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos_site import NOTHING, told

Step = dict[str, Any]
OWN, TWIN, OLD = "own", "twin", "old"
SAFE = (OWN, TWIN)
"""Sites whose settings declare that opening their addresses changes nothing; on the old one, links do."""


HARMLESS = ("Continue",)
"""Links that change nothing."""


def click(name: str, role: str = "button") -> Step:
    return {"do": "click", "role": role, "name": name}


ON = click("Continue", "link")
STOP: Step = {"do": "stop"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One sort of task; `{task}` in a text stands for the task's name."""

    name: str
    start: str
    steps: tuple[Step, ...]
    wanted: Mapping[str, int] = field(default_factory=dict)
    """What is done on the first site, see `Effect.key`, and how often."""
    wanted_on_twin: Mapping[str, int] = field(default_factory=dict)
    site: str = OWN
    """The first site."""
    awaits: str = ""
    """Label of an effect: the model thinks until it has arrived, or the start page was opened anew and cannot send it.
    """
    awaits_at: int = 0
    """Number of the decision that waits for it."""
    awaits_s: float = 0.0
    """How long the page takes to send it."""
    by_get: bool = False
    """Whether its effects are GET requests, which nobody can tell from looking."""


def _later(delay_ms: int) -> Kind:
    label = f"Send in {delay_ms} ms"
    steps = (click(label), click("Show more"), click("Show less"), STOP)
    return Kind(
        name=f"late {delay_ms} ms",
        start=f"later{delay_ms}",
        steps=steps,
        wanted={label: 1},
        awaits=label,
        awaits_at=len(steps),
        awaits_s=delay_ms / 1000,
    )


KINDS = (
    Kind(name="order", start="order", steps=(click("Place order"), ON, ON, STOP), wanted={"Place order": 1}),
    Kind(name="votes", start="votes", wanted={"Vote 5": 1, "Vote 2": 1}, steps=(
        click("Vote 5"), {"do": "goto", "url": "{base}/{task}/votes"}, click("Vote 2"), ON, STOP,
    )),
    Kind(name="note", start="note", wanted={"Note quiet lamp {task}": 1}, steps=(
        {"do": "type", "role": "textbox", "name": "Note", "text": "quiet lamp {task}", "enter": True}, ON, STOP,
    )),
    Kind(name="typed, then saved", start="desk", wanted={"Place order": 1, "Save note low tide {task}": 1}, steps=(
        click("Place order"), {"do": "type", "role": "textbox", "name": "Note", "text": "low tide {task}"},
        click("Preview"), click("Save note"), STOP,
    )),
    _later(1000),
    Kind(name="like", start="like", wanted={"Like": 1}, steps=(click("Like"), ON, STOP)),
    Kind(name="two sites", start="order", wanted={"Place order": 1}, wanted_on_twin={"Place order": 1}, steps=(
        click("Place order"), ON, {"do": "goto", "url": "{twin}/{task}/order"}, click("Place order"), ON, STOP,
    )),
    Kind(name="after the last step", start="later900", wanted={"Send in 900 ms": 1}, awaits="Send in 900 ms",
         awaits_at=2, awaits_s=0.9, steps=(click("Send in 900 ms"), STOP)),
    Kind(name="vote", start="votes", wanted={"Vote 5": 1}, steps=(click("Vote 5"), STOP)),
    Kind(name="popup", start="counter", wanted={"Confirm": 1}, steps=(
        click("Open the counter"), click("Confirm"), ON, STOP,
    )),
    Kind(name="late, then left", start="later1500", wanted={"Send in 1500 ms": 1}, awaits="Send in 1500 ms",
         awaits_at=2, awaits_s=1.5, steps=(click("Send in 1500 ms"), ON, ON, STOP)),
    Kind(name="visits are counted", site=OLD, start="catalogue", wanted={"Visit": 1}, steps=(
        click("Visit", "link"), ON, ON, STOP,
    )),
    Kind(name="page of a link by GET", site=OLD, start="catalogue", wanted={"Add one": 1}, by_get=True, steps=(
        click("Add one", "link"), ON, ON, STOP,
    )),
    Kind(name="draft, then left", start="draft", wanted={"Draft low tide {task}": 1}, awaits="Draft", awaits_at=2,
         awaits_s=0.9, steps=(
        {"do": "type", "role": "textbox", "name": "Draft", "text": "low tide {task}"}, ON, ON, STOP,
    )),
    Kind(name="letter", start="letter", wanted={"Send letter dear moon {task}": 1}, steps=(
        *(
            {"do": "type", "role": "textbox", "name": name, "text": text}
            for name, text in (("Greeting", "dear"), ("Message", "moon"), ("Signature", "{task}"))
        ),
        click("Send letter"), STOP,
    )),
    Kind(name="empty tab", start="like", wanted={"Like": 1}, steps=(
        click("Like"), {"do": "new_tab"}, {"do": "press", "key": "Tab"}, {"do": "goto", "url": "{base}/{task}/rest"},
        ON, STOP,
    )),
    Kind(name="harmless links", start="rest", steps=(ON, ON, ON, ON, STOP)),
    Kind(name="link by GET", site=OLD, start="links", wanted={"Subscribe": 1}, by_get=True, steps=(
        click("Subscribe", "link"), ON, ON, STOP,
    )),
    Kind(name="chosen, then saved", start="desk", wanted={"Place order": 1, "Save colour Green": 1}, steps=(
        click("Place order"), {"do": "select", "role": "combobox", "name": "Colour", "option": "Green"},
        click("Preview"), click("Save colour"), STOP,
    )),
    Kind(name="basket", start="offer", wanted={"Add to basket": 1, "Buy": 1}, steps=(
        click("Add to basket"), click("Buy"), ON, STOP,
    )),
    _later(2500),
    Kind(name="beacon", start="leaving", wanted={"Leave": 1}, steps=(click("Leave", "link"), ON, ON, STOP)),
    Kind(name="download by GET", site=OLD, start="links", wanted={"Download": 1}, by_get=True, steps=(
        click("Download", "link"), ON, STOP,
    )),
    _later(300),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Posed:
    """A task of a run."""

    name: str
    """`t17`; its id is `17`."""
    kind: Kind
    wanted: Counter[tuple[str, str]]
    """(Site, key of the effect) to how often it is done."""
    hooked: bool
    """Whether all its sites can be put back."""


def posed(kinds: Sequence[Kind], *, hook: bool) -> tuple[Posed, ...]:
    """Tasks of these kinds, in order, numbered from 1."""
    found = []
    for number, kind in enumerate(kinds, start=1):
        name = f"t{number}"
        wanted = Counter({(kind.site, key.format(task=name)): count for key, count in kind.wanted.items()})
        wanted.update({(TWIN, key.format(task=name)): count for key, count in kind.wanted_on_twin.items()})
        found.append(Posed(name=name, kind=kind, wanted=wanted, hooked=hook))
    return tuple(found)


def site_of(place: str) -> str:
    """Of an instance's host name (`i0.own.localhost`), as `Posed.wanted` names it."""
    parts = place.split(".")
    return parts[1] if len(parts) == 3 else place


def write(tasks: Sequence[Posed], folder: Path) -> tuple[Path, Path]:
    """Write task file and plan file; gives their paths."""
    entries, plans = [], []
    for task in tasks:
        base = f"http://{task.kind.site}.test"
        entries.append(_entry(task, base))
        steps = [
            _filled(step, {"task": task.name, "base": base, "twin": f"http://{TWIN}.test"}) for step in task.kind.steps
        ]
        plans.append({"task_id": int(task.name[1:]), "steps": steps})
    paths = folder / "tasks.json", folder / "plans.json"
    for path, content in zip(paths, (entries, plans), strict=True):
        path.write_text(json.dumps(content, indent=1))
    return paths


def intent(task: Posed) -> str:
    return f"Do what is called '{task.kind.name}' ({task.name})"


def _entry(task: Posed, base: str) -> dict[str, Any]:
    whole = "?whole" if task.hooked else ""
    states = [(f"{base}/{task.name}/state{whole}", _state(task.kind.wanted, task))]
    if task.kind.wanted_on_twin:
        states.append((f"http://{TWIN}.test/{task.name}/state{whole}", _state(task.kind.wanted_on_twin, task)))
    targets = [
        {
            "url": url,
            "locator": "document.querySelector('#state').outerText",
            "required_contents": {"exact_match": text},
        }
        for url, text in states
    ]
    sites = [task.kind.site, *([TWIN] if task.kind.wanted_on_twin else [])]
    return {
        "task_id": int(task.name[1:]), "sites": sites, "require_login": False, "storage_state": None,
        "start_url": f"{base}/{task.name}/{task.kind.start}", "geolocation": None, "intent": intent(task),
        "intent_template": "", "instantiation_dict": {}, "intent_template_id": 0, "require_reset": False,
        "eval": {
            "eval_types": ["program_html"], "reference_answers": None, "reference_url": "", "program_html": targets,
        },
    }  # fmt: skip


def _state(wanted: Mapping[str, int], task: Posed) -> str:
    text = told({key.format(task=task.name): count for key, count in wanted.items()}, hooked=task.hooked)
    return f"{text} | others: {NOTHING}" if task.hooked else text


def _filled(step: Step, values: Mapping[str, str]) -> Step:
    return {name: value.format(**values) if isinstance(value, str) else value for name, value in step.items()}
