"""One journal as its page shows it: attempts, steps with what was seen, said, done and judged.

Journal in, plain frozen views out; markup is the templates' business. Artifacts are read one at a time and let go of,
except the few prompt messages that all tasks share. What cannot be read is said in its place and never stops the page.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby, pairwise

from harness.actions import Action, Box, InvalidAction, Mouse, PointClick, PointScroll
from harness.actions.truncate import cut
from harness.codec import CodecError, loads
from harness.errors import JournalError
from harness.escape import one_line
from harness.journal.store import ArtifactStore
from harness.records import (
    Acted,
    Asked,
    Decided,
    Done,
    Exited,
    Failed,
    Observation,
    Resumed,
    Scored,
    SideEffect,
    Task,
    Usage,
)
from harness.records import Episode as Recorded
from harness.runs.episode import Episode

_FEWEST_REPEATED = 5
"""Lines in a row that are left out of a message because the observation has them."""
TEXT_LIMIT = 60_000
"""Characters of one text that a page shows; the journal holds the rest."""
BODY_LIMIT = 10_000
"""Characters of a request of the agent's process, and of its answer; the artifact holds the rest."""
_MOST_TITLE = 400
"""Characters of what a step did."""
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_HEAD = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScreenshot:
    """A screenshot, by digest."""

    digest: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetMarker:
    """The place in the screenshot that the action was aimed at, in pixels."""

    box: Box | None = None
    point: tuple[float, float] | None = None
    outside: bool = False
    """The target was not within the part of the page that is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """One prompt message, or where on the page it is shown already."""

    role: str
    name: str
    text: str
    shown_at: int | None = None
    """Step that shows the same message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """A request of the agent's process to its model, and the answer."""

    number: int
    interface: str
    model: str
    status: int | None
    """None = it was not answered before the process ended."""
    usage: Usage
    request: str
    """Bodies, cut."""
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One step: the page decided upon, the decision, and what it led to."""

    number: int
    action: str
    verb: str
    target: str
    """The element in words; "" without one."""
    seen: Observation | None
    shot: StoredScreenshot | None
    aim: TargetMarker
    decided: Decided
    acted: Acted | None
    """None = not performed: a stop never is, a pending action not yet."""
    refused: str
    """Why it could not be performed; "" when it could."""
    prompt: tuple[PromptMessage, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """With what the agent's process asked before it."""
    requests: tuple[RequestView, ...] = ()
    """Of the agent's process, before this decision."""
    commands: tuple[str, ...] = ()
    """What the agent's process sent to the browser itself, a line each."""
    is_inherited: bool = False
    """It was recorded by the run that this one is a fork of."""
    resumed: tuple[Resumed, ...] = ()
    """Restores that led back to the page this step decided upon."""

    @property
    def is_unreadable(self) -> bool:
        """The reply held no action."""
        return isinstance(self.decided.action, InvalidAction)

    @property
    def effects(self) -> tuple[SideEffect, ...]:
        return self.acted.effects if self.acted else ()

    @property
    def earned(self) -> str:
        """What the benchmark gave for it, in words; "" = nothing."""
        if self.acted is None or self.acted.reward is None:
            return ""
        return f", reward {self.acted.reward:g}" + ", the episode is over" * self.acted.done


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """An attempt that another one has replaced."""

    number: int
    why: str
    """Why the next one began."""
    actions: tuple[tuple[str, str], ...]
    """Action, and why it was refused."""
    end: str
    usage: Usage
    elapsed_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPageModel:
    """All that one task page shows."""

    task: Task
    trial: int
    episode: Recorded
    moments: tuple[StepView, ...]
    final: Observation | None
    """The page after the last action; None = there was never a page."""
    final_shot: StoredScreenshot | None
    last: Observation | None
    """The same, when no step shows it."""
    past: tuple[PastAttempt, ...]
    failures: tuple[Failed, ...]
    """Failures of all attempts."""
    scores: tuple[Scored, ...]
    """The dialect of the run first."""
    outputs: tuple[tuple[tuple[str, str], ...], ...] = ()
    """What each process of the agent that has ended wrote: name and text, cut."""


