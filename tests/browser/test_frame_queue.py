"""Pages that are rendered on demand: not while nobody looks, one frame at a time, and with nothing different to see."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from benchmarks.idle_pages import PAGES, differing, pool_on, served
from harness.actions import InvalidAction
from harness.browser.driver import executable
from harness.browser.driver.frame_queue import FrameQueue
from harness.browser.session.chromium import ChromiumPool
from harness.errors import BrowserCrashed, BrowserLost
from tests.browser.conftest import QUICK, Asked, Web, html, visiting
from tests.waiting import alive, until

pytestmark = [pytest.mark.asyncio(loop_scope="session")]
PATIENT = replace(QUICK, settle_timeout_s=30.0, action_timeout_s=30.0, navigation_timeout_s=30.0, step_deadline_s=150.0)
"""Nothing here is about limits, and a busy machine may take its time."""
ON_DEMAND = replace(PATIENT, rendering="on_demand")
HAS_SHELL = "shell" in next(map(str, executable._installed(headless=True)), "")
needs_shell = pytest.mark.skipif(not HAS_SHELL, reason="another Chromium than the headless shell renders by itself")


class Session:
    """A page's: answers when the test lets it."""

    def __init__(self, log: list[str], name: str = "page") -> None:
        self._log, self._name = log, name
        self.has_begun, self.may_answer = asyncio.Event(), asyncio.Event()

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        if method != "HeadlessExperimental.beginFrame":
            self._log.append(f"{self._name} {method}")
            return {}
        self._log.append(f"{self._name} begins")
        self.has_begun.set()
        await self.may_answer.wait()
        self._log.append(f"{self._name} ends")
        return {"hasDamage": False}


async def test_no_frame_begins_before_another_has_ended_though_nobody_waits_for_that_one() -> None:
    queue, log = FrameQueue(), list[str]()
    slow: Any = Session(log, "slow")
    other: Any = Session(log, "other")
    other.may_answer.set()
    first = asyncio.create_task(queue.give(slow))
    await slow.has_begun.wait()
    first.cancel()
    await asyncio.wait([first])
    second = asyncio.create_task(queue.give(other))
    for _ in range(20):
        await asyncio.sleep(0)
    assert log == ["slow begins"]
    slow.may_answer.set()
    await second
    assert log == ["slow begins", "slow ends", "other begins", "other ends"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/lib/chromium/chromium-headless-shell", True),
        ("/cache/chromium_headless_shell-1200/chrome-linux/headless_shell", True),
        ("/cache/chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell", True),
        ("/usr/lib/chromium/chromium", False),
        ("/home/shell/chrome-linux/chrome", False),
    ],
)
async def test_a_headless_shell_is_known_by_its_name(path: str, expected: bool) -> None:
    assert executable.is_shell(path) is expected


async def test_a_browser_that_an_agent_drives_or_that_has_windows_renders_by_itself(tmp_path: Path) -> None:
    for settings, shared, expected in (
        (ON_DEMAND, False, True),
        (ON_DEMAND, True, False),
        (replace(ON_DEMAND, headless=False), False, False),
        (PATIENT, False, False),
    ):
        pool = ChromiumPool(settings, sites=lambda _: (), shared=shared)
        assert pool._wants_frames is expected


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def on_demand(server: Web) -> AsyncIterator[ChromiumPool]:
    async with ChromiumPool(ON_DEMAND, sites=lambda _: (server.site,)) as pool:
        yield pool


@pytest.mark.browser
@needs_shell
async def test_nothing_is_rendered_while_the_model_thinks_and_timers_and_requests_go_on(
    web: Web, on_demand: ChromiumPool
) -> None:
    told: list[int] = []
    enough = asyncio.Event()

    async def tick(asked: Asked) -> Any:
        told.append(int(asked.query))
        if len(told) >= 12:
            enough.set()
        return 200, {}, "ok"

    web.pages["/tick"] = tick
    web.page(
        "/",
        "<button>go</button><script>let n = 0; (function f() { n++; requestAnimationFrame(f) })();"
        "setInterval(() => fetch('/tick?' + n), 60)</script>",
    )
    async with visiting(on_demand, web) as visit:
        for _ in range(2):  # after the first observation, and after an action
            told.clear()
            enough.clear()
            await asyncio.wait_for(enough.wait(), 120)
            assert len(set(told[2:])) == 1, "frames were drawn while nobody looked"
            last = told[-1]
            await visit.click("button", "go")
        told.clear()
        enough.clear()
        await asyncio.wait_for(enough.wait(), 120)
        assert told[-1] > last, "an action has its frames"


