"""With `browser.time=stopped` the time of pages stands still while the model thinks, and requests go on."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest

from harness.browser.session import page_age
from harness.browser.session.chromium import ChromiumPool
from harness.records import Answered, Late, SideEffect, Usage
from harness.records import Asked as Request
from tests.browser.conftest import QUICK, Asked, Web, visiting
from tests.browser.test_restored_effects import BUTTON, a_way, acted, decided

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
PATIENT = replace(QUICK, settle_timeout_s=30.0, action_timeout_s=30.0, navigation_timeout_s=30.0, step_deadline_s=150.0)
"""Nothing here is about limits, and a busy machine may take its time."""
STOPPED = replace(PATIENT, time="stopped")
BEATS = 12
"""Messages of a worker, whose time goes on, after which a test knows that time has passed."""
_PATIENCE_S = 120
REPORTS = """<style>@keyframes move { to { margin-left: 9px } } #moved { animation: move 900s linear }</style>
<div id=moved></div><script>
let timers = 0, frames = 0;
setInterval(() => timers++, 20);
(function draw() { frames++; requestAnimationFrame(draw) })();
const beats = new Worker(URL.createObjectURL(new Blob(["setInterval(() => postMessage(0), 60)"])));
beats.onmessage = () => fetch("/told?" + new URLSearchParams({
  where: WHERE, now: performance.now(), date: Date.now(), made: +new Date(), timers, frames,
  animation: moved.getAnimations()[0].currentTime,
}));
</script>"""


def reporting(where: str) -> str:
    return f"<script>const WHERE = {where!r}</script>{REPORTS}"


class Told:
    """What pages say of their time, over the network."""

    def __init__(self, web: Web) -> None:
        self.said: list[dict[str, str]] = []
        self._news = asyncio.Event()
        web.pages["/told"] = self._hear

    async def _hear(self, asked: Asked) -> Any:
        self.said.append({name: one[0] for name, one in parse_qs(asked.query).items()})
        self._news.set()
        return 200, {}, "ok"

    async def until(self, is_enough: Callable[[list[dict[str, str]]], bool]) -> list[dict[str, str]]:
        self.said.clear()
        async with asyncio.timeout(_PATIENCE_S):
            while not is_enough(self.said):
                self._news.clear()
                await self._news.wait()
        return list(self.said)

    async def still(self, where: str) -> dict[str, str]:
        """What a page said so many times, one after the other, and each time the same."""

        def is_still(found: list[dict[str, str]]) -> bool:
            last = [one for one in found if one["where"] == where][-BEATS:]
            return len(last) == BEATS and all(one == last[0] for one in last)

        return [one for one in await self.until(is_still) if one["where"] == where][-1]


def stopped(web: Web) -> ChromiumPool:
    return web.pool(STOPPED)


async def test_clocks_timers_frames_and_animations_stand_still_and_go_on(web: Web) -> None:
    told = Told(web)
    web.page("/", f"<button>go</button>{reporting('page')}")
    async with visiting(stopped(web), web) as visit:
        before = None
        for _ in range(2):
            said = await told.still("page")
            assert said["date"] == said["made"]
            if before is not None:
                assert all(float(said[name]) > float(before[name]) for name in said if name != "where")
            before = said
            await visit.click("button", "go")


@pytest.mark.slow
async def test_running_time_goes_on(web: Web) -> None:
    told = Told(web)
    web.page("/", reporting("page"))
    async with visiting(web.pool(PATIENT), web):
        said = await told.until(lambda found: len(found) > BEATS)
        assert int(said[-1]["timers"]) > int(said[0]["timers"])


@pytest.mark.slow
async def test_frames_and_new_tabs_stand_still_as_well(web: Web) -> None:
    told = Told(web)
    web.page("/inner", reporting("frame"))
    web.page("/other", reporting("tab"))
    web.page("/", "<iframe src=/inner></iframe><button onclick=\"window.open('/other')\">open</button>")
    async with visiting(stopped(web), web) as visit:
        await visit.click("button", "open")

        await told.still("frame")
        await told.still("tab")


@pytest.mark.slow
async def test_a_new_document_comes_at_the_time_at_which_the_last_one_was_left(web: Web) -> None:
    told = Told(web)
    web.page("/", f"<a href=/next>next</a>{reporting('first')}")
    web.page("/next", reporting("next"))
    async with visiting(stopped(web), web) as visit:
        begun = time.time()
        await told.until(lambda found: len(found) > BEATS)
        thought_s = time.time() - begun
        await visit.click("link", "next")
        said = await told.until(lambda found: len(found) > 1)
        assert time.time() - int(said[-1]["date"]) / 1000 > 0.9 * thought_s


@pytest.mark.slow
async def test_a_document_that_comes_while_time_stands_still_stands_still(web: Web) -> None:
    told = Told(web)
    come = asyncio.Event()

    async def late(_: Asked) -> Any:
        await come.wait()
        return 200, {}, f"<!doctype html>{reporting('late')}"

    web.pages["/late"] = late
    web.page("/", f"{reporting('page')}<script>setTimeout(() => {{ let f = document.createElement('iframe');"
             " f.src = '/late'; document.body.append(f) }, 30)</script>")  # fmt: skip
    async with visiting(web.pool(replace(STOPPED, settle_timeout_s=2.0)), web):
        come.set()
        await told.still("late")


@pytest.mark.slow
async def test_the_time_of_new_documents_goes_on_after_a_page_that_did_not_answer(web: Web) -> None:
    told, hangs = asyncio.Event(), asyncio.Event()

    async def answer(asked: Asked) -> Any:
        if asked.path == "/tell":
            await told.wait()
        else:
            hangs.set()
        return 200, {}, "ok"

    web.pages["/tell"] = web.pages["/hangs"] = answer
    hang = "const ask = new XMLHttpRequest(); ask.open('GET', '/hangs', false); ask.send(); for (;;);"
    web.page("/", f"<a href=/next>next</a><script>fetch('/tell').then(() => {{ {hang} }})</script>")
    web.page("/next", "<p id=out>waiting</p><script>setTimeout(() => out.textContent = 'went on', 50)</script>")
    quick = replace(STOPPED, settle_timeout_s=2.0, action_timeout_s=3.0)
    async with visiting(web.pool(quick), web) as visit:
        told.set()
        await hangs.wait()
        assert "'went on'" in await visit.click("link", "next")
        assert "its time may not have been stopped" in visit.notices


CHECKS = """
const said = [];
const is = (what, holds) => { if (!holds) said.push(what) };
is("a date is one", new Date() instanceof Date && new Date(0).getTime() === 0 && typeof Date() === "string");
is("dates are made of parts", new Date(2026, 0, 5).getDate() === 5 && Date.UTC(1970, 0, 1) === 0);
is("dates can be extended", new (class Mine extends Date {})(7).getTime() === 7);
is("the constructor is the global", new Date().constructor === Date);
is("now fits the origin", Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 50);
let order = "";
clearTimeout(setTimeout(() => { order += "cleared" }, 0));
clearTimeout(undefined);
setTimeout((a, b) => { order += a + b }, 10, "x", "y");
setTimeout("window.written = true", 20);
let rounds = 0;
const every = setInterval(() => { order += "i"; if (++rounds === 2) clearInterval(every) }, 60);
cancelAnimationFrame(requestAnimationFrame(() => { order += "never" }));
requestAnimationFrame((at) => is("a frame has the time", Math.abs(at - performance.now()) < 1000));
setTimeout(() => { is(order, order === "xyii" && window.written); document.getElementById("out").textContent = said.join() || "fine" }, 400);
"""


async def test_pages_find_the_clocks_and_timers_that_they_know(web: Web) -> None:
    web.page("/", f"<p id=out>waiting</p><script>{CHECKS}</script>")
    async with visiting(stopped(web), web) as visit:
        assert "'fine'" in visit.text


async def test_no_page_has_a_negative_age_where_the_clock_was_set_back() -> None:
    episode = a_way((BUTTON, acted(1, "/")), (BUTTON, acted(2, "/")))
    effect = SideEffect(method="POST", url="http://shop.test/x", status=200)
    episode = replace(episode, late=(Late(step=2, effects=(effect,), replayed=True, at=-1800.0),))
    assert min(page_age._ages(episode, stands_still=False)) >= 0
    request = Request(number=1, step=3, key="k", interface="chat", model="m", request="0" * 64, at=1800.0)
    answer = Answered(number=1, status=200, response="1" * 64, model="m", usage=Usage(), elapsed_ms=1.0, at=60.0)
    episode = replace(episode, late=(), asked=(request,), answered={1: answer})
    assert min(page_age._ages(episode, stands_still=False)) >= 0


async def test_a_page_whose_time_stands_still_does_not_age_while_the_model_thinks() -> None:
    episode = a_way((BUTTON, acted(1, "/")), (BUTTON, acted(2, "/")))
    slow = tuple(replace(step, decided=decided(n, BUTTON, elapsed_ms=5000)) for n, step in enumerate(episode.steps, 1))
    episode = replace(episode, steps=slow)
    running, still = (page_age._ages(episode, stands_still=stands_still) for stands_still in (False, True))
    assert running[0] - still[0] == pytest.approx(10.0)
