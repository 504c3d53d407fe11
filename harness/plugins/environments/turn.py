"""What a client gets for a reset or a step."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.api import CloseReason, ConfigError, InvalidAction, Task
from harness.api.tasks import task_digest
from harness.plugins.environments.agent import goal_of
from harness.plugins.environments.ledger import Entry
from harness.plugins.environments.problem import Problem
from harness.plugins.environments.rewards import Shaping
from harness.plugins.environments.wire import Page, Question, Sight
from harness.runs import UNSCORED, Episode, Run, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An observation, with its reward."""

    entry: Entry
    goal: str
    steps: int
    """Those before it."""
    page: Page
    image: bytes | None
    """PNG of the viewport; None = it is not shown."""
    task_images: tuple[bytes, ...] = ()
    """Pictures of the task's objective, PNG or JPEG, in the answer to a reset."""
    refused: str
    """Why the newest action was not performed; "" = it was, or there was none."""
    doubts: tuple[str, ...]
    """What is not known for sure of this attempt, for instance after a crash."""
    reward: float | None
    done: bool = False
    closed: CloseReason | None = None
    """Why it has ended; None = it goes on."""

    @property
    def truncated(self) -> bool:
        """Whether a limit of the run ended it, and not the policy, the benchmark, or what the policy did wrong."""
        return self.closed in (CloseReason.MAX_STEPS, CloseReason.BUDGET)

    @property
    def notices(self) -> tuple[str, ...]:
        """Those of the page; the browser's of an action that was refused says what `refused` says."""
        return tuple(one for one in self.page.notices if not self.refused or not one.endswith(self.refused))

    @property
    def told(self) -> str:
        """What the page does not show: why the newest action was not performed, a dialog, the answer of a user."""
        return "\n".join(filter(None, (self.refused, *self.notices)))


def turn_of(entry: Entry, question: Question) -> Turn:
    """What an agent asks, for its client."""
    return Turn(
        entry=entry,
        goal=question.goal,
        steps=question.steps,
        page=question.page,
        image=question.image,
        refused=question.refused,
        doubts=question.doubts,
        reward=question.reward,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An episode as its journal has it; reads files."""

    folder: Path
    entry: Entry
    sight: Sight = Sight()  # noqa: RUF009 (immutable)
    shaping: Shaping | None = None
    task: Task | None = None
    """As the run has it now; None = as it was played."""

    def episode(self) -> Episode:
        """Raises: HarnessError: It has not begun, or its journal is damaged."""
        return Run(self.folder).episode(self.entry.task_id, self.entry.trial)

    def exists(self) -> bool:
        """Whether it has begun."""
        try:
            self.episode()
        except ConfigError:
            return False
        return True

    def is_over(self) -> bool:
        """Whether it has been scored, or its evidence could not be. A kill may come between its verdicts: only the one
        counts that gives the reward, and only if it is by the present reference.
        """
        return self._is_judged(self.episode())

    def _is_judged(self, episode: Episode) -> bool:
        score = episode.result.scores.get(episode.score.scoring)
        if not episode.is_finished or score is None:
            return False
        return self.task is None or task_digest(self.task) == (score.reference or episode.result.task_digest)

    def own_attempt(self) -> int:
        """Number of the attempt that its client has seen; 0 = none: no page was shown yet, or all its steps are of a
        fork's parent.
        """
        episode = self.episode()
        # The first one in which the client decided: a later one may have begun while nobody could tell the client.
        for one in episode.attempts:
            if one.own_steps or one.pending is not None:
                return one.attempt
        record = episode.record
        if record.arrival is None and not record.steps:
            return 0
        is_fork = record.opened is not None and record.opened.fork is not None
        return 0 if is_fork and not record.resumed else record.attempt

    def task_images(self) -> tuple[bytes, ...]:
        """The pictures of its task's objective, as they are in the journal."""
        episode = self.episode()
        opened = episode.record.opened
        return () if opened is None else tuple(map(episode.artifacts.read, opened.images))

    def requests(self) -> Mapping[str, tuple[str, int]]:
        """Request id to what was asked with it, and the step it became."""
        episode = self.episode()
        own = (step for step in episode.steps if step.number > episode.record.inherited)
        memories = ((step.decided.memory, step.number) for step in own)
        return {
            memory["request_id"]: (memory["action"], number)
            for memory, number in memories
            if isinstance(memory, dict) and "request_id" in memory and "action" in memory
        }

    def step(self, number: int) -> Turn:
        """What a step led to that was not the last one."""
        episode = self.episode()
        return self._turn(episode, episode.steps[number - 1], steps=number)

    def end(self) -> Turn:
        """What the episode came to.

        Raises:
            Problem: It has no score; that is never a reward.
        """
        episode = self.episode()
        steps = episode.steps
        if episode.status == UNSCORED or episode.score.value is None:
            raise Problem.infrastructure(
                episode.cause,
                episode.why_unscored()[:1000],
                episode_id=self.entry.episode_id,
                step_count=len(steps),
                done=True,
            )
        if not self._is_judged(episode):
            raise Problem.infrastructure(
                "ReferenceCorrected",
                "the episode has no score by the corrected reference (eval) of its task yet; resume it to have one",
                episode_id=self.entry.episode_id,
                step_count=len(steps),
                done=True,
            )
        return self._turn(episode, steps[-1] if steps else None, steps=len(steps), reward=episode.score.value)

    def _turn(self, episode: Episode, step: Step | None, *, steps: int, reward: float | None = None) -> Turn:
        record = episode.record
        arrival = record.arrival.observation if record.arrival else None
        page = (step.page or step.seen) if step else arrival
        if page is not None and step is not None and step.page is None:
            page = replace(page, notices=())  # they are of the step before
        picture = step.screenshot() if step and self.sight.image else None
        if picture is None and page is not None and page.screenshot and self.sight.image:
            picture = episode.artifacts.read(page.screenshot)
        return Turn(
            entry=self.entry,
            goal=self._goal(episode),
            steps=steps,
            page=self.sight.page(page) if page else Page(),
            image=picture,
            refused=_refused(step),
            doubts=tuple(doubt.why for doubt in record.doubts),
            reward=self._reward(episode, step) if reward is None and step else reward,
            done=reward is not None,
            closed=None if reward is None else episode.result.closed,
        )

    @staticmethod
    def _goal(episode: Episode) -> str:
        opened = episode.record.opened
        return episode.intent if opened is None else goal_of(replace(opened.task, intent=episode.intent))

    def _reward(self, episode: Episode, step: Step) -> float | None:
        """What its client was given for a step that was not the last one."""
        record = episode.record
        if self.shaping is None or record.opened is None:
            return step.reward
        return self.shaping.of(record.opened.task, record.steps[: step.number], step.reward)


def _refused(step: Step | None) -> str:
    if step is None:
        return ""
    return step.action.why if isinstance(step.action, InvalidAction) else step.why_not
