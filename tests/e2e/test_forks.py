"""Forks of real runs: what is inherited, what is asked and done again, and what is refused."""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.journal.index import result_of
from harness.journal.log import read
from harness.main import main
from harness.records import DoubtReason
from tests.e2e.conftest import PROJECT, Start, environment
from tests.e2e.sampled import sampled
from tests.e2e.test_instances import writes
from tests.e2e.test_run import decided
from tests.e2e.test_webarena import PLAN, Deployment, deployment, page_task
from tests.forked import Forks
from tests.made_once import made_once
from tests.waiting import wait_until

__all__ = ["deployment"]
pytestmark = pytest.mark.browser
LONG, SHORT = "8", "2"
"""Demo tasks: an order in 13 steps and a stop; a cart in 4."""
BRANCHES = ("b1", "b2")
PRICES = "{parent: {prompt: 1, completion: 1}, b1: {prompt: 1, completion: 1}}\n"


Fork = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def fork(forked: Forks) -> Fork:
    def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        given = {**environment(), "PYTHONPATH": str(PROJECT), **(env or {})}
        return forked.run("harness.main", "fork", *arguments, cwd=cwd, env=given)

    return run


def lines(folder: Path, task: str, *, until: int | None = None) -> list[bytes]:
    """The lines of a journal but for their checksums: all of them, or those of steps up to one."""
    found = [line.rpartition(b',"crc":')[0] for line in (folder / f"{task}.traj.jsonl").read_bytes().splitlines()]
    if until is None:
        return found
    records = [(line, json.loads(line + b"}")) for line in found]
    return [line for line, record in records if record["kind"] in ("decided", "acted") and record["step"] <= until]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, forked: Forks) -> Path:
    """A finished run of both tasks."""

    def make(root: Path) -> None:
        settings = ("run.id=parent", "run.report=false", f"task.ids=[{SHORT},{LONG}]", "executor=inline")
        done = forked.run("run.py", f"run.root={root}", *settings, cwd=root, env=environment())
        assert done.returncode == 0, done.stdout + done.stderr

    return made_once(tmp_path_factory, "parent", make) / "parent"


@pytest.fixture
def parent(played: Path, tmp_path: Path) -> Path:
    shutil.copytree(played, tmp_path / "results" / "parent")
    return tmp_path / "results" / "parent"


