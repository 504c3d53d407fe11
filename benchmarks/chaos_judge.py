"""What a run on a site of one's own came to, judged by the site's log: pure questions to what was seen from outside.

The journals are asked three things only: which attempt was current when an effect arrived, which elements the agent had
decided upon by then, and whether somebody who reads the results is told (a doubt, a new attempt, no score at all).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from chaos_site import Effect
from chaos_tasks import HARMLESS, SAFE, Posed, site_of

from harness.codec import loads

DOUBT = "doubt"
"""Kind of the journal's record of an action in doubt."""
SETTLED = ("not_performed", "safe")
"""Resolutions after which the episode goes on as if nothing had been interrupted: the score carries no doubt."""
_COUNTS = (("doubts",), ("overall", "doubts"), ("in_doubt",), ("overall", "in_doubt"))
"""Where in `summary.json` the number of scores that carry a doubt may stand."""
_NOT_RESET = ("was not reset before it", "sites of the task were not")
"""What a divergence says that has to do with resets."""
UNDISTURBED = 1.0
"""Every task's score when nothing is killed."""


def counted_doubts(summary: Mapping[str, Any]) -> int | None:
    """How many scores carry a doubt, as the summary says it; None = it says nothing about that."""
    for path in _COUNTS:
        value: Any = summary
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int):
            return value
    return None


def lines_of(journal: bytes) -> list[dict[str, Any]]:
    return [loads(line) for line in journal.splitlines() if line]


@dataclass(frozen=True)
class Story:
    """What one task's journal tells."""

    lines: Sequence[Mapping[str, Any]]

    @cached_property
    def attempts(self) -> tuple[tuple[float, int, str], ...]:
        """When each attempt began, its number, and why."""
        return tuple(
            (line["at"], line["attempt"], line.get("why", "first")) for line in self.lines if line["kind"] == "opened"
        )

    def attempt_at(self, at: float) -> int:
        """The attempt that was current then; 0 before the first."""
        return max((number for begun, number, _ in self.attempts if begun <= at), default=0)

    def aimed_at(self, at: float) -> set[str] | None:
        """Names of all elements decided upon by then; None = of an agent that drives the browser itself, which has
        recorded commands without names by then.
        """
        if any(line["kind"] == "commanded" and line["commands"] and line["at"] <= at for line in self.lines):
            return None
        decided = [line for line in self.lines if line["kind"] == "decided" and line["at"] <= at]
        targets = [line["action"].get(name) for line in decided for name in ("target", "onto")]
        return {target["name"] for target in targets if isinstance(target, Mapping)}

    @cached_property
    def doubtful(self) -> frozenset[int]:
        """Attempts with a recorded doubt that was not settled."""
        found, attempt = set(), 0
        for line in self.lines:
            attempt = line["attempt"] if line["kind"] == "opened" else attempt
            if line["kind"] == DOUBT and _is_open(line):
                found.add(attempt)
        return frozenset(found)

    @property
    def doubts(self) -> int:
        return sum(line["kind"] == DOUBT for line in self.lines)

    def interrupted_clicks(self, links: Collection[str]) -> tuple[int, int]:
        """Clicks on links of these names that were interrupted, and how many of them ended in doubt."""
        interrupted = doubted = 0
        decided, since = False, list[Mapping[str, Any]]()
        for line in self.lines:
            match line["kind"]:
                case "decided":
                    target = line["action"].get("target") or {}
                    decided, since = target.get("role") == "link" and target.get("name") in links, []
                case "acted" | "closed" | "opened":
                    interrupted += decided and bool(since)
                    doubted += decided and any(one["kind"] == DOUBT and _is_open(one) for one in since)
                    decided = False
                case "failed" | "resumed" | "doubt":
                    since.append(line)
        return interrupted, doubted

    @property
    def recorded(self) -> int:
        """Requests that may change a site, in whichever record."""
        return sum(len(line.get("effects", ())) for line in self.lines)

    @property
    def is_disturbed(self) -> bool:
        """Whether it was ever interrupted."""
        return self.has_failed or len(self.attempts) != 1 or any(line["kind"] == "resumed" for line in self.lines)

    @property
    def refusals(self) -> int:
        """How often it was not led back because a site, it was said, had not been reset."""
        diverged = [line for line in self.lines if line["kind"] == "failed" and line["type"] == "EnvironmentDiverged"]
        return sum(any(words in line["message"] for words in _NOT_RESET) for line in diverged)

    @property
    def last(self) -> int:
        """Number of the attempt that counts."""
        return self.attempts[-1][1] if self.attempts else 0

    @property
    def has_failed(self) -> bool:
        """Whether any failure stands in the journal."""
        return any(line["kind"] == "failed" for line in self.lines)


