"""WebArena-Verified as a benchmark: which tasks it gives, and what it refuses. The package itself is only asked in
`make test-verified`; here a stand-in takes its place, an environment whose `python` is a script.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Stop, extract
from harness.agents.prompt import read_prompt
from harness.api import EvaluatorError, Task
from harness.cli import configured
from harness.codec import dumps
from harness.config import Config
from harness.errors import ConfigError
from harness.evaluation.action_classes import action_set_of
from harness.evaluation.builder import build_benchmark, build_evaluators, check_plugins, load_tasks
from harness.journal.store import ArtifactStore, RunFolder
from harness.main import main
from harness.plugins.webarena_verified.verified_package import GET_IT, find_package
from harness.records import Closed
from tests.agents.test_prompt import shipped
from tests.e2e.conftest import PROJECT
from tests.journal.episodes import closed, task
from tests.plugins.webarena_verified.test_verified_export import GET, a_har, play

pytestmark = pytest.mark.integration
SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia", "map")
ADDRESSES = tuple(f"sites.{name}.url=http://{name}.test" for name in SITES)
HAR: dict[str, Any] = {
    "log": {"entries": [{"request": {"method": "GET", "url": "http://a.test/", "headers": [], "cookies": []}}]}
}
REAL = PROJECT / ".venv-verified"
needs_package = pytest.mark.skipif(
    not (REAL / "installed").exists(), reason="webarena-verified is not installed: run `make test-verified`"
)


def entry(task_id: int, **fields: Any) -> dict[str, Any]:
    expected = {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": ["git@__SSH_HOST__:a/b.git"]}
    asked = [{"evaluator": "AgentResponseEvaluator", "results_schema": {"type": "null"}, "expected": expected}]
    return {
        "task_id": task_id,
        "sites": ["shopping"],
        "start_urls": ["__SHOPPING__", "__REDDIT__/f/books"],
        "intent": f"Get the clone address, number {task_id}",
        "intent_template": "x",
        "intent_template_id": 7,
        "instantiation_dict": {"a": 1},
        "eval": asked,
        "revision": 2,
        **fields,
    }


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[..., Path]:
    """Makes an environment with the package's files; its `python` runs the given shell script."""

    def made(script: str = "exit 1", tasks: Any = None, version: str = "1.2.3") -> Path:
        folder = tmp_path / "env"
        packages = folder / "lib" / "python3.11" / "site-packages"
        data = packages / "webarena_verified" / "assets" / "dataset"
        (data / "subsets").mkdir(parents=True)
        (packages / f"webarena_verified-{version}.dist-info").mkdir()
        (data / "webarena-verified.json").write_text(json.dumps([entry(1), entry(2)] if tasks is None else tasks))
        state = "./.auth/shopping_state.json"
        raw = [{"task_id": 1, "storage_state": state}, {"task_id": 2, "storage_state": None}]
        (data / "test.raw.json").write_text(json.dumps(raw))
        (data / "subsets" / "webarena-verified-hard.json").write_text('{"task_ids": [2], "checksum": ""}')
        (folder / "bin").mkdir()
        (folder / "bin" / "python").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / "python").chmod(0o755)
        return folder

    return made


@cache
def composed() -> Config:
    return configured(["task=webarena_verified", *ADDRESSES])


def config_for(package: Path) -> Config:
    """Composed once for all tests: it takes longer than the rest of most of them."""
    task = composed().task
    return replace(composed(), task=replace(task, arguments={**task.arguments, "package": str(package)}))


def loaded(package: Path, *more: str, task: str = "webarena_verified") -> tuple[Task, ...]:
    return load_tasks(configured([f"task={task}", f"task.arguments.package={package}", *ADDRESSES, *more]))


def test_tasks_have_the_words_and_places_of_the_dataset_and_the_logins_of_webarena(
    stand_in: Callable[..., Path],
) -> None:
    first, second = loaded(stand_in())
    assert (first.task_id, first.intent, first.intent_template_id) == ("1", "Get the clone address, number 1", "7")
    assert first.start_urls == ("http://onestopmarket.com", "http://reddit.com/f/books")
    assert first.storage_state is not None and first.storage_state.endswith("/.auth/shopping_state.json")
    assert second.storage_state is None and not second.require_login
    kept = first.metadata["eval.webarena_verified"]
    assert (kept["package"], kept["revision"]) == ("1.2.3", 2)
    assert kept["addresses"] == {"shopping": "http://onestopmarket.com"}


@pytest.mark.slow
def test_a_subset_is_of_the_same_tasks(stand_in: Callable[..., Path]) -> None:
    package = stand_in()
    assert loaded(package, task="webarena_verified_hard") == loaded(package)[1:]


