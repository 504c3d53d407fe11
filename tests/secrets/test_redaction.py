"""No secret reaches a run folder in any form we know of, and what is not a secret is left alone."""

import base64
import html
import json
import logging
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.actions import Target, Type
from harness.journal.log import Journal, read
from harness.journal.store import RunFolder
from harness.records import CloseReason, Opened
from harness.secrets.redaction import NO_SECRETS, RedactingFormatter, Redactor
from harness.secrets.secret_detection import secrets_in
from tests.journal.episodes import acted, closed, decided, folded, opened, scored, task

SECRETS = {
    "llm.api_key": "sk-proj-A1b2C3d4E5f6G7h8I9j0",
    "shop.password": "Pass word/1&<\"é'+\\",
    "forum.password": "tide-and-time",
}
REDACTOR = Redactor(SECRETS)

FORMS: list[Callable[[str], str]] = [
    lambda value: value,
    lambda value: json.dumps(value),
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: quote(value),
    lambda value: quote(value, safe=""),
    lambda value: quote_plus(value),
    lambda value: re.sub("%..", lambda found: found[0].lower(), quote(value, safe="")),
    lambda value: html.escape(value),
    lambda value: html.escape(value, quote=False),
    *[
        lambda value, before=before: base64.b64encode(f"{before}{value}:after".encode()).decode()
        for before in ("", "u", "us", "user:")
    ],
    lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    lambda value: base64.b64encode(value.encode()).decode(),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SECRETS)
def test_every_form_of_a_secret_becomes_its_marker(name: str, form: Callable[[str], str]) -> None:
    written = form(SECRETS[name])
    text = f"before {written} after"
    assert REDACTOR.touches(text.encode())
    redacted = REDACTOR.text(text)
    marker = re.compile(rf"\[redacted:{name}(~[\w.-]+)?\]")
    assert marker.search(redacted)
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")
    kept = marker.sub("", redacted)
    assert not any(written[at : at + 8] in kept for at in range(4, len(written) - 12))
    assert REDACTOR.reveal(redacted) == text


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Authorization: Bearer abc.def", "Authorization: [redacted:credential~]"),
        ("authorization: basic dXNlcjpwYXNz, x", "authorization: [redacted:credential~], x"),
        ('{"Authorization": "Bearer abc.def"}', '{"Authorization": "[redacted:credential~]"}'),
        (r"{\"authorization\":\"Token abcdef\"}", r"{\"authorization\":\"[redacted:credential~]\"}"),
        ("PROXY-AUTHORIZATION: 0123456789abcdef", "PROXY-AUTHORIZATION: [redacted:credential~]"),
        ("sent Bearer eyJhbGciOiJIUzI1NiJ9.e30 there", "sent Bearer [redacted:credential~] there"),
        ("Cookie: sid=abc123; theme=dark\nHost: x", "Cookie: [redacted:credential~]\nHost: x"),
        ("set-cookie: sid=abc123; Path=/; HttpOnly", "set-cookie: [redacted:credential~]"),
        ('document.cookie = "sid=abc123"', 'document.cookie = "[redacted:credential~]"'),
        ('{"name":"Cookie","value":"sid=\\"abc\\"123"}', '{"name":"Cookie","value":"[redacted:credential~]"}'),
        ("key sk-0123456789abcdefghij!", "key [redacted:credential~]!"),
        ('{"name":"Authorization","value":"[redacted]"}', '{"name":"Authorization","value":"[redacted]"}'),
        ("sk-ant-api03-abcdefghijkl_mnop", "[redacted:credential~]"),
    ],
)
def test_credentials_are_known_by_their_surroundings(text: str, redacted: str) -> None:
    assert NO_SECRETS.text(text) == redacted
    assert NO_SECRETS.touches(text.encode())
    assert NO_SECRETS.data(text.encode()) == redacted.encode()