@pytest.mark.browser
@needs_shell
async def test_tabs_that_a_page_opens_are_rendered_as_well(web: Web, on_demand: ChromiumPool) -> None:
    web.page("/", "<button onclick=\"window.open('/more')\">open</button>")
    web.page("/more", "<p id=out>0</p><script>requestAnimationFrame(() => { out.textContent = 'drawn' })</script>")
    async with visiting(on_demand, web) as visit:
        assert "'drawn'" in await visit.click("button", "open")


@pytest.mark.browser
@needs_shell
async def test_a_script_of_one_lane_does_not_hold_up_the_frames_of_another(web: Web, on_demand: ChromiumPool) -> None:
    asked, over = asyncio.Event(), asyncio.Event()

    async def hold(_: Asked) -> Any:
        asked.set()
        await over.wait()
        return 200, {}, "ok"

    web.pages["/hold"] = hold
    web.pages["/busy"] = html(
        "<p id=out>before</p><button onclick=\"const held = new XMLHttpRequest(); held.open('GET', '/hold', false);"
        ' held.send(); out.textContent = `after ${held.responseText}`">go</button>'
    )
    web.pages["/"] = html(
        '<p id=out>before</p><button onclick="let n = 0; (function f() { if (++n < 10) requestAnimationFrame(f);'
        " else out.textContent = 'after' })()\">go</button>"
    )

    async def play() -> None:
        async with visiting(on_demand, web, "/busy", lane=1) as visit:
            assert "'after ok'" in await visit.click("button", "go")

    async with asyncio.TaskGroup() as both, visiting(on_demand, web) as visit:
        both.create_task(play())
        await asked.wait()
        assert "'after'" in await visit.click("button", "go")
        over.set()


@pytest.mark.browser
@needs_shell
async def test_lanes_have_browsers_of_their_own_and_one_driver(web: Web) -> None:
    web.page("/", "<p>here</p>")
    before = set(psutil.Process().children(recursive=True))
    async with ChromiumPool(ON_DEMAND, sites=lambda _: (web.site,)) as pool:
        for lane in (0, 1, 0):
            async with visiting(pool, web, lane=lane):
                pass
        assert pool.starts == 2
        assert len({one.driver for one in pool._current.values()}) == 1
        async with visiting(pool, web, lane=1) as visit:
            await pool._current[1].browser.close()
            with pytest.raises(BrowserCrashed):
                await visit.act(InvalidAction())
        async with visiting(pool, web, lane=1), visiting(pool, web) as visit:
            assert "'here'" in visit.text and pool.starts == 3, "the other one works as before"
    left = set(psutil.Process().children(recursive=True)) - before
    await until(lambda: not alive(process.pid for process in left))


@pytest.mark.browser
@needs_shell
async def test_a_driver_that_ends_is_no_fault_of_any_lane(web: Web) -> None:
    web.page("/", "<p>here</p>")
    async with ChromiumPool(ON_DEMAND, sites=lambda _: (web.site,)) as pool:
        before, here, is_gone = set(psutil.Process().children()), asyncio.Barrier(3), asyncio.Event()

        async def play(lane: int) -> None:
            with pytest.raises(BrowserLost):
                async with visiting(pool, web, lane=lane) as visit:
                    await here.wait()
                    await is_gone.wait()
                    await visit.act(InvalidAction())

        async with asyncio.TaskGroup() as lanes:
            for lane in (0, 1):
                lanes.create_task(play(lane))
            await here.wait()
            [driver] = set(psutil.Process().children()) - before
            driver.kill()
            driver.wait()
            is_gone.set()


@pytest.mark.browser
@needs_shell
async def test_who_watches_sees_the_page_while_nothing_else_is_rendered(web: Web, on_demand: ChromiumPool) -> None:
    web.page("/", "<button onclick=\"document.body.style.background='#063'\">green</button>")
    async with visiting(on_demand, web) as visit:
        white = await visit.env.glance()
        assert white is not None and await visit.env.glance() == white
        await asyncio.gather(visit.click("button", "green"), *(visit.env.glance() for _ in range(3)))
        green = await visit.env.glance()
        assert green is not None and green != white
        frames = visit.env._window._frames
        assert frames is not None and not frames._rendering


@pytest.mark.slow
@pytest.mark.browser
@needs_shell
@pytest.mark.parametrize("name", PAGES)
async def test_observations_notices_and_pictures_are_those_of_a_browser_that_renders_always(name: str) -> None:
    with served() as site:
        async with pool_on(site, rendering="on_demand") as ours, pool_on(site, rendering="always") as always:
            assert await differing(ours, always, [name]) == []