def test_a_changed_reference_makes_another_task(stand_in: Callable[..., Path], tmp_path: Path) -> None:
    package, changed = stand_in(), tmp_path / "changed.json"
    task = entry(1)
    task["eval"][0]["expected"]["status"] = "NOT_FOUND_ERROR"
    changed.write_text(json.dumps([task, entry(2)]))
    before, same = loaded(package)
    after, as_before = loaded(package, f"task.arguments.dataset={changed}")
    assert before != after and same == as_before


@pytest.mark.slow
def test_its_prompt_and_traces_are_the_defaults_and_can_be_overridden() -> None:
    config = configured(["task=webarena_verified"])
    assert (config.agent.name, config.browser.har) == ("verified", True)
    assert configured(["task=webarena_verified_hard"]).agent.name == "verified"
    assert configured(["task=webarena_verified", "agent=null"]).agent.name == "null"
    assert configured(["task=demo"]).agent.name == "prompt"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (
            ("task.arguments.package=/nowhere",),
            f"not installed in task.arguments.package=/nowhere; it needs a separate environment ({GET_IT})",
        ),
        (("task.arguments.subset=harder",), "has no subset 'harder'; choose from webarena-verified-hard"),
        (("task.arguments.dataset=/nowhere.json",), "/nowhere.json: cannot be read (No such file or directory)"),
        (("browser.har=false",), "WebArenaVerified judges the requests of the pages; set browser.har=true"),
        (("task.arguments.sub=x",), "do not fit the constructor"),
    ],
)
def test_what_it_cannot_use_is_one_sentence(
    stand_in: Callable[..., Path], overrides: tuple[str, ...], sentence: str
) -> None:
    given = ["task=webarena_verified", f"task.arguments.package={stand_in()}", *ADDRESSES]
    with pytest.raises(ConfigError) as refused:
        config = configured(
            [*given, *(f"+{one}" if ".sub=" in one else one for one in overrides), "llm=none", "agent=null"]
        )
        check_plugins(config)
        load_tasks(config)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("tasks", "sentence"),
    [
        ({"tasks": []}, "is not a JSON array of tasks"),
        ([{"task_id": "1"}], "is not a JSON array of tasks, each with a number as its task_id"),
        ([{"task_id": 1, "sites": ["shopping"]}], "the dataset of webarena-verified: task 1 has no 'start_urls'"),
    ],
)
def test_a_dataset_of_another_form_is_one_sentence(stand_in: Callable[..., Path], tasks: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(stand_in(tasks=tasks))
    assert sentence in str(refused.value)


WRITES = """cat > "$6/1/eval_result.json" <<END
%s
END"""


def result(status: str, *parts: dict[str, Any], version: str = "1.2.3", **more: Any) -> str:
    return WRITES % json.dumps(
        {"status": status, "evaluators_results": parts, "webarena_verified_version": version, **more}
    )


@pytest.mark.parametrize(
    ("script", "value", "why"),
    [
        (result("success", {"evaluator_name": "A", "status": "success"}), 1.0, "webarena-verified: success: A"),
        (
            result(
                "failure",
                {
                    "evaluator_name": "A",
                    "status": "failure",
                    "assertions": [{"assertion_name": "b", "assertion_msgs": ["c"], "status": "failure"}],
                },
            ),
            0.0,
            "webarena-verified: failure: A: b c",
        ),
        (
            result(
                "error",
                {"evaluator_name": "AgentResponseEvaluator", "status": "error", "expected": {}, "error_msg": "no"},
            ),
            0.0,
            "webarena-verified: error: AgentResponseEvaluator: no",
        ),
        (
            result(
                "error",
                {"evaluator_name": "NetworkEventEvaluator", "status": "error", "expected": {}, "error_msg": "no"},
            ),
            None,
            "webarena-verified: error: NetworkEventEvaluator: no",
        ),
        (result("error", error_msg="the trace is empty"), None, "webarena-verified: error: the trace is empty"),
        (result("maybe"), None, "another form than in its tested version"),
        ("echo broken >&2; exit 3", None, "ended with exit code 3: broken"),
        ("echo nothing to do", None, "gave no verdict: nothing to do"),
        ("exec /nowhere/python", None, "ended with exit code 127"),
    ],
)
def test_a_score_is_the_verdict_of_the_package_and_anything_else_is_none(
    *, stand_in: Callable[..., Path], tmp_path: Path, script: str, value: float | None, why: str
) -> None:
    package = stand_in(script)
    found, said = scored(package, load_tasks(config_for(package))[0], tmp_path)
    assert found == value and why in said


def scored(
    package: Path, task: Task, folder: Path, *, trace: bool = True, har: dict[str, Any] = HAR
) -> tuple[float | None, str]:
    config = config_for(package)
    evaluator = build_evaluators(config, build_benchmark(config.task))["webarena_verified"]
    artifacts = ArtifactStore(folder / "artifacts")
    digest = artifacts.put(json.dumps(har).encode()) if trace else None
    ended: Closed = replace(closed(), answer="{}", evidence=replace(closed().evidence, trace=digest))
    try:
        found = asyncio.run(evaluator.evaluate(task, ended, artifacts))
    except EvaluatorError as error:
        return None, str(error)
    return found.value, found.why


def test_what_cannot_be_judged_is_no_score(stand_in: Callable[..., Path], tmp_path: Path) -> None:
    package = stand_in(result("success"))
    (task, _) = load_tasks(config_for(package))
    assert "play the task again with browser.har=true" in scored(package, task, tmp_path, trace=False)[1]
    older = {**task.metadata["eval.webarena_verified"], "package": "1.2.2"}
    other = replace(task, metadata={"eval.webarena_verified": older})
    assert scored(package, other, tmp_path) == (None, "the task is of webarena-verified 1.2.2, but 1.2.3 is installed")
    assert "load it with task=webarena_verified" in scored(package, replace(task, metadata={}), tmp_path)[1]
    partial = {"log": {**HAR["log"], "comment": "begins after step 2: the episode was resumed there without a replay"}}
    value, why = scored(package, task, tmp_path, har=partial)
    assert value is None and why.startswith("the network trace begins after step 2: ")
    assert why.endswith("play the task again with run.retry=infra")


def test_the_verdict_on_an_episode_is_asked_for_once(stand_in: Callable[..., Path], tmp_path: Path) -> None:
    counting = tmp_path / "asked"
    package = stand_in(f"echo x >> {counting}\n{result('success')}")
    config = config_for(package)
    evaluator = build_evaluators(config, build_benchmark(config.task))["webarena_verified"]
    artifacts = ArtifactStore(tmp_path / "artifacts")
    digest = artifacts.put(json.dumps(HAR).encode())
    ended = replace(closed(), answer="{}", evidence=replace(closed().evidence, trace=digest))
    (task, _) = load_tasks(config_for(package))

    async def both() -> list[float]:
        found = await asyncio.gather(*(evaluator.evaluate(task, ended, artifacts) for _ in range(3)))
        return [one.value for one in found]

    assert asyncio.run(both()) == [1.0, 1.0, 1.0] and counting.read_text().split() == ["x"]


def test_a_run_without_traces_cannot_be_judged(
    stand_in: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    own = ("task=webarena_verified", f"task.arguments.package={stand_in()}")
    assert main(["score", "--verified", str(tmp_path / "run"), *own]) == 2
    assert "network traces are recorded with browser.har=true" in capsys.readouterr().err


def test_a_trace_that_lacks_its_beginning_gets_no_verdict(
    stand_in: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunFolder.open(tmp_path / "run") as run:
        run.write("config.yaml", dumps({"sites": {"shopping": {"canonical": "http://a.test"}}}))
        play(run, task("1"), a_har(GET))
        play(run, task("2"), a_har(GET, comment="begins late"))
    own = ("task=webarena_verified", f"task.arguments.package={stand_in(result('success'))}")
    assert main(["score", "--verified", str(run.path), *own]) == 3
    assert "left out: task 2: begins late; run.retry=all with task.ids plays it again" in capsys.readouterr().out
    assert [one["task_id"] for one in json.loads((run.path / "verified.json").read_bytes())["results"]] == ["1"]


@needs_package
def test_every_task_of_its_dataset_loads() -> None:
    package = find_package(str(REAL))
    every, hard = loaded(REAL), loaded(REAL, task="webarena_verified_hard")
    theirs = {str(task["task_id"]): task for task in package.tasks()}
    assert (len(every), len(hard)) == (812, 258)
    assert {task.task_id: (task.intent, list(task.sites)) for task in every} == {
        task_id: (task["intent"], task["sites"]) for task_id, task in theirs.items()
    }
    assert all(len(task.start_urls) == len(theirs[task.task_id]["start_urls"]) for task in every)
    assert {task.task_id for task in hard} == set(map(str, package.subset("webarena-verified-hard")))
    assert sum(task.storage_state is not None for task in every) == 684


def test_the_prompt_for_webarena_verified_shows_its_form() -> None:
    prompt = read_prompt(shipped(PROJECT / "configs" / "agent" / "verified.yaml"), action_set="id_accessibility_tree")
    stop = action_set_of("id_accessibility_tree").parse(extract(prompt.examples[0][1]))
    assert isinstance(stop, Stop)
    assert json.loads(stop.answer) == {
        "task_type": "RETRIEVE",
        "status": "SUCCESS",
        "retrieved_data": [9.2],
        "error_details": None,
    }
