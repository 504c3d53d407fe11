"""ServiceNow's own scorer on our runs: it passes what was done, and fails what was not; and its tasks as a benchmark.

Its pins are not ours, so it has an environment of its own (`make test-verified`); without that the tests are skipped.
"""

import asyncio
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.codec import JsonObject
from harness.files.disk import Within
from harness.main import main
from harness.plugins.webarena_verified.package_verdict import run_scorer
from harness.plugins.webarena_verified.verified_export import BENCHMARK, SITES, write_config, write_episode
from harness.plugins.webarena_verified.verified_package import VerifiedPackage, find_package
from harness.plugins.webarena_verified.webarena_verified import WebArenaVerified
from harness.records import Task
from harness.tasks import load
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.test_webarena import PLAN, Deployment, deployment, page_task, text_task
from tests.journal.episodes import closed

__all__ = ["deployment"]
SCORER = PROJECT / ".venv-verified" / "bin"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SCORER.parent / "installed").exists(),
        reason="webarena-verified is not installed: run `make test-verified`",
    ),
]
DATASET = (
    "import webarena_verified.utils as u; print(u.get_package_assets_path() / 'dataset' / 'webarena-verified.json')"
)
REVIEWS = "__SHOPPING__/product/DES-503/reviews"
GET = {"method": "GET", "headers": [], "cookies": [], "queryString": []}
ANSWERED = {"status": 200, "headers": [], "cookies": []}


def judged(task_id: int, kind: str, data: Any = None, **event: Any) -> dict[str, Any]:
    """A task of the scorer: what is to be answered, and what is to be asked of the site."""
    schema = {"type": "array", "items": {"type": "string"}} if data else {"type": "null"}
    answer = {
        "evaluator": "AgentResponseEvaluator",
        "results_schema": schema,
        "expected": {"task_type": kind, "status": "SUCCESS", "retrieved_data": data},
    }
    asked = [{"evaluator": "NetworkEventEvaluator", "expected": event}] if event else []
    fixed = {"intent_template_id": 1, "intent_template": "x", "instantiation_dict": {}, "revision": 1}
    return {
        "sites": ["shopping"],
        "task_id": task_id,
        "start_urls": ["__SHOPPING__"],
        "intent": f"Do number {task_id}",
        "eval": [answer, *asked],
        **fixed,
    }


def typed(task_id: int, items: dict[str, Any], expected: list[Any]) -> dict[str, Any]:
    """A task that asks for values of a type of the scorer's."""
    task = judged(task_id, "retrieve", expected)
    task["eval"][0]["results_schema"]["items"] = items
    return task


def review(task_id: int, stars: str) -> dict[str, Any]:
    posted = {"rating": stars, "nickname": "Nora F", "title": "Wobbles"}
    return judged(task_id, "mutate", url=REVIEWS, http_method="POST", response_status=303, post_data=posted)


def write_dataset(folder: Path, tasks: list[dict[str, Any]]) -> Path:
    """The scorer's dataset with some of its tasks replaced."""
    where = subprocess.run(
        [SCORER / "python", "-c", DATASET], capture_output=True, text=True, check=True
    ).stdout.strip()
    dataset = {task["task_id"]: task for task in json.loads(Path(where).read_bytes())}
    dataset |= {task["task_id"]: task for task in tasks}
    (folder / "dataset.json").write_text(json.dumps(list(dataset.values())))
    return folder / "dataset.json"


