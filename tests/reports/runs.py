"""Synthetic run folders, written through the journal as a real run would write them."""

import errno
import os
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Action, Click, InvalidAction, Stop, Target, Type
from harness.choices import Durability
from harness.codec import dumps
from harness.journal.index import INDEX_NAME, index_of, scan
from harness.journal.store import RunFolder
from harness.records import (
    Acted,
    Closed,
    CloseReason,
    Decided,
    Done,
    Doubt,
    DoubtReason,
    DoubtResolution,
    Eval,
    Evidence,
    Failed,
    Observation,
    Opened,
    Outcome,
    Record,
    Refused,
    Resumed,
    Scored,
    SideEffect,
    Status,
    TabRecord,
    Task,
    Unknown,
    Usage,
    Verdict,
)

WIDTH, HEIGHT = 1280, 720
DONE = Done()
BEGUN = 1_790_000_000.0
TEMPLATES = (
    ("What does the {{product}} cost?", "What does the Storm Lantern cost?", "shop"),
    ("Find the newest post in {{forum}} and upvote it", "Find the newest post in f/harbour and upvote it", "forum"),
    ("Assign issue {{issue}} to {{person}}", "Assign issue 14 to Maya", "code"),
    ("How many {{status}} orders are there in {{month}}?", "How many pending orders are there in February?", "office"),
    (
        "Buy the cheapest {{product}} and post about it",
        "Buy the cheapest lantern and post about it in f/harbour",
        "shop+forum",
    ),
)


@dataclass(frozen=True)
class Shape:
    """What one synthetic episode is like."""

    steps: int = 3
    score: float | None = 1.0
    """None = an evaluator error."""
    published: float | None = None
    """In the scoring `webarena`; None = the same."""
    reason: CloseReason = CloseReason.STOPPED
    failure: str = ""
    """Name of an infrastructure error that left the episode unscored."""
    open: bool = False
    """Still under way."""
    refused: int = 0
    """Step whose action was refused; 0 = none."""
    resumed: int = 0
    """Step the episode was resumed at; 0 = never."""
    diverged: bool = False
    doubted: int = 0
    """Step whose action was interrupted and not repeated; 0 = none."""
    judge_tokens: int = 0
    """What a judge was asked for each score, at a cent a token; 0 = none was asked."""
    judge: tuple[str, str] = ("", "")
    """Name and prompt of the judge that its verdict names."""


def task(number: int | str, *, intent: str | None = None, template: int | None = None) -> Task:
    kind = (template if template is not None else int(number) if str(number).isdigit() else 0) % len(TEMPLATES)
    wording, example, sites = TEMPLATES[kind]
    return Task(
        task_id=str(number),
        sites=tuple(sites.split("+")),
        intent=intent if intent is not None else example,
        start_urls=(f"http://{sites.partition('+')[0]}.localhost/",),
        eval=Eval(eval_types=("string_match",), reference_answers={"exact_match": "$44.50"}),
        intent_template=wording,
        intent_template_id=str(template if template is not None else number),
    )


def episode(run: RunFolder, of: Task, shape: Shape, *, trial: int = 0, screenshots: bool = True) -> list[Record]:
    """The records of one episode; its artifacts are stored."""
    clock = _Clock()
    records: list[Record] = [_opened(of, trial, clock)]
    if shape.diverged:
        records += [_acted(run, 0, of, clock, screenshots=screenshots)]
        records += [
            Failed(
                attempt=1, boundary="restore", type="EnvironmentDiverged", message="the cart holds 2 items", at=clock()
            ),
            replace(_opened(of, trial, clock), attempt=2, why="diverged"),
        ]
    records.append(_acted(run, 0, of, clock, screenshots=screenshots))
    for step in range(1, shape.steps + 1):
        records.append(_decided(run, step, _action(step), of=of, clock=clock))
        outcome: Outcome = Refused(why=f"no element [{step}9] on this page") if step == shape.refused else Done()
        if step == shape.doubted:
            records.append(
                Doubt(
                    step=step,
                    reason=DoubtReason.INTERRUPTED,
                    resolution=DoubtResolution.ASK_PAGE,
                    why=f"click <b>Order</b> (step {step}) was interrupted",
                    at=clock(),
                )
            )
            outcome = Unknown(why="it is not known")
        records.append(_acted(run, step, of, clock, outcome=outcome, screenshots=screenshots))
        if step == shape.resumed:
            records.append(Resumed(step=step, strategy="replay", similarity=(1.0, 0.98), elapsed_ms=812.0, at=clock()))
    attempt = 2 if shape.diverged else 1
    if shape.failure:
        why = "the browser process ended with signal 9"
        records.append(Failed(attempt=attempt, boundary="act", type=shape.failure, message=why, at=clock()))
        return records
    if shape.open:
        return records
    if shape.reason is CloseReason.STOPPED:
        records.append(_decided(run, shape.steps + 1, Stop(answer="It costs $44.50."), of=of, clock=clock))
    return [*records, *_ending(shape, of, clock)]


