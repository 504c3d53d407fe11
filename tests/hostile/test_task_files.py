"""Task and plan files of garbage: one sentence with file, task and field, or they are read for what they say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.codec import digest
from harness.errors import TaskError
from harness.plugins.demo.model.scripts import read_plans
from harness.records import Task
from harness.tasks import load
from tests.e2e.conftest import PROJECT

GOOD: dict[str, Any] = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())[0]
BASES = {name: f"http://{name}.localhost" for name in ("shop", "forum", "code", "office")}


def nested(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def one(**fields: Any) -> bytes:
    return json.dumps([{**GOOD, **fields}]).encode()


def without(key: str) -> bytes:
    return json.dumps([{name: value for name, value in GOOD.items() if name != key}]).encode()


def judged(**fields: Any) -> bytes:
    return one(eval={**GOOD["eval"], **fields})


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty; a task file is a JSON array of tasks"),
    "blanks": (b" \n\t ", "is empty; a task file is a JSON array of tasks"),
    "binary": (bytes(range(256)), "not valid JSON"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "not valid JSON"),
    "UTF-8 with BOM": (b"\xef\xbb\xbf" + one(), "save it as UTF-8 without one"),
    "UTF-16": (one().decode().encode("utf-16"), "save it as UTF-8 without one"),
    "UTF-32": (one().decode().encode("utf-32"), "save it as UTF-8 without one"),
    "UTF-16 without BOM": (one().decode().encode("utf-16-le"), "not valid JSON"),
    "latin-1": (json.dumps([{**GOOD, "intent": "é"}], ensure_ascii=False).encode("latin-1"), "not valid JSON"),
    "cut off": (one()[:-9], "not valid JSON"),
    "two of them": (one() + one(), "not valid JSON"),
    "YAML": (b"- task_id: 1\n", "not valid JSON"),
    "YAML bomb": (b"a: &a [1]\nb: &b [*a, *a]\n", "not valid JSON"),
    "comments": (b"// tasks\n" + one(), "not valid JSON"),
    "a trailing comma": (one()[:-1] + b",]", "not valid JSON"),
    "NaN": (one(metadata={"a": float("nan")}), "not valid JSON"),
    "Infinity": (one(metadata={"a": float("inf")}), "not valid JSON"),
    "a number of 400 digits": (one(metadata={"a": 10**400}), "not valid JSON"),
    "half a surrogate pair": (one(intent="a\ud800"), "not valid JSON"),
    "100,000 brackets": (b"[" * 100_000, "not valid JSON"),
    "100,000 objects": (b'{"a":' * 100_000, "not valid JSON"),
    "null": (b"null", "contains null"),
    "a number": (b"3", "contains a number"),
    "a text": (b'"tasks"', "contains a text"),
    "no tasks": (b"[]", "contains no tasks"),
    "a list in it": (b"[[]]", "a task is a JSON object"),
    "null in it": (b"[null]", "a task is a JSON object"),
    "an empty object": (b"[{}]", "`task_id` is missing"),
    "metadata 900 deep": (one(metadata=nested(900, lambda value: {"a": value})), "`metadata` is nested more than 100"),
    "metadata of lists 300 deep": (one(metadata=nested(300, lambda value: [value])), "`metadata` is nested more than"),
    "instantiation 900 deep": (one(instantiation_dict=nested(900, lambda value: {"a": value})), "`instantiation_dict`"),
    "eval 500 deep": (one(eval=nested(500, lambda value: {"eval": value})), "`eval` is nested more than 100"),
    "a remark 200 deep": (one(_note=nested(200, lambda value: [value])), "`_note` is nested more than 100"),
    "the same id twice": (json.dumps([GOOD, GOOD]).encode(), "is already used"),
    "the same id as text": (json.dumps([GOOD, {**GOOD, "task_id": str(GOOD["task_id"])}]).encode(), "is already used"),
    "id null": (one(task_id=None), "`task_id` is missing"),
    "id a float": (one(task_id=1.5), "`task_id` is missing"),
    "id true": (one(task_id=True), "`task_id` is missing"),
    "id a list": (one(task_id=[1]), "`task_id` is missing"),
    "id of 70 digits": (one(task_id=10**70), "ids become file names"),
    "id empty": (one(task_id=""), "ids become file names"),
    "id a path": (one(task_id="../../etc/passwd"), "ids become file names"),
    "id with a null": (one(task_id="a\0b"), "ids become file names"),
    "id with an escape": (one(task_id="\x1b[31m1"), "ids become file names"),
    "id with a line end": (one(task_id="1\n"), "ids become file names"),
    "id in other digits": (one(task_id="１２"), "ids become file names"),
    "id of a trial": (one(task_id="1.trial-2"), "ids become file names"),
    "id of 65 characters": (one(task_id="a" * 65), "ids become file names"),
    "no intent": (without("intent"), "`intent` is missing"),
    "intent blank": (one(intent=" \n "), "`intent` is empty"),
    "intent a list": (one(intent=["a"]), "`intent` must be a string"),
    "no sites": (without("sites"), "`sites` is missing"),
    "sites a text": (one(sites="shop"), "`sites` must be a list"),
    "sites of numbers": (one(sites=[1]), "`sites[0]` must be a string"),
    "no eval": (without("eval"), "`eval` is missing"),
    "eval a list": (one(eval=[]), "`eval` must be an object"),
    "start at a file": (one(start_url="file:///etc/passwd"), "`start_url`"),
    "start at a script": (one(start_url="javascript:alert(1)"), "`start_url`"),
    "start at nothing": (one(start_url="http://"), "`start_url`"),
    "start at half an address": (one(start_url="http://[::1"), "`start_url`"),
    "start at no site": (one(start_url="__NOWHERE__"), "needs the address of site nowhere"),
    "storage no JSON": (one(storage_state="/etc/passwd"), "`storage_state`"),
    "storage with a null": (one(storage_state="a\0.json"), "`storage_state`"),
    "login a text": (one(require_login="yes"), "`require_login` must be true or false"),
    "reset a number": (one(require_reset=1), "`require_reset` must be true or false"),
    "mutates another site": (one(mutates=["bank"]), "`mutates` names bank"),
    "mutates a text": (one(mutates="shop"), "`mutates` must be true or false"),
    "latitude 91": (one(geolocation={"latitude": 91, "longitude": 0}), "`geolocation.latitude`"),
    "latitude true": (one(geolocation={"latitude": True, "longitude": 0}), "`geolocation.latitude`"),
    "longitude a text": (one(geolocation={"latitude": 0, "longitude": "0"}), "`geolocation.longitude`"),
    "accuracy negative": (one(geolocation={"latitude": 0, "longitude": 0, "accuracy": -5}), "`geolocation.accuracy`"),
    "accuracy 1e308": (one(geolocation={"latitude": 0, "longitude": 0, "accuracy": 1e308}), "`geolocation.accuracy`"),
    "nowhere": (one(geolocation={}), "latitude and longitude"),
    "a key nobody reads": (one(imagee="a"), "`imagee` is unknown"),
    "a picture of another kind": (one(image="a.exe"), "`image` contains 'a.exe'"),
    "a picture that is none": (one(image=["a.png", 7]), "`image"),
    "a picture by another scheme": (one(image="ftp://images.example/a.png"), "`image` contains"),
    "a key with an escape": (one(**{"\x1b]0;x\x07": 1}), "is unknown"),
    "judged by nothing": (judged(eval_types=[]), "`eval.eval_types` is empty"),
    "judged by taste": (judged(eval_types=["taste"]), "`eval.eval_types` contains 'taste'"),
    "judged by a number": (judged(eval_types=[1]), "`eval.eval_types[0]`"),
    "answers a list": (judged(eval_types=["string_match"], reference_answers=["a"]), "`eval.reference_answers`"),
    "answers of no kind": (judged(eval_types=["string_match"], reference_answers={"guess": "a"}), "not a known kind"),
    "an answer that is none": (
        judged(eval_types=["string_match"], reference_answers={"exact_match": 1}),
        "exact_match",
    ),
    "half a reference": (judged(eval_types=["url_match"], reference_url="http://[::1"), "`eval.reference_url`"),
    "another rule": (judged(eval_types=["url_match"], reference_url="http://a", url_note="EXACT"), "`eval.url_note`"),
    "a target of a file": (
        judged(
            eval_types=["program_html"],
            program_html=[{"url": "file:///etc/passwd", "locator": "", "required_contents": {"exact_match": "a"}}],
        ),
        "`eval.program_html[0].url`",
    ),
    "a target with code": (
        judged(
            eval_types=["program_html"],
            program_html=[{"url": "last", "locator": "fetch('/')", "required_contents": {"exact_match": "a"}}],
        ),
        "`eval.program_html[0].locator`",
    ),
    "a target of nothing": (
        judged(eval_types=["program_html"], program_html=[{"url": "last", "locator": "", "required_contents": {}}]),
        "required_contents",
    ),
    "targets a text": (judged(eval_types=["program_html"], program_html="a"), "`eval.program_html` must be a list"),
}


@pytest.mark.parametrize(("data", "words"), FILES.values(), ids=FILES)
def test_a_wrong_task_file_is_a_sentence_with_file_and_field(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "tasks.json"
    path.write_bytes(data)
    with pytest.raises(TaskError) as caught:
        load(path, BASES)
    assert str(path) in str(caught.value) and words in str(caught.value)
    assert len(str(caught.value)) < 1000


READ: dict[str, bytes] = {
    "100 levels": one(metadata=nested(99, lambda value: {"a": value})),
    "200,000 remarks": one(metadata={f"k{number}": number for number in range(200_000)}),
    "an intent of 20 MB": one(intent="a" * 20_000_000),
    "an intent that steers a terminal": one(intent="\x1b]0;hacked\x07\x9b31m\u202e\0"),
    "a number beyond 63 bits": one(metadata={"a": 2**64 - 1}),
    "a negative id": one(task_id=-1),
    "the same site twice": one(sites=["shop", "shop"]),
    "no sites at all": one(sites=[]),
    "100,000 phrases": judged(eval_types=["string_match"], reference_answers={"must_include": ["a"] * 100_000}),
    "placeholders that are none": one(intent="__a_" * 100_000),
}


@pytest.mark.parametrize("data", READ.values(), ids=READ)
def test_what_is_only_large_or_odd_is_read_and_can_be_recorded(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tasks.json"
    path.write_bytes(data)
    (task,) = load(path, BASES)
    assert isinstance(task, Task) and len(digest(task)) == 64


def steps(*ones: Any) -> bytes:
    return json.dumps([{"task_id": 0, "steps": list(ones)}]).encode()


def click(**fields: Any) -> bytes:
    return steps({"do": "click", "role": "link", **fields})


PLANS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not JSON"),
    "binary": (bytes(range(256)), "not JSON"),
    "UTF-8 with BOM": (b"\xef\xbb\xbf" + click(), "save it as UTF-8 without one"),
    "UTF-16": (click().decode().encode("utf-16"), "save it as UTF-8 without one"),
    "5,000 brackets": (b"[" * 5000, "not JSON"),
    "NaN": (click(nth=float("nan")), "not JSON"),
    "half a surrogate pair": (steps({"do": "stop", "answer": "\ud800"}), "not JSON"),
    "null": (b"null", "must be a JSON array"),
    "an object": (b"{}", "must be a JSON array"),
    "a list in it": (b"[[1]]", "entry 1: a plan has exactly the fields"),
    "null in it": (b"[null]", "entry 1: a plan has exactly the fields"),
    "a key too many": (b'[{"task_id":0,"steps":[{"do":"stop"}],"do":[]}]', "exactly the fields"),
    "do beside the steps": (b'[{"task_id":0,"do":[]}]', "exactly the fields"),
    "id a list": (b'[{"task_id":[],"steps":[{"do":"stop"}]}]', "task_id must be a text"),
    "id a float": (b'[{"task_id":1.5,"steps":[{"do":"stop"}]}]', "task_id must be a text"),
    "id true": (b'[{"task_id":true,"steps":[{"do":"stop"}]}]', "task_id must be a text"),
    "steps an object": (b'[{"task_id":0,"steps":{}}]', "steps must be a list"),
    "no steps": (steps(), "at least one step"),
    "a step that is a list": (steps([]), "field do must be one of"),
    "a step that is null": (steps(None), "field do must be one of"),
    "do a list": (steps({"do": []}), "step 1: field do must be one of"),
    "do an object": (steps({"do": {}}), "step 1: field do must be one of"),
    "do null": (steps({"do": None}), "step 1: field do must be one of"),
    "do a number": (steps({"do": 1}), "step 1: field do must be one of"),
    "do unknown": (steps({"do": "fly"}), "step 1: field do must be one of"),
    "do with a null": (steps({"do": "stop\0"}), "step 1: field do must be one of"),
    "a field too many": (click(text="a"), "click does not know the field text"),
    "a field too few": (steps({"do": "goto"}), "goto needs the field url"),
    "nth negative": (click(nth=-1), "field nth must be a whole number"),
    "nth true": (click(nth=True), "field nth must be a whole number"),
    "nth a float": (click(nth=1.0), "field nth must be a whole number"),
    "nth beyond a double's range": (click(nth=10**400), "not JSON"),
    "role null": (steps({"do": "click", "role": None}), "field role must be a text"),
    "text a list": (steps({"do": "type", "role": "a", "text": []}), "field text must be a text"),
    "a line break": (steps({"do": "stop", "answer": "a\nb"}), "must not hold a line break"),
    "an action in it": (steps({"do": "stop", "answer": "a``````"}), "must not hold a line break or ```"),
    "two plans": (
        b'[{"task_id":0,"steps":[{"do":"stop"}]},{"task_id":"0","steps":[{"do":"stop"}]}]',
        "has a plan already",
    ),
}


@pytest.mark.parametrize(("data", "words"), PLANS.values(), ids=PLANS)
def test_a_wrong_plan_file_is_a_sentence_with_file_and_field(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "plans.json"
    path.write_bytes(data)
    with pytest.raises(TaskError) as caught:
        read_plans(path, {"0": "Go."})
    assert str(path) in str(caught.value) and words in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("place", [".", "nope.json", "a" * 300, "tasks.json/inner"])
@pytest.mark.parametrize(
    "read", [lambda path: load(path, BASES), lambda path: read_plans(path, {})], ids=["tasks", "plans"]
)
def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path, read: Callable[[Path], object], place: str) -> None:
    (tmp_path / "tasks.json").write_bytes(one())
    (tmp_path / "wrong.json").write_bytes(b"[]")
    with pytest.raises(TaskError):
        read(tmp_path / place)


@pytest.mark.parametrize("ids", ["nope", "0-", "9" * 400, "5-2", "\x1b[31m", "0;1", "../0"])
def test_ids_that_there_are_not_are_a_sentence(tmp_path: Path, ids: str) -> None:
    path = tmp_path / "tasks.json"
    path.write_bytes(one())
    with pytest.raises(TaskError, match=r"task\.ids asks for"):
        load(path, BASES, ids=ids)
