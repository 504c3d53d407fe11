"""An interrupted episode is led back to where its journal ends, or it is said that it was not."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from harness.actions.space import Action, Click, Goto, Scroll, Select, Target, Type
from harness.browser.comparing import fingerprint, similarity
from harness.browser.restoring import plan, replay
from harness.browser.session import Chromium
from harness.browser.settings import RestoreSettings
from harness.errors import EnvironmentDiverged, InfraError
from harness.journal.store import ArtifactStore
from harness.protocols import Artifacts, Landed
from harness.records import (
    Acted,
    Decided,
    Done,
    Effect,
    Episode,
    Observation,
    Outcome,
    Site,
    Step,
    Tab,
    Usage,
    View,
)
from tests.browser.conftest import QUICK, Answer, Asked, Visit, Web, a_task, html

ONE = Site(name="shop", url="http://a.test", canonical="http://a.test", reset_url="http://a.test/reset")
FIXED = replace(ONE, reset_url=None)
POST = Effect(method="POST", url="http://a.test/do", status=200)
BUTTON = Click(target=Target(id="1", role="button", name="b"))


def an_observation(text: str = "Tab 0 (current): A\n\n[1] a\n\t[2] b", url: str = "http://a.test/") -> Observation:
    tabs = (Tab(url=url, title="A", current=True),)
    return Observation(url=url, title="A", tabs=tabs, text=text, fingerprint=fingerprint(url, tabs, text))


def acted(step: int, observation: Observation, **fields: Any) -> Acted:
    outcome: Outcome = fields.pop("outcome", Done())
    return Acted(step=step, outcome=outcome, observation=observation, elapsed_ms=1.0, at=0.0, **fields)


def decided(step: int, action: Action) -> Decided:
    return Decided(step=step, action=action, reply="", prompt=(), model="m", usage=Usage(), elapsed_ms=1.0, at=0.0)


def an_episode(*effects: Effect, pending: Action | None = None) -> Episode:
    step = Step(decided=decided(1, BUTTON), acted=acted(1, an_observation(), effects=effects))
    waiting = None if pending is None else decided(2, pending)
    return Episode(arrival=acted(0, an_observation()), steps=(step,), pending=waiting)


@pytest.mark.parametrize(
    ("episode", "site", "strategy", "resets", "least_at_end"),
    [
        (Episode(), ONE, "reset", True, 0.0),
        (Episode(), FIXED, "reset", False, 0.0),
        (an_episode(), ONE, "replay", True, 0.9),
        (an_episode(), FIXED, "replay", False, 0.9),
        (an_episode(POST), ONE, "replay", True, 0.9),
        (an_episode(POST), FIXED, "checkpoint", False, 0.9),
        (an_episode(pending=BUTTON), ONE, "replay", True, 0.9),
        (an_episode(pending=BUTTON), FIXED, "replay", False, 1.0),
        (an_episode(POST, pending=BUTTON), FIXED, "checkpoint", False, 1.0),
        (an_episode(POST, pending=Scroll(direction="up")), FIXED, "checkpoint", False, 0.9),
    ],
)
def test_the_plan_repeats_nothing_that_could_change_a_site_twice(
    *, episode: Episode, site: Site, strategy: str, resets: bool, least_at_end: float
) -> None:
    made = plan(a_task(Web()), episode, sites=(site,), settings=RestoreSettings())
    assert (made.strategy, bool(made.reset), made.least_at_end) == (strategy, resets, least_at_end)


@pytest.mark.parametrize(("strategy", "error"), [("restart", EnvironmentDiverged), ("fail", InfraError)])
def test_asked_for_restarts_and_failures_need_something_to_restore(strategy: str, error: type[InfraError]) -> None:
    settings = RestoreSettings(strategy=strategy)
    assert plan(a_task(Web()), Episode(), sites=(ONE,), settings=settings).strategy == "reset"
    with pytest.raises(error, match=strategy) as raised:
        plan(a_task(Web()), an_episode(), sites=(ONE,), settings=settings)
    assert raised.type is error


def test_a_replay_that_was_asked_for_is_not_begun_where_it_would_repeat_an_effect() -> None:
    settings, task = RestoreSettings(strategy="replay"), a_task(Web())
    assert plan(task, an_episode(POST), sites=(ONE,), settings=settings).reset == (ONE,)
    assert plan(task, an_episode(), sites=(FIXED,), settings=settings).strategy == "replay"
    assert plan(task, an_episode(pending=BUTTON), sites=(FIXED,), settings=settings).least_at_end == 1.0
    with pytest.raises(
        EnvironmentDiverged, match=r"repeat POST http://a\.test/do of step 1, and shop cannot be put back"
    ):
        plan(task, an_episode(POST), sites=(FIXED,), settings=settings)
    elsewhere = replace(FIXED, name="another")
    assert plan(task, an_episode(POST), sites=(ONE, elsewhere), settings=settings).reset == (ONE,), "not of this task"


def test_ids_do_not_count_when_observations_are_compared() -> None:
    other = an_observation("Tab 0 (current): A\n\n[17] a\n\t[4] b")
    assert other.fingerprint == an_observation().fingerprint
    assert similarity(other, an_observation()) == 1.0


def test_similarity_counts_common_lines() -> None:
    many = an_observation("Tab 0 (current): A\n\n" + "\n".join(f"[{n}] line {n}" for n in range(96)))
    fewer = an_observation(many.text.replace("line 5\n", "other\n"))
    assert 0.97 < similarity(fewer, many) < 1.0
    assert similarity(an_observation("x", url="http://b.test/"), many) < 0.1
    assert similarity(many, fewer) == similarity(fewer, many)


def test_only_the_last_step_of_a_replay_is_seen_by_anybody() -> None:
    step = Step(decided=decided(1, Goto(url="http://a.test/")), acted=acted(1, an_observation()))
    view = View(observation=an_observation(), nodes={})
    seen: list[bool] = []

    async def perform(_: Action, is_last: bool) -> Landed:
        seen.append(is_last)
        return Landed(outcome=Done(), view=view)

    episode = Episode(arrival=acted(0, an_observation()), steps=(step, step, step))
    made = plan(a_task(Web()), episode, sites=(ONE,), settings=RestoreSettings())
    _, alike = asyncio.run(replay(episode, view, step=perform, plan=made))
    assert (seen, alike) == ([False, False, True], (1.0,) * 4)


# --- in a real browser ----------------------------------------------------------------------------

browser = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Memory:
    """Artifacts without a disk."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        self.kept[digest] = data
        return digest

    def read(self, digest: str) -> bytes:
        return self.kept[digest]


