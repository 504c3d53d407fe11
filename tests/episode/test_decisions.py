"""What an agent may give back, and where its memory goes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Stop
from harness.api import MAX_MEMORY_BYTES, Decision, Message, Reply
from harness.codec import SCHEMA, decode, encode
from harness.episode.decision import checked_decision
from harness.errors import PluginFailed
from harness.journal.log import read
from harness.records import Record
from tests.journal.episodes import acted, decided, failed, folded, opened, write


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("click [1]", "returned str, not a Decision"),
        (None, "returned NoneType, not a Decision"),
        (Decision(action="stop"), r"Decision.action is of type str"),  # type: ignore[arg-type]
        (Decision(action=Stop(answer=""), reply="text"), r"Decision.reply is of type str"),  # type: ignore[arg-type]
        (Decision(action=Stop(answer=""), messages=["text"]), "not a tuple of Message"),  # type: ignore[arg-type]
        (Decision(action=Stop(answer=5)), r"the agent's Decision.action.answer cannot be recorded"),  # type: ignore[arg-type]
        (Decision(action=Stop(answer=""), reply=Reply(text=5)), r"Reply.text cannot be"),  # type: ignore[arg-type]
        (Decision(action=Stop(answer=""), reply=Reply(usage=5)), r"Reply.usage cannot be"),  # type: ignore[arg-type]
        (Decision(action=Stop(answer=""), reply=Reply(waited_s="1")), r"Reply.waited_s is of type str"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_type_is_one_sentence(given: Any, why: str) -> None:
    with pytest.raises(PluginFailed, match=why):
        checked_decision(given)


@pytest.mark.parametrize(
    "memory", [object(), {1: "a"}, ("a",), {"path": Path("x")}, float("nan"), deep(500), {"a": b"x"}, "\ud800"]
)
def test_memory_that_is_no_json_value_is_refused(memory: Any) -> None:
    with pytest.raises(PluginFailed, match="the agent's memory"):
        checked_decision(Decision(action=Stop(answer=""), memory=memory))


def test_memory_has_a_bound() -> None:
    checked_decision(Decision(action=Stop(answer=""), memory="x" * (MAX_MEMORY_BYTES - 2)))
    checked_decision(Decision(action=Stop(answer=""), memory=2**70))
    with pytest.raises(PluginFailed, match="has 50,000,002 bytes as JSON; 1,048,576 are stored"):
        checked_decision(Decision(action=Stop(answer=""), memory="x" * 50_000_000))


def test_a_decision_without_a_model_is_one_line() -> None:
    given = Decision(action=Stop(answer="7"))
    assert checked_decision(given) == given and given.messages == () and given.reply.usage.tokens == 0
    assert checked_decision(Decision(action=Stop(answer=""), messages=(Message(role="user", content="x"),)))


def test_an_episode_gives_the_newest_memory_of_its_attempt_as_a_copy(tmp_path: Path) -> None:
    records: list[Record] = [opened(), acted(0), replace(decided(1), memory={"seen": ["a"]}), acted(1)]
    write(tmp_path / "7.traj.jsonl", records)
    episode = read(tmp_path / "7.traj.jsonl")
    episode.memory["seen"].append("b")
    assert episode.memory == {"seen": ["a"]}
    assert folded([*records, decided(2), acted(2)]).memory is None
    assert folded([*records, failed(), opened(2)]).memory is None


def test_a_decision_of_schema_3_has_no_memory() -> None:
    body = encode(decided(1)).body
    older = body.replace(b'"schema":%d' % SCHEMA, b'"schema":3').replace(b'"memory":null,', b"")
    assert older != body and decode(older) == decided(1)
