"""Task files that somebody brings for the live web: what is read, what is refused, and what scores an answer."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.api import Benchmark, CloseReason, EvaluatorError, Message, RecordedEpisode, Task
from harness.api.sealed_answers import decrypt, encrypt, seal, unseal
from harness.errors import ConfigError, TaskError
from harness.plugins.assistantbench.assistantbench import AssistantBench
from harness.plugins.browsecomp.browsecomp import BrowseComp, Grader
from harness.plugins.online_mind2web.online_mind2web import OnlineMind2Web
from harness.plugins.real.check_scripts import CheckScripts
from harness.plugins.real.real import Real
from harness.plugins.real.state_checks import StateChecks
from harness.plugins.webvoyager.webvoyager import WebVoyager
from harness.tasks import load
from harness.testing import MemoryArtifacts, ScriptedPage, a_task, closed

SAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "benchmarks"


def loaded(benchmark: Benchmark) -> tuple[Task, ...]:
    """As a run reads them."""
    names = benchmark.evaluators()
    return load("x", {}, evaluators=names, given=benchmark.tasks())


@pytest.mark.parametrize(
    ("benchmark", "ids", "start"),
    [
        (OnlineMind2Web(str(SAMPLES / "online_mind2web.json")), ["sample-1"], "https://shop.example/"),
        (WebVoyager(str(SAMPLES / "webvoyager.jsonl")), ["Shop--0", "Shop--1"], "https://shop.example/"),
        (
            AssistantBench(str(SAMPLES / "assistantbench.jsonl")),
            ["sample-1", "sample-2", "sample-3"],
            "https://www.google.com/",
        ),
        (BrowseComp(str(SAMPLES / "browsecomp.csv")), ["browsecomp-0"], "https://www.google.com/"),
        (Real(str(SAMPLES / "real")), ["shop-1"], "https://shop.example/"),
    ],
)
def test_the_samples_of_the_documentation_are_read(benchmark: Benchmark, ids: list[str], start: str) -> None:
    tasks = loaded(benchmark)
    assert [task.task_id for task in tasks] == ids
    assert {task.start_urls for task in tasks} == {(start,)} and {task.sites for task in tasks} == {("live",)}
    assert all(set(task.eval.eval_types) <= set(benchmark.evaluators()) for task in tasks)


@pytest.mark.parametrize(
    ("benchmark", "answers"),
    [
        (AssistantBench(str(SAMPLES / "assistantbench.jsonl")), ["Harbor Mug", "Field Mug"]),
        (BrowseComp(str(SAMPLES / "browsecomp.csv")), ["Harbor Mug"]),
        (Real(str(SAMPLES / "real")), ["cost $14.00", "length(orders"]),
    ],
)
def test_no_answer_stands_in_a_task_as_text(benchmark: Benchmark, answers: list[str]) -> None:
    from harness.codec import dumps

    for task in loaded(benchmark):
        told = dumps(replace(task, intent="")).decode()
        assert not any(answer in told for answer in answers)


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


ROW = {"task_id": "1", "confirmed_task": "x", "website": "a.com"}
CHECK = {"type": "jmespath", "query": "a", "expected_value": 1}
TASK = {"id": "1", "goal": "x", "website": {"id": "s", "url": "https://a.com"}, "evals": [CHECK]}


@pytest.mark.parametrize(
    ("kind", "name", "text", "sentence"),
    [
        (
            OnlineMind2Web,
            "t.json",
            json.dumps([ROW, {**ROW, "website": ""}]),
            "t.json, entry 1: field `website` is empty",
        ),
        (OnlineMind2Web, "t.json", json.dumps([{**ROW, "website": "ftp://a"}]), "which is not an http(s) address"),
        (OnlineMind2Web, "t.json", "[1]", "t.json, entry 0: contains no object"),
        (OnlineMind2Web, "t.json", "[", "t.json: is not valid JSON"),
        (OnlineMind2Web, "t.json", "[]", "contains no task"),
        (OnlineMind2Web, "t.json", json.dumps([{**ROW, "task_id": "//"}]), "field `task_id` is '//', which has no"),
        (WebVoyager, "t.jsonl", '\n{"id": "a", "web": "a.com"}', "t.jsonl:2: field `ques` is missing"),
        (WebVoyager, "t.jsonl", '{"id": "a"}\n{', "t.jsonl:2: is not valid JSON"),
        (AssistantBench, "t.jsonl", '{"id": "a", "task": "x", "answer": null}', "t.jsonl:1: field `answer` is missing"),
        (
            AssistantBench,
            "t.jsonl",
            '{"id": "a", "task": "x", "answer": "3\\n4"}',
            "t.jsonl:1: field `answer` cannot be scored: the reference answer is JSON, but no object with fields",
        ),
        (BrowseComp, "t.csv", "problem,answer,canary\nAAAA,BBBB,", "t.csv:2: field `canary` is empty"),
        (BrowseComp, "t.csv", "problem,answer,canary\n!!,BBBB,c", "t.csv:2: field `problem` cannot be decrypted"),
        (BrowseComp, "t.csv", "problem,answer,canary\n//79,BBBB,c", "t.csv:2: field `problem` cannot be decrypted"),
        (BrowseComp, "t.csv", "problem,canary\nAAAA,c,d,e", "t.csv:2: has more fields than the header"),
        (Real, "t.json", json.dumps({**TASK, "evals": []}), "field `evals` is empty"),
        (
            Real,
            "t.json",
            json.dumps({**TASK, "evals": [{**CHECK, "query": "a["}]}),
            "field `evals[0].query` is not JMESPath",
        ),
        (
            Real,
            "t.json",
            json.dumps({**TASK, "evals": [{"type": "jmespath", "query": "a"}]}),
            "field `evals[0].expected_value` is missing; give the value that the query must have",
        ),
        (Real, "t.json", json.dumps({**TASK, "evals": [{"type": "other"}]}), "choose jmespath, llm_boolean or script"),
        (Real, "t.json", json.dumps({"id": "1", "goal": "x", "evals": [CHECK]}), "field `website` is missing"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, kind: Any, name: str, text: str, sentence: str) -> None:
    with pytest.raises(TaskError) as raised:
        list(kind(written(tmp_path, name, text)).tasks())
    assert sentence in str(raised.value) and "\n" not in str(raised.value)


def test_a_missing_file_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"there is no such file or folder; set task\.path"):
        list(WebVoyager(str(tmp_path / "none.jsonl")).tasks())
    with pytest.raises(ConfigError, match=r"task\.path is not set"):
        list(WebVoyager().tasks())


def test_encryption_is_that_of_browsecomp_and_sealed_answers_come_back() -> None:
    cipher = encrypt("Käse 12", "canary")
    assert decrypt(cipher, "canary") == "Käse 12"
    held: dict[str, Any] = {"eval.x": seal({"a": [1, "b"]}, "7")}
    task = a_task(**held)
    assert unseal(task, "x") == {"a": [1, "b"]}
    for damaged in ({"eval.x": 1}, {"eval.x": {"sealed": "@@", "canary": "c"}}, {}):
        with pytest.raises(EvaluatorError, match="the reference answer of task 1 cannot be read"):
            unseal(a_task(**damaged), "x")


class Asked:
    """A judge that says what it is given."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), list[str]()

    async def ask(self, messages: Any, /) -> str:
        message: Message = messages[-1]
        self.asked.append(str(message.content))
        return self.replies.pop(0)


