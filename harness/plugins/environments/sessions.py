"""Sessions of clients, and the episodes that are played for them.

A session holds at most one episode, and an episode is held by at most one session. What it has done is in the journal
alone; here is only who waits for what. Whoever is lost, the slot is given back exactly once: when its lane says that
it has left the episode.
"""

import asyncio
import uuid
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import count

from harness.api import ActionSet, ConfigError, EpisodeNews, HarnessError, HostedRun
from harness.api.agent_kinds import AskingActionSet
from harness.errors import said_by
from harness.plugins.environments.hub import Waiting
from harness.plugins.environments.ledger import Entry, Ledger
from harness.plugins.environments.play import Play, Session
from harness.plugins.environments.problem import EXECUTION_ERROR, SESSION_ERROR, VALIDATION_ERROR, Problem, within
from harness.plugins.environments.refusals import check_reset, refused, trial_begun
from harness.plugins.environments.requests import Fork, Reset, StepRequest
from harness.plugins.environments.rewards import Shaping
from harness.plugins.environments.slots import Patience, Slots
from harness.plugins.environments.turn import Recorded, Turn, turn_of
from harness.plugins.environments.wire import Sight


class Environments:
    """The sessions of one server."""

    def __init__(
        self, run: HostedRun, ledger: Ledger, *, slots: int, patience: Patience, shaping: Shaping | None = None
    ) -> None:
        self.run = run
        has_user = any(task.user is not None for task in run.tasks.values())
        self.action_set: ActionSet = AskingActionSet(run.action_set) if has_user else run.action_set
        """What clients may do; a task without a user refuses to ask one, as a step."""
        self._shaping = shaping
        self.slots = Slots(slots)
        self._ledger = ledger
        self._patience = patience
        self._plays: dict[tuple[str, int], Play] = {}
        self._turns = count()
        self._ids = tuple(run.tasks)
        self._used: dict[str, set[int]] = {}
        self._stopped: Problem | None = None
        self._choosing = asyncio.Lock()
        self._queueing: set[asyncio.Task[None]] = set()
        for entry in ledger.entries.values():
            self._used.setdefault(entry.task_id, set()).add(entry.trial)

    # What clients ask for.

    async def reset(self, session: Session, wanted: Reset) -> Turn:
        """Begin an episode, or go on with one.

        Raises:
            Problem: It cannot be.
        """
        if self._stopped is not None:
            raise self._stopped
        known = self._ledger.entries.get(wanted.episode_id or "")
        check_reset(wanted, known, self.run.tasks, self._used)
        # Before the session loses the episode that it has.
        await (self._check_new(wanted) if known is None else self._check_known(session, known))
        if session.play is None or session.play.entry is not known:
            self.give_up(session, "the client began another episode")
        turn = await (self._begin(session, wanted) if known is None else self._resume(session, known))
        return await self._with_pictures(turn)

    async def step(self, session: Session, request: StepRequest) -> Turn:
        """Perform an action, once, and wait for what it leads to.

        Raises:
            Problem: It is not, or the episode cannot go on.
        """
        if (play := session.play) is None:
            raise Problem(SESSION_ERROR, "there is no episode; reset first")
        self._touch(play)
        if (again := await self._answered(play, request)) is not None:
            return again
        if play.order is not None:
            more = {"step": play.order[0]}
            raise Problem(EXECUTION_ERROR, "the step before is still being performed; wait for its answer", more)
        async with within(request.timeout_s):
            await self._ready(play)
            if play.waiting is None:
                raise await self._ended(play)
            number = play.waiting.question.steps + 1
            play.order = (number, request.order)
            if request.request_id is not None:
                play.known[request.request_id] = (request.digest, number)
            waiting, play.waiting = play.waiting, None
            waiting.decide(request.order)
            return await self._next(play)

    async def fork(self, wanted: Fork) -> list[Entry]:
        """Further episodes that begin at a step of one; a reset with `resume` opens each, on a connection of its own.

        Raises:
            Problem: There is no such episode or step.
        """
        if self._stopped is not None:
            raise self._stopped
        if (known := self._ledger.entries.get(wanted.episode_id)) is None:
            raise refused(f"there is no episode {wanted.episode_id!r}")
        self._check_served(known)
        async with self._choosing:
            used = self._used.setdefault(known.task_id, set())
            trials: list[int] = []
            for _ in range(wanted.n):
                trials.append(await self._unused(known.task_id, used))
                used.add(trials[-1])
            try:
                await self.run.fork(known.task_id, known.trial, wanted.step, trials)
            except ConfigError as error:
                used.difference_update(trials)
                why = str(error).rpartition(": ")[2]  # without the path of a file
                raise refused(f"episode {known.episode_id} cannot be forked at step {wanted.step}: {why}") from error
            # A journal without an entry is a trial that nobody asks for; an entry without one would begin at step 0.
            entries = [
                Entry(episode_id=uuid.uuid4().hex, task_id=known.task_id, trial=trial, seed=known.seed)
                for trial in trials
            ]
            for entry in entries:
                self._ledger.add(entry)
        return entries

    async def state(self, session: Session) -> dict[str, object]:
        """OpenEnv's state of the session's episode.

        Raises:
            Problem: It cannot go on, or has no score.
        """
        play = session.play
        if play is None:
            nothing = dict.fromkeys(("episode_id", "task", "trial", "seed", "reward"))
            return {**nothing, "step_count": 0, "done": False}
        final = await self._next(play) if play.over or play.failure is not None else None
        return {
            "episode_id": play.entry.episode_id,
            "step_count": final.steps if final else play.steps,
            "task": play.entry.task_id,
            "trial": play.entry.trial,
            "seed": play.entry.seed,
            "done": final is not None,
            "reward": final.reward if final else None,
        }

    def give_up(self, session: Session, why: str) -> None:
        """The session is done with its episode: give it back now."""
        if (play := session.play) is not None:
            session.play = play.holder = None
            self._give_back(play, why)

    def lost(self, session: Session) -> None:
        """The session's connection is lost; its client may resume for a while."""
        if (play := session.play) is None:
            return
        session.play = play.holder = None
        if not play.over and not play.leaving:
            self._lease(play, self._patience.grace_s, "the client's connection was lost")

    # What workers say.

    def asked(self, waiting: Waiting) -> None:
        """An agent waits for a decision."""
        question = waiting.question
        play = self._plays.get((question.task_id, question.trial))
        if play is None or play.leaving:
            waiting.leave(play.leaving if play else "no client plays this episode")
        elif play.attempt not in (0, question.attempt):
            play.failure = Problem.infrastructure(
                "EnvironmentDiverged",
                f"attempt {play.attempt} could not go on after a crash, because the page could not be led back",
                episode_id=play.entry.episode_id,
                done=True,
            )
            play.leaving = "its client's attempt is over"
            waiting.leave(play.leaving)
            play.tell()
        elif play.order is not None and question.steps < play.order[0]:
            waiting.decide(play.order[1])  # the worker died before it was on disk, so it was not performed
        else:
            play.order, play.waiting = None, waiting
            play.attempt, play.steps = question.attempt, question.steps
            play.tell()

    def hung_up(self, waiting: Waiting) -> None:
        """An agent is gone; its worker's next life asks again."""
        play = self._plays.get((waiting.question.task_id, waiting.question.trial))
        if play is not None and play.waiting is waiting:
            play.waiting = None

    def told(self, news: EpisodeNews) -> None:
        """A lane says something about an episode."""
        if news.is_over and (play := self._plays.get((news.task_id, news.trial))) is not None:
            self._end(play)

    def stalled(self, why: str) -> None:
        """No worker can be kept up: who waits for one is told, instead of waiting for who knows how long."""
        for play in tuple(self._plays.values()):
            if play.waiting is None and self.run.withdraw(*play.entry.place):
                if not play.leaving:
                    play.failure = Problem.infrastructure("WorkerLost", why, episode_id=play.entry.episode_id)
                self._end(play)

    def stop(self) -> None:
        """The server is to end: every session is told, and nothing new begins."""
        why = "the server is shutting down; resume the episode when it is up again"
        self._stopped = Problem.infrastructure("shutdown", why, code=SESSION_ERROR)
        self.slots.end()
        for play in tuple(self._plays.values()):
            told = {"episode_id": play.entry.episode_id}
            play.failure = Problem.infrastructure("shutdown", why, code=SESSION_ERROR, **told)
            holder = play.holder
            self._give_back(play, "the server is shutting down")
            play.tell()
            if holder is not None:
                holder.ends(play.failure)

    # Episodes.

    async def _begin(self, session: Session, wanted: Reset) -> Turn:
        task = self._ids[next(self._turns) % len(self._ids)] if wanted.task is None else wanted.task
        await self._take_slot()
        with ExitStack() as undone:
            undone.callback(self.slots.give_back)
            async with self._choosing:
                if (known := self._ledger.entries.get(wanted.episode_id or "")) is None:
                    entry = await self._chosen(task, wanted)
                    undone.pop_all()
        if known is not None:  # the same reset on another connection was faster
            return await self.reset(session, wanted)
        return await self._play(session, entry)

    async def _check_new(self, wanted: Reset) -> None:
        task, trial = wanted.task, wanted.trial
        if task is not None and trial is not None and await asyncio.to_thread(self._has_journal, task, trial):
            raise trial_begun(task, trial)

    async def _check_known(self, session: Session, entry: Entry) -> None:
        play = self._plays.get(entry.place)
        if play is not None and not (play.leaving or play.over):
            self._check_free(session, play)
        elif entry.task_id not in self.run.tasks and not await self._is_over(entry):
            self._check_served(entry)

    def _check_free(self, session: Session, play: Play) -> None:
        if play.holder not in (None, session):
            episode_id = play.entry.episode_id
            why = f"episode {episode_id} is held by another connection; close that one first"
            raise Problem(SESSION_ERROR, why, {"episode_id": episode_id})

    async def _is_over(self, entry: Entry) -> bool:
        begun = await asyncio.to_thread(self._has_journal, *entry.place)
        return begun and await asyncio.to_thread(self._recorded(entry).is_over)

    async def _chosen(self, task: str, wanted: Reset) -> Entry:
        used = self._used.setdefault(task, set())
        trial = await self._unused(task, used) if wanted.trial is None else wanted.trial
        if trial in used or await asyncio.to_thread(self._has_journal, task, trial):
            raise trial_begun(task, trial)
        entry = Entry(episode_id=wanted.episode_id or uuid.uuid4().hex, task_id=task, trial=trial, seed=wanted.seed)
        self._ledger.add(entry)
        used.add(trial)
        return entry

    async def _resume(self, session: Session, entry: Entry) -> Turn:
        while (play := self._plays.get(entry.place)) is not None and (play.leaving or play.over):
            await play.left.wait()
        if play is not None:
            self._check_free(session, play)
            session.play, play.holder = play, session
            self._touch(play)
            return await self._next(play)
        recorded = self._recorded(entry)
        begun = await asyncio.to_thread(self._has_journal, *entry.place)
        if begun and await asyncio.to_thread(recorded.is_over):
            session.play = play = Play(entry=entry, holder=session, over=True)
            play.known.update(await asyncio.to_thread(recorded.requests))
            return await self._next(play)
        self._check_served(entry)
        await self._take_slot()
        if entry.place in self._plays:  # another client was faster
            self.slots.give_back()
            return await self._resume(session, entry)
        return await self._play(session, entry, begun=begun)

    def _check_served(self, entry: Entry) -> None:
        if entry.task_id not in self.run.tasks:  # the server was started with another choice of tasks since
            raise refused(f"episode {entry.episode_id} is of task {entry.task_id}, which is not served any more")

    async def _play(self, session: Session, entry: Entry, *, begun: bool = False) -> Turn:
        """Play it in the slot that was taken for it."""
        play = self._plays[entry.place] = Play(entry=entry, holder=session)
        session.play = play
        self._touch(play)
        with ExitStack() as undone:
            undone.callback(self._end, play)
            if begun:
                recorded = self._recorded(entry)
                play.known.update(await asyncio.to_thread(recorded.requests))
                play.attempt = await asyncio.to_thread(recorded.own_attempt)
            if play.leaving:
                raise Problem(SESSION_ERROR, f"the episode was given back: {play.leaving}")
            undone.pop_all()
        queueing = asyncio.create_task(self._queue(play))
        self._queueing.add(queueing)
        queueing.add_done_callback(partial(self._queued, play))
        return await self._next(play)

    async def _queue(self, play: Play) -> None:
        """Have it played. For sites of other sessions it waits as long as for a slot: they may wait for its client."""
        place = play.entry.place
        await self.run.play(*place, play.entry.seed)
        while True:
            await asyncio.sleep(max(self._patience.queue_s, 0.1))
            if play.over or play.waiting or play.order:
                return
            if (why := self.run.held_up(*place)) and self.run.withdraw(*place):
                why += "; end one that plays there, or give the site more instances"
                raise self.slots.full(why, episode_id=play.entry.episode_id)

    def _queued(self, play: Play, queueing: "asyncio.Task[None]") -> None:
        """The episode waits for a lane; or it never will, and its client is told."""
        self._queueing.discard(queueing)
        if queueing.cancelled() or (error := queueing.exception()) is None:
            return
        self.run.withdraw(*play.entry.place)  # it may be in the queue nevertheless
        if not isinstance(error, Problem):
            why, name = said_by(error)[:1000], type(error).__name__
            error = Problem.infrastructure(name, why, episode_id=play.entry.episode_id)
        play.failure = error
        self._end(play)

    async def _ended(self, play: Play) -> Problem:
        """Why nothing can be done any more."""
        try:
            await self._next(play)
        except Problem as problem:
            return problem
        return Problem(VALIDATION_ERROR, "the episode has ended; reset begins another", {"done": True})

    async def _answered(self, play: Play, request: StepRequest) -> Turn | None:
        """The answer to a request that was made before; None = it was not."""
        if request.request_id is None or (before := play.known.get(request.request_id)) is None:
            return None
        digest, number = before
        if digest != request.digest:
            raise refused(f"request_id {request.request_id} was given for another action; choose a new one")
        async with within(request.timeout_s):
            await self._ready(play, number)
            if play.over or play.failure is not None:
                await self._next(play)  # raises what the episode came to, if it has no score
            if play.waiting is not None and play.waiting.question.steps == number:
                return self._turn(play, play.waiting)
            if isinstance(play.final, Turn) and number >= play.final.steps:
                return play.final
            return await asyncio.to_thread(self._recorded(play.entry).step, number)

    async def _next(self, play: Play) -> Turn:
        """What the client is shown next."""
        await self._ready(play)
        if play.waiting is not None:
            return self._turn(play, play.waiting)
        if play.failure is not None:
            raise play.failure
        if play.final is None:
            try:
                play.final = await asyncio.to_thread(self._recorded(play.entry).end)
            except Problem as problem:
                play.final = problem
            except HarnessError as error:
                play.final = Problem.infrastructure(type(error).__name__, said_by(error)[:1000], done=True)
        if isinstance(play.final, Problem):
            raise play.final
        return play.final

    async def _ready(self, play: Play, step: int | None = None) -> None:
        """Wait until it is the client's turn, or the episode has ended; with `step`, until that was performed."""
        while play.waiting is None and not play.over and play.failure is None:
            if step is not None and play.order is not None and play.order[0] > step:
                return
            play.changed.clear()
            await play.changed.wait()

    def _turn(self, play: Play, waiting: Waiting) -> Turn:
        return turn_of(play.entry, waiting.question)

    async def _with_pictures(self, turn: Turn) -> Turn:
        task = self.run.tasks.get(turn.entry.task_id)
        if task is not None and not task.images:
            return turn
        return replace(turn, task_images=await asyncio.to_thread(self._recorded(turn.entry).task_images))

    # Slots and leases.

    async def _take_slot(self) -> None:
        if not await self.slots.take(self._patience.queue_s):
            why = f"all {self.slots.number} environments are in use; close one, or serve more with environments="
            raise self.slots.full(why)
        if self._stopped is not None:
            self.slots.give_back()
            raise self._stopped

    def _touch(self, play: Play) -> None:
        self._lease(play, self._patience.lease_s, f"its client asked nothing for {self._patience.lease_s:g} s")

    def _lease(self, play: Play, seconds: float, why: str) -> None:
        if play.lease is not None:
            play.lease.cancel()
        play.lease = asyncio.get_running_loop().call_later(seconds, self._reap, play, why)

    def _reap(self, play: Play, why: str) -> None:
        if play.holder is not None and play.waiting is None and not play.over:
            self._touch(play)  # it is not the client that is slow
            return
        holder = play.holder
        self._give_back(play, why)
        if holder is not None and not play.over:
            holder.play = play.holder = None
            more = {"episode_id": play.entry.episode_id}
            holder.ends(Problem(SESSION_ERROR, f"the episode was given back: {why}; resume goes on with it", more))

    def _give_back(self, play: Play, why: str) -> None:
        """Let the lane leave the episode, which stays as its journal has it; the slot is free when it has."""
        if play.over or play.leaving:
            return
        play.leaving = why
        if play.waiting is not None:
            waiting, play.waiting = play.waiting, None
            waiting.leave(why)
        elif self.run.withdraw(*play.entry.place):
            self._end(play)

    def _end(self, play: Play) -> None:
        if self._plays.get(play.entry.place) is not play:
            return
        del self._plays[play.entry.place]
        if play.lease is not None:
            play.lease.cancel()
        if play.leaving and play.failure is None:
            play.failure = Problem(SESSION_ERROR, f"the episode was given back: {play.leaving}")
        play.over, play.waiting, play.order = True, None, None
        self.slots.give_back()
        play.left.set()
        play.tell()

    # Trials.

    def _recorded(self, entry: Entry) -> Recorded:
        task = self.run.tasks.get(entry.task_id)
        sight = Sight.of(self.run.observation)
        return Recorded(folder=self.run.folder, entry=entry, sight=sight, shaping=self._shaping, task=task)

    def _has_journal(self, task_id: str, trial: int) -> bool:
        return self._recorded(_entry_of(task_id, trial)).exists()

    async def _unused(self, task_id: str, used: set[int]) -> int:
        """The first trial that nobody has begun; `harness run` in the same folder may have begun some."""
        for trial in count(max(used, default=-1) + 1):
            if trial not in used and not await asyncio.to_thread(self._has_journal, task_id, trial):
                return trial
        raise AssertionError("trials do not end")


def _entry_of(task_id: str, trial: int) -> Entry:
    return Entry(episode_id="", task_id=task_id, trial=trial, seed=None)