async def test_branches_pay_only_for_what_comes_after_the_step(
    tmp_path: Path, forked: Forks, fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prices.yaml").write_text(PRICES)
    root = tmp_path / "results"
    async with sampled() as (endpoint, url):
        settings = (
            *(f"llm.base_url={url}", f"llm.prices={tmp_path / 'prices.yaml'}", f"run.root={root}", "executor=inline"),
            f"task.ids=[{LONG}]",
        )
        first = ("run.py", "run.id=parent", "llm.model=parent", *settings)
        assert (await asyncio.to_thread(forked.run, *first, cwd=tmp_path, env=environment())).returncode == 0
        assert len(endpoint.asked) == 14
        models = f"llm.model={','.join(BRANCHES)}"
        done = await asyncio.to_thread(fork, f"{root / 'parent' / LONG}@6", models, *settings, "-m", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = endpoint.asked[14:]
    assert [body["model"] for body in asked] == [name for name in BRANCHES for _ in range(14 - 6)]
    before = [body["messages"] for body in endpoint.asked[:6]]
    assert not [body for body in asked if body["messages"] in before], "nothing before the step is asked again"

    def branch(name: str) -> Path:
        (found,) = root.glob(f"parent-fork-{LONG}-6-prompt-{name},*")
        return found

    inherited, paid = lines(root / "parent", LONG, until=6), read(root / "parent" / f"{LONG}.traj.jsonl")
    for name in BRANCHES:
        folder = branch(name)
        assert lines(folder, LONG, until=6) == inherited and len(inherited) == 1 + 2 * 6
        episode = read(folder / f"{LONG}.traj.jsonl")
        assert episode.opened is not None and episode.opened.fork is not None
        assert (episode.opened.why, episode.opened.fork.run, episode.opened.fork.step) == ("fork", "parent", 6)
        assert episode.opened.fork.same_model is False
        assert [(one.step, one.strategy) for one in episode.resumed] == [(6, "replay")]
        assert episode.total_usage.requests == 8 and episode.inherited_usage.requests == 6
        assert {step.decided.model for step in episode.steps[:6]} == {"parent"}
        summary = json.loads((folder / "summary.json").read_bytes())
        assert summary["passed"] == 1 and summary["invocation"]["model_requests"] == 8
        assert summary["inherited"]["steps"] == 6
        if name == "b1":
            assert (
                0
                < summary["inherited"]["cost_usd"] + summary["cost_usd"]
                == pytest.approx(paid.total_usage.cost_usd, rel=0.1)
            )
    report = (branch("b2") / "report" / "index.html").read_text()
    assert all(f"parent-fork-{LONG}-6-prompt-{name}" in report for name in BRANCHES) and "step 6 →" in report
    pair = [str(branch(name)) for name in ("b1", "b2")]
    capsys.readouterr()
    main(["compare", *pair])
    compared = capsys.readouterr().out
    assert "scored in both: 1 task" in compared and compared.count("is a fork of parent, step 6") == 2


@pytest.mark.slow
def test_a_fork_is_killed_and_resumed_without_its_parent(parent: Path, fork: Fork, tmp_path: Path) -> None:
    root = parent.parent
    command = (f"{parent}@3", "llm.model=other", f"run.root={root}", "run.id=branch", "run.report=false", "trials=2")
    tasks = (f"task.ids=[{SHORT},{LONG}]", "workers=1", "llm.latency_ms=300")
    line = [sys.executable, "-m", "harness.main", "fork", *command, *tasks]
    folder = root / "branch"
    with subprocess.Popen(
        line, cwd=tmp_path, env={**environment(), "PYTHONPATH": str(PROJECT)}, stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:  # fmt: skip
        wait_until(lambda: decided(folder) >= 4 * 3 + 2)
        os.killpg(process.pid, 9)
    shutil.rmtree(parent)
    done = fork(*command, *tasks, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((folder / "summary.json").read_bytes())
    assert (summary["episodes"], summary["passed"], summary["inherited"]["steps"]) == (4, 4, 12)
    episodes = [read(path) for path in sorted(folder.glob("*.traj.jsonl"))]
    assert [episode.total_usage.requests for episode in episodes] == [2, 2, 11, 11]
    assert len({episode.opened.fork.origin for episode in episodes if episode.opened and episode.opened.fork}) == 2
    shown = [sys.executable, "-m", "harness.main", "show", str(folder), LONG, "2"]
    text = subprocess.run(shown, capture_output=True, text=True, check=False, cwd=PROJECT).stdout
    assert "step 2:" in text and "(inherited)" in text and "prompt, system" in text
    steps = subprocess.run(shown[:-1], capture_output=True, text=True, check=False, cwd=PROJECT).stdout
    assert [line.split()[0] for line in steps.splitlines() if line.endswith("(inherited)")] == ["1", "2", "3"]

    again = fork(f"{folder}/{LONG}.trial-1@5", "llm.model=third", f"run.root={root}", *tasks, cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    grandchild = root / f"branch-fork-{LONG}.trial-1-5-prompt-third"
    assert lines(grandchild, LONG, until=5) == [
        line.rpartition(b',"crc":')[0]
        for line in (folder / f"{LONG}.trial-1.traj.jsonl").read_bytes().splitlines()
        if json.loads(line)["kind"] in ("decided", "acted") and json.loads(line)["step"] <= 5
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("target", "left"), [(f"/{SHORT}@3", True), ("@3", False)])
def test_a_fork_whose_parent_was_deleted_is_resumed_by_the_same_command(
    parent: Path, fork: Fork, tmp_path: Path, *, target: str, left: bool
) -> None:
    root = parent.parent
    command = (f"{parent}{target}", "llm.model=other", f"run.root={root}", "run.report=false", f"task.ids=[{SHORT}]")
    done = fork(*command, "executor=inline", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = root.glob("parent-fork-*")
    journal = folder / f"{SHORT}.traj.jsonl"
    inherited = journal.read_bytes().splitlines(keepends=True)[: 2 + 2 * 3]
    journal.write_bytes(b"".join(inherited))  # what a kill leaves before anything new was recorded
    shutil.rmtree(parent)
    if left:
        parent.mkdir()
    done = fork(*command, "executor=inline", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [*root.glob("*/fork.json")] == [folder / "fork.json"], "no other fork was begun"
    episode = read(journal)
    assert episode.total_usage.requests == 2 and episode.scores["webarena"].value == 1.0


@pytest.mark.slow
def test_effects_before_the_step_are_not_repeated_where_no_reset_is_possible(
    start: Callable[..., Start], fork: Fork, deployment: Deployment, tmp_path: Path
) -> None:
    newest = "func:shopping_get_latest_order_url()"
    ordered = (newest, "document.querySelector('#shipping').outerText", {"exact_match": "Express, next day"})
    settings = deployment.overrides([page_task(1, "Order a mug", ordered, mutates=True)], {1: PLAN["order"]})
    assert start(*settings, "limits.max_steps=4", env=deployment.env).code == 0
    parent = tmp_path / "results" / "run"
    root = f"run.root={tmp_path / 'results'}"
    carts = writes(deployment, "t0.shop").count("/cart/OUT-606")
    assert carts == 1 and "/checkout" not in writes(deployment, "t0.shop")

    first = fork(f"{parent}/1@4", *settings, "llm.model=one", root, cwd=tmp_path, env=deployment.env)
    assert first.returncode == 0, first.stdout + first.stderr
    after = writes(deployment, "t0.shop")
    assert after.count("/cart/OUT-606") == carts and after.count("/checkout") == 1
    episode = read(tmp_path / "results" / "run-fork-1-4-prompt-one" / "1.traj.jsonl")
    assert [(one.step, one.strategy) for one in episode.resumed] == [(4, "checkpoint")]
    assert [(one.reason, one.why) for one in episode.doubts] == [
        (
            DoubtReason.EARLIER_ATTEMPT,
            "forked from step 4 of run on a site that was not reset; run or other runs may have changed it since that"
            " step",
        )
    ]
    became = result_of(episode)
    assert became is not None and became.scores["webarena"].value == 1.0

    second = fork(f"{parent}/1@4", *settings, "llm.model=two", root, cwd=tmp_path, env=deployment.env)
    assert second.returncode == 3 and "EnvironmentDiverged" in second.stdout, second.stdout + second.stderr
    last = [path for path in writes(deployment, "t0.shop") if path.startswith(("/cart", "/checkout"))]
    assert last == ["/cart/OUT-606", "/checkout"], "the cart is empty now: nothing is done there, and nothing repeated"


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("target", "settings", "sentence"),
    [
        ("PARENT", (), "names no step; give RUN@STEP or RUN/TASK@STEP"),
        ("PARENT@x", (), "names no step"),
        ("PARENT-none@3", (), "there is no run PARENT-none, which run.fork=PARENT-none@3 names"),
        ("PARENT-none/8@3", (), "there is no run PARENT-none, which run.fork=PARENT-none/8@3 names"),
        ("PARENT/99@1", (), "has no journal 99.traj.jsonl"),
        ("PARENT/../../x@1", (), "there is no run PARENT/../.., which"),
        ("PARENT/8@14", (), "has no step after 13; give a step from 0 to 13"),
        ("PARENT@500", (), "has no selected task with a step 500"),
        ("PARENT/8@6", ("task.ids=[2]",), "task 8 of PARENT is not among the tasks of these settings"),
        ("PARENT/8@6", ("TASKS",), "was played with another version of task 8"),
        ("PARENT/8@6", ("executor=slurm",), "run.fork cannot be combined with executor=slurm"),
        ("PARENT/8@6", ("run.id=parent",), "holds task 2 as no fork, and not of parent at step 6"),
        ("RUNNING/8@6", (), "is in use by"),
        ("DAMAGED/8@6", (), "checksum"),
    ],
)
def test_what_cannot_be_forked_is_one_sentence(
    parent: Path, harness_here: Callable[..., Start], *, target: str, settings: tuple[str, ...], sentence: str
) -> None:
    tmp_path = parent.parents[1]
    journal = parent / f"{LONG}.traj.jsonl"
    if target.startswith("DAMAGED"):
        journal.write_bytes(journal.read_bytes().replace(b"Camp Mug", b"Camp Mux", 1))
    if "TASKS" in settings:
        tasks: list[dict[str, Any]] = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())
        for task in tasks:
            task["intent"] += " Please." if str(task["task_id"]) == LONG else ""
        (tmp_path / "tasks.json").write_text(json.dumps(tasks))
        settings = (f"task.path={tmp_path / 'tasks.json'}",)
    before = {path: path.read_bytes() for path in parent.rglob("*") if path.is_file() and path.name != ".lock"}
    with (parent / ".lock").open("rb") as held:
        if target.startswith("RUNNING"):
            fcntl.flock(held, fcntl.LOCK_EX)
        named = target.replace("RUNNING", str(parent)).replace("DAMAGED", str(parent)).replace("PARENT", str(parent))
        done = harness_here("fork", named, *settings, f"run.root={parent.parent}")
    assert done.code == (3 if target.startswith("DAMAGED") else 2) and done.err.count("\n") == 1, done
    assert sentence.replace("PARENT", str(parent)) in done.err, done.err
    assert {path: path.read_bytes() for path in parent.rglob("*") if path.is_file() and path in before} == before
