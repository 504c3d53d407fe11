"""Requests that may change a site are seen whenever they are sent: late, when the browser dies, and not at all after
the end.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from harness.actions import Click, Scroll
from harness.browser.session.chromium import ChromiumPool
from harness.errors import BrowserCrashed
from harness.protocols import Environment
from harness.records import Episode, Eval, HtmlTarget, SideEffect
from tests.browser.conftest import QUICK, Answer, Asked, Visit, Web, a_task, html
from tests.journal.episodes import acted, decided

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def an_effect(path: str, status: int | None) -> SideEffect:
    return SideEffect(method="POST", url=f"http://shop.localhost{path}", status=status)


async def begun(env: Environment) -> None:
    async with asyncio.timeout(300):
        await env.effects_begun()


@pytest.mark.slow
async def test_a_request_of_a_timer_is_seen_after_its_step(web: Web) -> None:
    web.pages["/"] = html("<button onclick=\"setTimeout(() => fetch('/late', {method: 'POST'}), 3000)\">Go</button>")
    web.pages["/late"] = html("done")
    task = a_task(web)
    async with web.pool() as pool, pool.open(task, 0) as env:
        visit = Visit(env, (await env.restore(task, Episode())).view)
        await visit.act(Click(target=visit.target("button", "Go")))
        assert visit.landed is not None and visit.landed.effects == ()
        assert env.take_effects() == ()
        await begun(env)
        (effect,) = env.take_effects()
        assert (effect.method, effect.url) == ("POST", "http://shop.localhost/late")
        assert env.take_effects() == (), "each is given once"


async def test_a_request_that_cannot_leave_the_browser_is_no_effect(web: Web) -> None:
    made = "fetch(window.URL.createObjectURL(new Blob(['x'])), {method: 'POST'}).catch(() => fetch('/said', {method: 'PUT'}))"
    web.pages["/"] = html(f'<button onclick="{made}">Go</button>')
    web.pages["/said"] = html("done")
    task = a_task(web)
    async with web.pool() as pool, pool.open(task, 0) as env:
        visit = Visit(env, (await env.restore(task, Episode())).view)
        await visit.act(Click(target=visit.target("button", "Go")))
        assert visit.landed is not None
        assert [effect.method for effect in visit.landed.effects] == ["PUT"]


async def test_a_request_that_was_sent_before_the_browser_died_is_not_forgotten(web: Web) -> None:
    arrived = asyncio.Event()

    async def order(_: Asked) -> Answer:
        arrived.set()
        await asyncio.sleep(30)
        return html("done")

    web.pages["/"] = html("<form method=post action=/order><button>Order</button></form>")
    web.pages["/order"] = order
    task = a_task(web)
    async with ChromiumPool(QUICK, sites=lambda _: (web.site,)) as pool:
        async with pool.open(task, 0) as env:
            visit = Visit(env, (await env.restore(task, Episode())).view)
            acting = asyncio.create_task(env.act(Click(target=visit.target("button", "Order"))))
            await arrived.wait()
            await pool._current[0].browser.close()
            with pytest.raises(BrowserCrashed):
                await acting
        assert env.take_effects() == (an_effect("/order", None),)


async def test_evidence_waits_for_requests_under_way_and_nothing_is_sent_after_it(web: Web) -> None:
    async def slow(_: Asked) -> Answer:
        await asyncio.sleep(1.0)
        orders.append("order")
        return html("done")

    orders: list[str] = []
    late = "setTimeout(() => fetch('/slow', {method: 'POST'}), 1200)"
    ticking = "setInterval(() => navigator.sendBeacon('/tick'), 200)"
    web.pages["/"] = html(f'<button onclick="{late}; {ticking}">Go</button>')
    web.pages["/slow"] = slow
    web.pages["/tick"] = html("")
    task = a_task(web)
    async with web.pool() as pool, pool.open(task, 0) as env:
        visit = Visit(env, (await env.restore(task, Episode())).view)
        await visit.act(Click(target=visit.target("button", "Go")))
        while "/slow" not in [effect.url.removeprefix("http://shop.localhost") for effect in env.take_effects()]:
            await begun(env)
        assert orders == []
        await env.gather(task)
        assert orders == ["order"]
        env.take_effects()
        ticks = [asked.path for asked in web.asked].count("/tick")
        assert ticks > 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):  # five ticks, if there were any
                while True:
                    await begun(env)
                    assert all(effect.status is None for effect in env.take_effects()), "refused by the browser"
        assert [asked.path for asked in web.asked].count("/tick") >= ticks


@pytest.mark.slow
async def test_nothing_is_sent_between_what_is_read_for_the_score_and_its_end(web: Web) -> None:
    """A page that sends all the time: what the site has when it is scored is what it has got, and all of it is recorded."""

    async def tick(_: Asked) -> Answer:
        nonlocal ticks
        ticks += 1
        came.set()
        return html("")

    async def state(_: Asked) -> Answer:
        before = ticks
        came.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):  # twenty, if there were any
                await came.wait()
        return html(f"<p id=state>{before}</p>")

    ticks, came = 0, asyncio.Event()
    web.pages["/"] = html("<button onclick=\"setInterval(() => fetch('/tick', {method: 'POST'}), 50)\">Go</button>")
    web.pages |= {"/tick": tick, "/state": state}
    target = HtmlTarget(url="http://shop.localhost/state", locator="document.querySelector('#state').outerText")
    task = a_task(web, eval=Eval(eval_types=("program_html",), program_html=(target,)))
    async with web.pool() as pool, pool.open(task, 0) as env:
        visit = Visit(env, (await env.restore(task, Episode())).view)
        await visit.act(Click(target=visit.target("button", "Go")))
        assert visit.landed is not None
        await begun(env)
        evidence = await env.gather(task)
        effects = [*visit.landed.effects, *env.take_effects()]
    (value,) = evidence.selections
    assert value.value == f"{ticks}" and ticks > 0
    assert [effect.url.removeprefix("http://shop.localhost") for effect in effects].count("/tick") >= ticks


@pytest.mark.slow
async def test_what_is_on_its_way_when_the_episode_ends_is_recorded(web: Web) -> None:
    """It is answered before the tabs are cut off, which would fail it in the browser though the site has read it."""

    async def save(_: Asked) -> Answer:
        nonlocal saved
        saved += 1
        await asyncio.sleep(0.2)  # it is on its way, in the middle of what is read for the score
        return html("")

    saved = 0
    web.pages["/"] = html("<button onclick=\"setInterval(() => fetch('/save', {method: 'POST'}), 50)\">Go</button>")
    web.pages["/save"] = save
    task = a_task(web)
    async with web.pool() as pool, pool.open(task, 0) as env:
        visit = Visit(env, (await env.restore(task, Episode())).view)
        await visit.act(Click(target=visit.target("button", "Go")))
        assert visit.landed is not None
        await begun(env)
        await env.gather(task)
        effects = [*visit.landed.effects, *env.take_effects()]
    assert [effect.url for effect in effects].count("http://shop.localhost/save") >= saved > 0


async def _answer(orders: list[str]) -> Answer:
    return html(", ".join(orders) or "none")


async def test_a_site_can_be_asked_for_its_effects(web: Web) -> None:
    web.pages["/"] = html("<form method=post action=/order><button>Order</button></form>")
    web.pages["/order"] = lambda _: _order(orders)
    web.pages["/effects"] = lambda _: _answer(orders)
    orders: list[str] = []
    site = replace(web.site, effects_url=f"{web.site.url}/effects")
    task = a_task(web)
    async with web.pool(QUICK, site) as pool, pool.open(task, 0) as env:
        visit = Visit(env, (await env.restore(task, Episode())).view)
        click = Click(target=visit.target("button", "Order"))
        assert await env.ask_sites(Scroll(direction="up")) == {}
        before = await env.ask_sites(click)
        assert before == await env.ask_sites(click)
        await visit.act(click)
        assert list(before) == ["shop"] and before != await env.ask_sites(click)


async def _order(orders: list[str]) -> Answer:
    orders.append("order")
    return html("done")


@pytest.mark.sample(1)
@pytest.mark.parametrize("performed", [False, True])
async def test_what_a_site_says_of_its_effects_settles_the_doubt(web: Web, *, performed: bool) -> None:
    orders: list[str] = []
    web.pages["/"] = html("<form method=post action=/order><button>Order</button></form>")
    web.pages["/order"] = lambda _: _order(orders)
    web.pages["/effects"] = lambda _: _answer(orders)
    site = replace(web.site, effects_url=f"{web.site.url}/effects")
    task = a_task(web)
    async with web.pool(QUICK, site) as pool:
        async with pool.open(task, 0) as env:
            view = (await env.restore(task, Episode())).view
            click = Click(target=Visit(env, view).target("button", "Order"))
            before = await env.ask_sites(click)
            if performed:
                await env.act(click)
        pending = replace(decided(1, click), effects_seen=before)
        episode = Episode(arrival=replace(acted(0), observation=view.observation), pending=pending)
        async with pool.open(task, 0) as env:
            restored = await env.restore(task, episode)
            if restored.pending is not None:
                await env.act(restored.pending)
    assert restored.doubt is not None
    assert restored.doubt.resolution == ("performed" if performed else "not_performed")
    assert orders == ["order"], "once, either way"
