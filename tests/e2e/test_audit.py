"""`harness audit` as people run it: static over a file and a run, and played in a browser."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PROJECT, Start, environment
from tests.forked import Forks

DEMO = PROJECT / "tasks" / "demo.json"
Starter = Callable[..., Start]
Audit = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def audit(forked: Forks, tmp_path: Path) -> Audit:
    def run(*arguments: str) -> tuple[int, dict[str, Any], str]:
        given = ("harness.main", "audit", *arguments, "--json")
        done = forked.run(*given, cwd=tmp_path, env={**environment(), "PYTHONPATH": str(PROJECT)})
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    return run


def test_what_passes_under_corrected_is_exit_code_1(tmp_path: Path, audit: Audit) -> None:
    demo = json.loads(DEMO.read_bytes())
    given_away = demo[3] | {"start_url": demo[3]["eval"]["reference_url"]}
    (tmp_path / "mine.json").write_text(json.dumps([demo[0], given_away]))
    code, found, said = audit("mine.json")
    assert (code, said) == (1, "")
    rows = {row["exploit"]: row["passed"]["corrected"] for row in found["exploits"]}
    assert rows.pop("stop-at-once") == ["3"] and rows["empty-answer"] == []


def test_wrong_input_is_one_sentence(tmp_path: Path, audit: Audit) -> None:
    for given, said in (
        (("nothing.json",), "nothing.json: cannot be read"),
        ((str(DEMO), "--exploit", "magic"), "there is no such exploit"),
        ((str(DEMO), "--root", "x", "sites.nowhere=1"), "sites.nowhere does not exist yet"),
    ):
        code, _, error = audit(*given)
        assert code == 2 and said in error and "Traceback" not in error


@pytest.mark.browser
@pytest.mark.parametrize(
    "schemes",
    [
        {"own-page": "data:"},
        pytest.param({"file-address": "file://", "edited-page": "javascript:"}, marks=pytest.mark.slow),
    ],
)
def test_played_exploits_pass_nothing_and_are_refused_what_is_no_web_page(
    tmp_path: Path, audit: Audit, schemes: dict[str, str]
) -> None:
    chosen = [part for name in ("not-achievable", *schemes) for part in ("--exploit", name)]
    code, found, said = audit(str(DEMO), "task.ids=[0,2,6]", "executor=inline", "--play", *chosen)
    assert code == 0, said
    rows = {row["exploit"]: row for row in found["exploits"]}
    assert all(row["passed"]["corrected"] == [] for row in rows.values())
    assert rows["not-achievable"]["passed"]["webarena"] == ["6"]
    assert "own-page" not in rows or rows["own-page"]["tried"] == 1
    for name, scheme in schemes.items():
        journals = (tmp_path / "results" / "audit" / f"demo-{name}").glob("*.traj.jsonl")
        text = next(iter(sorted(journals))).read_text()
        assert f"{scheme}" in text and "only http and https addresses are allowed" in text


@pytest.mark.slow
@pytest.mark.browser
def test_a_run_is_audited_by_its_own_pages(start: Starter, tmp_path: Path, audit: Audit) -> None:
    done = start("task=smoke", "agent=null", "executor=inline", "run.report=false")
    assert (done.summary["passed"], done.summary["tokens"], done.summary["invocation"]["model_requests"]) == (0, 0, 0)
    assert " 0 model requests" in done.out, "the null agent asks no model"
    code, found, said = audit(str(done.folder))
    assert code == 0, said
    assert found["mode"] == "static" and found["tasks"] == done.summary["tasks"]


@pytest.mark.browser
@pytest.mark.slow
def test_agents_whose_figures_are_known_come_out_as_such(audit: Audit) -> None:
    given = (str(DEMO), "task=demo_policies", "attack=inject", "task.ids=[0,7,12,21]", "--controls")
    code, found, said = audit(*given)
    assert code == 0, (said, [one["why"] for one in found["controls"] if one["why"]])
    agents = {(one["key"], one["agent"]) for one in found["controls"]}
    assert agents == {("policies", one) for one in ("null", "careful", "hasty", "random")} | {
        ("attack", one) for one in ("null", "obedient", "careful", "random")
    }
