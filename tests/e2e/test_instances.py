"""Sites of somebody's own with several instances: spread, alone, put back between tasks, and nothing of it in what is seen."""

import json
from collections.abc import Callable
from urllib.request import Request, urlopen

import pytest

from harness.journal.index import outcome_of
from harness.journal.log import read
from tests.e2e.conftest import Start
from tests.e2e.test_webarena import PLAN, Deployment, deployment, page_task

__all__ = ["deployment"]
Starter = Callable[..., Start]
pytestmark = pytest.mark.browser
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
    assert "4 of 4 tasks do not say whether they change their sites" in done.out
    where = {}
    for number in range(4):
        path = done.folder / f"{number}.traj.jsonl"
        episode = read(path)
        outcome = outcome_of(episode)
        assert outcome is not None and episode.opened is not None
        where[number] = outcome.instances["shopping"]
        assert "http://onestopmarket.com/checkout" in outcome.effects
        lines = path.read_text().splitlines()
        assert not any(str(deployment.port) in line for line in lines[1:]), "only the first line says where"
        assert lines[0].count(str(deployment.port)) == 1
    assert set(where.values()) == set(urls)
    for host, url in zip(("t0.shop", "t2.shop"), urls, strict=True):
        marks = [path for path in writes(deployment, host) if path in ("/__reset__", "/checkout")]
        played = sum(at == url for at in where.values())
        assert marks == ["/__reset__", *["/checkout", "/__reset__"] * played]
