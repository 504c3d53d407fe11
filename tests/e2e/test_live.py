"""Runs on stand-ins of live sites by the real command: locks, blocks, kills, and what the summary says."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event

import psutil
import pytest

from harness.journal.log import read
from harness.records import DoubtReason, Episode
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.test_run import running
from tests.live_stub import LiveStub, Page, live_stub

pytestmark = pytest.mark.browser
Starter = Callable[..., Start]
POLITE = ("sites.live.allow=[localhost]", "sites.live.pages_per_minute=6000")
AGENT = ("executor=inline", "llm=none", "agent.name=script", "agent._target_=tests.live_stub.Script")
FORM = "<h1>Shop</h1><form method=post action=/buy><button>Buy</button></form>"
WALL = Page("<div id=challenge-form>Verify you are human</div>", 403, {"cf-mitigated": "challenge"})


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def hold() -> Event:
    """Set = pages after a purchase may be answered."""
    found = Event()
    found.set()
    return found


@pytest.fixture
def web(hold: Event) -> Iterator[LiveStub]:
    def answer(host: str, path: str) -> Page | None:
        if path == "/more":
            hold.wait(60)
        pages = {
            ("shop", "/"): Page(FORM),
            ("shop", "/buy"): Page("<h1>Bought</h1><a href=/more>More</a>"),
            ("shop", "/more"): Page("<h1>More</h1>"),
            ("news", "/"): Page("<a href=/read>Read</a>"),
            ("news", "/read"): Page("<h1>Read</h1><script>navigator.sendBeacon('/views')</script>"),
            ("wall", "/"): WALL,
        }
        return pages.get((host, path))

    with live_stub(answer) as stub:
        yield stub


def tasks(folder: Path, web: LiveStub, *hosts: str) -> Path:
    """One task for each host: find the answer 7."""
    file = folder / "tasks.json"
    entries = [
        {
            "task_id": number,
            "sites": ["live"],
            "intent": "Say 7",
            "start_url": web.url(host),
            "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "7"}},
        }
        for number, host in enumerate(hosts)
    ]
    file.write_text(json.dumps(entries))
    return file


def script(*steps: str) -> str:
    return "agent.arguments.steps=[" + ",".join(f"'{step}'" for step in steps) + "]"


@pytest.mark.slow
def test_a_block_page_makes_a_failure_unscored_and_leaves_a_pass(start: Starter, web: LiveStub, tmp_path: Path) -> None:
    file = tasks(tmp_path, web, "wall", "shop")
    given = ("sites=live", f"task.path={file}", "task.name=live", *POLITE, *AGENT)
    done = start(*given, f"+{script('stop 8')}")
    assert done.code == 3, done.out + done.err
    assert (done.summary["failed"], done.summary["unscored"]) == (1, 1)
    assert "unscored: task 0: blocked: http://wall.localhost" in done.out
    assert "a page of Cloudflare" in (done.folder / "summary.md").read_text()
    assert ">blocked<" in (done.folder / "report" / "index.html").read_text()
    assert "robots.txt was not honoured" not in done.out
    right = start(*given, f"+{script('stop 7')}", "run.id=right")
    assert right.code == 0, right.out + right.err


@pytest.mark.slow
def test_robots_switched_off_is_said(start: Starter, start_here: Starter, web: LiveStub, tmp_path: Path) -> None:
    file = tasks(tmp_path, web, "shop")
    given = ("sites=live", f"task.path={file}", "task.name=live", *POLITE, *AGENT, f"+{script('stop 7')}")
    for _ in range(2):  # the second start shows the summary it finds
        done = start(*given, "sites.live.robots=false")
        assert done.code == 0, done.out + done.err
        assert "robots.txt was not honoured (sites.live.robots=false)" in done.out
        assert done.summary["notes"] == ["robots.txt was not honoured (sites.live.robots=false)"]
    changed = start_here(*given)
    assert changed.code == 2 and "sites.live" in changed.err


def test_a_start_page_that_may_not_be_opened_is_said(start: Starter, web: LiveStub, tmp_path: Path) -> None:
    file = tasks(tmp_path, web, "shop")
    done = start("sites=live", f"task.path={file}", "task.name=live", *AGENT, f"+{script('stop 7')}")
    assert done.code == 3 and "shop.localhost is a name of this machine" in done.out
    assert web.asked == []


def killed_while_more_loads(given: Sequence[str], web: LiveStub, hold: Event, *, root: Path) -> None:
    """Start a run, and kill it with all its processes while the shop's page `/more` is being answered."""
    hold.clear()
    with running(*given, root=root) as process:
        while "/more" not in web.pages("shop"):
            assert process.poll() is None
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        psutil.wait_procs(family, timeout=600)
    hold.set()


@pytest.mark.slow
def test_an_effect_is_not_repeated_after_a_kill(start: Starter, web: LiveStub, hold: Event, tmp_path: Path) -> None:
    """Killed while the page after the purchase loads: the purchase is on record, the click after it is in doubt."""
    file = tasks(tmp_path, web, "shop")
    steps = f"+{script('click button Buy', 'click link More', 'stop 7')}"
    given = ("sites=live", f"task.path={file}", "task.name=live", *POLITE, *AGENT, steps)
    killed_while_more_loads(given, web, hold, root=tmp_path / "results")
    done = start(*given)
    assert done.code == 0, done.out + done.err
    assert [method for method, _, _ in web.asked].count("POST") == 1
    episode: Episode = read(done.folder / "0.traj.jsonl")
    assert episode.attempt == 1 and episode.resumed[-1].strategy == "checkpoint"
    assert [doubt.reason for doubt in episode.doubts] == [DoubtReason.INTERRUPTED], "what is not known is said"
    assert "in doubt: task 0" in done.out


@pytest.mark.slow
def test_a_page_that_sends_something_when_a_resume_opens_it_again_is_a_doubt(
    start: Starter, web: LiveStub, hold: Event, tmp_path: Path
) -> None:
    """Killed while an address loads that the agent opened: no action is in doubt, only the page before it."""
    file = tasks(tmp_path, web, "news")
    steps = f"+{script('click link Read', 'goto ' + web.url('shop', '/more'), 'stop 7')}"
    given = ("sites=live", f"task.path={file}", "task.name=live", *POLITE, *AGENT, steps)
    killed_while_more_loads(given, web, hold, root=tmp_path / "results")
    done = start(*given)
    assert done.code == 0, done.out + done.err
    assert web.pages("news").count("/views") == 2, "once more by the resume"
    episode: Episode = read(done.folder / "0.traj.jsonl")
    assert episode.attempt == 1 and episode.resumed[-1].strategy == "checkpoint"
    assert [late.effects[0].url for late in episode.late if not late.replayed] == [web.url("news", "/views")]
    assert [doubt.reason for doubt in episode.doubts] == [DoubtReason.REOPENED]
    assert "in doubt: task 0" in done.out and done.summary["doubts"] == 1
