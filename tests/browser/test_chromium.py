"""One browser per worker, one context per episode, and everything that can die of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.async_api import Browser, Error

from harness.actions import Click, Goto, InvalidAction
from harness.browser.driver.executable import find
from harness.browser.session.chromium import ChromiumPool
from harness.browser.visit_policy import BrowserVisits, NoVisits
from harness.errors import BrowserCrashed, ConfigError, SiteUnavailable, UsageError
from harness.records import Episode, Site
from harness.settings.browser import BrowserSettings
from tests.browser.chromium_processes import helpers, kill_network_service, the_browser
from tests.browser.conftest import QUICK, Answer, Asked, Visit, Web, a_task, html, visiting
from tests.waiting import alive, until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def pool_for(web: Web, settings: BrowserSettings = QUICK) -> ChromiumPool:
    return ChromiumPool(settings, sites=lambda _: (web.site,))


@pytest.mark.slow
async def test_no_browser_is_started_before_an_episode_wants_one(web: Web) -> None:
    async with pool_for(web) as pool:
        assert pool.starts == 0
        web.page("/", "hello")
        for _ in range(2):
            async with visiting(pool, web):
                pass
        assert pool.starts == 1


@pytest.mark.slow
async def test_what_playwright_switches_off_stays_off(web: Web) -> None:
    web.page("/", "hello")
    async with pool_for(web) as pool, visiting(pool, web):
        words = the_browser().cmdline()
    said = [set(word.partition("=")[2].split(",")) for word in words if word.startswith("--disable-features=")]
    assert len(said) == 2
    playwrights, ours = said  # Chromium heeds the last
    assert playwrights < ours
    assert ours - playwrights == {"RenderDocument"}


@pytest.mark.slow
async def test_a_browser_may_begin_before_it_is_wanted_and_is_the_one_that_is_used(web: Web) -> None:
    web.page("/", "hello")
    async with pool_for(web) as pool:
        pool.begin()
        for _ in range(2):
            async with visiting(pool, web):
                assert pool.starts == 1


@pytest.mark.slow
async def test_a_browser_nobody_wanted_after_all_ends_with_its_pool(web: Web) -> None:
    before = set(psutil.Process().children(recursive=True))
    async with pool_for(web) as pool:
        pool.begin()
    assert pool.starts == 1
    left = set(psutil.Process().children(recursive=True)) - before
    await until(lambda: not alive(process.pid for process in left))


class Refusing(NoVisits):
    async def guard(self, browser: Browser) -> BrowserVisits:
        raise Error("Target page, context or browser has been closed")


@pytest.mark.slow
async def test_a_browser_whose_visits_cannot_be_guarded_ends_and_is_an_infrastructure_error(web: Web) -> None:
    before = set(psutil.Process().children(recursive=True))
    async with ChromiumPool(QUICK, sites=lambda _: (web.site,), visits=Refusing()) as pool:
        with pytest.raises(BrowserCrashed, match="has been closed"):
            async with pool.open(a_task(web), 0):
                pass
    left = set(psutil.Process().children(recursive=True)) - before
    await until(lambda: not alive(process.pid for process in left))


@pytest.mark.slow
async def test_a_browser_is_kept_for_an_episode_that_is_about_to_begin_in_it(web: Web) -> None:
    web.page("/", "<p>alive</p>")
    waits, goes = asyncio.Event(), asyncio.Event()

    async def begun_late() -> str:
        async with visiting(pool, web) as visit:
            return visit.text

    async with pool_for(web, replace(QUICK, allowed="any")) as pool:
        serving = pool._pages.serving

        @asynccontextmanager
        async def late(guard: Any) -> AsyncIterator[str]:
            waits.set()
            await goes.wait()
            async with serving(guard) as server:
                yield server

        with pytest.raises(BrowserCrashed, match="a process ended"):
            async with pool.open(a_task(web), 0):
                pool._pages.serving = late  # type: ignore[method-assign]
                other = asyncio.create_task(begun_late())
                await waits.wait()
                raise BrowserCrashed("a process ended", whole=True)
        goes.set()
        assert "'alive'" in await other
        assert pool.starts == 1


@pytest.mark.parametrize("early", [False, True])
async def test_a_missing_browser_is_one_sentence(web: Web, early: bool) -> None:
    async with pool_for(web, replace(QUICK, executable="/nowhere/chromium")) as pool:
        if early:
            pool.begin()
        with pytest.raises(ConfigError, match="/nowhere/chromium is not an executable"):
            async with pool.open(a_task(web), 0):
                pass


@pytest.mark.slow  # it starts eight drivers
async def test_a_browser_that_cannot_start_is_tried_again_before_the_run_stops(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full, program = tmp_path / "full", tmp_path / "chromium"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) exec {find()} --version;; esac\n'
        f'[ ! -e {full} ] || {{ echo No space left on device >&2; exit 1; }}\nexec {find()} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr("harness.browser.session.chromium._PAUSES_S", (0.05,) * 1000)
    web.page("/", "<p>here</p>")

    async def seen(pool: ChromiumPool) -> str:
        async with visiting(pool, web) as visit:
            return visit.text

    def tries() -> int:
        return caplog.text.count("No space left on device); trying again in 0.05 s")

    full.touch()
    async with pool_for(web, replace(QUICK, executable=str(program))) as pool:
        with pytest.raises(UsageError, match=r"chromium does not start: .*No space left on device\).*harness doctor"):
            await seen(pool)
        assert tries() == 2, "the first browser of all"
        full.unlink()
        assert "here" in await seen(pool)
        full.touch()
        the_browser().kill()
        await until(lambda: not pool._current or not pool._current[0].browser.is_connected())
        later = asyncio.create_task(seen(pool))
        await until(lambda: tries() >= 5)
        full.unlink()
        assert "here" in await later
        assert pool.starts == 2


async def test_a_task_can_say_where_its_visitor_stands(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<p id=out>not asked yet</p><script>navigator.geolocation.getCurrentPosition("
        "({ coords }) => out.textContent = `at ${coords.latitude} ${coords.longitude}`,"
        "(refused) => out.textContent = refused.message)</script>",
    )
    async with visiting(chromium, web, geolocation={"latitude": 40.4, "longitude": -79.9}) as visit:
        assert "at 40.4 -79.9" in await visit.act(InvalidAction())
    async with visiting(chromium, web) as visit:
        assert "denied" in await visit.act(InvalidAction())


async def test_every_episode_begins_empty_and_alike(web: Web, chromium: ChromiumPool) -> None:
    web.pages["/"] = html(
        "<p id=out></p><script>out.textContent=[document.cookie,localStorage.length,devicePixelRatio,innerWidth,"
        "innerHeight,navigator.language,Intl.DateTimeFormat().resolvedOptions().timeZone,"
        "matchMedia('(prefers-reduced-motion: reduce)').matches].join(' ');"
        "document.cookie='a=1';localStorage.a=1</script>"
    )
    for _ in range(2):
        async with visiting(chromium, web) as visit:
            assert "'0 1 1280 720 en-US UTC true'" in visit.text


async def test_a_crashed_page_is_an_infrastructure_error_and_the_next_episode_works(
    web: Web, chromium: ChromiumPool
) -> None:
    web.page("/", "<p>alive</p>")
    async with visiting(chromium, web) as visit:
        with pytest.raises(Error):
            await visit.env._window.tabs.current.page.goto("chrome://crash")
        with pytest.raises(BrowserCrashed, match="crashed"):
            await visit.act(InvalidAction())
    async with visiting(chromium, web) as visit:
        assert "'alive'" in visit.text


async def test_a_page_that_crashes_while_it_is_waited_for_ends_the_wait(web: Web) -> None:
    web.page("/", "<button onclick=\"fetch('/slow')\">ask</button>")
    asked, over = asyncio.Event(), asyncio.Event()

    async def slow(_: Asked) -> Answer:
        asked.set()
        await over.wait()
        return html("")

    web.pages["/slow"] = slow
    patient = replace(QUICK, settle_timeout_s=60.0, step_deadline_s=120.0)
    async with pool_for(web, patient) as pool, visiting(pool, web) as visit, asyncio.TaskGroup() as group:
        page = visit.env._window.tabs.current.page

        async def crash() -> None:
            await asked.wait()
            with pytest.raises(Error):
                await page.goto("chrome://crash")

        group.create_task(crash())
        async with asyncio.timeout(patient.settle_timeout_s):
            with pytest.raises(BrowserCrashed, match="crashed"):
                await visit.click("button", "ask")
        over.set()


async def test_a_killed_browser_is_an_infrastructure_error_and_is_started_again(web: Web) -> None:
    web.page("/", "<p>alive</p>")
    async with pool_for(web) as pool:
        async with visiting(pool, web) as visit:
            the_browser().kill()
            with pytest.raises(BrowserCrashed):
                await visit.act(InvalidAction())
        async with visiting(pool, web) as visit:
            assert "'alive'" in visit.text
        assert pool.starts == 2


@pytest.mark.slow
@pytest.mark.parametrize("at", ["before an action", "while a page is waited for"])
async def test_a_browser_whose_tabs_are_gone_before_it_is_crashed_like_any_other(web: Web, at: str) -> None:
    asked, over = asyncio.Event(), asyncio.Event()

    async def slow(_: Asked) -> Answer:
        asked.set()
        await over.wait()
        return html("")

    web.pages["/slow"] = slow
    script = "const one = document.createElement('script'); one.src = '/slow'; document.body.append(one)"
    web.page("/", f'<button onclick="{script}">ask</button>')
    patient = replace(QUICK, settle_timeout_s=60.0, step_deadline_s=120.0)
    async with pool_for(web, patient) as pool, visiting(pool, web) as visit:
        context = visit.env._window.context

        async def close() -> None:
            await asked.wait()
            await context.close()

        async with asyncio.TaskGroup() as group:
            if at == "while a page is waited for":
                group.create_task(close())
            else:
                await context.close()
            with pytest.raises(BrowserCrashed, match="the browser failed while performing an action"):
                await visit.click("button", "ask")
        over.set()


@pytest.mark.slow
async def test_a_browser_that_opens_no_window_any_more_is_replaced_and_serves_those_who_are_in_it(web: Web) -> None:
    web.page("/", "<p>alive</p>")
    async with pool_for(web, replace(QUICK, step_deadline_s=3.0)) as pool:
        async with visiting(pool, web) as neighbour:
            old = the_browser()
            zygotes = helpers("--type=zygote")
            assert zygotes
            for zygote in zygotes:
                zygote.kill()
            # One window may come up in a process that Chromium had ready.
            for _ in range(2):
                with suppress(BrowserCrashed):
                    async with visiting(pool, web):
                        pass
            async with visiting(pool, web) as visit:
                assert "'alive'" in visit.text
            assert pool.starts == 2
            assert "'alive'" in await neighbour.act(InvalidAction()), "nobody took it away from those it still serves"
        with pytest.raises(psutil.NoSuchProcess):
            assert old.wait(timeout=600) is None and psutil.Process(old.pid)
        async with visiting(pool, web) as visit:
            assert pool.starts == 2


@pytest.mark.slow
@pytest.mark.parametrize("at", ["act", "gather", "restore"])
async def test_a_network_service_that_ends_is_noticed_before_anything_is_recorded(web: Web, at: str) -> None:
    async def greeted(asked: Asked) -> Answer:
        if asked.path == "/dies":
            kill_network_service()
        name = "known" if "who=me" in asked.headers.get("cookie", "") else "a stranger"
        return html(f"<p>{name}</p><a href='/'>again</a>", headers={"set-cookie": "who=me"})

    web.pages["/"] = web.pages["/dies"] = greeted
    async with pool_for(web) as pool:
        async with visiting(pool, web) as visit:
            await visit.click("link", "again")
            assert "'known'" in visit.text
            if at != "restore":
                kill_network_service()
            with pytest.raises(BrowserCrashed, match=r"^Chromium's network service ended; the cookies"):
                match at:
                    case "act":
                        await visit.act(InvalidAction())
                    case "gather":
                        await visit.env.gather(a_task(web))
                    case _:
                        await visit.env.restore(a_task(web, "/dies"), Episode())
        async with visiting(pool, web) as visit:
            await visit.click("link", "again")
            assert "'known'" in visit.text
        assert pool.starts == 1, "Chromium starts that process again by itself"


async def test_a_browser_that_hangs_runs_into_the_deadline_of_the_step(web: Web) -> None:
    web.page("/", "<p>alive</p>")
    async with pool_for(web, replace(QUICK, step_deadline_s=1.5)) as pool:
        async with visiting(pool, web) as visit:
            newest = the_browser()
            newest.suspend()
            try:
                async with asyncio.timeout(300):
                    with pytest.raises(BrowserCrashed, match=r"more than 1\.5 s"):
                        await visit.act(InvalidAction())
            finally:
                newest.resume()


@pytest.mark.slow
async def test_a_start_page_that_is_not_there_is_the_sites_fault(web: Web, chromium: ChromiumPool) -> None:
    gone = Site(name="shop", url="http://t0.shop.localhost:9", canonical="http://shop.localhost")
    async with ChromiumPool(QUICK, sites=lambda _: (gone,)) as pool:
        task = a_task(web)
        async with pool.open(task, 0) as env:
            with pytest.raises(SiteUnavailable, match="cannot be opened"):
                await env.restore(task, Episode())


async def test_lanes_reach_their_own_copy_of_a_site_only(web: Web) -> None:
    def sites(lane: int) -> tuple[Site, ...]:
        return (replace(web.site, url=f"http://t{lane}.shop.localhost:{web.port}"),)

    web.pages["/"] = lambda asked: _told(asked.headers["host"])
    async with ChromiumPool(QUICK, sites=sites) as pool:
        for lane in (3, 4):
            task = a_task(web)
            async with pool.open(task, lane) as env:
                visit = Visit(env, (await env.restore(task, Episode())).view)
                assert f"'host t{lane}'" in visit.text
                assert visit.view.observation.url == "http://shop.localhost/"
                await visit.act(Goto(url=f"http://t9.shop.localhost:{web.port}/"))
                assert "outside the sites" in visit.notices
                leak = f"const i=new Image();i.src='http://t9.shop.localhost:{web.port}/leak'"
                await visit.env._window.tabs.current.page.evaluate(leak)
                await visit.act(InvalidAction())
        assert not [asked for asked in web.asked if asked.headers["host"].startswith("t9")]


async def test_a_site_without_a_port_opens_no_other_port_of_its_host(web: Web) -> None:
    plain = Site(name="blog", url="http://blog.localhost", canonical="http://blog.localhost")
    for path in ("/", "/other"):
        web.page(path, "<p>here</p>")
    async with web.pool(QUICK, web.site, plain) as pool, visiting(pool, web) as visit:
        await visit.act(Goto(url=f"http://blog.localhost:{web.port}/other"))
        assert "outside the sites" in visit.notices
        ask = "fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => 'refused')"
        page = visit.env._window.tabs.current.page
        said = [await page.evaluate(f"(url) => {ask}", f"{url}/other") for url in (web.site.url, _at(plain.url, web))]
    assert said == ["answered", "refused"]
    assert not [asked for asked in web.asked if asked.headers["host"].startswith("blog")]


def _at(url: str, web: Web) -> str:
    return f"{url}:{web.port}"


async def _told(host: str) -> tuple[int, dict[str, str], str]:
    return html(f"<p>host {host.split('.')[0]}</p>")


@pytest.mark.slow
async def test_the_screenshot_is_taken_only_when_asked_for(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<button>b</button>")
    async with visiting(chromium, web) as visit:
        assert visit.view.image is None
    async with pool_for(web, replace(QUICK, screenshots=True)) as pool, visiting(pool, web) as visit:
        await visit.act(Click(target=visit.target("button", "b")))
        image = visit.view.image
        assert image is not None and image.startswith(b"\x89PNG")
        assert (int.from_bytes(image[16:20]), int.from_bytes(image[20:24])) == (1280, 720)
