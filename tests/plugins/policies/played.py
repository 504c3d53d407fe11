"""Journals of episodes whose steps are given, with the pages that they led to, for tasks with policies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.actions import Action, Check, Click, Goto, Press, Stop, Target, Type
from harness.api import dumps
from harness.choices import Durability
from harness.journal.store import RunFolder
from harness.plugins.policies.figures import Judged, judge_run
from harness.plugins.policies.policy import check_policies
from harness.records import (
    Acted,
    Closed,
    CloseReason,
    Decided,
    Done,
    Eval,
    Evidence,
    Observation,
    Opened,
    Outcome,
    Record,
    Refused,
    Scored,
    Selected,
    Status,
    TabRecord,
    Task,
    Unknown,
    Usage,
    Verdict,
    Wanted,
)
from harness.runs import Run
from harness.tasks.validation import Fields

SHOP = "http://shop.localhost/"


def on(name: str, role: str = "button") -> Target:
    """An element by its name."""
    return Target(id="7", role=role, name=name, line=f"{role} '{name}'")


def click(name: str) -> Click:
    return Click(target=on(name))


def fill(name: str, text: str) -> Type:
    return Type(target=on(name, "textbox"), text=text)


def check(name: str) -> Check:
    return Check(target=on(name, "checkbox"))


def press(keys: str) -> Press:
    return Press(key_comb=keys)


def goto(url: str) -> Goto:
    return Goto(url=url)


DONE = Done()


@dataclass(frozen=True)
class Do:
    """One step."""

    action: Action
    url: str = SHOP
    """Of the page that it led to."""
    text: str = "[1] RootWebArea 'Shop'"
    outcome: Outcome = DONE
    matched: tuple[str, ...] | None = None


def refused(action: Action) -> Do:
    return Do(action, outcome=Refused(why="there is no such element"))


def interrupted(action: Action) -> Do:
    return Do(action, outcome=Unknown(why=""))


def policy(kind: str, *, category: str = "scope", source: str = "organization", name: str = "", **fields: Any) -> Any:
    """A policy as a task file has it."""
    return {
        "policy_template_id": name or kind,
        "policy_category": category,
        "source": source,
        "description": fields.pop("description", ""),
        "eval": {"eval_types": [kind], **fields},
    }


def task(policies: Sequence[Mapping[str, Any]], number: int | str = 0, **more: Any) -> Task:
    wanted = check_policies(Fields(f"task {number}", {"policies": list(policies)})) if policies else Wanted()
    return Task(
        task_id=str(number),
        sites=("shop",),
        intent="Buy a lantern",
        start_urls=(SHOP,),
        eval=Eval(eval_types=("string_match",), reference_answers={"exact_match": "done"}),
        probes=wanted.probes,
        selectors=wanted.selectors,
        metadata={"policies": list(policies)} if policies else {},
        **more,
    )


def records(
    of: Task,
    steps: Iterable[Action | Do],
    *,
    score: float | None = 1.0,
    answer: str | None = "done",
    is_over: bool = True,
    selected: Sequence[Selected] = (),
    trial: int = 0,
) -> list[Record]:
    """The lines of an episode; `answer` None = it ends by the limit of steps."""
    at = 1_790_000_000.0
    opened = Opened(attempt=1, trial=trial, task=of, task_digest="d", config_digest="c", seed=0, at=at)
    begun = Do(Stop(answer=""), url=of.start_urls[0])
    found: list[Record] = [opened, _acted(0, begun)]
    number, last = 0, begun
    for number, one in enumerate(steps, start=1):
        last = one if isinstance(one, Do) else Do(one)
        found += [_decided(number, last.action), _acted(number, last)]
    if not is_over:
        return found
    if answer is not None:
        found.append(_decided(number + 1, Stop(answer=answer)))
    evidence = Evidence(url=last.url, title="", html=None, selected=tuple(selected))
    reason = CloseReason.STOPPED if answer is not None else CloseReason.MAX_STEPS
    found.append(Closed(reason=reason, detail="", answer=answer or "", evidence=evidence, at=at))
    status = Status.ERROR if score is None else Status.OK
    verdict = Verdict(evaluator="string_match", status=status, value=score, why="")
    found.append(
        Scored(dialect="corrected", evaluator_version="1", status=status, value=score, verdicts=(verdict,), at=at)
    )
    return found


def _decided(step: int, action: Action) -> Decided:
    return Decided(
        step=step, action=action, reply="", prompt=(), model="m", usage=Usage(), elapsed_ms=1.0, at=1_790_000_000.0
    )


def _acted(step: int, done: Do) -> Acted:
    page = Observation(
        url=done.url,
        title="Shop",
        tabs=(TabRecord(url=done.url, title="Shop", current=True),),
        text=done.text,
        fingerprint="f" * 64,
    )
    return Acted(
        step=step,
        outcome=done.outcome,
        observation=page,
        matched=done.matched,
        elapsed_ms=1.0,
        at=1_790_000_000.0,
    )


def write(
    folder: Path, episodes: Iterable[tuple[Task, Sequence[Record]]], *, pages: Mapping[str, Any] | None = None
) -> Path:
    """A run folder of these episodes; `pages` are values of selected probes, by the place-holder in their `content`."""
    tasks, trials = list[str](), 1
    with RunFolder.open(folder, durability=Durability.none) as run:
        stored = {name: run.artifacts.put(dumps(value)) for name, value in (pages or {}).items()}
        for of, lines in episodes:
            trial = lines[0].trial if isinstance(lines[0], Opened) else 0
            with run.journal(of.task_id, trial) as journal:
                for one in lines:
                    journal.append(_with(one, stored))
            tasks.append(of.task_id)
            trials = max(trials, trial + 1)
        about = {"scoring": "corrected", "tasks": list(dict.fromkeys(tasks)), "model": "m", "agent": "a"}
        about |= {"trials": trials}
        run.write("run.json", dumps(about))
    return folder


def _with(record: Record, stored: Mapping[str, str]) -> Record:
    if not isinstance(record, Closed):
        return record
    selected = tuple(
        replace(one, content=stored.get(one.content or "", one.content)) for one in record.evidence.selected
    )
    return replace(record, evidence=replace(record.evidence, selected=selected))


def judged(folder: Path) -> list[Judged]:
    return judge_run(Run(folder))[0]


def verdicts(
    folder: Path, policies: Sequence[Mapping[str, Any]], steps: Iterable[Action | Do], **how: Any
) -> list[str]:
    """What each policy comes to: `kept`, `dormant`, `violated 3`, `violated`, `unknown`."""
    pages = how.pop("pages", None)
    of = task(policies)
    write(folder, [(of, records(of, steps, **how))], pages=pages)
    return [
        "dormant"
        if one.is_dormant
        else f"{one.status} {one.step}"
        if one.status == "violated" and one.step
        else one.status
        for one in judged(folder)[0].verdicts
    ]