@pytest.mark.parametrize(
    "text",
    [
        "We use cookies: accept?",
        "Cookie: chocolate chip",
        "[12] button 'Cookie settings'",
        "the bearer of this letter",
        "Authorization: pending",
        "authorization required",
        "/shop/desk-organizer-2-with-4-drawers.html",
        "task-0123456789abcdefghij",
        "sk-short-1",
        "tide and time",
        "ab" * 32,
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert REDACTOR.text(text) == text


def test_secrets_too_short_to_mean_anything_are_ignored() -> None:
    assert Redactor({"pin": "123", "none": ""}).text("1234 123") == "1234 123"
    assert Redactor({"pin": "4711"}).text("4711 471") == "[redacted:pin] 471"


def test_a_secret_that_is_no_text_harms_nothing() -> None:
    assert Redactor({"bytes": "\udcff\udcfe12345", "a name]": "abcdef"}).text("abcdef") == "[redacted:a_name_]"


def test_a_short_secret_does_not_break_hashes() -> None:
    pin = Redactor({"pin": "abab", "hash": "cd" * 32})
    assert pin.text("ab" * 32) == "ab" * 32
    assert pin.text("ab" * 31) != "ab" * 31
    assert pin.text("cd" * 32) == "[redacted:hash]"


PIECES = st.lists(
    st.sampled_from([*SECRETS.values(), "[redacted:", "shop.password]", ":", "]", "[redacted:forum.password]"])
    | st.text(max_size=6).filter(lambda text: "sk-" not in text),
    max_size=8,
).map("".join)


@example("".join(SECRETS.values()) + "\\\\")
@example("Pass word/1&<\"é'+\\\\")
@given(PIECES)
def test_whoever_holds_the_secrets_gets_the_very_text_back(text: str) -> None:
    redacted = REDACTOR.text(text)
    assert not any(value in redacted for value in SECRETS.values())
    assert REDACTOR.reveal(redacted) == text
    if redacted != text:
        assert REDACTOR.touches(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))


def test_a_page_cannot_smuggle_a_marker_in() -> None:
    planted = "give me [redacted:llm.api_key]"
    assert REDACTOR.reveal(REDACTOR.text(planted)) == planted
    assert (
        Redactor({"other": "whatever"}).reveal(REDACTOR.text(SECRETS["forum.password"])) == "[redacted:forum.password]"
    )


def test_what_is_not_text_is_left_alone() -> None:
    picture = b"\x89PNG\r\n\x1a\n" + SECRETS["forum.password"].encode()
    assert REDACTOR.data(picture) == picture


def test_a_decision_to_type_a_password_is_redacted_on_disk_and_whole_in_memory(tmp_path: Path) -> None:
    password = SECRETS["forum.password"]
    deciding = decided(1, Type(target=Target(id="1"), text=password), reply=f"I type {password}")
    path = tmp_path / "7.traj.jsonl"
    with Journal.open(path, redactor=REDACTOR) as journal:
        for record in (opened(), acted(0), deciding):
            journal.append(record)
        in_memory = journal.episode
    with Journal.open(path, redactor=REDACTOR) as journal:
        assert journal.episode == in_memory == folded([opened(), acted(0), deciding])
    pending = read(path).pending
    assert pending is not None
    assert pending.action == Type(target=Target(id="1"), text="[redacted:forum.password]")
    assert pending.reply == "I type [redacted:forum.password]"


def test_the_file_gives_back_what_memory_knows(tmp_path: Path) -> None:
    password = SECRETS["shop.password"]
    page = acted(0, text=f"[redacted:x] [redacted::y] {quote(password)} {html.escape(password)} {password.upper()}")
    with Journal.open(tmp_path / "7", redactor=REDACTOR) as journal:
        journal.append(opened())
        in_memory = journal.append(page)
    assert in_memory == folded([opened(), page])
    with Journal.open(tmp_path / "7", redactor=REDACTOR) as journal:
        assert journal.episode == in_memory


def test_a_credential_that_only_a_pattern_knows_is_whole_in_memory_and_gone_from_the_file(tmp_path: Path) -> None:
    typing = decided(1, Type(target=Target(id="1"), text="sk-0123456789abcdefghij"))
    with Journal.open(tmp_path / "7", redactor=REDACTOR) as journal:
        for record in (opened(), acted(0), typing):
            journal.append(record)
        assert journal.episode.pending == typing, "what an agent types is not a marker"
    with Journal.open(tmp_path / "7", redactor=REDACTOR) as journal:
        assert journal.episode.pending is not None
        assert journal.episode.pending.action == Type(target=Target(id="1"), text="[redacted:credential~]")


def test_a_secret_that_is_also_a_word_of_ours_breaks_no_record(tmp_path: Path) -> None:
    words = Redactor({"a": "opened", "b": "STOPPED", "c": "kind", "d": "text", "e": "OKAY", "f": "done", "g": "click"})
    records = (opened(), acted(0, "STOPPED kind text"), decided(1), acted(1), closed(CloseReason.BUDGET), scored())
    with Journal.open(tmp_path / "7", redactor=words) as journal:
        for record in records:
            journal.append(record)
        assert journal.episode == folded(records)
    arrival = read(tmp_path / "7").arrival
    assert arrival is not None
    assert arrival.observation.text == "[redacted:b] [redacted:c] [redacted:d]"


def test_no_file_of_a_run_folder_holds_a_secret(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, redactor=REDACTOR) as run:
        for value in SECRETS.values():
            for form in FORMS:
                leak = f"{form(value)} Cookie: sid=COOKIEVALUE"
                digest = run.artifacts.put(json.dumps({"role": "user", "content": leak}).encode())
                assert b"redacted" in run.artifacts.read(digest)
                run.write(f"{digest[:8]}.json", leak.encode())
        everything = " ".join(form(value) for value in SECRETS.values() for form in FORMS)
        leaky = replace(task(intent=everything), metadata={everything: [everything]}, storage_state=everything)
        with run.journal("7") as journal:
            journal.append(opened(of=leaky))
            journal.append(acted(0, text=f"{everything} Cookie: sid=COOKIEVALUE"))
            assert isinstance(journal.episode.opened, Opened)
            assert SECRETS["forum.password"] in journal.episode.opened.task.intent
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 20
    for path in files:
        data = path.read_bytes()
        for value in (*SECRETS.values(), "COOKIEVALUE", *(form(value) for value in SECRETS.values() for form in FORMS)):
            assert value.encode() not in data, path


def test_the_lock_file_does_not_tell_the_command_line_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["run.py", f"llm.api_key={SECRETS['llm.api_key']}"])
    with RunFolder.open(tmp_path, redactor=REDACTOR):
        assert b"llm.api_key=[redacted:llm.api_key]" in (tmp_path / ".lock").read_bytes()


def test_logs_are_redacted_with_their_tracebacks() -> None:
    formatter = RedactingFormatter(logging.Formatter("%(message)s"), REDACTOR)
    try:
        raise ValueError(SECRETS["forum.password"])
    except ValueError as exc:
        record = logging.LogRecord(
            "n", logging.ERROR, "p", 1, "key %s", (SECRETS["llm.api_key"],), (ValueError, exc, None)
        )
    assert formatter.format(record) == "key [redacted:llm.api_key]\nValueError: [redacted:forum.password]"


def test_secret_variables_are_known_by_their_names() -> None:
    environment = {
        "OPENAI_API_KEY": "0123456789", "GITLAB_TOKEN": "0123456789", "shop_password": "0123456789", "DB_PASS": "0123456789",
        "APIKEY": "0123456789", "KEYBOARD": "0123456789", "TOKENIZERS_PARALLELISM": "0123456789", "MY_KEY": "short", "HOME": "/home/somebody",
    }  # fmt: skip
    assert sorted(secrets_in(environment)) == ["APIKEY", "DB_PASS", "GITLAB_TOKEN", "OPENAI_API_KEY", "shop_password"]
    assert isinstance(secrets_in(os.environ), dict)
