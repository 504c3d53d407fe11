"""A WebArena-shaped deployment in small: the embedded sites behind WebArena's six variables, its task file, its
rules.
"""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.journal.log import read
from tests.e2e.conftest import Start

Starter = Callable[..., Start]
pytestmark = pytest.mark.browser

RECIPES = {
    "shopping": ("http://onestopmarket.com", "nora.field@example.com", "thimble.42", "/account"),
    "shopping_admin": ("http://luma.com/admin", "admin", "admin-cobble-1", "/"),
    "reddit": ("http://reddit.com", "mara_lindqvist", "lantern.42", "/settings"),
    "gitlab": ("http://gitlab.com", "maya", "maya-tide-41", "/settings/profile"),
}
VARIABLES = {
    "SHOPPING": "t0.shop",
    "SHOPPING_ADMIN": "t0.office",
    "REDDIT": "t0.forum",
    "GITLAB": "t0.code",
    "WIKIPEDIA": "t1.forum",
    "MAP": "t1.shop",
}
SHOP = {"sites": ["shopping"], "start_url": "__SHOPPING__", "storage_state": "./.auth/shopping_state.json"}
PLAN: dict[str, list[dict[str, Any]]] = {
    "order": [
        {"do": "type", "role": "searchbox", "name": "Search products", "text": "Camp Mug", "enter": True},
        {"do": "click", "role": "link", "name": "Camp Mug"},
        {"do": "click", "role": "button", "name": "Add to cart"},
        {"do": "click", "role": "link", "name": "Go to checkout"},
        {"do": "click", "role": "radio", "name": "Express, next day ($12.90)"},
        {"do": "scroll", "direction": "down"},
        {"do": "click", "role": "button", "name": "Place order"},
        {"do": "stop"},
    ],
    "review": [
        {"do": "goto", "url": "__SHOPPING__/product/DES-503"},
        {"do": "click", "role": "tab", "name": "Reviews"},
        {"do": "scroll", "direction": "down"},
        {"do": "type", "role": "combobox", "name": "Your rating", "text": "2 stars"},
        {"do": "type", "role": "textbox", "name": "Nickname", "text": "Nora F"},
        {"do": "type", "role": "textbox", "name": "Review title", "text": "Wobbles"},
        {"do": "type", "role": "textbox", "name": "Your review", "text": "One leg is short."},
        {"do": "scroll", "direction": "down"},
        {"do": "click", "role": "button", "name": "Submit review"},
        {"do": "stop"},
    ],
}


def text_task(task_id: int, intent: str, phrase: str, **fields: Any) -> dict[str, Any]:
    judged = {"eval_types": ["string_match"], "reference_answers": {"must_include": [phrase]}, "program_html": []}
    return {"task_id": task_id, "intent": intent, "eval": judged, "require_reset": False, **SHOP, **fields}


def page_task(task_id: int, intent: str, *targets: tuple[str, str, dict[str, Any]], **fields: Any) -> dict[str, Any]:
    html = [{"url": url, "locator": locator, "required_contents": wanted} for url, locator, wanted in targets]
    judged = {"eval_types": ["program_html"], "reference_answers": None, "program_html": html}
    return {"task_id": task_id, "intent": intent, "eval": judged, "require_reset": False, **SHOP, **fields}


