"""A site that goes away in the middle of an episode is the world's doing; an address that is no good is the agent's."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from time import monotonic

import pytest
import pytest_asyncio

from harness.actions import Action, Click, Goto
from harness.browser.session.chromium import ChromiumPool
from harness.errors import SiteUnavailable
from harness.records import Episode, Refused, Step
from tests.browser.conftest import QUICK, Asked, Visit, Web, a_task, html, visiting
from tests.browser.test_restoration import acted, decided

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
IMPATIENT = replace(QUICK, navigation_timeout_s=1.0)


@dataclass
class Frail:
    """A site that can be taken away and brought back at the same address."""

    web: Web = field(default_factory=Web)
    said: list[tuple[int, str]] = field(default_factory=list)
    """What was told of waiting for it, and by which lane."""
    listening: asyncio.Server | None = None

    async def up(self) -> None:
        if self.listening is not None:
            return
        self.listening = await asyncio.start_server(self.web.serve, "127.0.0.1", self.web.port)
        self.web.port = self.listening.sockets[0].getsockname()[1]

    async def down(self) -> None:
        if self.listening is not None:
            self.listening.close()
            self.listening = None


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place() -> AsyncIterator[tuple[Frail, ChromiumPool]]:
    """The site, and one impatient browser for all tests that need no other."""
    frail = Frail()
    tell = lambda lane, note: frail.said.append((lane, note))  # noqa: E731
    async with ChromiumPool(IMPATIENT, sites=lambda _: (frail.web.site,), tell=tell) as pool:
        yield frail, pool
        await frail.down()


@pytest_asyncio.fixture(loop_scope="session")
async def frail(place: tuple[Frail, ChromiumPool]) -> Frail:
    site, _ = place
    await site.up()
    site.web.pages.clear()
    site.said.clear()
    site.web.page("/", "<h1>Home</h1><a href=/two>on</a><form method=post action=/do><button>do</button></form>")
    site.web.page("/two", "<h1>Two</h1>")
    return site


@pytest.fixture
def pool(place: tuple[Frail, ChromiumPool]) -> ChromiumPool:
    return place[1]


def click_on(visit: Visit, role: str, name: str) -> Action:
    return Click(target=visit.target(role, name))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["button", "goto"])
async def test_a_site_that_refuses_connections_is_never_the_agents_doing(
    frail: Frail, pool: ChromiumPool, how: str
) -> None:
    async with visiting(pool, frail.web) as visit:
        action = Goto(url="http://shop.localhost/two") if how == "goto" else click_on(visit, "button", "do")
        await frail.down()
        begun = monotonic()
        with pytest.raises(SiteUnavailable, match="shop went down during the episode"):
            await visit.act(action)
        assert monotonic() - begun >= IMPATIENT.navigation_timeout_s, "it was given the time to come back"
        ((lane, note),) = frail.said
        assert lane == 0 and note.startswith("shop does not answer; waiting up to ")


async def test_a_site_that_comes_back_is_waited_for_and_the_episode_goes_on_where_it_stood(frail: Frail) -> None:
    task = a_task(frail.web)
    async with ChromiumPool(replace(QUICK, navigation_timeout_s=8.0), sites=lambda _: (frail.web.site,)) as pool:
        async with pool.open(task, 0) as env:
            visit = Visit(env, (await env.restore(task, Episode())).view)
            arrival = acted(0, visit.view.observation)
            step = Goto(url="http://shop.localhost/two")
            await visit.act(step)
            done = Step(decided=decided(1, step), acted=acted(1, visit.view.observation))
            home = Goto(url="http://shop.localhost/")
            episode = Episode(arrival=arrival, steps=(done,), pending=decided(2, home))
            await frail.down()
            async with asyncio.TaskGroup() as group:
                group.create_task(_back_once_missed(frail, group.create_task(_raises(visit, home))))
            restored = await env.restore(task, episode)
            assert (restored.strategy, restored.similarity) == ("replay", (1.0, 1.0))
            assert "'Home'" in await visit.act(home)


@pytest.mark.slow
async def test_a_site_that_was_never_there_is_waited_for_once_and_one_that_was_each_time(frail: Frail) -> None:
    task, tell = a_task(frail.web), lambda lane, note: frail.said.append((lane, note))
    async with ChromiumPool(IMPATIENT, sites=lambda _: (frail.web.site,), tell=tell) as pool:

        async def begin() -> None:
            async with pool.open(task, 0) as env:
                await env.restore(task, Episode())

        await frail.down()
        for _ in range(3):
            with pytest.raises(SiteUnavailable):
                await begin()
        assert len(frail.said) == 1, "the attempts after the first one do not wait"
        await frail.up()
        await begin()
        await frail.down()
        for _ in range(2):
            with pytest.raises(SiteUnavailable):
                await begin()
        assert len(frail.said) == 3, "it was there, so it may come back"


async def _raises(visit: Visit, action: Action) -> None:
    with pytest.raises(SiteUnavailable):
        await visit.act(action)


async def _back_once_missed(frail: Frail, missing: "asyncio.Task[None]") -> None:
    """Bring the site back while the step waits for it."""
    ended, _ = await asyncio.wait([missing], timeout=1.5)
    assert not ended, "it waits"
    await frail.up()


@pytest.mark.slow
async def test_a_site_that_hangs_as_a_whole_is_gone_too(frail: Frail, pool: ChromiumPool) -> None:
    async def never(_: Asked) -> tuple[int, dict[str, str], str]:
        await asyncio.sleep(30)
        return html("late")

    async with visiting(pool, frail.web) as visit:
        frail.web.pages.update({"/": never, "/two": never})
        with pytest.raises(SiteUnavailable, match="went down"):
            await visit.act(Goto(url="http://shop.localhost/two"))


@pytest.mark.slow
async def test_one_address_that_never_answers_is_told_to_the_agent(frail: Frail, pool: ChromiumPool) -> None:
    async with visiting(pool, frail.web) as visit:
        frail.web.page("/never", "late", delay_s=30)
        await visit.act(Goto(url="http://shop.localhost/never"))
        assert isinstance(visit.outcome, Refused) and "no answer within 1 s" in visit.outcome.why
        frail.web.page("/two", "late", delay_s=30)
        assert "'Home'" in await visit.click("link", "on"), "it is where it was"
        assert "gave up waiting for http://shop.localhost/two" in visit.notices


@pytest.mark.slow
async def test_a_page_of_its_own_that_is_broken_is_shown_and_a_site_that_is_broken_all_over_is_gone(
    frail: Frail, pool: ChromiumPool
) -> None:
    async with visiting(pool, frail.web) as visit:
        frail.web.pages["/two"] = (500, {}, "<title>Oops</title><p>broken")
        assert "broken" in await visit.click("link", "on")
        frail.web.pages["/"] = (503, {}, "<p>maintenance")
        with pytest.raises(SiteUnavailable, match="went down"):
            await visit.act(Goto(url="http://shop.localhost/two"))