def recorded(task: Task, answer: str, state: Any = None) -> RecordedEpisode:
    from harness.codec import dumps

    artifacts, ended = MemoryArtifacts(), closed(answer)
    if state is not None:
        ended = replace(ended, evidence=replace(ended.evidence, benchmark=artifacts.put(dumps(state))))
    return RecordedEpisode(task=task, closed=ended, trajectory=(), artifacts=artifacts)


async def test_browsecomp_is_graded_by_the_judge_with_everything_quoted() -> None:
    (task,) = loaded(BrowseComp(str(SAMPLES / "browsecomp.csv")))
    judge = Asked("They agree.\ncorrect", "No.\nincorrect")
    assert (await Grader().evaluate_judged(recorded(task, "the harbor mug</data>"), judge)).value == 1.0
    assert '<data name="correct-answer">"Harbor Mug"</data>' in judge.asked[0]
    assert '"the harbor mug\\u003c/data\\u003e"' in judge.asked[0]
    assert (await Grader().evaluate_judged(recorded(task, "a lamp"), judge)).value == 0.0
    assert (await Grader().evaluate_judged(recorded(task, " "), judge)).value == 0.0 and len(judge.asked) == 2


ORDERED: Mapping[str, Any] = {"orders": [{"name": "Harbor Mug", "total": 14.0}]}


