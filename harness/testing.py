"""Test doubles for plug-in authors: a scripted model, pages without a browser, and a journal in memory.

The engine is the real one: `play` runs an agent through the same episode as a run does, and each record goes through
the codec of the journal, so that a memory that cannot be stored fails here as it would there.

    async def test_it_stops() -> None:
        episode = await play(MyAgent(ScriptedModel("```stop [7]```")), "[1] link 'Tea'")
        assert episode.closed.answer == "7"

    async def test_its_memory_survives() -> None:
        journal = MemoryJournal()
        await play(MyAgent(...), *pages, journal=journal, most_steps=2)   # as if it was killed after two steps
        episode = await play(MyAgent(...), *pages, journal=journal)       # another object, as in another process
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from hashlib import sha256
from typing import Any

from harness.actions import Action
from harness.api import (
    NO_EVALUATORS,
    Agent,
    ComputerTool,
    Evaluator,
    Judge,
    JudgedEvaluator,
    Message,
    Reply,
    SiteAnswer,
    Tool,
)
from harness.codec import decode, encode
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.errors import JournalError, ModelUnavailable
from harness.evaluators.scorer import Scorer
from harness.journal.fold import check, fold
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.protocols import ProgressEvent, RawEvidence, RestoreResult, SessionAgent, StepResult
from harness.records import (
    Closed,
    CloseReason,
    Done,
    Episode,
    EpisodeLimits,
    Eval,
    Evidence,
    LiveObservation,
    Observation,
    Record,
    SideEffect,
    TabRecord,
    Task,
    Usage,
)

URL = "http://site.test/"
_LIMITS = EpisodeLimits()


class ScriptedModel:
    """A `ChatModel` that answers from a list, and keeps what it was asked.

    A text is answered as it is; a whole `Reply` may hold tool calls, a refusal or a finish reason.
    """

    def __init__(self, *replies: str | Reply) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Message, ...]] = []
        self.offered: list[tuple[Tool | ComputerTool, ...]] = []

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """The next reply; ModelUnavailable when there is none left."""
        self.asked.append(tuple(messages))
        self.offered.append(tuple(tools))
        if not self.replies:
            raise ModelUnavailable("the scripted model has no reply left")
        reply = self.replies.pop(0)
        if isinstance(reply, Reply):
            return reply
        return Reply(text=reply, model="scripted", usage=Usage(prompt_tokens=10, requests=1))


class MemoryJournal:
    """A journal in memory, as strict as one on disk."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.records: list[Record] = []
        self.artifacts = MemoryArtifacts()
        self.written = 0
        self._episode = Episode()
        for record in records:
            self.append(record)

    @property
    def episode(self) -> Episode:
        """What the records amount to."""
        return self._episode

    def append(self, record: Record) -> Episode:
        """Raises JournalError for a record that may not come next."""
        body = encode(record).body
        stored = decode(body)
        if (why := check(self._episode, stored)) is not None:
            raise JournalError(why)
        self.records.append(stored)
        self.written += len(body)
        self._episode = fold(self._episode, stored)
        return self._episode


class ScriptedPages:
    """An `Environment` without a browser: each action leads to the next page, and the last page stays."""

    def __init__(self, *pages: str, url: str = URL) -> None:
        self.pages = pages or ("",)
        self.url = url
        self.performed: list[Action] = []
        self._at = 0

    async def restore(self, task: Task, episode: Episode, clean: Collection[str] = ()) -> RestoreResult:
        """See `Environment.restore`."""
        self._at = len(episode.steps)
        pending = None if episode.pending is None else episode.pending.action
        fresh = episode.arrival is None
        return RestoreResult(
            view=self._view(),
            strategy="reset" if fresh else "replay",
            similarity=() if fresh else (1.0,),
            pending=pending,
        )

    async def act(self, action: Action) -> StepResult:
        """Go on to the next page."""
        self.performed.append(action)
        self._at += 1
        return StepResult(outcome=Done(), view=self._view())

    async def gather(self, task: Task) -> RawEvidence:
        """The last page as evidence."""
        return RawEvidence(url=self.url, title="", html=self._view().observation.text)

    async def ask_sites(self, action: Action) -> Mapping[str, str]:
        """Nothing: there are no sites."""
        return {}

    @property
    def is_lost(self) -> bool:
        """Never."""
        return False

    async def effects_begun(self) -> None:
        """Never returns, as there are no effects; it is cancelled when the agent has decided."""
        from asyncio import Event

        await Event().wait()

    def take_effects(self) -> tuple[SideEffect, ...]:
        """None: there are no sites."""
        return ()

    def _view(self) -> LiveObservation:
        return observation(self.pages[min(self._at, len(self.pages) - 1)], url=self.url)


