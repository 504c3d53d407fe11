"""An agent's class that asks its model as clients of other libraries are asked."""

from typing import Any

import pytest

from harness.errors import PluginFailed
from harness.llm.decision_replies import JournaledModel
from harness.llm.request_digest import RequestDigest
from harness.records import Message


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("what is it?", "with str, and not with a sequence of harness.api.Message"),
        ([{"role": "user", "content": "what is it?"}], "with a sequence that holds dict, and not"),
        (Message(role="user", content="what is it?"), "with Message, and not"),
        (None, "with NoneType, and not"),
    ],
    ids=["a text", "dicts", "one message", "nothing"],
)
async def test_what_is_no_sequence_of_messages_is_refused_by_its_type(asked: Any, said: str) -> None:
    nobody: Any = None
    model = JournaledModel(nobody, nobody, RequestDigest(nobody, address={}, redact=bytes))
    with pytest.raises(PluginFailed, match=said):
        await model.ask(asked)