def verdicts(folder: Path, tasks: list[dict[str, Any]]) -> dict[int, str]:
    """What the scorer says of each exported task, by its own command; its dataset must have all 812, so ours replace
    some.
    """
    write_dataset(folder, tasks)
    config = json.loads((folder / "config.json").read_bytes()) | {"test_data_file": str(folder / "dataset.json")}
    (folder / "scorer.json").write_text(json.dumps(config))
    done = subprocess.run(
        [SCORER / "webarena-verified", "eval-tasks", "--output-dir", folder, "--config", folder / "scorer.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {
        int(path.parent.name): json.loads(path.read_bytes())["status"] for path in folder.glob("*/eval_result.json")
    }


def test_the_scorer_passes_what_was_done_and_fails_what_was_not(
    start: Callable[..., Start], deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    product = {"do": "click", "role": "link", "name": "Camp Mug"}
    search = PLAN["order"][0]
    tasks = [
        text_task(0, "What does the mug cost?", "$12.50"),
        text_task(1, "What does the mug cost today?", "$12.50"),
        page_task(2, "Review the stand", ("last", "", {"must_include": ["Wobbles"]})),
        page_task(3, "Review the stand better", ("last", "", {"must_include": ["Wobbles"]})),
        page_task(4, "Show the mug", ("last", "", {"must_include": ["Camp Mug"]})),
        page_task(5, "Find the mug", ("__SHOPPING__/product/OUT-606", "", {"must_include": ["Camp Mug"]})),
        text_task(6, "In its own words", "$12.50"),
        page_task(7, "Give up", ("last", "", {"must_include": ["x"]})),
    ]
    form = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": ["$12.50"], "error_details": None}
    plans: dict[int, list[dict[str, Any]]] = {
        0: [search, product, {"do": "stop", "answer": "$12.50"}],
        1: [search, product, {"do": "stop", "answer": "$13.50"}],
        2: PLAN["review"],
        3: PLAN["review"],
        4: [search, product, {"do": "stop"}],
        5: [search, {"do": "stop"}],  # only the gathering of evidence opens the mug's page
        6: [{"do": "stop", "answer": json.dumps(form)}],
        7: [{"do": "stop", "answer": "N/A"}],
    }
    shows_the_mug = {"url": "__SHOPPING__/product/OUT-606"}
    dataset = [
        judged(0, "retrieve", ["$12.50"]),
        judged(1, "retrieve", ["$12.50"]),
        review(2, "2"),
        review(3, "4"),
        judged(4, "navigate", **shows_the_mug),
        judged(5, "navigate", **shows_the_mug),
        judged(6, "retrieve", ["$12.50"]),
        judged(7, "navigate"),
    ]
    done = start(*deployment.overrides(tasks, plans), "browser.har=true", "run.report=false", env=deployment.env)
    assert done.code == 0, done.err
    into = deployment.folder / "verified"
    assert main(["export", "webarena-verified", str(done.folder), "--to", str(into)]) == 0
    assert "8 episodes: webarena-verified eval-tasks" in capsys.readouterr().out
    said = verdicts(into, dataset)
    passed = {task_id for task_id, verdict in said.items() if verdict == "success"}
    assert passed == {0, 2, 4, 6}, said
    assert {said[task_id] for task_id in (1, 3, 5, 7)} == {"failure"}
    exported = b"".join(path.read_bytes() for path in into.glob("*/network.har"))
    assert str(deployment.port).encode() not in exported and b"thimble.42" not in exported


def form(kind: str, data: Any = None, status: str = "SUCCESS") -> str:
    return json.dumps({"task_type": kind, "status": status, "retrieved_data": data, "error_details": None})


SEARCH, MUG = PLAN["order"][0], {"do": "click", "role": "link", "name": "Camp Mug"}
NUMBER, PRICE, DATE = {"type": "number"}, {"type": "number", "format": "currency"}, {"type": "string", "format": "date"}
PLAYED: list[tuple[dict[str, Any], list[dict[str, Any]], float, str]] = [
    (
        judged(0, "retrieve", ["$12.50"]),
        [SEARCH, MUG, {"do": "stop", "answer": form("RETRIEVE", ["$12.50"])}],
        1,
        "success",
    ),
    (judged(1, "retrieve", ["$12.50"]), [{"do": "stop", "answer": form("RETRIEVE", ["$13.50"])}], 0, "failure"),
    (
        judged(2, "retrieve", ["$12.50"]),
        [{"do": "stop", "answer": "$12.50"}],
        0,
        "failure",
    ),  # right, but not in the format
    (judged(3, "retrieve", ["$12.50"]), [{"do": "stop", "answer": form("NAVIGATE")}], 0, "failure"),
    (judged(4, "retrieve", ["x"]), [{"do": "stop", "answer": '{"task_type": 5, "status": "SUCCESS"}'}], 0, "error"),
    (typed(5, PRICE, [12.5]), [{"do": "stop", "answer": form("RETRIEVE", ["$12.50"])}], 1, "success"),
    (typed(6, NUMBER, [3]), [{"do": "stop", "answer": form("RETRIEVE", ["four"])}], 0, "failure"),
    (typed(7, DATE, ["2023-03-05"]), [{"do": "stop", "answer": form("RETRIEVE", ["March 5, 2023"])}], 1, "success"),
    (review(8, "2"), [*PLAN["review"][:-1], {"do": "stop", "answer": form("MUTATE")}], 1, "success"),
    (review(9, "4"), [*PLAN["review"][:-1], {"do": "stop", "answer": form("MUTATE")}], 0, "failure"),
    (
        judged(10, "navigate", url="__SHOPPING__/product/OUT-606"),
        [SEARCH, MUG, {"do": "stop", "answer": form("NAVIGATE")}],
        1,
        "success",
    ),
    (
        judged(11, "navigate", url="__SHOPPING__/product/OUT-606"),
        [{"do": "stop", "answer": form("NAVIGATE")}],
        0,
        "failure",
    ),
    (
        judged(12, "retrieve", ["x"]),
        [{"do": "stop", "answer": form("RETRIEVE", None, "NOT_FOUND_ERROR")}],
        0,
        "failure",
    ),
]
"""Task, plan, our score, and the status that the package gives."""


def test_the_score_of_its_tasks_is_the_verdict_of_its_scorer(
    start: Callable[..., Start], deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = write_dataset(deployment.folder, [task for task, *_ in PLAYED])
    plans = {task["task_id"]: plan for task, plan, *_ in PLAYED}
    (_, sites, llm, _, *rest) = deployment.overrides([], plans)
    own = (f"task.arguments.package={SCORER.parent}", f"task.arguments.dataset={dataset}")
    given = ("task=webarena_verified", sites, llm, *rest, *own, "task.ids=[0-12]", "run.report=false")
    done = start(*given, env=deployment.env)
    assert done.code == 0, done.err
    assert {one["task_id"]: one["score"] for one in done.summary["results"]} == {
        str(task["task_id"]): score for task, _, score, _ in PLAYED
    }
    assert main(["score", "--verified", str(done.folder), "task=webarena_verified", *own]) == 0
    said = capsys.readouterr().out
    assert "5 of 13 passed, 5 here; the same on 13 of 13 (corrected scoring)" in said and "differs" not in said
    kept = json.loads((done.folder / "verified.json").read_bytes())
    assert kept["scorer"] == "webarena-verified 1.2.3"
    assert {int(one["task_id"]): one["verdict"] for one in kept["results"]} == {
        task["task_id"]: status for task, _, _, status in PLAYED
    }
    assert main(["show", str(done.folder)]) == 0
    assert "webarena-verified 1.2.3: 5 of 13 passed" in capsys.readouterr().out
    assert main(["show", str(done.folder), "3"]) == 0
    assert "failed (webarena-verified: failure: AgentResponseEvaluator: agent_response.task_type_mismatch" in (
        capsys.readouterr().out
    )
    assert main(["compare", str(done.folder), str(done.folder)]) == 0
    assert "scorer of webarena-verified on these tasks, after: 5 of 13 passed" in capsys.readouterr().out
    again = start(*given, env=deployment.env)
    assert again.code == 0 and "0 model requests" in again.out


def test_scores_by_other_rules_are_held_against_its_scorer_one_by_one(
    start: Callable[..., Start], deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [text_task(0, "What does the mug cost?", "12.50"), text_task(1, "And the stand?", "$12")]
    plans: dict[int, list[dict[str, Any]]] = {
        0: [{"do": "stop", "answer": "it costs $12.50"}],
        1: [{"do": "stop", "answer": "$12"}],
    }
    dataset = write_dataset(deployment.folder, [judged(0, "retrieve", ["$12.50"]), judged(1, "retrieve", ["$12"])])
    done = start(*deployment.overrides(tasks, plans), "browser.har=true", "run.report=false", env=deployment.env)
    assert done.code == 0, done.err
    own = (f"task.arguments.package={SCORER.parent}", f"task.arguments.dataset={dataset}")
    assert main(["score", "--verified", str(done.folder), "task=webarena_verified", *own]) == 0
    said = capsys.readouterr().out
    assert "differs: task 0: passed here, failed there (webarena-verified: failure: AgentResponseEvaluator:" in said
    assert "1 of 2 passed, 2 here; the same on 1 of 2" in said
    assert main(["report", str(done.folder)]) == 0
    page = (done.folder / "report" / "index.html").read_text()
    assert "1 of 2 passed, 2 here; the same on 1 of 2" in page and "differs: task 0: passed here" in page
    (done.folder / "verified.json").write_bytes(b'{"scorer": "x", "results": [{"task_id": "0"}, 7]}')
    assert main(["show", str(done.folder)]) == 0 and "of 2 passed, 2 here" not in capsys.readouterr().out


def test_a_right_answer_passes_each_task_that_only_asks_for_one(tmp_path: Path) -> None:
    """What the dataset expects, in our files, is a success for the package's scorer; the same with a flaw is none."""
    package = find_package(str(SCORER.parent))
    asked = [task for task in package.tasks() if len(task["eval"]) == 1][::12]
    right = scored_with(tmp_path / "right", package, asked, lambda answer: answer)
    wrong = scored_with(tmp_path / "wrong", package, asked, lambda answer: {**answer, "status": "UNKNOWN_ERROR"})
    plain = scored_with(tmp_path / "plain", package, asked, lambda answer: json.dumps(answer["retrieved_data"]))
    assert len(right) == len(asked) and set(right.values()) == {"success"}
    assert set(wrong.values()) == set(plain.values()) == {"failure"}


def scored_with(
    folder: Path, package: VerifiedPackage, tasks: list[JsonObject], change: Callable[[JsonObject], Any]
) -> dict[str, str]:
    """Status that the package gives to its own expectation, changed, as our files say it."""
    folder.mkdir()
    within = Within(folder)
    write_config(folder, {f"__{site.upper()}__": {"urls": [f"http://{site}.test"]} for site in SITES}, within)
    for task in tasks:
        expected = task["eval"][0]["expected"]
        values = [one[0] if isinstance(one, list) else one for one in expected.get("retrieved_data") or ()]
        answer = {"task_type": expected["task_type"], "status": expected["status"], "retrieved_data": values or None}
        said = change(answer)
        entry = {"request": {**GET, "url": f"http://{task['sites'][0]}.test/"}, "response": ANSWERED}
        record = build_task(task, package)
        ended = replace(closed(), answer=said if isinstance(said, str) else json.dumps(said))
        write_episode(folder / str(task["task_id"]), record, ended, har={"log": {"entries": [entry]}}, within=within)
    ids = [str(task["task_id"]) for task in tasks]
    found = asyncio.run(run_scorer(package, folder, ids, folder / "config.json"))
    return {task_id: verdict.status for task_id, verdict in found.items()}


def build_task(task: JsonObject, package: VerifiedPackage) -> Task:
    """As a run loads it."""
    addresses = {site: f"http://{site}.test" for site in SITES}
    wanted = [one for one in WebArenaVerified(str(SCORER.parent)).tasks() if one["task_id"] == task["task_id"]]
    (built,) = load(package.data, addresses, evaluators=(BENCHMARK,), given=wanted)
    return built