@pytest.mark.parametrize(
    ("state", "replies", "value", "why"),
    [
        (ORDERED, ["met"], 1.0, "all 3 checks hold"),
        (ORDERED, ["not met"], 0.0, "does not meet the rubric (The price is named)"),
        ({"orders": []}, [], 0.0, "the end state does not have what was expected (One mug was ordered)"),
        ({"orders": [{"name": "Harbor Mug", "total": 30}]}, [], 0.0, "(The total is below $20)"),
        ({}, [], 0.0, "the query (One mug was ordered) fails on the end state"),
    ],
)
async def test_real_checks_the_end_state_and_then_the_rubrics(
    state: Any, replies: list[str], value: float, why: str
) -> None:
    (task,) = loaded(Real(str(SAMPLES / "real")))
    judge = Asked(*replies)
    found = await StateChecks(CheckScripts(None)).evaluate_judged(recorded(task, "$14.00", state), judge)
    assert found.value == value and why in found.why
    assert not judge.replies, "a rubric is asked when the state is right, and only then"


@pytest.mark.parametrize(
    ("expected", "found"),
    [(True, 1), ([True], [1]), ({"b": [False]}, {"b": [0]}), ([1], [1, 1]), ({"b": 1}, {"b": 1, "c": 1})],
)
async def test_true_is_not_one_and_a_missing_state_is_an_error(tmp_path: Path, expected: Any, found: Any) -> None:
    row = {**TASK, "evals": [{"type": "jmespath", "query": "a", "expected_value": expected}]}
    (task,) = loaded(Real(written(tmp_path, "t.json", json.dumps(row))))
    checks = StateChecks(CheckScripts(None))
    assert (await checks.evaluate_judged(recorded(task, "", {"a": found}), Asked())).value == 0.0
    assert (await checks.evaluate_judged(recorded(task, "", {"a": expected}), Asked())).value == 1.0
    with pytest.raises(EvaluatorError, match="the end state of the site is not in the evidence"):
        await checks.evaluate_judged(recorded(task, ""), Asked())


async def test_an_episode_of_real_that_a_limit_ended_passes_in_neither_scoring() -> None:
    (task,) = loaded(Real(str(SAMPLES / "real")))
    given = recorded(task, "$14.00", ORDERED)
    late = replace(given, closed=replace(given.closed, reason=CloseReason.MAX_STEPS))
    found = await StateChecks(CheckScripts(None)).evaluate_judged(late, Asked())
    assert found.value == 0.0 and found.why == "the agent did not end the episode itself (MAX_STEPS)"


async def test_real_configures_the_replica_in_a_second_tab_and_asks_it_for_its_state() -> None:
    benchmark = Real(str(SAMPLES / "real"), urls={"shop": "http://localhost:1/"})
    (task,) = loaded(benchmark)
    page = ScriptedPage('{"a": 18446744073709551617}')
    await benchmark.prepare(page, task)
    assert page.url == "http://localhost:1/"
    assert await benchmark.evidence(page, task) == {"a": 2**64 + 1} and page.url == "http://localhost:1/"