class Deployment:
    """Sites that are served by somebody else than the run."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        self.folder = folder
        self.env = {name: self.url(host) for name, host in VARIABLES.items()} | {"HOMEPAGE": "PASS"}

    def url(self, host: str) -> str:
        return f"http://{host}.localhost:{self.port}"

    def overrides(self, tasks: list[dict[str, Any]], plans: dict[int, list[dict[str, Any]]], **more: str) -> list[str]:
        config = self.folder / "conf" / "sites"
        config.mkdir(parents=True)
        sites: dict[str, Any] = {"embedded": False, "reset": {"command": None}}
        for name, (base, login, password, probe) in RECIPES.items():
            sites[name] = {
                "url": f"${{oc.env:{name.upper()}}}",
                "canonical": base,
                "login": {
                    "url": f"{base}/login",
                    "fields": {"#login": login, "#password": password},
                    "submit": "button=Log in",
                    "probe_url": f"{base}{probe}",
                },
            }
        for name, base in (("wikipedia", "http://wikipedia.org"), ("map", "http://openstreetmap.org")):
            sites[name] = {"url": f"${{oc.env:{name.upper()}}}", "canonical": base}
        (config / "mini.yaml").write_text(json.dumps(sites))
        (self.folder / "test.raw.json").write_text(json.dumps(tasks))
        written = [{"task_id": task_id, "steps": steps} for task_id, steps in plans.items()]
        (self.folder / "plans.json").write_text(json.dumps(written))
        return [
            *("task=webarena", "sites=mini", "llm=scripted", f"task.path={self.folder / 'test.raw.json'}"),
            *(f"task.plans={self.folder / 'plans.json'}", f"hydra.searchpath=[{self.folder / 'conf'}]", "workers=1"),
            *(f"{key}={value}" for key, value in more.items()),
        ]


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with subprocess.Popen(
        [sys.executable, "-m", "harness.plugins.demo", "--port", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        yield Deployment(int(process.stdout.readline().split()[-1]), tmp_path)
        process.stdin.close()


def scores(done: Start) -> dict[str, float | None]:
    assert (done.folder / "summary.json").exists(), done.err
    return {result["task_id"]: result["score"] for result in done.summary["results"]}


def why(done: Start) -> dict[str, str]:
    return {result["task_id"]: result["why"] for result in done.summary["results"]}


@pytest.mark.slow
def test_tasks_run_through_logins_and_helpers_in_both_dialects(start: Starter, deployment: Deployment) -> None:
    newest = "func:shopping_get_latest_order_url()"
    tasks = [
        text_task(0, "How many are there?", "12"),
        page_task(
            1,
            "Order a mug",
            (newest, "document.querySelector('#shipping').outerText", {"exact_match": "Express, next day"}),
            ("__SHOPPING__/orders", "document.body.outerText.includes('Order 1037')", {"exact_match": "True"}),
            (newest, "document.querySelector('#lines tbody').outerText", {"must_include": ["Camp Mug |OR| Tin Mug"]}),
        ),
        page_task(
            2,
            "Review the stand",
            ("last", "func:shopping_get_sku_latest_review_rating('DES-503')", {"exact_match": "40"}),
            ("last", "func:shopping_get_sku_latest_review_author('DES-503')", {"must_include": ["Nora F"]}),
        ),
        page_task(
            3,
            "Look at a board",
            (
                "func:reddit_get_post_url('__last_url__')",
                "document.querySelector('h1').outerText",
                {"must_include": ["Night Trains"]},
            ),
            sites=["reddit"],
            start_url="__REDDIT__",
            storage_state="./.auth/reddit_state.json",
        ),
        text_task(
            4,
            "Two sites at once?",
            "yes",
            sites=["gitlab", "reddit"],
            start_url="__GITLAB__/settings/profile |AND| __REDDIT__/settings",
            storage_state="./.auth/gitlab.reddit_state.json",
        ),
        page_task(
            5,
            "The shop as it was",
            ("__SHOPPING__/orders", "document.body.outerText.includes('Order 1037')", {"exact_match": "False"}),
            require_reset=True,
        ),
        text_task(
            6,
            "Where in the office?",
            "office",
            sites=["shopping_admin"],
            start_url="__SHOPPING_ADMIN__",
            storage_state="./.auth/shopping_admin_state.json",
        ),
    ]
    plans = {
        0: [{"do": "stop", "answer": "there are 112"}],
        1: PLAN["order"],
        2: PLAN["review"],
        3: [
            {"do": "click", "role": "link", "name": "Boards"},
            {"do": "click", "role": "link", "name": "Night Trains"},
            {"do": "stop"},
        ],
        4: [{"do": "tab_focus", "index": 1}, {"do": "stop", "answer": "Yes"}],
        5: [{"do": "stop"}],
        6: [{"do": "stop", "answer": "the office"}],
    }
    reset = deployment.url("t0.shop") + "/__reset__"
    overrides = deployment.overrides(tasks, plans)
    done = start(*overrides, f"+sites.shopping.reset_url={reset}", env=deployment.env)
    assert scores(done) == dict.fromkeys("0123456", 1.0), (why(done), done.err)
    assert done.code == 0
    assert done.summary["scoring"] == "webarena"
    assert done.summary["dialect_disagreements"] == ["0"]
    arrival = read(done.folder / "4.traj.jsonl").arrival
    assert arrival is not None
    assert [tab.url for tab in arrival.observation.tabs] == [
        "http://gitlab.com/settings/profile",
        "http://reddit.com/settings",
    ]
    assert f":{deployment.port}" not in (done.folder / "1.traj.jsonl").read_text()


@pytest.mark.slow
def test_without_a_reset_hook_the_run_says_so_once(start: Starter, deployment: Deployment) -> None:
    tasks = [
        text_task(number, f"Question {number}", "yes", require_reset=True, storage_state=None) for number in (0, 1)
    ]
    plans = {number: [{"do": "stop", "answer": "yes"}] for number in (0, 1)}
    done = start(*deployment.overrides(tasks, plans), env=deployment.env)
    assert scores(done) == {"0": 1.0, "1": 1.0}
    assert done.out.count("require_reset") == 1


@pytest.mark.slow
def test_bad_input_is_named_and_harms_no_other_task(start: Starter, deployment: Deployment) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        marker = deployment.folder / "executed"
        never = f"http://{VARIABLES['SHOPPING']}.localhost:{silent.getsockname()[1]}/"  # a host of a site, on any port
        tasks = [
            text_task(0, "A good one", "fine"),
            page_task(1, "Runs code", ("last", f"func:system('touch {marker}')", {"exact_match": "x"})),
            page_task(2, "No script", ("last", "document.querySelector((", {"exact_match": "x"})),
            text_task(3, "A long answer", "needle"),
            text_task(4, "Never loads", "x", start_url=never, storage_state=None),
            page_task(5, "Broken at scoring", ("__SHOPPING__/gift-cards", "", {"must_include": ["gift"]})),
            page_task(
                6, "No such product", ("last", "func:shopping_get_sku_latest_review_author('NO')", {"exact_match": ""})
            ),
            page_task(7, "Imports", (f"func:__import__('os').system('touch {marker}')", "", {"exact_match": "x"})),
            page_task(8, "Nests", ("last", f"func:str(open('{marker}', 'w'))", {"exact_match": "x"})),
        ]
        plans: dict[int, list[dict[str, Any]]] = {number: [{"do": "stop"}] for number in range(9)}
        plans[0] = [{"do": "stop", "answer": "fine"}]
        plans[3] = [{"do": "stop", "answer": "a" * 10_000_000 + "needle"}]
        done = start(
            *deployment.overrides(tasks, plans),
            "scoring=corrected",
            "browser.navigation_timeout_s=2",
            "resume.max_attempts=1",
            env=deployment.env,
        )
    assert done.code == 3
    assert "Traceback" not in done.err + done.out
    unscored = dict.fromkeys("1245678")
    assert scores(done) == {"0": 1.0, "3": 0.0, **unscored}, why(done)
    said = why(done)
    assert "the answer has 10000006 characters" in said["3"]
    assert "func:__import__('os')" in said["7"] and "does not call a plain name" in said["7"]
    assert "arguments must be strings, integers or __page__" in said["8"]
    assert "there is no function 'system'" in said["1"]
    assert "is not JavaScript" in said["2"]
    assert "no answer within 2 s" in said["4"]
    assert "http://onestopmarket.com/gift-cards answered 500" in said["5"]
    assert "/rest/V1/products/NO/reviews answered 404" in said["6"]
    assert not marker.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action_set", "actions"),
    [
        ("id_accessibility_tree", 4),
        pytest.param("playwright", 5, marks=pytest.mark.slow),
        pytest.param("cairn", 1, marks=pytest.mark.slow),
    ],
)
def test_a_filled_field_is_emptied_first_in_every_action_set(
    start: Starter, deployment: Deployment, action_set: str, actions: int
) -> None:
    """The site has no canonical address either: it is shown at its own."""
    long = "mug" + "+camping" * 6
    task = {
        "task_id": 0,
        "sites": ["shopping"],
        "intent": "Look for a lamp instead",
        "start_url": f"__SHOPPING__/search?q={long}",
        "eval": {"eval_types": ["url_match"], "reference_url": "__SHOPPING__/search?q=Lamp"},
    }
    field = {"do": "type", "role": "searchbox", "name": "Search products", "text": "Lamp", "enter": True, "clear": True}
    overrides = deployment.overrides([task], {0: [field, {"do": "stop"}]})
    own = ("sites.shopping.canonical=null", "sites.shopping.login=null")
    done = start(*overrides, *own, f"action_set={action_set}", env=deployment.env)
    assert scores(done) == {"0": 1.0}, (why(done), done.err, done.out)
    episode = read(done.folder / "0.traj.jsonl")
    assert len(episode.steps) == actions
    assert episode.arrival is not None
    base = deployment.url("t0.shop")
    assert episode.arrival.observation.url == f"{base}/search?q={long}"
    assert episode.closed is not None and episode.closed.evidence.url == f"{base}/search?q=Lamp"


@pytest.mark.slow
def test_cairns_own_action_set_appends_also_under_webarenas_observation(start: Starter, deployment: Deployment) -> None:
    task = {
        "task_id": 0,
        "sites": ["shopping"],
        "intent": "Look for more",
        "start_url": f"__SHOPPING__/search?q={'a' * 60}",
        "eval": {"eval_types": ["url_match"], "reference_url": f"__SHOPPING__/search?q={'a' * 60}Lamp"},
    }
    field = {"do": "type", "role": "searchbox", "name": "Search products", "text": "Lamp", "enter": True}
    overrides = deployment.overrides([task], {0: [field, {"do": "stop"}]}, action_set="cairn")
    done = start(*overrides, "sites.shopping.login=null", env=deployment.env)
    assert scores(done) == {"0": 1.0}, (why(done), done.err, done.out)
