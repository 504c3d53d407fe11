"""Sites of somebody's own with several instances: spread, alone, put back between tasks, and nothing of it in what is
seen.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from harness.journal.index import result_of
from harness.journal.log import read
from tests.e2e.conftest import Start, command, environment
from tests.e2e.test_webarena import PLAN, Deployment, deployment, page_task, scores, text_task
from tests.waiting import wait_until

__all__ = ["deployment"]
Starter = Callable[..., Start]
pytestmark = [pytest.mark.browser, pytest.mark.slow]
NEWEST = "func:shopping_get_latest_order_url()"
ORDERED = (NEWEST, "document.querySelector('#shipping').outerText", {"exact_match": "Express, next day"})
ONLY_ONE = ("__SHOPPING__/orders", "document.body.outerText.includes('Order 1038')", {"exact_match": "False"})


def writes(deployment: Deployment, host: str) -> list[str]:
    """The paths that were written to, in order."""
    request = Request(
        f"http://127.0.0.1:{deployment.port}/__writes__", headers={"Host": f"{host}.localhost:{deployment.port}"}
    )
    with urlopen(request) as answer:
        return [entry["path"] for entry in json.load(answer)]


def test_tasks_that_change_a_site_are_spread_over_its_instances_and_find_each_at_its_seed(
    start: Starter, deployment: Deployment
) -> None:
    """Every task places order 1037: a second one on the same state would be 1038."""
    tasks = [page_task(number, f"Order mug number {number}", ORDERED, ONLY_ONE) for number in range(4)]
    overrides = deployment.overrides(tasks, dict.fromkeys(range(4), PLAN["order"]))
    urls = [deployment.url("t0.shop"), deployment.url("t2.shop")]
    done = start(
        *overrides,
        f"+sites.shopping.instances=[{urls[1]}]",
        '+sites.shopping.reset_url="{url}/__reset__"',
        *("executor.lanes=2", "llm.latency_ms=100"),
        env=deployment.env,
    )
    assert done.code == 0, (done.err, done.out)
    assert done.summary["scoring"] == "webarena"
    assert "4 of 4 tasks do not set `mutates`" in done.out
    where = {}
    for number in range(4):
        path = done.folder / f"{number}.traj.jsonl"
        episode = read(path)
        outcome = result_of(episode)
        assert outcome is not None and episode.opened is not None
        where[number] = outcome.instances["shopping"]
        assert "http://onestopmarket.com/checkout" in outcome.effects
        lines = path.read_text().splitlines()
        assert [line for line in lines[1:] if f":{deployment.port}" in line] == [], "only the first line says where"
        assert lines[0].count(f":{deployment.port}") == 1
    assert set(where.values()) == set(urls)
    for host, url in zip(("t0.shop", "t2.shop"), urls, strict=True):
        marks = [path for path in writes(deployment, host) if path in ("/__reset__", "/checkout")]
        played = sum(at == url for at in where.values())
        assert marks == ["/__reset__", *["/checkout", "/__reset__"] * played]


def test_a_killed_run_goes_on_at_the_instances_it_was_on(
    start: Starter, deployment: Deployment, tmp_path: Path
) -> None:
    tasks = [page_task(number, f"Order mug number {number}", ORDERED, ONLY_ONE, mutates=True) for number in range(2)]
    overrides = [*deployment.overrides(tasks, dict.fromkeys(range(2), PLAN["order"])), "executor.lanes=2"]
    urls = [deployment.url(f"t{number}.shop") for number in (0, 2, 3)]
    journals = [tmp_path / "results" / "run" / f"{number}.traj.jsonl" for number in range(2)]
    first = command(
        *overrides, f"+sites.shopping.instances=[{urls[1]}]", "llm.latency_ms=200", root=tmp_path / "results"
    )
    with subprocess.Popen(
        first, env={**environment(), **deployment.env}, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        wait_until(lambda: all(path.exists() and in_the_cart(path) for path in journals))
        os.killpg(process.pid, signal.SIGKILL)
    opened = [read(path).opened for path in journals]

    order = ",".join((urls[2], urls[1]))
    done = start(*overrides, f"+sites.shopping.instances=[{order}]", env=deployment.env)
    assert done.code == 0, (done.err, done.out)
    for path, before in zip(journals, opened, strict=True):
        episode = read(path)
        assert episode.opened == before, "the attempt that was begun is the one that ended"
        assert [resumed.strategy for resumed in episode.resumed] == ["checkpoint"]
    for host, times in (("t0.shop", 1), ("t2.shop", 1), ("t3.shop", 0)):
        assert writes(deployment, host).count("/checkout") == times


def in_the_cart(journal: Path) -> bool:
    """Whether the effect of putting something into the cart was recorded, and the order not yet placed."""
    outcome = result_of(read(journal))
    return outcome is not None and any("/cart/" in url for url in outcome.effects)


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        ("reset_url=http://127.0.0.1:9/reset", "does not answer"),  # the discard port: nobody listens there
        ('reset_command="echo the disk is full; exit 3"', "ended with code 3 (the disk is full)"),
    ],
)
def test_a_hook_that_never_works_leaves_its_tasks_unscored_and_the_others_played(
    start: Starter, deployment: Deployment, hook: str, why: str
) -> None:
    looking = {"start_url": "__REDDIT__", "sites": ["reddit"], "mutates": False}
    tasks = [page_task(0, "Order a mug", ORDERED, mutates=True), text_task(1, "Anything new?", "no", **looking)]
    plans = {0: PLAN["order"], 1: [{"do": "stop", "answer": "no"}]}
    done = start(
        *deployment.overrides(tasks, plans),
        f"+sites.shopping.{hook}",
        *("browser.navigation_timeout_s=1", "resume.max_attempts=2", "executor.lanes=2"),
        env=deployment.env,
    )
    assert done.code == 3, (done.err, done.out)
    assert scores(done) == {"0": None, "1": 1.0}
    records = [json.loads(line) for line in (done.folder / "0.traj.jsonl").read_text().splitlines()]
    assert [record["kind"] for record in records] == ["opened", "failed", "failed"]
    assert all(record["type"] == "SiteUnavailable" and why in record["message"] for record in records[1:])
    assert done.out.count("retrying for up to") == 2, "said once for each attempt"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("./no-such-command", "there is no command ./no-such-command, or it is not executable"),
        ("cd / && ./no-such-command", "it ended with code 127 ("),
    ],
)
def test_a_hook_that_is_not_there_ends_the_run_in_one_sentence(
    start: Starter, deployment: Deployment, command: str, why: str
) -> None:
    tasks = [page_task(number, f"Order mug number {number}", ORDERED, mutates=True) for number in range(2)]
    hook = f'+sites.shopping.reset_command="{command}"'
    done = start(*deployment.overrides(tasks, dict.fromkeys(range(2), PLAN["order"])), hook, env=deployment.env)
    assert done.code == 2
    assert f"sites.shopping.reset_command: {why}" in done.err
    assert len(done.err.strip().splitlines()) == 1 and "Traceback" not in done.out
    assert not list(done.folder.glob("*.traj.jsonl")), "nothing was played"
