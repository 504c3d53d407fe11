"""The shipped test doubles, and with them what a plug-in that breaks its protocol costs: its own task."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.api import Agent, Decision, EvaluatorError, Finding, Goto, InvalidAction, Message, Reply, Stop
from harness.errors import (
    ConfigError,
    InfraError,
    JournalError,
    ModelRejected,
    PluginFailed,
    ShutdownRequested,
    StorageError,
)
from harness.evaluators.scorer import Scorer
from harness.journal.store import ArtifactStore
from harness.records import Episode, Eval, Status, Usage
from harness.testing import MemoryArtifacts, MemoryJournal, ScriptedModel, a_task, closed, play

PAGES = ("[1] link 'one'", "[1] link 'two'", "[1] link 'three'")


class Counts:
    """Goes to another page until it has seen three."""

    async def decide(self, task: Any, episode: Episode, observation: Any, /) -> Decision:
        seen = [*(episode.memory or []), observation.observation.text.split("'")[1]]
        if len(seen) == 3:
            return Decision(action=Stop(answer=" ".join(seen)), memory=seen)
        return Decision(action=Goto(url=f"http://site.test/{len(seen)}"), memory=seen)


class Gives:
    def __init__(self, given: Any) -> None:
        self.given = given

    async def decide(self, *_: Any) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


class Finds(Gives):
    async def evaluate(self, *_: Any) -> Any:
        return await self.decide()


async def test_an_agent_is_played_and_its_memory_goes_on_in_another_object() -> None:
    whole = await play(Counts(), *PAGES)
    assert whole.closed is not None and whole.closed.answer == "one two three"
    journal = MemoryJournal()
    broken_off = await play(Counts(), *PAGES, journal=journal, most_steps=1)
    assert broken_off.closed is None and broken_off.memory == ["one"]
    resumed = await play(Counts(), *PAGES, journal=journal)
    assert resumed.closed is not None and resumed.closed.answer == "one two three"
    assert len(resumed.resumed) == 1


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (ZeroDivisionError("by zero"), "ZeroDivisionError", "by zero"),
        ("stop", "PluginFailed", "the agent returned str, not a Decision"),
        (Decision(action=Stop(answer=""), memory={1: 2}), "PluginFailed", "the agent's memory"),
        (Decision(action=Stop(answer=""), memory="x" * 50_000_000), "PluginFailed", "has 50,000,002 bytes as JSON"),
        (Decision(action=Stop(answer=""), reply=Reply(raw="text")), "PluginFailed", "are not bytes"),  # type: ignore[arg-type]
        (Decision(action=Stop(answer="")).__class__, "PluginFailed", "returned type, not a Decision"),
    ],
    ids=["raises", "wrong type", "no JSON", "50 MB", "no bytes", "a class"],
)
async def test_an_agent_that_breaks_its_protocol_fails_its_own_task(given: Any, kind: str, message: str) -> None:
    journal = MemoryJournal()
    agent: Agent = Gives(given)
    with pytest.raises(InfraError):
        await play(agent, "page", journal=journal)
    (failed,) = journal.episode.failures
    assert (failed.boundary, failed.type) == ("decide", kind) and message in failed.message
    assert journal.episode.closed is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (ZeroDivisionError("by zero"), "evaluator mine raised ZeroDivisionError: by zero"),
        (EvaluatorError("no page"), "no page"),
        (1.0, "evaluator mine returned float, not a Finding"),
        (ConfigError("eval.mine is missing"), "evaluator mine raised ConfigError: eval.mine is missing"),
        (Finding(value=float("nan"), why=""), "evaluator mine gave value='nan'; a value is a number from 0 to 1"),
        (Finding(value=1.0, why=None), "evaluator mine gave why='None'; why is a text"),  # type: ignore[arg-type]
        (Finding(value=2.0, why=""), "evaluator mine gave value='2.0'; a value is a number from 0 to 1"),
    ],
)
async def test_an_evaluator_that_fails_leaves_its_own_verdict_unscored(given: Any, why: str) -> None:
    evaluators = {"mine": Finds(given), "good": Finds(Finding(value=1.0, why="fine"))}
    scorer = Scorer("corrected", further=evaluators)
    scored = await scorer.score(a_task(eval_types=("mine", "good")), closed("7"), MemoryArtifacts())
    bad, good = scored.verdicts
    assert (bad.status, bad.why, good.value) == (Status.ERROR, why, 1.0) and scored.value is None


class Reads(Gives):
    async def evaluate(self, task: Any, closed: Any, artifacts: Any, /) -> Any:
        return artifacts.read(self.given)


@pytest.mark.parametrize("digest", ["", "abc", "0" * 64])
@pytest.mark.parametrize("memory", [True, False], ids=["in memory", "on disk"])
async def test_an_evaluator_that_reads_what_was_never_kept_leaves_its_task_unscored(
    digest: str, memory: bool, tmp_path: Path
) -> None:
    artifacts = MemoryArtifacts() if memory else ArtifactStore(tmp_path / "artifacts")
    scorer = Scorer("corrected", further={"mine": Reads(digest)})
    scored = await scorer.score(a_task(eval_types=("mine",)), closed("7"), artifacts)
    assert scored.status is Status.ERROR and "evaluator mine raised NoArtifact: " in scored.verdicts[0].why


async def test_a_damaged_artifact_stops_the_run(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path / "artifacts")
    digest = store.put(b"page")
    store.path(digest).write_bytes(b"pagf")
    with pytest.raises(JournalError, match="is damaged"):
        await Scorer("corrected", further={"mine": Reads(digest)}).score(a_task(eval_types=("mine",)), closed(), store)


class Judges(Gives):
    name = "strange"

    async def judge(self, *_: Any) -> Any:
        return await self.decide()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (TimeoutError("60 s"), "the judge strange raised TimeoutError: 60 s"),
        (KeyError("choices"), "the judge strange raised KeyError: 'choices'"),
        (PluginFailed("broken"), "the judge strange raised PluginFailed: broken"),
        ("correct", "the judge strange returned str, not a Reply"),
        (None, "the judge strange returned NoneType, not a Reply"),
        (Reply(text=None), "cannot be recorded: reply: text expected, not NoneType"),  # type: ignore[arg-type]
        (Reply(text="correct", usage=None), "cannot be recorded: usage: Usage expected"),  # type: ignore[arg-type]
        (Reply(text="correct", usage=Usage(cost_usd=float("nan"))), "cannot be recorded: usage.cost_usd: NaN"),
        (Reply(text="correct", raw="text"), "returned a Reply whose raw is not bytes"),  # type: ignore[arg-type]
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_judge_that_breaks_its_protocol_leaves_its_own_task_unscored(given: Any, why: str) -> None:
    reference = Eval(eval_types=("string_match",), reference_answers={"fuzzy_match": ["seven"]})
    journal = MemoryJournal()
    agent: Agent = Gives(Decision(action=Stop(answer="7")))
    episode = await play(agent, "page", task=replace(a_task(), eval=reference), judge=Judges(given), journal=journal)
    score = episode.scores["corrected"]
    assert score.status is Status.ERROR and why in score.verdicts[0].why


@pytest.mark.parametrize("error", [ModelRejected("wrong key"), StorageError("full"), ShutdownRequested("stopping")])
async def test_what_says_nothing_about_the_task_gives_no_verdict(error: Exception) -> None:
    scorer = Scorer("corrected", further={"mine": Finds(error)})
    with pytest.raises(type(error)):
        await scorer.score(a_task(eval_types=("mine",)), closed(), MemoryArtifacts())


async def test_an_eval_type_without_its_class_says_what_to_give() -> None:
    scored = await Scorer("corrected").score(a_task(eval_types=("mine",)), closed(), MemoryArtifacts())
    assert "evaluators.NAME._target_=" in scored.verdicts[0].why


async def test_a_scripted_model_answers_in_order_and_then_no_more() -> None:
    model = ScriptedModel("a")
    assert (await model.ask([Message(role="user", content="?")])).text == "a" and len(model.asked) == 1
    with pytest.raises(InfraError, match="no reply left"):
        await model.ask([])


def test_a_journal_in_memory_is_as_strict_as_one_on_disk() -> None:
    with pytest.raises(JournalError, match="before the episode was opened"):
        MemoryJournal([closed()])


def test_a_fault_of_a_plugin_is_infrastructure() -> None:
    assert issubclass(PluginFailed, InfraError) and InvalidAction(why="").kind and Reply().text == ""
