"""A replay sends what is recorded, no more and no less, in the recorded order; what a restore sends to other sites is
recorded and doubted. The sites count on their side.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from harness.actions import Action, Click, Goto, Target, Type
from harness.browser.session import page_age, restored_effects
from harness.browser.session.chromium import ChromiumPool
from harness.browser.session.environment import BrowserEnvironment
from harness.browser.session.restored_effects import kind_of
from harness.choices import Strategy
from harness.errors import EnvironmentDiverged
from harness.protocols import RestoreResult
from harness.records import (
    Acted,
    Decided,
    Done,
    Doubt,
    DoubtReason,
    DoubtResolution,
    Episode,
    Failed,
    Late,
    LiveObservation,
    Observation,
    Resumed,
    SideEffect,
    Site,
    Step,
    TabRecord,
    Usage,
    reopened_pages,
)
from harness.settings.resume import ResumeSettings
from tests.browser.conftest import QUICK, Answer, Asked, Visit, Web, a_task, html
from tests.waiting import until

FRESH = ("shop",)
SHOP = "http://shop.localhost"
browser = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


# --- what is compared ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/order?token=aa1", "/order?token=bb2", True),
        ("/order?a=1&b=2", "/order?b=7&a=8", True),
        ("/orders/57/confirm", "/orders/58/confirm", True),
        ("/drafts/3f2a-11", "/drafts/9c00-12", True),
        ("/save;jsessionid=A1", "/save;jsessionid=B2", True),
        ("/order#top", "/order", True),
        ("/order", "/cancel", False),
        ("/order?token=1", "/order", False),
        ("/order/confirm", "/order", False),
    ],
)
def test_requests_are_compared_without_what_differs_from_reset_to_reset(*, one: str, other: str, same: bool) -> None:
    assert (kind_of("POST", f"{SHOP}{one}") == kind_of("POST", f"{SHOP}{other}")) is same
    assert kind_of("POST", f"{SHOP}{one}") != kind_of("PUT", f"{SHOP}{one}")
    assert kind_of("POST", "http://[made up") == ("POST", "http://[made up")


# --- which pages are opened again ------------------------------------------------------------------

LINK = Click(target=Target(id="1", role="link", name="Add"))
BUTTON = Click(target=Target(id="2", role="button", name="Go"))
SENT = SideEffect(method="POST", url=f"{SHOP}/visit", status=200, by_load=True)
ORDER = SideEffect(method="POST", url=f"{SHOP}/order", status=303)


def seen(*urls: str) -> Observation:
    tabs = tuple(TabRecord(url=f"{SHOP}{url}", title="", current=not at) for at, url in enumerate(urls))
    return Observation(url=tabs[0].url, title="", tabs=tabs, text="", fingerprint=str(urls))


def acted(step: int, *urls: str, effects: tuple[SideEffect, ...] = ()) -> Acted:
    return Acted(step=step, outcome=Done(), observation=seen(*urls), effects=effects, elapsed_ms=1.0, at=0.0)


def decided(step: int, action: Action, *, elapsed_ms: float = 1.0) -> Decided:
    usage = Usage()
    return Decided(step=step, action=action, reply="", prompt=(), model="m", usage=usage, elapsed_ms=elapsed_ms, at=0.0)


def a_way(*steps: tuple[Action, Acted]) -> Episode:
    made = [Step(decided=decided(number, action), acted=to) for number, (action, to) in enumerate(steps, start=1)]
    return Episode(arrival=acted(0, "/"), steps=tuple(made))


@pytest.mark.parametrize(
    ("episode", "found"),
    [
        (a_way(), []),
        (a_way((Goto(url="x"), acted(1, "/a"))), []),
        (a_way((LINK, acted(1, "/a"))), [("/a", 1, False)]),
        (a_way((BUTTON, acted(1, "/a", effects=(ORDER,)))), [("/a", 1, False)]),
        (a_way((LINK, acted(1, "/a")), (Goto(url="x"), acted(2, "/b"))), []),
        (a_way((LINK, acted(1, "/a")), (BUTTON, acted(2, "/a"))), [("/a", 1, False)]),
        (a_way((Goto(url="x"), acted(1, "/a")), (BUTTON, acted(2, "/a"))), []),
        (a_way((Goto(url="x"), acted(1, "/a")), (LINK, acted(2, "/a"))), [("/a", 2, False)]),
        (a_way((Goto(url="x"), acted(1, "/a", effects=(SENT,)))), [("/a", 1, True)]),
        (a_way((BUTTON, acted(1, "/b", "/"))), [("/b", 1, False)]),
        (replace(a_way(), arrival=acted(0, "/", effects=(SENT,))), [("/", 0, True)]),
    ],
)  # fmt: skip
def test_a_page_matters_that_an_action_led_to_or_that_sent_something_when_it_was_opened(
    episode: Episode, found: list[tuple[str, int, bool]]
) -> None:
    pages = [(page.url.removeprefix(SHOP), page.step, bool(page.sent)) for page in reopened_pages(episode)]
    assert pages == found


# --- in a real browser -----------------------------------------------------------------------------


@dataclass
class Counted:
    """A site that counts what is sent to it, in order."""

    web: Web
    came: list[str] = field(default_factory=list)

    def page(self, path: str, body: str) -> None:
        self.web.pages[path] = html(body, title=path)

    def counts(self, *paths: str, then: Answer | None = None) -> None:
        async def answer(asked: Asked) -> Answer:
            self.came.append(asked.path)
            return then or html("done", title=asked.path)

        for path in paths:
            self.web.pages[path] = answer

    def numbers(self) -> Counter[str]:
        return Counter(self.came)


@dataclass
class Recording:
    """An episode as it is written while it is played."""

    env: BrowserEnvironment
    visit: Visit
    episode: Episode

    async def act(self, make: Callable[[Visit], Action], *, thought_s: float = 0.0) -> None:
        step = len(self.episode.steps) + 1
        action = make(self.visit)
        await self.visit.act(action)
        landed = self.visit.landed
        assert landed is not None
        done = Acted(
            step=step,
            outcome=landed.outcome,
            observation=landed.view.observation,
            timers=landed.view.timers,
            effects=landed.effects,
            elapsed_ms=10.0,
            at=time.time(),
        )
        made = Step(decided=decided(step, action, elapsed_ms=thought_s * 1000), acted=done)
        self.episode = replace(self.episode, steps=(*self.episode.steps, made))

    async def late(self, count: int = 1) -> None:
        """Record so many requests that come after the step, as they come."""
        while count > 0:
            async with asyncio.timeout(300):
                await self.env.effects_begun()
            effects = self.env.take_effects()
            count -= len(effects)
            record = Late(step=len(self.episode.steps), effects=effects, at=time.time())
            self.episode = replace(self.episode, late=(*self.episode.late, record))


@asynccontextmanager
async def recording(pool: ChromiumPool, web: Web, *paths: str) -> AsyncIterator[Recording]:
    task = a_task(web, *paths)
    async with pool.open(task, 0) as env:
        restored = await env.restore(task, Episode())
        arrival = Acted(
            step=0,
            outcome=Done(),
            observation=restored.view.observation,
            timers=restored.view.timers,
            effects=restored.effects,
            elapsed_ms=10.0,
            at=time.time(),
        )
        yield Recording(env, Visit(env, restored.view), Episode(arrival=arrival))


async def restored(
    pool: ChromiumPool, web: Web, episode: Episode, *paths: str, clean: tuple[str, ...] = FRESH
) -> RestoreResult:
    task = a_task(web, *paths)
    async with pool.open(task, 0) as env:
        return await env.restore(task, episode, clean)


def click(role: str, name: str) -> Callable[[Visit], Action]:
    return lambda visit: Click(target=visit.target(role, name))


def later(ms: int, path: str = "/late") -> str:
    return f"<button onclick=\"setTimeout(() => fetch('{path}', {{method: 'POST'}}), {ms})\">Later</button>"


NEXT = "<a href=/next>Next</a>"
MUCH = "<p>This page has more to say than which of its elements has the focus.</p>" * 5


class TestAReplay:
    pytestmark = browser

    async def test_waits_for_what_a_page_sent_after_a_delay_before_it_leaves_the_page(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", later(1500) + NEXT)
        site.page("/next", "Next")
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                await record.late()
                await record.act(click("link", "Next"))
            assert site.came == ["/late"]
            site.came.clear()
            found = await restored(pool, web, record.episode)
        assert (found.strategy, found.similarity) == ("replay", (1.0,) * 3)
        assert site.came == ["/late"], "once since the reset, as recorded"

    @pytest.mark.slow
    async def test_waits_for_what_was_sent_between_the_last_step_and_the_crash(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", later(1500))
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                await record.late()
                await until(lambda: site.came)  # the browser tells of it before the site has it
            site.came.clear()
            task = a_task(web)
            async with pool.open(task, 0) as env:
                await env.restore(task, record.episode, FRESH)
                assert site.came == ["/late"]
                assert env.take_effects() == (), "it is in the journal already"

    @pytest.mark.slow
    async def test_saves_each_draft_before_the_next_text_is_typed(self, web: Web) -> None:
        site = Counted(web)
        saving = "clearTimeout(window.t); window.t = setTimeout(() => fetch('/save', {method: 'POST'}), 1200)"
        site.page("/", f'<label>Draft <input oninput="{saving}"></label>{NEXT}')
        site.page("/next", "Next")
        site.counts("/save")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                for text in ("one", "two"):
                    await record.act(lambda visit, text=text: Type(target=visit.target("textbox", "Draft"), text=text, enter=False))  # type: ignore[misc]  # fmt: skip
                    await record.late()
                await record.act(click("link", "Next"))
            assert site.came == ["/save"] * 2
            site.came.clear()
            await restored(pool, web, record.episode)
        assert site.came == ["/save"] * 2

    @pytest.mark.slow
    async def test_does_not_wait_for_a_request_before_the_action_that_it_followed(self, web: Web) -> None:
        site = Counted(web)
        vote = "<button onclick=\"fetch('/vote', {method: 'POST'})\">Vote</button>"
        site.page("/", later(6000) + vote)
        site.counts("/late", "/vote")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                await record.act(click("button", "Vote"))
                await record.late()
                await until(lambda: len(site.came) == 2)  # the browser tells of it before the site has it
            assert site.came == ["/vote", "/late"]
            site.came.clear()
            await restored(pool, web, record.episode)
        assert site.came == ["/vote", "/late"], "in the recorded order"

    @pytest.mark.slow
    async def test_names_a_request_that_does_not_come(self, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(restored_effects, "GRACE_S", 3.0)  # it is given up sooner
        site = Counted(web)
        site.page("/", later(700) + NEXT)
        site.page("/next", "Next")
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                await record.late()
                await record.act(click("link", "Next"))
            site.page("/", "<button>Later</button>" + NEXT)
            with pytest.raises(
                EnvironmentDiverged, match=r"after step 1: POST .*/late was sent when this was recorded"
            ):
                await restored(pool, web, record.episode)

    @pytest.mark.slow
    async def test_names_a_request_that_is_one_too_many(self, web: Web) -> None:
        site = Counted(web)
        vote = "<button onclick=\"fetch('/vote', {method: 'POST'})\">Vote</button>"
        site.page("/", vote + NEXT)
        site.page("/next", "Next")
        site.counts("/vote")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Vote"))
                await record.act(click("link", "Next"))
            twice = vote.replace("fetch", "fetch('/vote', {method: 'POST'}); fetch")
            site.page("/", twice + NEXT)
            with pytest.raises(
                EnvironmentDiverged, match=r"after step 1: .* was sent 2 times this time, and once when"
            ):
                await restored(pool, web, record.episode)

    @pytest.mark.slow
    async def test_names_a_request_that_came_before_the_action_that_it_followed(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", later(6000) + "<button>Nothing</button>")
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                await record.act(click("button", "Nothing"))
                await record.late()
            site.page("/", later(300) + "<button>Nothing</button>")
            with pytest.raises(EnvironmentDiverged, match=r"after step 1: .*/late was sent once this time, and never"):
                await restored(pool, web, record.episode)

    @pytest.mark.slow
    @pytest.mark.parametrize("every_ms", [30, 1200])
    async def test_a_page_that_sends_all_the_time_is_no_divergence_and_waited_for_as_long_as_it_took(
        self, web: Web, every_ms: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(restored_effects, "GRACE_S", 1e6)  # as for a request that does not come: it would never end
        site = Counted(web)
        ticking = f"<script>setInterval(() => navigator.sendBeacon('/tick'), {every_ms})</script>"
        site.page("/", f"{ticking}<button>Nothing</button>{NEXT}")
        site.page("/next", f"<h1>Next</h1>{ticking}")
        site.counts("/tick")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.late()
                await record.act(click("button", "Nothing"))
                await record.late(3)
                await record.act(click("link", "Next"))
                await record.late()
            site.came.clear()
            async with asyncio.timeout(300):
                found = await restored(pool, web, record.episode)
        assert found.strategy == "replay" and site.numbers()["/tick"] >= 3

    @pytest.mark.slow
    async def test_a_request_that_found_no_connection_then_and_finds_one_now_is_a_divergence(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", "<button onclick=\"fetch('/vote', {method: 'POST'}).catch(() => 0)\">Vote</button>")
        site.counts("/vote")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Vote"))
            (step,) = record.episode.steps
            effects = tuple(replace(effect, status=None, refused=True) for effect in step.acted.effects)
            refused = replace(step, acted=replace(step.acted, effects=effects))
            with pytest.raises(EnvironmentDiverged, match="was sent this time, and found no connection when recorded"):
                await restored(pool, web, replace(record.episode, steps=(refused,)))

    @pytest.mark.slow
    async def test_the_pages_live_on_while_a_browser_was_gone_and_the_model_thought(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", later(2000) + NEXT)
        site.page("/next", "Next")
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                pending = decided(2, click("link", "Next")(record.visit), elapsed_ms=4000)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                episode = replace(record.episode, pending=pending, is_unsent=True)
                found = await env.restore(task, episode, FRESH)
                assert site.came == ["/late"]
                (late,) = env.take_effects()
                assert late.url == f"{SHOP}/late" and found.pending is not None

    @pytest.mark.slow
    async def test_a_timer_that_had_fired_by_the_last_record_fires_before_the_agent_goes_on(self, web: Web) -> None:
        """The kill came between the request and its record: only the page's age tells of it."""
        site = Counted(web)
        site.page("/", later(1800) + "<button>Nothing</button>" + NEXT)
        site.page("/next", "Next")
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                await record.act(click("button", "Nothing"), thought_s=1.0)
                pending = decided(3, click("link", "Next")(record.visit), elapsed_ms=5000)
            task = a_task(web)
            site.came.clear()
            async with pool.open(task, 0) as env:
                found = await env.restore(task, replace(record.episode, pending=pending), FRESH)
                assert site.came == ["/late"] and found.strategy == "replay"
                (late,) = env.take_effects()
                assert late.url == f"{SHOP}/late", "it is in no record yet"
                assert (await env.act(found.pending or pending.action)).doubt == "", "6 s are surely more than 1.8 s"

    @pytest.mark.slow
    async def test_a_timer_that_would_still_run_has_as_much_time_left_as_then(self, web: Web) -> None:
        site = Counted(web)
        stops = "<button onclick='clearTimeout(t)'>Undo</button>"
        site.page("/", later(9000).replace("setTimeout", "window.t = setTimeout") + stops)
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                pending = decided(2, click("button", "Undo")(record.visit), elapsed_ms=3000)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                found = await env.restore(task, replace(record.episode, pending=pending), FRESH)
                left_ms = await env._window.tabs.current.evaluate("window.__cairn.due()[0][1]")
                assert left_ms < 7500, "of 9 s, 3 have passed, less what the click took longer than then"
                assert found.pending is not None and (await env.act(found.pending)).doubt == ""
                assert await env._window.tabs.current.evaluate("window.__cairn.due()") == []
        assert site.came == []

    @pytest.mark.slow
    async def test_timers_that_set_each_other_are_as_old_as_the_first(self, web: Web) -> None:
        site = Counted(web)
        chained = later(900).replace("fetch(", "setTimeout(() => fetch(").replace("'}), 900", "'}), 1200), 900")
        site.page("/", chained + "<button>Nothing</button>" + NEXT)
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                await record.act(click("button", "Nothing"), thought_s=1.5)
                pending = decided(3, click("link", "Next")(record.visit), elapsed_ms=1500)
            site.came.clear()
            await restored(pool, web, replace(record.episode, pending=pending))
        assert site.came == ["/late"]

    @pytest.mark.slow
    async def test_a_request_that_came_about_when_the_journal_ended_is_a_doubt(
        self, web: Web, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(page_age, "_SLACK_S", 2.0)  # a click of a busy machine
        site = Counted(web)
        site.page("/", later(2500) + NEXT)
        site.page("/next", "Next")
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                began = record.episode.steps[0].acted.at - record.episode.steps[0].acted.elapsed_ms / 1000
                left_s = await record.env._window.tabs.current.evaluate("window.__cairn.due()[0][1]") / 1000
                thought_s = time.time() + left_s - record.episode.steps[0].acted.at
                pending = decided(2, click("link", "Next")(record.visit), elapsed_ms=thought_s * 1000)
                assert thought_s < began + 4
            task = a_task(web)
            async with pool.open(task, 0) as env:
                found = await env.restore(task, replace(record.episode, pending=pending), FRESH)
                assert site.came == ["/late"] and found.pending is not None
                landed = await env.act(found.pending)
        assert landed.doubt == (
            "resumed at step 1; what a page sends after a delay was sent before step 2, and it is not recorded whether"
            " it was then"
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("ends", [True, False])
    async def test_a_page_that_is_left_before_a_long_timer_has_fired_is_a_doubt(
        self, web: Web, monkeypatch: pytest.MonkeyPatch, *, ends: bool
    ) -> None:
        monkeypatch.setattr(page_age, "CATCHES_UP_S", 0.5)
        site = Counted(web)
        site.page("/", later(30_000) + NEXT)
        site.page("/next", "Next")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                pending = decided(2, click("link", "Next")(record.visit), elapsed_ms=30_100)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                found = await env.restore(task, replace(record.episode, pending=pending), FRESH)
                assert found.pending is not None
                doubt = (await env.gather(task)).doubt if ends else (await env.act(found.pending)).doubt
        assert re.fullmatch(
            r"resumed at step 1; a page was left before its timer fired, \d\d s later than without the interruption; what"
            r" it would have sent is missing",
            doubt,
        )

    @pytest.mark.slow
    async def test_timers_that_repeat_themselves_are_waited_for_three_times_at_most(self, web: Web) -> None:
        site = Counted(web)
        ticks = "const tick = () => { window.n = (window.n || 0) + 1; setTimeout(tick, 400); }; setTimeout(tick, 400);"
        site.page("/", f"<script>{ticks} setInterval(() => 0, 300)</script><button>Nothing</button>{NEXT}")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Nothing"), thought_s=500.0)
                pending = decided(2, click("link", "Next")(record.visit), elapsed_ms=500_000)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                found = await env.restore(task, replace(record.episode, pending=pending), FRESH)
                assert await env._window.tabs.current.evaluate("window.n") < 15, "the limit was not used up"
                assert found.pending is not None and (await env.act(found.pending)).doubt == ""

    @pytest.mark.slow
    async def test_a_page_that_says_nonsense_about_its_timers_has_none(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", f"<script>Map.prototype.values = () => [1, {{ at: 'x' }}, {{}}]</script>{NEXT}")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                pending = decided(1, click("link", "Next")(record.visit), elapsed_ms=9000)
            found = await restored(pool, web, replace(record.episode, pending=pending))
        assert found.strategy == "replay"

    async def test_effects_of_the_interrupted_action_are_not_expected_of_the_steps(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", "<form method=post action=/order><button>Order</button></form>")
        site.counts("/order")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                pending = decided(1, click("button", "Order")(record.visit))
            order = SideEffect(method="POST", url=f"{SHOP}/order", status=None)
            gone = Failed(
                attempt=0, boundary="act", type="BrowserCrashed", message="", effects=(order,), at=time.time()
            )
            episode = replace(record.episode, pending=pending, failures=(gone,), failed_at=(1,))
            found = await restored(pool, web, episode)
        assert found.doubt is None and found.pending is not None and site.came == []

    @pytest.mark.slow
    async def test_a_journal_without_effects_of_the_start_page_is_replayed_as_before(self, web: Web) -> None:
        """As older versions wrote it: what the start page sends as it loads is in no record."""
        site = Counted(web)
        site.page("/", f"<script>fetch('/visit', {{method: 'POST'}})</script>{NEXT}")
        site.page("/next", "Next")
        site.counts("/visit")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("link", "Next"))
            arrival = record.episode.arrival
            assert arrival is not None and [effect.url for effect in arrival.effects] == [f"{SHOP}/visit"]
            old = replace(record.episode, arrival=replace(arrival, effects=()))
            for episode in (record.episode, old):
                assert (await restored(pool, web, episode)).strategy == "replay"


class TestACheckpoint:
    pytestmark = browser

    def visited(self, web: Web) -> Counted:
        site = Counted(web)
        site.page("/", "<a href=/seen>Seen</a>")
        site.page("/seen", "<script>fetch('/visit', {method: 'POST'})</script><h1>Seen</h1>")
        site.counts("/visit")
        return site

    async def test_what_a_page_sends_when_it_is_opened_again_is_given_to_be_recorded_and_doubted(
        self, web: Web
    ) -> None:
        site = self.visited(web)
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("link", "Seen"))
            assert record.episode.steps[0].acted.effects[0].by_load
            found = await restored(pool, web, record.episode, clean=())
        assert site.came == ["/visit"] * 2 and found.strategy == "checkpoint"
        assert [effect.url for effect in found.sent] == [f"{SHOP}/visit"]
        assert "a page that was opened again sent POST http://shop.localhost/visit" in found.changed

    @pytest.mark.slow
    async def test_it_is_seen_while_the_restore_runs(self, web: Web) -> None:
        """So that a kill in the middle of it loses nothing."""
        self.visited(web)
        hold, seen_it = asyncio.Event(), asyncio.Event()

        async def slow(_: Asked) -> Answer:
            seen_it.set()
            await hold.wait()
            return html("done")

        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("link", "Seen"))
            web.pages["/visit"] = slow
            task = a_task(web)
            async with pool.open(task, 0) as env, asyncio.timeout(300):
                restoring = asyncio.create_task(env.restore(task, record.episode, ()))
                await seen_it.wait()
                await env.effects_begun()
                assert [effect.url for effect in env.take_effects()] == [f"{SHOP}/visit"]
                assert not restoring.done()
                hold.set()
                assert (await restoring).sent == (), "it was taken already"

    async def test_a_page_that_is_known_to_send_something_is_doubted_whether_it_does_so_again_or_not(
        self, web: Web
    ) -> None:
        self.visited(web)
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("link", "Seen"))
            web.page("/seen", "<h1>Seen</h1>", title="/seen")
            found = await restored(pool, web, record.episode, clean=())
        assert found.sent == () and "/seen was opened again, which sent POST" in found.changed

    @pytest.mark.slow
    async def test_what_an_interrupted_restore_sent_is_doubted_by_the_next(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", NEXT)
        site.page("/next", "Next")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(lambda _: Goto(url=f"{SHOP}/next"))
            late = Late(step=1, effects=(SENT,), replayed=False, at=time.time())
            episode = replace(record.episode, late=(late,))
            found = await restored(pool, web, episode, clean=())
            assert "a resume that was interrupted opened a page again" in found.changed
            assert (await restored(pool, web, episode)).changed == "", "the site was reset since"
            known = Doubt(
                step=0, reason=DoubtReason.REOPENED, resolution=DoubtResolution.ACCEPTED, why="known", at=time.time()
            )
            assert (await restored(pool, web, replace(episode, doubts=(known,)), clean=())).changed == ""

    @pytest.mark.sample(2)
    @pytest.mark.parametrize("settings", ["none", "safe_get", "read_only", "mutates", "effects_url", "unlike"])
    async def test_the_address_behind_a_link_is_doubted_unless_something_says_that_it_is_harmless(
        self, web: Web, settings: str
    ) -> None:
        site = Counted(web)
        site.page("/", "<a href=/add>Add one</a>")
        site.counts("/add")

        async def effects(_: Asked) -> Answer:
            return html(f"{len(site.came)}" if settings == "effects_url" else "the same")

        web.pages["/effects"] = effects
        asked = f"{web.site.url}/effects" if settings in ("effects_url", "unlike") else None
        own = replace(web.site, safe_get=settings == "safe_get", read_only=settings == "read_only", effects_url=asked)
        fields: dict[str, Any] = {"mutates": False} if settings == "mutates" else {}
        task = a_task(web, **fields)
        async with web.pool(QUICK, own, restoring=ResumeSettings(strategy=Strategy.checkpoint)) as pool:
            async with recording(pool, web) as record:
                await record.act(click("link", "Add one"))
            async with pool.open(task, 0) as env:
                found = await env.restore(task, record.episode)
        assert site.came == ["/add"] * 2, "opened again, whatever is declared"
        doubted = settings in ("none", "effects_url")
        assert ("/add was opened again, to which click" in found.changed) is doubted, found.changed

    @pytest.mark.sample(2)
    @pytest.mark.parametrize("ends", ["after", "before", "fired", "browser lost", "led back"])
    async def test_a_timer_that_is_lost_with_the_page_is_a_doubt_from_when_it_would_have_fired(
        self, web: Web, ends: str
    ) -> None:
        site = Counted(web)
        site.page("/", later(60_000 if ends == "before" else 2000) + NEXT + MUCH)
        site.page("/next", "Next")
        site.counts("/late")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Later"))
                (timer,) = record.episode.steps[0].acted.timers
                is_overdue = ends not in ("after", "before")
                pending = decided(2, click("link", "Next")(record.visit), elapsed_ms=9000 if is_overdue else 1)
            episode = record.episode
            if is_overdue:
                pending = replace(pending, at=episode.steps[0].acted.at + 9, unsent=ends == "browser lost")
                episode = replace(episode, pending=pending, is_unsent=pending.unsent)
            if ends == "led back":
                before = Resumed(step=1, strategy="checkpoint", similarity=(1.0, 1.0), elapsed_ms=1.0, at=time.time())
                episode = replace(episode, resumed=(before,))
            task = a_task(web)
            async with pool.open(task, 0) as env:
                found = await env.restore(task, episode, ())
                assert found.strategy == "checkpoint" and not found.changed
                if ends == "after":
                    await asyncio.sleep(timer.left_ms / 1000)  # nothing happens: that is what is to be seen
                doubt = (await env.gather(task)).doubt
        assert site.came == []
        what = f"{SHOP}/ was opened again without a timer that was to fire; what it would have sent is missing"
        assert doubt == ("" if ends in ("before", "fired") else f"resumed at step 1; {what}")

    async def test_what_a_page_could_not_send_while_the_site_was_gone_is_a_doubt(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", NEXT)
        site.page("/next", "Next")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(lambda _: Goto(url=f"{SHOP}/next"))
            refused = replace(SENT, status=None, refused=True)
            late = Late(step=1, effects=(refused,), at=time.time())
            failed = Failed(
                attempt=record.episode.attempt,
                boundary="gather",
                type="SiteUnavailable",
                message="",
                effects=(refused,),
                at=time.time(),
            )
            lost = replace(record.episode, failures=(failed,), failed_at=(1,))
            for episode in (replace(record.episode, late=(late,)), lost):
                found = await restored(pool, web, episode, clean=())
                assert f"{SENT.method} {SENT.url} found no connection, and was not sent again" in found.changed

    @pytest.mark.slow
    async def test_a_timer_that_a_page_sets_as_it_is_opened_again_is_not_lost(self, web: Web) -> None:
        site = Counted(web)
        loaded = "<script>setTimeout(() => fetch('/late', {method: 'POST'}), 2500)</script>"
        site.page("/", f"{loaded}<button>Nothing</button>{NEXT}{MUCH}")
        site.page("/next", "Next")
        sent = asyncio.Event()

        async def late(_: Asked) -> Answer:
            sent.set()
            return html("done")

        web.pages["/late"] = late
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(click("button", "Nothing"))
                assert record.episode.steps[0].acted.timers
            sent.clear()
            task = a_task(web)
            async with pool.open(task, 0) as env:
                found = await env.restore(task, record.episode, ())
                assert found.strategy == "checkpoint"
                async with asyncio.timeout(300):
                    await sent.wait()
                assert (await env.gather(task)).doubt == ""

    async def test_a_draft_that_is_typed_again_and_left_before_it_is_saved_is_a_doubt(self, web: Web) -> None:
        site = Counted(web)
        saving = "setTimeout(() => fetch('/save', {method: 'POST'}), 20000)"
        site.page("/", f'<label>Draft <input oninput="{saving}"></label>{NEXT}')
        site.counts("/save")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(lambda visit: Type(target=visit.target("textbox", "Draft"), text="x", enter=False))
                pending = decided(2, click("link", "Next")(record.visit), elapsed_ms=30_000)
            pending = replace(pending, at=record.episode.steps[0].acted.at + 30, unsent=True)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                found = await env.restore(task, replace(record.episode, pending=pending, is_unsent=True), ())
                doubt = (await env.gather(task)).doubt
        assert found.strategy == "replay" and site.came == []
        assert "a page was left before its timer fired" in doubt, doubt

    async def test_an_autosave_that_was_recorded_is_not_sent_again_by_typing_again(self, web: Web) -> None:
        site = Counted(web)
        saving = "setTimeout(() => fetch('/save', {method: 'POST'}), 800)"
        site.page("/", f'<label>Draft <input onchange="{saving}" oninput="{saving}"></label>')
        site.counts("/save")
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                await record.act(lambda visit: Type(target=visit.target("textbox", "Draft"), text="x", enter=False))
                await record.late()
            came = len(site.came)
            with pytest.raises(EnvironmentDiverged):  # the field is empty, and what was saved is not sent again
                await restored(pool, web, record.episode, clean=())
        assert len(site.came) == came

    async def test_a_page_that_is_opened_a_second_time_by_an_interrupted_step_is_doubted_if_it_sends_something(
        self, web: Web
    ) -> None:
        site = self.visited(web)
        task = a_task(web)
        async with web.pool() as pool:
            async with recording(pool, web) as record:
                pending = decided(1, Goto(url=f"{SHOP}/seen"))
            for clean, doubted in (((), True), (FRESH, False)):
                async with pool.open(task, 0) as env:
                    found = await env.restore(task, replace(record.episode, pending=pending), clean)
                    assert found.pending is not None and found.changed == ""
                    landed = await env.act(found.pending)
                    assert ("was interrupted and performed again" in landed.doubt) is doubted
        assert site.came == ["/visit"] * 2


class TestALink:
    """An interrupted click is repeated where the site's settings and the link itself say that it changes nothing."""

    pytestmark = browser

    @pytest.mark.sample(3)
    @pytest.mark.parametrize(
        ("link", "safe"),
        [
            ("<a href=/next>Next</a>", True),
            ("<a href='/next?page=2#top' class=x title=t target=_self rel=next><span>Next</span></a>", True),
            ("<a href=/next onclick='send()'>Next</a>", False),
            ("<a href=/next data-method=delete>Next</a>", False),
            ("<a href=/next ping=/ping>Next</a>", False),
            ("<a href=/next download>Next</a>", False),
            ("<a href=http://other.localhost/next>Next</a>", False),
            ("<a href='javascript:send()'>Next</a>", False),
            ("<span role=link tabindex=0>Next</span>", False),
            ("<a href=/next id=l>Next</a><script>l.addEventListener('click', send)</script>", False),
            ("<a href=/next><b id=l>Next</b></a><script>l.onmousedown = send</script>", False),
        ],
    )  # fmt: skip
    async def test_it_must_be_plain(self, web: Web, *, link: str, safe: bool) -> None:
        Counted(web).page("/", f"<script>const send = () => 0</script>{link}")
        found = await self.resumed(web, replace(web.site, safe_get=True))
        assert found.doubt is not None
        assert found.doubt.resolution == (DoubtResolution.SAFE if safe else DoubtResolution.ASK_PAGE)
        assert found.doubt.resolution.is_settled is safe is (found.pending is not None)

    async def test_it_is_in_doubt_where_nothing_is_declared(self, web: Web) -> None:
        Counted(web).page("/", NEXT)
        found = await self.resumed(web, web.site)
        assert found.doubt is not None and found.doubt.resolution == DoubtResolution.ASK_PAGE

    async def test_it_is_in_doubt_where_the_action_is_known_to_have_sent_something(self, web: Web) -> None:
        Counted(web).page("/", NEXT)
        sent = SideEffect(method="POST", url=f"{SHOP}/ping", status=None)
        gone = Failed(attempt=0, boundary="act", type="BrowserCrashed", message="", effects=(sent,), at=time.time())
        found = await self.resumed(web, replace(web.site, safe_get=True), gone)
        assert found.doubt is not None and found.doubt.resolution == DoubtResolution.ASK_PAGE

    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        ("now", "resolution"),
        [
            (NEXT + "<button>New</button><p>" + "Another banner. " * 50, DoubtResolution.SAFE),
            (NEXT + "<input value=draft>", DoubtResolution.SAFE),
            ("<button>New</button>", DoubtResolution.ASK_PAGE),
            ("<a href=/next>Previous</a>", DoubtResolution.ASK_PAGE),
            (NEXT.replace("/next", "http://other.localhost/next"), DoubtResolution.ASK_PAGE),
        ],
    )
    async def test_on_another_page_it_is_repeated_if_the_link_is_there(
        self, web: Web, now: str, resolution: DoubtResolution
    ) -> None:
        site = Counted(web)
        site.page("/", NEXT)
        found = await self.resumed(web, replace(web.site, safe_get=True), before=lambda: site.page("/", now))
        assert found.doubt is not None and found.doubt.resolution == resolution
        assert (found.pending is not None) is (resolution is DoubtResolution.SAFE)

    async def test_it_is_in_doubt_at_another_address(self, web: Web) -> None:
        site = Counted(web)
        site.page("/", NEXT)
        site.page("/login", NEXT)
        gone = "<script>location.replace('/login')</script>"
        found = await self.resumed(web, replace(web.site, safe_get=True), before=lambda: site.page("/", gone))
        assert found.doubt is not None and found.doubt.resolution == DoubtResolution.ASK_PAGE

    @staticmethod
    async def resumed(
        web: Web, own: Site, *failures: Failed, before: Callable[[], None] = lambda: None
    ) -> RestoreResult:
        """Killed between the decision to click on the link and its result."""
        Counted(web).page("/next", "Next")
        async with web.pool(QUICK, own) as pool:
            async with recording(pool, web) as record:
                node = next(node for node in record.visit.view.nodes.values() if node.role == "link")
                pending = decided(1, click("link", node.name)(record.visit))
            before()
            episode = replace(record.episode, pending=pending, failures=failures, failed_at=(1,) * len(failures))
            return await restored(pool, web, episode, clean=())


def test_what_is_unsent_is_not_in_doubt_until_it_may_have_been_sent() -> None:
    view = LiveObservation(observation=seen("/"), nodes={})
    episode = replace(a_way(), pending=decided(1, BUTTON))
    assert view.observation.url and episode.is_in_doubt
    assert not replace(episode, is_unsent=True).is_in_doubt
