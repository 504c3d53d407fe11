"""Journals of episodes whose steps are given, with the pages that they led to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.actions import Action, Click, Goto, Stop, Target, Type
from harness.api import dumps
from harness.choices import Durability
from harness.journal.store import RunFolder
from harness.records import (
    Acted,
    Closed,
    CloseReason,
    Decided,
    Done,
    Evidence,
    Late,
    Observation,
    Opened,
    Outcome,
    Record,
    Scored,
    Selected,
    SideEffect,
    Status,
    TabRecord,
    Task,
    Usage,
    Verdict,
)

SHOP = "http://shop.localhost/"
AT = 1_790_000_000.0


def on(name: str, role: str = "button") -> Target:
    """An element by its name."""
    return Target(id="7", role=role, name=name, line=f"{role} '{name}'")


def click(name: str) -> Click:
    return Click(target=on(name))


def fill(name: str, text: str) -> Type:
    return Type(target=on(name, "textbox"), text=text)


def goto(url: str) -> Goto:
    return Goto(url=url)


HOME, DONE = click("Home"), Done()


@dataclass(frozen=True)
class Do:
    """One step and the page that it led to."""

    action: Action = HOME
    url: str = SHOP
    text: str = "[1] RootWebArea 'Shop'"
    notices: tuple[str, ...] = ()
    outcome: Outcome = DONE
    matched: tuple[str, ...] | None = None
    effects: tuple[SideEffect, ...] = ()
    late: tuple[SideEffect, ...] = ()


def records(
    of: Task,
    steps: Iterable[Action | Do],
    *,
    start: Do | None = None,
    score: float | None = 1.0,
    answer: str | None = "done",
    is_over: bool = True,
    selected: Sequence[Selected] = (),
    trial: int = 0,
) -> list[Record]:
    """The lines of an episode.

    Args:
        start: Led to the start page; None = a plain page.
        score: None = it could not be judged.
        answer: None = it ends by the limit of steps.
    """
    opened = Opened(attempt=1, trial=trial, task=of, task_digest="d", config_digest="c", seed=trial, at=AT)
    last = start or Do(url=of.start_urls[0])
    found: list[Record] = [opened, _acted(0, last)]
    number = 0
    for number, one in enumerate(steps, start=1):
        last = one if isinstance(one, Do) else Do(one)
        found += [_decided(number, last.action), _acted(number, last)]
        if last.late:
            found.append(Late(step=number, effects=last.late, at=AT))
    if not is_over:
        return found
    if answer is not None:
        found.append(_decided(number + 1, Stop(answer=answer)))
    evidence = Evidence(url=last.url, title="", html=None, selected=tuple(selected))
    reason = CloseReason.STOPPED if answer is not None else CloseReason.MAX_STEPS
    found.append(Closed(reason=reason, detail="", answer=answer or "", evidence=evidence, at=AT))
    status = Status.ERROR if score is None else Status.OK
    verdict = Verdict(evaluator="string_match", status=status, value=score, why="")
    found.append(
        Scored(dialect="corrected", evaluator_version="1", status=status, value=score, verdicts=(verdict,), at=AT)
    )
    return found


def _decided(step: int, action: Action) -> Decided:
    return Decided(step=step, action=action, reply="", prompt=(), model="m", usage=Usage(), elapsed_ms=1.0, at=AT)


def _acted(step: int, done: Do) -> Acted:
    page = Observation(
        url=done.url,
        title="Shop",
        tabs=(TabRecord(url=done.url, title="Shop", current=True),),
        text=done.text,
        fingerprint="f" * 64,
        notices=done.notices,
    )
    return Acted(
        step=step,
        outcome=done.outcome,
        observation=page,
        effects=done.effects,
        matched=done.matched,
        elapsed_ms=1.0,
        at=AT,
    )


def write(folder: Path, episodes: Iterable[Sequence[Record]], *, stored: Mapping[str, Any] | None = None) -> Path:
    """A run folder of these episodes; `stored` are values of selected probes, by the place-holder in their `content`."""
    tasks: dict[str, Task] = {}
    trials = 1
    with RunFolder.open(folder, durability=Durability.none) as run:
        digests = {name: run.artifacts.put(dumps(value)) for name, value in (stored or {}).items()}
        for lines in episodes:
            assert isinstance(lines[0], Opened)
            of, trials = lines[0].task, max(trials, lines[0].trial + 1)
            tasks[of.task_id] = of
            with run.journal(of.task_id, lines[0].trial) as journal:
                for one in lines:
                    journal.append(_with(one, digests))
        about = {"scoring": "corrected", "tasks": list(tasks), "trials": trials, "model": "m", "agent": "a"}
        attacked = any("attack" in of.metadata for of in tasks.values())
        run.write("run.json", dumps(about | ({"task_keys": ["attack"]} if attacked else {})))
    return folder


def _with(record: Record, digests: Mapping[str, str]) -> Record:
    if not isinstance(record, Closed):
        return record
    selected = tuple(
        replace(one, content=digests.get(one.content or "", one.content)) for one in record.evidence.selected
    )
    return replace(record, evidence=replace(record.evidence, selected=selected))