class Shop:
    """A site with a cart behind it."""

    def __init__(self, web: Web, *, resettable: bool = True) -> None:
        self.items: list[str] = []
        self.resets = 0
        self.greeting = "Welcome"
        web.pages.update({"/": self.home, "/add": self.add, "/reset": self.reset, "/list": self.list})
        self.site = replace(web.site, reset_url=f"{web.site.url}/reset" if resettable else None)

    async def home(self, _: Asked) -> Answer:
        return html(
            f"<h1>{self.greeting}</h1><form method=post action=/add><label>Item <input name=item></label>"
            "<label>Size <select name=size><option>Small<option>Large</select></label><button>Add</button></form>"
            "<button onclick=\"localStorage.seen='yes'\">See</button><a href=/list>List</a>",
            title="Home",
        )

    async def add(self, asked: Asked) -> Answer:
        self.items.append(asked.body)
        return 303, {"location": "/list", "set-cookie": f"cart={len(self.items)}; Path=/"}, ""

    async def list(self, asked: Asked) -> Answer:
        lines = "".join(f"<li>{item}</li>" for item in self.items)
        return html(
            f"<ul>{lines}</ul><p>{asked.headers.get('cookie', 'no cookie')}</p><a href=/>Home</a>", title="List"
        )

    async def reset(self, _: Asked) -> Answer:
        self.items.clear()
        self.resets += 1
        return html("")


async def recorded(pool: Chromium, web: Web, kept: Artifacts) -> Episode:
    """An episode of four steps, as the runner would have written it."""
    task = a_task(web)
    async with pool.open(task, 0) as env:
        visit = Visit(env, (await env.restore(task, Episode())).view)
        episode = Episode(arrival=acted(0, visit.view.observation))
        for make in (
            lambda: Type(target=visit.target("textbox", "Item"), text="lamp", enter=False),
            lambda: Select(target=visit.target("combobox", "Size"), option="Large"),
            lambda: Click(target=visit.target("button", "See")),
            lambda: Click(target=visit.target("button", "Add")),
            lambda: Goto(url="http://nowhere.test/"),
        ):
            step = len(episode.steps) + 1
            action = make()
            await visit.act(action)
            landed = visit.landed
            assert landed is not None
            done = acted(
                step,
                landed.view.observation,
                outcome=landed.outcome,
                effects=landed.effects,
                checkpoint=None if landed.checkpoint is None else kept.put(landed.checkpoint),
            )
            episode = replace(episode, steps=(*episode.steps, Step(decided=decided(step, action), acted=done)))
        return episode


def a_pool(shop: Shop, kept: Artifacts, **restoring: Any) -> Chromium:
    return Chromium(QUICK, sites=lambda _: (shop.site,), restoring=RestoreSettings(**restoring), checkpoints=kept)