def story_of(episode: Episode, builder: "TaskPageBuilder | None" = None) -> TaskPageModel | None:
    """The story of an episode; None when its journal holds no record any more.

    Raises:
        JournalError: The journal is damaged.
    """
    if not episode.attempts:
        return None
    return (builder or TaskPageBuilder(episode.artifacts)).story(episode)


class TaskPageBuilder:
    """Makes the stories of one run's episodes."""

    def __init__(self, artifacts: ArtifactStore) -> None:
        self._artifacts = artifacts
        self._message = lru_cache(maxsize=64)(self._read_message)

    def story(self, whole: Episode) -> TaskPageModel:
        """The story of an episode, whose journal holds a record."""
        attempts, dialect, episode = whole.attempts, whole.scoring, whole.record
        assert episode.opened is not None, "an attempt begins with its opening"
        moments = tuple(self._moments(whole))
        shown = moments[-1].seen if moments else None
        last = episode.last.observation if episode.last else None
        return TaskPageModel(
            task=episode.opened.task,
            trial=episode.opened.trial,
            episode=episode,
            moments=moments,
            outputs=tuple(self._outputs(one) for one in episode.exited),
            final=last,
            final_shot=self._shot(last),
            last=last if last is not shown else None,
            past=tuple(_past(old, new) for old, new in pairwise(attempts)),
            # By identity: an attempt carries the failures of those before it, and two may be equal.
            failures=tuple({id(failed): failed for old in attempts for failed in old.failures}.values()),
            scores=tuple(
                sorted(episode.scores.values(), key=lambda scored: (scored.dialect != dialect, scored.dialect))
            ),
        )

    def _moments(self, episode: Episode) -> Iterator[StepView]:
        record = episode.record
        shown: dict[str, int] = {}
        asked = record.asked_by_step()
        for step in episode.steps:
            number, seen = step.number, step.seen
            shot, target = self._shot(seen), next(iter(step.action.targets), None)
            yield StepView(
                number=number,
                action=_text(record, step.decided, aimed=False),
                verb=step.action.kind,
                target=one_line(target.line or target.name, 300) if target else "",
                seen=seen,
                shot=shot,
                aim=_aim(step.action, shot),
                decided=step.decided,
                acted=step.acted,
                refused=step.why_not,
                prompt=tuple(self._sent(digest, number, seen, shown) for digest in step.decided.prompt),
                usage=step.usage,
                requests=tuple(self._request(one, record) for one in asked.get(number, ())),
                commands=_commands(record, number),
                is_inherited=step.is_inherited,
                resumed=tuple(one for one in record.resumed if one.step == number - 1),
            )

    def _request(self, asked: Asked, episode: Recorded) -> RequestView:
        answered = episode.answered.get(asked.number)
        return RequestView(
            number=asked.number,
            interface=asked.interface,
            model=(answered.model if answered else "") or asked.model,
            status=answered.status if answered else None,
            usage=answered.usage if answered else Usage(),
            request=self._body(asked.request),
            response=self._body(answered.response) if answered else "",
        )

    def _outputs(self, ended: Exited) -> tuple[tuple[str, str], ...]:
        named = (("standard output", ended.stdout), ("standard error", ended.stderr))
        return tuple((name, self._body(digest)) for name, digest in named if digest is not None)

    def _body(self, digest: str) -> str:
        try:
            return cut(self._artifacts.read(digest).decode("utf-8", "replace"), BODY_LIMIT)
        except JournalError as exc:
            return str(exc)

    def _shot(self, seen: Observation | None) -> StoredScreenshot | None:
        if seen is None or seen.screenshot is None:
            return None
        try:
            # The header is the first chunk of every PNG: the size is known without reading the picture.
            head = self._artifacts.head(seen.screenshot, _PNG_HEAD)
        except JournalError:
            return None
        if len(head) < _PNG_HEAD or not head.startswith(_PNG):
            return None
        width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
        return (
            StoredScreenshot(digest=seen.screenshot, width=width, height=height) if 0 < width and 0 < height else None
        )

    def _sent(self, digest: str, step: int, seen: Observation | None, shown: dict[str, int]) -> PromptMessage:
        role, name, text = self._message(digest)
        first = shown.setdefault(digest, step)
        if first != step:
            return PromptMessage(role=role, name=name, text="", shown_at=first)
        return PromptMessage(role=role, name=name, text=_without(text, seen.text if seen else ""))

    def _read_message(self, digest: str) -> tuple[str, str, str]:
        try:
            message = loads(self._artifacts.read(digest))
        except (JournalError, CodecError) as exc:
            return "missing", "", str(exc)
        if not isinstance(message, dict):
            return "unknown", "", str(message)
        return str(message.get("role", "")), str(message.get("name") or ""), _content(message.get("content"))


