"""Records to write journals with: one whole episode in order, small enough to be cut at every byte."""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from pathlib import Path

from harness.actions import Action, Click, Stop, Target
from harness.choices import Durability
from harness.journal.fold import check, fold
from harness.journal.log import Journal
from harness.records import (
    Acted,
    Closed,
    CloseReason,
    Decided,
    Done,
    Doubt,
    DoubtReason,
    DoubtResolution,
    Episode,
    Eval,
    Evidence,
    Failed,
    Fork,
    Judged,
    Late,
    Observation,
    Opened,
    Record,
    Replied,
    Resumed,
    Scored,
    SideEffect,
    Status,
    TabRecord,
    Task,
    Usage,
    Verdict,
)

PROJECT = Path(__file__).resolve().parents[2]
URL = "http://shop.localhost/"


def task(task_id: str = "7", intent: str = "Buy it") -> Task:
    return Task(
        task_id=task_id, sites=("shop",), intent=intent, start_urls=(URL,), eval=Eval(eval_types=("string_match",))
    )


def opened(attempt: int = 1, *, why: str = "first", trial: int = 0, of: Task | None = None) -> Opened:
    of = of or task()
    return Opened(attempt=attempt, why=why, trial=trial, task=of, task_digest="t", config_digest="c", seed=3, at=1.5)


def forked(step: int) -> Opened:
    """The beginning of a fork, whose steps until this one are another run's."""
    fork = Fork(run="parent", trial=0, attempt=1, step=step, origin="o", late=0, doubts=0)
    return replace(opened(why="fork"), fork=fork)


def decided(step: int, action: Action | None = None, *, reply: str = "```click [1]```") -> Decided:
    return Decided(
        step=step,
        action=action or Click(target=Target(id="1", role="link", name="Tea", box=(1.0, 2.0, 3.0, 4.0))),
        reply=reply,
        prompt=("ab" * 32,),
        model="m",
        usage=Usage(prompt_tokens=10, completion_tokens=2, cost_usd=0.5, requests=1),
        elapsed_ms=100.0,
        at=2.0,
    )


def replied(step: int, key: str = "k") -> Replied:
    usage = Usage(prompt_tokens=7, completion_tokens=1, cost_usd=0.25, requests=1)
    return Replied(step=step, key=key, model="m", usage=usage, response="1" * 64, at=float(step))


def acted(step: int, text: str = "[1] link 'Thé\u2028'") -> Acted:
    return Acted(
        step=step,
        outcome=Done(),
        observation=Observation(
            url=URL,
            title="Shop",
            tabs=(TabRecord(url=URL, title="Shop", current=True),),
            text=text,
            fingerprint="f" * 64,
        ),
        effects=(SideEffect(method="POST", url=URL, status=None),) if step else (),
        elapsed_ms=10.0,
        at=3.0,
    )


def resumed(step: int) -> Resumed:
    return Resumed(step=step, strategy="replay", similarity=(1.0,), elapsed_ms=5.0, at=4.0)


def failed(attempt: int = 1, message: str = "gone") -> Failed:
    return Failed(attempt=attempt, boundary="act", type="BrowserCrashed", message=message, at=5.0)


def late(step: int) -> Late:
    effect = SideEffect(method="POST", url=f"{URL}late?n=1", status=None)
    return Late(step=step, effects=(effect,), at=5.5)


def doubt(step: int, *, resolution: DoubtResolution = DoubtResolution.ASK_PAGE) -> Doubt:
    reason = DoubtReason.INTERRUPTED if step else DoubtReason.EARLIER_ATTEMPT
    return Doubt(step=step, reason=reason, resolution=resolution, why="nobody knows", at=5.6)


def closed(reason: CloseReason = CloseReason.STOPPED) -> Closed:
    return Closed(reason=reason, detail="", answer="yes", evidence=Evidence(url=URL, title="Shop", html=None), at=6.0)


def judged(key: str = "k", *, requests: int = 1) -> Judged:
    usage = Usage(prompt_tokens=10, completion_tokens=1, requests=requests)
    return Judged(key=key, reply="It fits.\ncorrect", model="judge", usage=usage, at=6.5)


def scored(
    value: float | None = 1.0, *, dialect: str = "webarena", status: Status = Status.OK, judge: Usage | None = None
) -> Scored:
    usage = judge or Usage()
    verdict = Verdict(evaluator="string_match", status=status, value=value, why="said so", usage=usage)
    return Scored(dialect=dialect, evaluator_version="1", status=status, value=value, verdicts=(verdict,), at=7.0)


def whole_episode(steps: int = 2, of: Task | None = None) -> tuple[Record, ...]:
    """A failure, a resume, `steps` steps, a stop, two scores."""
    middle = [record for step in range(1, steps + 1) for record in (decided(step), acted(step))]
    end = (decided(steps + 1, Stop(answer="yes")), closed(), scored(0.0), scored(dialect="corrected"))
    return (opened(of=of), failed(), acted(0), *middle, resumed(steps), *end)


def folded(records: Iterable[Record]) -> Episode:
    def step(episode: Episode, record: Record) -> Episode:
        assert check(episode, record) is None, check(episode, record)
        return fold(episode, record)

    return reduce(step, records, Episode())


def write(path: Path, records: Iterable[Record]) -> bytes:
    """A journal holding `records`; its bytes."""
    with Journal.open(path, durability=Durability.none) as journal:
        for record in records:
            journal.append(record)
    return path.read_bytes()