class TestInABrowser:
    pytestmark = browser

    async def test_replay_resets_and_leads_back_exactly(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, episode)
        assert (restored.strategy, restored.similarity) == ("replay", (1.0,) * 6)
        assert episode.last is not None
        assert restored.view.observation == episode.last.observation
        assert shop.items == ["item=lamp&size=Large"]
        assert shop.resets == 2

    async def test_a_picture_is_taken_of_where_a_replay_leads(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        settings = replace(QUICK, screenshots=True)
        async with Chromium(settings, sites=lambda _: (shop.site,), checkpoints=kept) as pool:
            episode = await recorded(pool, web, kept)
            task = a_task(web)
            refused = replace(BUTTON, target=Target(id="99", role="button", name="never there"))
            waits = Step(decided=decided(6, refused), acted=replace(episode.steps[-1].acted, step=6))
            for steps in ((), episode.steps, (*episode.steps, waits)):
                async with pool.open(task, 0) as env:
                    restored = await env.restore(task, replace(episode, steps=steps))
                assert restored.view.image is not None and restored.view.image.startswith(b"\x89PNG")

    async def test_replay_finds_targets_by_role_name_and_occurrence_not_by_id(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept, min_similarity=0.3) as pool:
            episode = await recorded(pool, web, kept)
            shop.home = self._with_more(shop)  # type: ignore[method-assign]
            web.pages["/"] = shop.home
            task = a_task(web)
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, episode)
        assert restored.similarity[0] < 1.0
        assert shop.items == ["item=lamp&size=Large"]

    @staticmethod
    def _with_more(shop: Shop) -> Any:
        async def home(asked: Asked) -> Answer:
            status, headers, text = await Shop.home(shop, asked)
            return status, headers, text.replace("<h1>", "<a href=/x>one more</a><h1>")

        return home

    async def test_a_page_that_became_another_is_divergence(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            web.pages["/list"] = html("<h1>Maintenance</h1>")
            task = a_task(web)
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match="step 4"):
                    await env.restore(task, episode)
                web.pages["/list"] = shop.list
                assert (await env.restore(task, Episode())).strategy == "reset"  # a new attempt in the same room

    async def test_a_target_that_is_not_there_is_divergence(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept, min_similarity=0.1) as pool:
            episode = await recorded(pool, web, kept)
            web.pages["/"] = html("<label>Item <input name=item></label>", title="Home")
            task = a_task(web)
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match="step 2: combobox 'Size'"):
                    await env.restore(task, episode)

    async def test_a_checkpoint_leads_back_without_repeating_anything(self, web: Web) -> None:
        shop, kept = Shop(web, resettable=False), Memory()
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            asked = len(web.asked)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, episode)
                seen = await env._window.context.cookies()
                home = await env.act(Goto(url="http://shop.localhost/"))
                storage = await env._window.tabs.current.page.evaluate("localStorage.seen")
        assert restored.strategy == "checkpoint"
        assert "cart=1" in restored.view.observation.text
        assert [(cookie["name"], cookie["value"]) for cookie in seen] == [("cart", "1")]
        assert storage == "yes"
        assert home.checkpoint is None
        assert all(request.method == "GET" for request in web.asked[asked:])
        assert shop.items == ["item=lamp&size=Large"]

    @pytest.mark.parametrize("damage", ["missing", "damaged"])
    async def test_a_checkpoint_that_cannot_be_read_is_divergence(self, web: Web, tmp_path: Path, damage: str) -> None:
        shop, kept = Shop(web, resettable=False), ArtifactStore(tmp_path)
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            for digest in [step.acted.checkpoint for step in episode.steps if step.acted.checkpoint]:
                path = kept.path(digest)
                path.write_bytes(b"damaged") if damage == "damaged" else path.unlink(missing_ok=True)
            async with pool.open(a_task(web), 0) as env:
                with pytest.raises(EnvironmentDiverged, match="the recorded storage state cannot be used"):
                    await env.restore(a_task(web), episode)

    async def test_a_pending_click_is_not_repeated_on_a_site_that_moved_on(self, web: Web) -> None:
        shop, kept = Shop(web, resettable=False), Memory()
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            pending = decided(6, Click(target=Target(id="1", role="link", name="Home")))
            shop.items.append("what the lost click did")
            task = a_task(web)
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match="at least 1 is asked for"):
                    await env.restore(task, replace(episode, pending=pending))

    async def test_no_strategy_sends_a_recorded_effect_again_to_a_site_that_cannot_be_put_back(self, web: Web) -> None:
        shop, kept = Shop(web, resettable=False), Memory()
        async with a_pool(shop, kept, strategy="replay") as pool:
            episode = await recorded(pool, web, kept)
            asked = len(web.asked)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match="resume=auto goes on from a checkpoint"):
                    await env.restore(task, episode)
        assert web.asked[asked:] == [] and shop.items == ["item=lamp&size=Large"]

    async def test_checkpoints_hold_canonical_addresses(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            await recorded(pool, web, kept)
        assert kept.kept
        for data in kept.kept.values():
            assert str(web.port).encode() not in data and b"t0." not in data