def _action_text(action: Action, *, aimed: bool = True) -> str:
    """An action in one line; `aimed` = with the words for its target."""
    if not aimed:
        action = action.with_targets(lambda target: replace(target, line=""))
    if isinstance(action, InvalidAction):
        return f"no action: {one_line(action.why)}" if action.why else "no action"
    return one_line(action.render(), _MOST_TITLE)


def _text(episode: Recorded, decided: Decided, *, aimed: bool = True) -> str:
    """What a decision did, or is to do, in one line."""
    return one_line(episode.title_of(decided.step), _MOST_TITLE) or _action_text(decided.action, aimed=aimed)


def _content(content: object) -> str:
    """Text of a message; parts that are not text are named only."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    return "\n".join(text if isinstance(text, str) else "[image]" for text in texts)


def _without(text: str, observation: str) -> str:
    """What a message repeats of the observation is replaced by a note, because the page shows it already."""
    if len(observation) > 200 and observation in text:
        return text.replace(observation, f"[the observation above, {len(observation):,} characters]", 1)
    shown = {line.split(maxsplit=1)[0]: line.strip() for line in observation.splitlines() if line.strip()}

    def is_shown(line: str) -> bool:
        """Whether the observation has the line, perhaps with more properties: lines begin with the element's id."""
        return bool(line.strip()) and shown.get(line.split(maxsplit=1)[0], "").startswith(line.strip())

    kept: list[str] = []
    for repeated, run in groupby(text.splitlines(), key=is_shown):
        lines = list(run)
        shorter = repeated and len(lines) >= _FEWEST_REPEATED
        kept += [f"[{len(lines)} lines of the observation above]"] if shorter else lines
    return "\n".join(kept)


def _aim(action: Action, shot: StoredScreenshot | None) -> TargetMarker:
    if shot is None:
        return TargetMarker()
    if isinstance(action, Mouse | PointClick | PointScroll):
        # Points are fractions of the viewport, as providers count pixels of a picture that may be scaled.
        return TargetMarker(point=(action.x * shot.width, action.y * shot.height))
    target = next(iter(action.targets), None)
    if target is None or target.box is None:
        return TargetMarker()
    x, y, width, height = target.box
    outside = x >= shot.width or y >= shot.height or x + width <= 0 or y + height <= 0
    return TargetMarker(box=None if outside else target.box, outside=outside)


_WHY_NEXT = {
    "diverged": "the restored page differed from the recorded page",
    "settings": "the settings were corrected before it had seen a page",
    "moved": "its sites were no longer at the same addresses",
    "retry": "a retry was requested",
}


def _past(old: Recorded, new: Recorded) -> PastAttempt:
    refusals = [step.acted.outcome for step in old.steps]
    actions = [
        (_text(old, step.decided), "" if isinstance(outcome, Done) else outcome.why)
        for step, outcome in zip(old.steps, refusals, strict=True)
    ]
    if old.pending is not None:
        actions.append((_text(old, old.pending), ""))
    why = new.opened.why if new.opened else ""
    return PastAttempt(
        number=old.attempt,
        why=_WHY_NEXT.get(why, why),
        actions=tuple(actions),
        end=f"closed: {old.closed.reason}" if old.closed else "failed",
        usage=old.usage,
        elapsed_ms=old.elapsed_ms,
    )


def _commands(episode: Recorded, step: int) -> tuple[str, ...]:
    """The commands of a step, with what went wrong."""
    errors = next((landed.errors for landed in episode.landed if landed.step == step), {})
    return tuple(
        f"{number}  {command.text}" + (f"  ({errors[str(number)]})" if str(number) in errors else "")
        for number, command in enumerate(episode.commands_of(step), start=1)
    )