def _is_open(doubt: Mapping[str, Any]) -> bool:
    """Whether the score carries it."""
    return doubt.get("resolution") not in SETTLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Double:
    """An effect that was there more often than the task does it."""

    task: str
    key: str
    """Of the effect, see `Effect.key`."""
    what: str
    attempt: int | None
    """None = counted over all attempts."""
    epoch: int
    times: int
    """Too many."""
    by_get: bool

    def __str__(self) -> str:
        attempt = "in all attempts" if self.attempt is None else f"in attempt {self.attempt}"
        return f"{self.what} {self.times} times too often {attempt}, epoch {self.epoch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One task, judged."""

    task: Posed
    score: float | None
    within: tuple[Double, ...]
    """Doubled within an attempt and epoch."""
    at_all: tuple[Double, ...]
    """Doubled within an epoch, whichever attempts."""
    wrong: tuple[str, ...]
    """Effects of elements nobody had decided upon."""
    unrecorded: int
    """Requests (GET aside) that the site saw and no record holds, of an episode that was never interrupted."""
    doubts: int
    has_doubt: bool
    """Of the attempt that counts."""
    attempts: int
    has_failed: bool
    doubtful: frozenset[int] = field(default_factory=frozenset)
    refusals: int = 0
    """Restores that were refused for want of a reset."""
    why: str = ""
    """Of the score, as the summary says it."""
    harmless: int = 0
    """Interrupted clicks on harmless links of a site without a hook that declares its links to be safe, of tasks
    without late effects.
    """
    harmless_in_doubt: int = 0

    @property
    def differs(self) -> bool:
        return self.score != UNDISTURBED

    @property
    def is_unsaid(self) -> bool:
        """Whether the score differs, and nothing tells whoever reads it: no doubt, no further attempt, and it is a
        score.
        """
        return self.differs and self.score is not None and not self.has_doubt and self.attempts == 1

    @property
    def is_silent(self) -> bool:
        """Whether not even a failure was recorded."""
        return self.is_unsaid and not self.has_failed

    @property
    def silent_doubles(self) -> tuple[Double, ...]:
        """Those of an attempt that records no doubt."""
        return tuple(one for one in self.within if one.attempt not in self.doubtful)

    @property
    def pressed_again(self) -> tuple[Double, ...]:
        """Those of buttons, of an attempt with a doubt: what a button does is never done twice, whatever is said."""
        buttons = {step["name"] for step in self.task.kind.steps if step.get("role") == "button"}
        said = (one for one in self.within if one.attempt in self.doubtful)
        return tuple(one for one in said if not one.by_get and one.key in buttons)

    def faults(self) -> Iterator[str]:
        """What must not be."""
        name = f"{self.task.name} ({self.task.kind.name})"
        yield from (f"{name}: {one} was done, and not decided upon" for one in self.wrong)
        if self.task.hooked:
            yield from (f"{name}: {one}" for one in self.within)
            if self.refusals:
                yield f"{name}: {self.refusals} restores were refused for want of a reset, and all its sites were reset"
        else:
            yield from (f"{name}: {one}, and no doubt is recorded" for one in self.silent_doubles)
            yield from (f"{name}: {one}, by a button that was pressed again" for one in self.pressed_again)
        if self.unrecorded:
            yield f"{name}: {self.unrecorded} requests that the site saw are in no record"
        if self.is_unsaid:
            said = "a failure, but no doubt and no new attempt" if self.has_failed else "nothing"
            yield f"{name}: score {self.score}, undisturbed {UNDISTURBED}, and {said} is recorded; {self.why[:90]}"