class ScriptedPage:
    """A `BenchmarkPage` without a browser: each script gives the next value, and is kept.

    Args:
        values: What scripts give, in order.
        answers: What sites answer, by address; others answer 404.
    """

    def __init__(
        self,
        *values: Any,
        url: str = URL,
        seed: int = 0,
        files: Mapping[str, str] | None = None,
        answers: Mapping[str, bytes] | None = None,
    ) -> None:
        self.url = url
        self.seed = seed
        self.files = files or {}
        self.answers = answers or {}
        self.artifacts = MemoryArtifacts()
        self.values = list(values)
        self.asked: list[tuple[str, Any]] = []

    async def goto(self, url: str) -> None:
        """Only the address changes."""
        self.url = url

    @asynccontextmanager
    async def tab(self, url: str) -> AsyncIterator["ScriptedPage"]:
        """The same page, at another address until the context is left."""
        before, self.url = self.url, url
        yield self
        self.url = before

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> SiteAnswer:
        """What `answers` has for the address; 404 for any other."""
        found = self.answers.get(url)
        return SiteAnswer(status=404 if found is None else 200, body=found or b"")

    def keep(self, data: bytes) -> str:
        """Kept in memory."""
        return self.artifacts.put(data)

    def canonical(self, text: str) -> str:
        """The text as it is."""
        return text

    async def evaluate(self, script: str, argument: Any = None) -> Any:
        """The next value; None when there is none left."""
        self.asked.append((script, argument))
        return self.values.pop(0) if self.values else None


class _Silent:
    def tell(self, event: ProgressEvent) -> None:
        return


def observation(text: str = "", *, url: str = URL, title: str = "Page") -> LiveObservation:
    """What an agent is shown, with `text` as the page."""
    tabs = (TabRecord(url=url, title=title, current=True),)
    shown = f"Tab 0 (current): {title}\n\n{text}"
    seen = Observation(url=url, title=title, tabs=tabs, text=shown, fingerprint=sha256(shown.encode()).hexdigest())
    return LiveObservation(observation=seen, nodes={})


def a_task(intent: str = "Do it", *, eval_types: tuple[str, ...] = (), **metadata: Any) -> Task:
    """A task; `metadata` as an evaluator of yours finds it, `**{"eval.mine": 3}`."""
    judged = Eval(eval_types=eval_types)
    return Task(task_id="1", sites=(), intent=intent, start_urls=(URL,), eval=judged, metadata=metadata)


def closed(answer: str = "", *, url: str = URL, html: str | None = None) -> Closed:
    """The end of an episode that the agent ended itself; `html` is the hash of an artifact."""
    evidence = Evidence(url=url, title="", html=html)
    return Closed(reason=CloseReason.STOPPED, detail="", answer=answer, evidence=evidence, at=0.0)


async def play(  # noqa: PLR0913 (what a test of a plug-in may want to set)
    agent: Agent | SessionAgent,
    *pages: str,
    task: Task | None = None,
    journal: MemoryJournal | None = None,
    evaluators: Mapping[str, Evaluator] = NO_EVALUATORS,
    judge: Judge | None = None,
    most_steps: int | None = None,
) -> Episode:
    """Play one episode as a run does, and score it in the `corrected` dialect.

    Args:
        agent: Yours.
        pages: What it sees, one after the other; each action leads to the next.
        task: What it is asked.
        journal: Where records go; one that holds some is gone on with.
        evaluators: By eval type.
        judge: Whom they ask.
        most_steps: The run is stopped after this many steps; the same journal can be gone on with.
    Raises:
        InfraError: The episode failed, as the journal's last record says.
    """
    kept = journal or MemoryJournal()
    deps = EpisodeDeps(
        agent=agent,
        evaluators={"corrected": Scorer("corrected", judge, further=evaluators)},
        keeps_trajectory=lambda played: any(
            isinstance(evaluators.get(name), JudgedEvaluator) for name in played.eval.eval_types
        ),
        artifacts=kept.artifacts,
        checkpoints=kept.artifacts,
        limits=_LIMITS,
        config_digest="",
        seed=0,
        progress=_Silent(),
        stopping=lambda: most_steps is not None and len(kept.episode.steps) >= most_steps,
    )
    runner = EpisodeRunner(deps, Job(task=task or a_task()), kept)
    await runner.play(nullcontext(ScriptedPages(*pages)))
    await runner.score()
    return kept.episode
