"""A prompt's pictures are stored once, and it is read back as it was sent."""

from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.api import Message
from harness.codec import dumps, loads
from harness.errors import JournalError
from harness.journal.prompt_store import put_messages, read_message
from harness.journal.store import ArtifactStore, RunFolder, named_digests
from harness.secrets.redaction import Redactor
from harness.testing import MemoryArtifacts
from tests.journal.episodes import acted, decided, opened

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
URL = f"data:image/png;base64,{b64encode(PNG).decode()}"
SHOWN = ({"type": "text", "text": "page"}, {"type": "image_url", "image_url": {"url": URL, "detail": "low"}})


def test_a_picture_is_an_artifact_of_its_own_however_often_it_is_sent() -> None:
    artifacts = MemoryArtifacts()
    screenshot = artifacts.put(PNG)
    messages = (Message(role="user", content=SHOWN), Message(role="user", name="again", content=SHOWN))
    stored = put_messages(messages, artifacts)
    assert stored.pictures == (screenshot,)
    assert all(len(artifacts.read(digest)) < 300 for digest in stored.messages)
    assert [read_message(digest, artifacts) for digest in stored.messages] == [
        {"role": "user", "content": list(SHOWN)},
        {"role": "user", "name": "again", "content": list(SHOWN)},
    ]


def test_a_message_of_an_older_run_is_read_as_it_is() -> None:
    artifacts = MemoryArtifacts()
    older = {"role": "user", "content": list(SHOWN)}
    assert read_message(artifacts.put(dumps(older)), artifacts) == older


@pytest.mark.parametrize(
    "text",
    [
        f"{URL}\n",
        URL.replace("=", "") + "=",
        "data:image/png;base64,####",
        "data:image/png;base64,é",
        f"data:image/png;base64,{b64encode(b'no picture').decode()}",
        f"data:text/html;base64,{b64encode(PNG).decode()}",
        "data:image/png;base64,",
    ],
)
def test_what_is_not_a_picture_letter_for_letter_stays_text(text: str) -> None:
    artifacts = MemoryArtifacts()
    sent = Message(role="user", content=({"type": "image_url", "image_url": {"url": text}},))
    stored = put_messages((sent,), artifacts)
    assert stored.pictures == ()
    assert read_message(stored.messages[0], artifacts)["content"] == list(sent.content)


@pytest.mark.parametrize(
    "content", ["plain", [{"type": "text", "text": URL}], [{"deep": [{"er": (URL, 1, None, True)}]}]]
)
def test_every_message_comes_back(content: Any) -> None:
    artifacts = MemoryArtifacts()
    message = Message(role="user", content=content if isinstance(content, str) else tuple(content))
    stored = put_messages((message,), artifacts)
    assert read_message(stored.messages[0], artifacts) == loads(dumps({"role": "user", "content": content}))


def test_a_missing_picture_is_named() -> None:
    artifacts, elsewhere = MemoryArtifacts(), MemoryArtifacts()
    stored = put_messages((Message(role="user", content=SHOWN),), elsewhere)
    artifacts.put(elsewhere.read(stored.messages[0]))
    with pytest.raises(JournalError, match=stored.pictures[0]):
        read_message(stored.messages[0], artifacts)


def test_a_picture_that_only_a_prompt_shows_is_named_by_its_journal(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", redactor=Redactor({"KEY": "hunter22"})) as run:
        stored = put_messages((Message(role="user", content=SHOWN),), run.artifacts)
        unnamed = run.artifacts.put(b"nobody names this")
        with run.journal("7") as journal:
            for record in (opened(), acted(0)):
                journal.append(record)
            journal.append(replace(decided(1), prompt=stored.messages, pictures=stored.pictures))
    store = ArtifactStore(tmp_path / "run" / "artifacts")
    named = named_digests(tmp_path / "run")
    assert unnamed.encode() not in named
    assert {digest.encode() for digest in (*stored.messages, *stored.pictures)} <= named
    assert read_message(stored.messages[0], store)["content"] == list(SHOWN)