def judge(task: Posed, story: Story, effects: Sequence[Effect], score: float | None, *, why: str = "") -> Case:
    """One task, by its effects on the site (those of other tasks are left out) and by its journal."""
    mine = [effect for effect in effects if effect.task == task.name]
    posts = sum(effect.method != "GET" for effect in mine)
    # A page that sends something later loses it by the interruption: that doubt is true, whatever was clicked then.
    counts = not task.hooked and task.kind.site in SAFE and not task.kind.awaits
    harmless, in_doubt = story.interrupted_clicks(HARMLESS if counts else ())
    return Case(
        task=task,
        score=score,
        within=tuple(_doubled(task, story, mine, apart=True)),
        at_all=tuple(_doubled(task, story, mine, apart=False)),
        wrong=tuple(
            f"'{effect.label}' ({effect.method})"
            for effect in mine
            if (aimed := story.aimed_at(effect.at)) is not None and effect.label not in aimed
        ),
        unrecorded=0 if story.is_disturbed else max(0, posts - story.recorded),
        doubts=story.doubts,
        has_doubt=story.last in story.doubtful,
        attempts=len(story.attempts),
        has_failed=story.has_failed,
        doubtful=story.doubtful,
        refusals=story.refusals,
        why=why,
        harmless=harmless,
        harmless_in_doubt=in_doubt,
    )


def _doubled(task: Posed, story: Story, effects: Sequence[Effect], *, apart: bool) -> Iterator[Double]:
    """Effects that are there too often within an epoch; `apart`: of one attempt."""
    counts = Counter(
        (effect.place, effect.epoch, story.attempt_at(effect.at) if apart else None, effect.key, effect.method)
        for effect in effects
    )
    for (place, epoch, attempt, key, method), count in counts.items():
        wanted = max(1, task.wanted[site_of(place), key])
        if count > wanted:
            yield Double(
                task=task.name,
                key=key,
                what=f"{method} '{key}'",
                attempt=attempt,
                epoch=epoch,
                times=count - wanted,
                by_get=method == "GET",
            )


def results_of(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Task's name to what a person is shown of it."""
    return {f"t{result['task_id']}": result for result in summary.get("results", ())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One run, as a row of the table."""

    mode: str
    episodes: int
    kills: int
    within: int
    """POSTs doubled within an attempt and epoch."""
    by_get: int
    """The same of links by GET."""
    at_all: int
    """All that was doubled within an epoch."""
    doubts: int
    differing: int
    unsaid: int
    """Scores that differ with nothing but a failure recorded, or not even that."""
    silent: int
    """Of these, with nothing recorded."""
    wrong: int
    harmless: int
    """Interrupted clicks on harmless links."""
    harmless_in_doubt: int
    faults: tuple[str, ...]


def verdict(mode: str, cases: Sequence[Case], *, kills: int, faults: Sequence[str] = ()) -> Verdict:
    """Add up."""
    within = [one for case in cases for one in case.within]
    return Verdict(
        mode=mode,
        episodes=len(cases),
        kills=kills,
        within=sum(one.times for one in within if not one.by_get),
        by_get=sum(one.times for one in within if one.by_get),
        at_all=sum(one.times for case in cases for one in case.at_all),
        doubts=sum(case.doubts for case in cases),
        differing=sum(case.differs for case in cases),
        unsaid=sum(case.is_unsaid for case in cases),
        silent=sum(case.is_silent for case in cases),
        wrong=sum(len(case.wrong) for case in cases),
        harmless=sum(case.harmless for case in cases),
        harmless_in_doubt=sum(case.harmless_in_doubt for case in cases),
        faults=(*faults, *(fault for case in cases for fault in case.faults())),
    )


def uncounted(cases: Sequence[Case], summary: Mapping[str, Any]) -> Iterator[str]:
    """Every score that carries a doubt stands in the summary's count."""
    carrying = sum(case.has_doubt and case.score is not None for case in cases)
    counted = counted_doubts(summary)
    if carrying != (counted or 0):
        yield f"{carrying} scores carry a doubt, and the summary says {counted}"
