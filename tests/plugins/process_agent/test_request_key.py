"""How requests are compared: which are the same, and where two differ."""

import json
from typing import Any

import pytest

from harness.codec import CodecError, loads
from harness.plugins.process_agent.request_difference import first_difference
from harness.plugins.process_agent.request_key import Volatile


def test_volatile_parts_do_not_change_a_key() -> None:
    volatile = Volatile.of([r"\d\d:\d\d", "/metadata/*", "/messages/0/id"])
    one = {"metadata": {"run": "a"}, "messages": [{"id": "x", "content": "at 10:15"}]}
    other = {"messages": [{"content": "at 23:59", "id": "y"}], "metadata": {"run": "b"}}
    assert volatile.key("chat", json.dumps(one).encode()) == volatile.key("chat", json.dumps(other, indent=1).encode())
    assert volatile.key("chat", json.dumps(one).encode()) != volatile.key("responses", json.dumps(one).encode())
    assert Volatile().key("chat", json.dumps(one).encode()) != Volatile().key("chat", json.dumps(other).encode())


@pytest.mark.parametrize("entries", [(), ("[0-9]+",)], ids=["none", "expression"])
@pytest.mark.parametrize("levels", [300, 600, 1000])
def test_a_body_that_is_nested_too_deeply_has_no_key(levels: int, entries: tuple[str, ...]) -> None:
    tree = loads(b'{"messages": ' + b"[" * levels + b"1" + b"]" * levels + b"}")
    with pytest.raises(CodecError):
        Volatile.of(entries).key_of("chat", tree)


LONG = "a" * 50 + "<stats>139 elements</stats>" + "b" * 500


@pytest.mark.parametrize(
    ("recorded", "asked", "expected"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}, "/a/0/b is 'y' (recorded: 'x')"),
        ({"a": 1}, {"a": True}, "/a is true (recorded: 1)"),
        ({"a": [1]}, {"a": [1, "z"]}, "/a/1 is 'z' (recorded: missing)"),
        ({"a": 1, "b": 2}, {"a": 1}, "/b is missing (recorded: 2)"),
        ({"a/b": {"~": None}}, {"a/b": {"~": 0}}, "/a~1b/~0 is 0 (recorded: null)"),
        ({"\x1b[2J\n": 1}, {}, "/\\x1b[2J\\n is missing (recorded: 1)"),
        ([], {}, "the body is {} (recorded: [])"),
        ({"a": "one\nline"}, {"a": "one\nlane"}, "/a is 'one\\nlane' (recorded: 'one\\nline')"),
    ],
)
def test_the_first_difference_is_a_pointer_and_both_values(recorded: Any, asked: Any, expected: str | None) -> None:
    assert first_difference(recorded, asked) == expected


def test_of_bodies_that_are_nested_too_deeply_none_is_found() -> None:
    one, other = (loads(b"[" * 1000 + end + b"]" * 1000) for end in (b"1", b"2"))
    assert first_difference(one, other) is None


def test_of_a_long_text_the_part_is_shown_that_differs() -> None:
    said = first_difference({"text": LONG}, {"text": LONG.replace("139", "144")})
    assert said is not None and len(said) < 250
    assert "<stats>144 elements</stats>" in said and "<stats>139 elements</stats>" in said
    assert said.count("…") == 4 and "aaaaaaaaaaaaaaaaaaaaa" not in said
