"""ServiceNow's own scorer on our runs: it passes what was done, and fails what was not.

Its pins are not ours, so it has an environment of its own (`make test-verified`); without that the tests are skipped.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.main import main
from harness.tasks import load
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.test_webarena import PLAN, Deployment, deployment, page_task, text_task

__all__ = ["deployment"]
WEBARENA = PROJECT / "docs" / "pages" / "webarena.md"
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
        "intent": "x",
        "eval": [answer, *asked],
        **fixed,
    }


def review(task_id: int, stars: str) -> dict[str, Any]:
    posted = {"rating": stars, "nickname": "Nora F", "title": "Wobbles"}
    return judged(task_id, "mutate", url=REVIEWS, http_method="POST", response_status=303, post_data=posted)


def verdicts(folder: Path, tasks: list[dict[str, Any]]) -> dict[int, str]:
    """What the scorer says of each exported task, by its own command; its dataset must have all 812, so ours replace
    some.
    """
    where = subprocess.run(
        [SCORER / "python", "-c", DATASET], capture_output=True, text=True, check=True
    ).stdout.strip()
    dataset = {task["task_id"]: task for task in json.loads(Path(where).read_bytes())}
    dataset |= {task["task_id"]: task for task in tasks}
    (folder / "dataset.json").write_text(json.dumps(list(dataset.values())))
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


def test_its_tasks_can_be_played_as_it_words_them(tmp_path: Path) -> None:
    """The script of the documentation, on the scorer's dataset and the copy of WebArena's file that comes with it."""
    (script,) = re.findall(r'title="reword.py"\n(.*?)```', WEBARENA.read_text(), re.DOTALL)
    assets = subprocess.run(
        [SCORER / "python", "-c", DATASET], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tmp_path / "webarena-verified.json").write_bytes(Path(assets).read_bytes())
    (tmp_path / "test.raw.json").write_bytes(Path(assets).with_name("test.raw.json").read_bytes())
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    sites = {
        site: f"http://{site}.test" for site in ("map", "shopping", "shopping_admin", "reddit", "gitlab", "wikipedia")
    }
    loaded = load(str(tmp_path / "verified.raw.json"), sites)
    assert len(loaded) == 812
    assert loaded[0].intent == "Get the top-1 best-selling product name(s) in 2022"
    assert loaded[0].storage_state is not None
