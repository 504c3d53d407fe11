"""Lines give back the record they were made from, and nothing else is a record."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import codec
from harness.actions import Action
from harness.codec import (
    SCHEMA,
    CodecError,
    NewerSchema,
    build,
    decode,
    digest,
    digest_tree,
    dumps,
    encode,
    loads,
    seal,
    unseal,
)
from harness.records import CloseReason, Opened, Record, Scored, Status, Task
from harness.records.optional import OMITTED
from tests.journal.episodes import acted, closed, decided, opened, scored, task, whole_episode

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FREE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**308 + 1, -(10**308) - 1])
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    NoneType: st.none(),
    Any: FREE,
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 (one case per type)
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    if origin in (Union, UnionType):
        return st.one_of([values_of(arg) for arg in args])
    if origin is tuple and args[1:] == (...,):
        return st.lists(values_of(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, args))
    if origin is Mapping:
        return st.dictionaries(TEXT, values_of(args[1]), max_size=3)
    if origin is Literal:
        return st.sampled_from(args)
    if annotation is Action:
        ours = [one for one in Action.by_kind.values() if one.__module__.startswith("harness.")]
        return st.one_of(list(map(values_of, ours)))
    if issubclass(annotation, StrEnum):
        return st.sampled_from(list(annotation))
    assert isinstance(annotation, type) and is_dataclass(annotation)
    hints = get_type_hints(annotation)
    return st.builds(annotation, **{field.name: values_of(hints[field.name]) for field in fields(annotation)})


def changed(record: Record, change: Any) -> bytes:
    """The body of `record` after `change` was done to its tree."""
    tree = loads(encode(record).body + b"}")
    change(tree)
    return dumps(tree)[:-1]


@pytest.mark.sample(6)
@pytest.mark.parametrize("cls", get_args(Record), ids=lambda cls: cls.kind)
@settings(max_examples=25)
@given(data=st.data())
def test_every_record_comes_back_equal(cls: type[Record], data: st.DataObject) -> None:
    record = data.draw(values_of(cls))
    body = encode(record).body
    assert decode(body) == record
    assert body.startswith(b'{"kind":"%s","schema":%d,' % (cls.kind.encode(), SCHEMA))
    assert b"\n" not in body


def test_only_exact_bodies_claim_to_be_exact() -> None:
    assert encode(acted(1)).exact
    assert not encode(acted(1, text="lone \ud800")).exact
    assert not encode(acted(1), text=str.upper).exact
    assert not encode(opened()).exact


def wrong(record: Any, **fields: Any) -> Any:
    """`record` with fields that a type checker would not let pass."""
    return replace(record, **fields)


def set_(tree: Any, path: str, value: Any) -> None:
    *way, last = path.split(".")
    for name in way:
        tree = tree[int(name) if name.isdigit() else name]
    tree[last] = value


@pytest.mark.parametrize(
    ("record", "path", "value", "why"),
    [
        (acted(1), "kind", "danced", "unknown kind 'danced'"),
        (acted(1), "kind", None, "unknown kind None"),
        (acted(1), "outcome.kind", "danced", "outcome: unknown kind 'danced'"),
        (acted(1), "outcome.kind", ["done"], "outcome: unknown kind"),
        (acted(1), "outcome", "done", "outcome: an object expected, not str"),
        (acted(1), "schema", "1", "the schema version is missing"),
        (acted(1), "schema", True, "the schema version is missing"),
        (acted(1), "surprise", 1, "unknown field surprise"),
        (acted(1), "observation.surprise", 1, "observation: unknown field surprise"),
        (acted(1), "step", True, "step: an integer expected, not bool"),
        (acted(1), "step", 1.0, "step: an integer expected, not float"),
        (acted(1), "step", "1", "step: an integer expected, not str"),
        (acted(1), "elapsed_ms", "1", "elapsed_ms: a number expected, not str"),
        (acted(1), "elapsed_ms", False, "elapsed_ms: a number expected, not bool"),
        (acted(1), "observation.text", None, "observation.text: text expected, not NoneType"),
        (acted(1), "observation.tabs", {}, "observation.tabs: a list expected, not dict"),
        (acted(1), "observation.tabs", [[]], "observation.tabs: an object expected, not list"),
        (acted(1), "observation.tabs.0.current", 1, "observation.tabs.current: true or false expected, not int"),
        (acted(1), "observation.screenshot", 5, "observation.screenshot: text expected, not int"),
        (decided(1), "action.target.box", [1, 2, 3], "action.target.box: a list of 4 expected, not list"),
        (closed(), "reason", "BORED", "reason: one of STOPPED, MAX_STEPS"),
        (closed(), "reason", 5, "reason: one of STOPPED, MAX_STEPS"),
        (opened(), "task.metadata", [], "task.metadata: an object expected, not list"),
        (opened(), "task", None, "task: an object expected, not NoneType"),
    ],
)
def test_what_is_not_a_record_is_refused_by_name(record: Record, path: str, value: Any, why: str) -> None:
    with pytest.raises(CodecError) as refused:
        decode(changed(record, lambda tree: set_(tree, path, value)))
    assert why in str(refused.value)


@pytest.mark.parametrize("record", whole_episode(), ids=lambda record: record.kind)
def test_every_missing_field_is_refused_unless_it_is_optional(record: Record) -> None:
    for field in fields(record):
        if OMITTED in field.metadata:
            continue
        with pytest.raises(CodecError, match=f"field {field.name} is missing"):
            decode(changed(record, lambda tree, name=field.name: tree.pop(name)))


def test_an_optional_field_is_written_only_when_it_says_something() -> None:
    silent = decided(1)
    assert b"response" not in encode(silent).body and b"cached_tokens" not in encode(silent).body
    usage = replace(silent.usage, cached_tokens=7, saved_usd=0.5)
    said = replace(silent, response="ab" * 32, earlier_responses=("cd" * 32,), finish_reason="length", usage=usage)
    assert decode(encode(said).body) == said
    assert decode(encode(silent).body).response is None  # type: ignore[union-attr]


def test_an_optional_field_of_a_wrong_type_is_refused() -> None:
    for name, value in (("response", 3), ("earlier_responses", "x"), ("finish_reason", None), ("surplus", 1)):
        with pytest.raises(CodecError, match=name):
            decode(changed(decided(1), lambda tree, name=name, value=value: tree.update({name: value})))


@pytest.mark.parametrize("body", [b"", b"{", b"[1", b"3", b'{"kind":"acted"', b'{"a":NaN', b'{"a":"\xff"'])
def test_bytes_that_are_no_object_are_refused(body: bytes) -> None:
    with pytest.raises(CodecError):
        decode(body)


def test_a_newer_schema_asks_for_an_upgrade_of_the_program() -> None:
    body = changed(acted(1), lambda tree: set_(tree, "schema", SCHEMA + 1))
    with pytest.raises(NewerSchema, match=rf"cairn \(schema {SCHEMA + 1}, this one reads {SCHEMA}\); upgrade"):
        decode(body)


def test_an_older_schema_is_upgraded_one_version_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    older = changed(acted(1), lambda tree: tree.update(schema=0, number=tree.pop("step")))

    def from_0(tree: dict[str, Any]) -> dict[str, Any]:
        return {**{name: value for name, value in tree.items() if name != "number"}, "step": tree["number"] + 10}

    def from_1(tree: dict[str, Any]) -> dict[str, Any]:
        return {**tree, "step": tree["step"] * 2}

    with pytest.raises(CodecError, match="no way to upgrade schema 0"):
        decode(older)
    monkeypatch.setattr(codec, "UPGRADES", {0: from_0, 1: from_1})
    for schema, step in ((1, 11), (2, 22)):
        monkeypatch.setattr(codec, "SCHEMA", schema)
        assert decode(older) == replace(acted(1), step=step)


def test_a_journal_of_schema_1_says_nothing_of_instances() -> None:
    older = changed(opened(), lambda tree: (tree.update(schema=1), tree.pop("instances")))
    assert decode(older) == opened()
    assert decode(changed(acted(1), lambda tree: tree.update(schema=1))) == acted(1)


@pytest.mark.parametrize("mutates", [None, True, False, (), ("shop",)])
def test_what_a_task_changes_is_said_in_three_ways(mutates: bool | tuple[str, ...] | None) -> None:
    record = opened(of=replace(task(), mutates=mutates))
    assert decode(encode(record).body) == record
    with pytest.raises(CodecError, match="mutates"):
        decode(changed(record, lambda tree: tree["task"].update(mutates="shop")))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_cannot_say_are_refused_when_writing(bad: float) -> None:
    with pytest.raises(CodecError, match="elapsed_ms: NaN and infinities cannot be recorded"):
        encode(wrong(acted(1), elapsed_ms=bad))
    with pytest.raises(CodecError, match=r"task.metadata: NaN and infinities"):
        encode(opened(of=replace(task(), metadata={"deep": [bad]})))


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (wrong(acted(1), step=2**63), "step: an integer beyond 64 bits"),
        (wrong(acted(1), elapsed_ms=10**400), "elapsed_ms: an integer beyond 64 bits"),
        (wrong(acted(1), step="1"), "step: an integer expected, not str"),
        (wrong(acted(1), step=True), "step: an integer expected, not bool"),
        (wrong(acted(1), effects=[]), "effects: a tuple expected, not list"),
        (wrong(acted(1), checkpoint=Path("x")), "checkpoint: text expected, not PosixPath"),
        (wrong(acted(1), outcome=None), "outcome: done or refused or unknown expected, not NoneType"),
        (wrong(acted(1), observation=task()), "observation: Observation expected, not Task"),
        (wrong(closed(), reason="STOPPING"), "reason: one of STOPPED"),
        (opened(of=wrong(task(), metadata={1: 2})), "task.metadata: text expected, not int"),
        (opened(of=wrong(task(), metadata={"a": {1, 2}})), "task.metadata: a JSON value expected, not set"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(record: Record, why: str) -> None:
    with pytest.raises(CodecError, match=why):
        encode(record)


def test_lone_surrogates_become_replacement_characters() -> None:
    body = encode(acted(1, text="a\ud800b\udfff 😀")).body
    assert decode(body) == acted(1, text="a\ufffdb\ufffd 😀")
    assert dumps({"\ud800": "\udfff"}) == '{"\ufffd":"\ufffd"}'.encode()


def test_free_values_are_tamed() -> None:
    free = {"huge": 10**309, "path": Path("/a/b"), "pair": (1, "x"), "enum": CloseReason.STOPPED, "null": None}
    record = decode(encode(opened(of=replace(task(), metadata=free))).body)
    assert isinstance(record, Opened)
    assert record.task.metadata == {
        "huge": f"1{'0' * 309}", "path": "/a/b", "pair": [1, "x"], "enum": "STOPPED", "null": None,
    }  # fmt: skip


LONG = [2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, -(2**63), -(2**63) - 1, 3**600]


def test_integers_beyond_64_bits_stay_integers_in_free_values() -> None:
    assert dumps({"a": LONG}) == b'{"a":[%s]}' % b",".join(b"%d" % one for one in LONG)
    assert loads(dumps({"a": LONG})) == {"a": LONG} and loads(dumps({"a": LONG}, pretty=True)) == {"a": LONG}
    assert {type(one) for one in loads(dumps(LONG))} == {int}
    record = decode(encode(opened(of=replace(task(), metadata={"a": [LONG], "b": "\ud800"}))).body)
    assert isinstance(record, Opened) and record.task.metadata == {"a": [LONG], "b": "\ufffd"}
    assert decode(encode(noted := replace(decided(1), memory={"a": LONG})).body) == noted
    assert loads(f'["{"7" * 40}",1e30,-0.5,{2**70}]') == ["7" * 40, 1e30, -0.5, 2**70], "digits in a text stay a text"


def test_an_integer_that_was_written_as_a_text_stays_readable_and_digests_stay_as_they_are() -> None:
    text = '{"a":"9223372036854775808","b":["-9223372036854775809","18446744073709551617"]}'
    older = changed(opened(), lambda tree: tree["task"].update(metadata=loads(text)))
    record = decode(older)
    assert isinstance(record, Opened) and record.task.metadata == loads(text)
    was = "3f716030bef2f7c4514ec7607523b40fa69bac43bd114d5673e546d99a680c56"
    assert digest({"a": 2**63, "b": [-(2**63) - 1, 2**64 + 1]}) == digest(loads(text)) == was


@pytest.mark.parametrize("number", ["1" * 400, f"-{'1' * 400}", "1e400"])
def test_a_number_beyond_a_doubles_range_is_no_json(number: str) -> None:
    with pytest.raises(CodecError, match="not JSON"):
        loads(f'{{"a":{number}}}')
    with pytest.raises(CodecError, match="an integer of 16610 bits cannot be written"):
        dumps({"a": 10**5000})


def test_too_deep_a_value_is_refused_in_a_sentence() -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    with pytest.raises(CodecError, match="cannot be written as JSON"):
        encode(opened(of=replace(task(), metadata={"deep": deep})))


def test_unicode_line_separators_stand_in_the_line_as_they_are() -> None:
    body = encode(acted(1, text="a\u2028b\u2029c\x85d")).body
    assert "a\u2028b\u2029c\x85d".encode() in body
    assert decode(body) == acted(1, text="a\u2028b\u2029c\x85d")


def test_a_text_change_reaches_every_text_and_no_tag() -> None:
    record = decode(encode(scored(dialect="ok"), text=lambda text: f"<{text}>").body)
    assert isinstance(record, Scored)
    assert (record.dialect, record.verdicts[0].why, record.status) == ("<ok>", "<said so>", Status.OK)
    free = replace(task(), metadata={"key": ["value"]}, instantiation_dict={"k": "v"})
    back = decode(encode(opened(of=free), text=str.upper).body, text=str.lower)
    assert isinstance(back, Opened)
    assert (back.task.metadata, back.task.instantiation_dict) == ({"key": ["value"]}, {"k": "v"})


def lines_of(records: tuple[Record, ...]) -> list[bytes]:
    lines, crc = [], 0
    for record in records:
        line, crc = seal(encode(record).body, crc)
        lines.append(line.removesuffix(b"\n"))
    return lines


def chained(lines: list[bytes]) -> list[bytes]:
    bodies, crc = [], 0
    for line in lines:
        body, crc = unseal(line, crc)
        bodies.append(body)
    return bodies


def test_sealed_lines_are_json_and_follow_each_other() -> None:
    lines = lines_of(whole_episode())
    assert [loads(line)["kind"] for line in lines] == [record.kind for record in whole_episode()]
    assert [decode(body) for body in chained(lines)] == list(whole_episode())


def test_a_removed_doubled_or_swapped_line_breaks_the_chain() -> None:
    lines = lines_of(whole_episode())
    for index in range(len(lines) - 1):
        without = lines[:index] + lines[index + 1 :]
        doubled = lines[: index + 1] + lines[index:]
        swapped = [*lines[:index], lines[index + 1], lines[index], *lines[index + 2 :]]
        for damaged in (without, doubled, swapped):
            with pytest.raises(CodecError, match="the checksum does not match"):
                chained(damaged)


def test_digests_depend_on_the_value_alone() -> None:
    assert digest({"b": 1, "a": (2,)}) == digest({"a": [2], "b": 1})
    assert digest({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    assert digest(task()) == digest(task())
    assert digest(task()) != digest(replace(task(), intent="Buy it."))


@pytest.mark.parametrize(
    "text", ['{"b":[1,2.5,null,true,"\\u00e9\\u0000"],"a":{"z":1e20,"y":-0.0}}', '"a"', "[" * 200 + "]" * 200]
)
def test_the_digest_of_a_tree_is_that_of_the_value(text: str) -> None:
    assert digest_tree(loads(text)) == digest(loads(text))


@pytest.mark.parametrize("depth", [300, 900])
def test_what_is_nested_too_deeply_has_no_digest(depth: int) -> None:
    tree = loads("[" * depth + "]" * depth)
    with pytest.raises(CodecError):
        digest_tree(tree)


def test_small_values_are_written_for_people_on_request() -> None:
    assert dumps({"a": [1]}, pretty=True) == b'{\n  "a": [\n    1\n  ]\n}\n'
    assert dumps(closed().reason) == b'"STOPPED"'
    with pytest.raises(CodecError, match="a JSON value expected, not object"):
        dumps(object())
    with pytest.raises(CodecError, match="not JSON"):
        loads(b"{")


def test_dataclasses_are_built_from_trees_as_strictly_as_records() -> None:
    assert build(Task, loads(dumps(task()))) == task()
    with pytest.raises(CodecError, match="field eval is missing"):
        build(Task, {name: value for name, value in loads(dumps(task())).items() if name != "eval"})
    with pytest.raises(TypeError, match="no way to write"):
        build(set, [])