def write(run: RunFolder, of: Task, records: Sequence[Record], trial: int = 0) -> Path:
    with run.journal(of.task_id, trial) as journal:
        for record in records:
            journal.append(record)
    return journal.path


def fill(
    folder: Path,
    shapes: Sequence[Shape],
    *,
    trials: int = 1,
    screenshots: bool = True,
    agent: str = "prompt",
    scoring: str = "corrected",
) -> Path:
    """A run folder with one task for each shape; trials alternate between the shape and its opposite."""
    with RunFolder.open(folder, durability=Durability.none) as run:
        for number, shape in enumerate(shapes):
            for trial in range(trials):
                one = replace(shape, score=1.0 - shape.score) if trial % 2 and shape.score is not None else shape
                of = task(number, template=number // 3)
                write(run, of, episode(run, of, one, trial=trial, screenshots=screenshots), trial)
        tasks = [str(number) for number in range(len(shapes))]
        run.write(
            "run.json",
            dumps({"scoring": scoring, "tasks": tasks, "trials": trials, "model": "gpt-4o", "agent": agent}),
        )
    return folder


def rot(journal: Path) -> None:
    """Damage a journal so that the index of its folder still takes it for whole: size and time stay."""
    (journal.parent / INDEX_NAME).write_bytes(index_of(scan(journal.parent).entries))
    data, before = journal.read_bytes(), journal.stat()
    at = len(data) // 3
    journal.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    os.utime(journal, ns=(before.st_atime_ns, before.st_mtime_ns))


def assorted(count: int, seed: int = 7, steps: int = 6) -> list[Shape]:
    """Shapes as a real run has them."""
    draw = random.Random(seed)
    shapes = []
    for _ in range(count):
        fate = draw.random()
        length = max(1, min(30, round(draw.gauss(steps, steps / 2))))
        resumed = draw.randint(1, length) if draw.random() < 0.06 else 0
        if fate < 0.55:
            shapes.append(Shape(steps=length, resumed=resumed, diverged=draw.random() < 0.02))
        elif fate < 0.76:
            shapes.append(Shape(steps=length, score=0.0, refused=draw.randint(0, length), resumed=resumed))
        elif fate < 0.9:
            reason = draw.choice([CloseReason.MAX_STEPS, CloseReason.REPEATED, CloseReason.PARSE_FAILURES])
            shapes.append(
                Shape(steps=max(length, 20) if reason is CloseReason.MAX_STEPS else length, score=0.0, reason=reason)
            )
        elif fate < 0.96:
            shapes.append(Shape(steps=length, failure=draw.choice(["BrowserCrashed", "ModelUnavailable"])))
        else:
            shapes.append(Shape(steps=length, score=None))
    return shapes


@cache
def picture(seed: int, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    """A PNG that looks a little like a page: a head, a column of text, a button at (96, 240, 180, 40)."""
    draw = random.Random(seed)
    paper, head, ink, button = b"\xff\xff\xff", bytes((38, 70, 83)), b"\xc9\xcd\xd2", bytes((231, 111, 81))
    lines = [draw.randint(300, 900) for _ in range(40)]

    def row(y: int) -> bytes:
        if y < 64:
            return head * width
        if 240 <= y < 280:
            return paper * 96 + button * 180 + paper * (width - 276)
        if y > 96 and (y // 12) % 2 and not 220 < y < 300:
            long = lines[(y // 24) % 40]
            return paper * 96 + ink * long + paper * (width - 96 - long)
        return paper * width

    data = zlib.compress(b"".join(b"\0" + row(y) for y in range(height)), 6)
    head_chunk = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head_chunk) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class _Clock:
    def __init__(self) -> None:
        self._now = BEGUN

    def __call__(self) -> float:
        self._now += 1.5
        return self._now


def _opened(of: Task, trial: int, clock: _Clock) -> Opened:
    return Opened(
        attempt=1, trial=trial, task=of, task_digest=f"digest of {of.task_id}", config_digest="c", seed=0, at=clock()
    )


def _action(step: int) -> Action:
    target = Target(
        id=str(step + 11),
        role="button",
        name="Add to cart",
        line="button 'Add to cart'",
        box=(96.0, 240.0, 180.0, 40.0),
    )
    match step % 4:
        case 1:
            return Click(target=target)
        case 2:
            return Type(
                target=replace(target, role="textbox", name="Search", line="textbox 'Search'"), text="storm lantern"
            )
        case 3:
            return Click(target=replace(target, name="Next page", line="link 'Next page'", role="link"))
        case _:
            return InvalidAction(why="the reply holds no ``` block") if step % 12 == 0 else Click(target=target)


def observation_text(step: int) -> str:
    lines = [
        f"\t[{number}] link 'Lantern number {number + step}'\n\t\tStaticText 'in stock, ships in {number} days'"
        for number in range(45)
    ]
    return "Tab 0 (current): Lanterns | Tab 1: Cart\n\n[1] RootWebArea 'Lanterns'\n" + "\n".join(lines)


def _decided(run: RunFolder, step: int, action: Action, *, of: Task, clock: _Clock) -> Decided:
    text = observation_text(step - 1)
    messages = (
        {
            "role": "system",
            "content": "You are an autonomous agent.\n" + "Here is what you can do. " * 60,
            "name": None,
        },
        {
            "role": "user",
            "content": (
                f"OBSERVATION:\n{text}\nURL: {of.start_urls[0]}\nOBJECTIVE: {of.intent}\nPREVIOUS ACTIONS:\n{step - 1}"
                " so far"
            ),
            "name": None,
        },
    )
    return Decided(
        step=step,
        action=action,
        reply=(
            f"Let's think step by step. The page lists lanterns; what I need is behind element [{step + 11}]. In"
            f" summary, the next action I will perform is ```click [{step + 11}]```"
        ),
        prompt=tuple(run.artifacts.put(dumps(message)) for message in messages),
        model="gpt-4o-2024-11-20",
        usage=Usage(prompt_tokens=2100 + 90 * step, completion_tokens=64, cost_usd=0.0061, requests=1),
        elapsed_ms=1840.0 + step,
        at=clock(),
    )


def _acted(
    run: RunFolder,
    step: int,
    of: Task,
    clock: _Clock,
    *,
    outcome: Outcome = DONE,
    screenshots: bool = True,
) -> Acted:
    url = f"{of.start_urls[0]}lanterns?page={step}"
    return Acted(
        step=step,
        outcome=outcome,
        observation=Observation(
            url=url,
            title="Lanterns and lamps",
            tabs=(
                TabRecord(url=url, title="Lanterns", current=True),
                TabRecord(url=of.start_urls[0] + "cart", title="Cart", current=False),
            ),
            text=observation_text(step),
            fingerprint="f" * 64,
            notices=("a dialog was answered: Leave this page?",) if step == 2 else (),
            screenshot=run.artifacts.put(picture(step % 5)) if screenshots else None,
        ),
        effects=(SideEffect(method="POST", url=of.start_urls[0] + "cart/add", status=303),) if step == 1 else (),
        elapsed_ms=412.0 + step,
        at=clock(),
    )


def _ending(shape: Shape, of: Task, clock: _Clock) -> list[Record]:
    detail = "" if shape.reason is CloseReason.STOPPED else f"Reach max steps {shape.steps}"
    evidence = Evidence(url=of.start_urls[0] + "lantern", title="Storm Lantern", html=None)
    answer = "It costs $44.50." if shape.reason is CloseReason.STOPPED else ""
    status = Status.ERROR if shape.score is None else Status.OK
    why = {1.0: "", None: "the judge did not answer with correct or incorrect"}.get(
        shape.score, "'It costs $44.50.' is not '$44.50'"
    )
    judged = Usage(prompt_tokens=shape.judge_tokens, cost_usd=shape.judge_tokens / 100, requests=1)
    usage = judged if shape.judge_tokens else Usage()
    verdict = Verdict(
        evaluator="string_match",
        status=status,
        value=shape.score,
        why=why,
        usage=usage,
        judge=shape.judge[0],
        prompt=shape.judge[1],
    )
    published = shape.score if shape.published is None else shape.published
    return [
        Closed(reason=shape.reason, detail=detail, answer=answer, evidence=evidence, at=clock()),
        *(
            Scored(
                dialect=dialect,
                evaluator_version="1",
                status=status,
                value=value,
                verdicts=(replace(verdict, value=value),),
                at=clock(),
            )
            for dialect, value in (("corrected", shape.score), ("webarena", published))
        ),
    ]


def close(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may look into this folder, root included: as into one of another user, of mode 0700."""

    def refusing(call: Callable[..., Any], *, itself: bool) -> Callable[..., Any]:
        def looked(path: Any, *args: Any, **named: Any) -> Any:
            place = Path(path) if isinstance(path, str | Path) else Path()
            if folder in place.parents or (itself and place == folder):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return call(path, *args, **named)

        return looked

    for name in ("stat", "open", "scandir", "listdir"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name), itself=name != "stat"))
