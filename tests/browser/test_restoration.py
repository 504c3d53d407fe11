"""An interrupted episode is led back to where its journal ends, or it is said that it was not."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Action, Cdp, Click, Goto, Scroll, Select, Target, Type
from harness.api import Artifacts
from harness.browser.rendering.similarity import difference, entries, fingerprint, similarity
from harness.browser.session.chromium import ChromiumPool
from harness.browser.session.restoration import aim_pending, check_driven, plan, replay, sites_at_risk
from harness.choices import InDoubtPolicy, Strategy
from harness.errors import ActionInDoubt, EnvironmentDiverged, InfraError
from harness.journal.store import ArtifactStore
from harness.protocols import StepResult
from harness.records import (
    Acted,
    Decided,
    Done,
    Episode,
    Late,
    LiveObservation,
    Node,
    Observation,
    Outcome,
    SideEffect,
    Site,
    Step,
    TabRecord,
    Usage,
)
from harness.settings.resume import ResumeSettings
from tests.browser.conftest import QUICK, Answer, Asked, Visit, Web, a_task, html

ONE = Site(name="shop", url="http://a.test", canonical="http://a.test")
FORUM = replace(ONE, name="forum", url="http://b.test", canonical="http://b.test")
FRESH = ("shop",)
POST = SideEffect(method="POST", url="http://a.test/do", status=200)
BUTTON = Click(target=Target(id="1", role="button", name="b"))


def an_observation(text: str = "Tab 0 (current): A\n\n[1] a\n\t[2] b", url: str = "http://a.test/") -> Observation:
    tabs = (TabRecord(url=url, title="A", current=True),)
    return Observation(url=url, title="A", tabs=tabs, text=text, fingerprint=fingerprint(url, tabs, text))


def acted(step: int, observation: Observation, **fields: Any) -> Acted:
    outcome: Outcome = fields.pop("outcome", Done())
    return Acted(step=step, outcome=outcome, observation=observation, elapsed_ms=1.0, at=0.0, **fields)


def decided(step: int, action: Action) -> Decided:
    return Decided(step=step, action=action, reply="", prompt=(), model="m", usage=Usage(), elapsed_ms=1.0, at=0.0)


def an_episode(*effects: SideEffect, action: Action = BUTTON, pending: Action | None = None) -> Episode:
    step = Step(decided=decided(1, action), acted=acted(1, an_observation(), effects=effects))
    waiting = None if pending is None else decided(2, pending)
    return Episode(arrival=acted(0, an_observation()), steps=(step,), pending=waiting)


SCROLL = Scroll(direction="up")
TYPED = Type(target=Target(id="1", role="textbox", name="t"), text="x", enter=False)


@pytest.mark.parametrize(
    ("episode", "clean", "strategy", "in_doubt"),
    [
        (Episode(), FRESH, "reset", False),
        (Episode(), (), "reset", False),
        (an_episode(), FRESH, "replay", False),
        (an_episode(), (), "checkpoint", False),
        (an_episode(action=SCROLL), (), "replay", False),
        (an_episode(action=TYPED), (), "replay", False),
        (an_episode(POST, action=TYPED), (), "checkpoint", False),
        (an_episode(POST), FRESH, "replay", False),
        (an_episode(POST), (), "checkpoint", False),
        (an_episode(pending=BUTTON), FRESH, "replay", False),
        (an_episode(pending=BUTTON), (), "checkpoint", True),
        (an_episode(action=SCROLL, pending=BUTTON), (), "replay", True),
        (an_episode(pending=SCROLL), (), "checkpoint", False),
    ],
)
def test_nothing_that_may_change_a_site_is_performed_again_unless_that_was_reset(
    *, episode: Episode, clean: tuple[str, ...], strategy: str, in_doubt: bool
) -> None:
    made = plan(a_task(Web()), episode, sites=(ONE,), settings=ResumeSettings(), clean=clean)
    assert (made.strategy, made.in_doubt) == (strategy, in_doubt)


def test_late_effects_are_not_repeated_either() -> None:
    late = Late(step=1, effects=(POST,), at=0.0)
    episode = replace(an_episode(action=SCROLL), late=(late,))
    assert plan(a_task(Web()), episode, sites=(ONE,), settings=ResumeSettings(), clean=()).strategy == "checkpoint"


@pytest.mark.parametrize(
    ("task", "at_risk"),
    [
        ({"sites": ("shop",)}, {"shop"}),
        ({"sites": ("forum", "elsewhere")}, {"shop", "forum", "elsewhere"}),
        ({"sites": ()}, {"shop"}),
        ({"sites": ("shop",), "mutates": False}, set()),
        ({"sites": ("shop", "forum"), "mutates": ("forum",)}, {"forum"}),
    ],
)
def test_at_risk_are_the_sites_of_the_task_and_those_it_acted_on(task: dict[str, Any], at_risk: set[str]) -> None:
    mine = replace(a_task(Web()), **task)
    assert sites_at_risk(mine, an_episode(), (ONE, FORUM)) == at_risk
    on_forum = replace(POST, url="http://b.test/x")
    assert sites_at_risk(mine, an_episode(on_forum), (ONE, FORUM)) == at_risk | {"forum"}
    nowhere = replace(POST, url="http://unknown.test/x")
    unknown = {"elsewhere"} if "elsewhere" in mine.sites else {""}
    assert sites_at_risk(mine, an_episode(nowhere), (ONE, FORUM)) == at_risk | unknown


def an_attempt(*steps: tuple[Action, Observation], start: str = "http://a.test/") -> Episode:
    """An episode of actions and what was seen after each."""
    made = [Step(decided=decided(n, action), acted=acted(n, seen)) for n, (action, seen) in enumerate(steps, start=1)]
    return Episode(arrival=acted(0, an_observation(url=start)), steps=tuple(made))


def tabs(*urls: str) -> Observation:
    """Pages that are open beside each other; the last one is current."""
    seen = an_observation(url=urls[-1])
    return replace(seen, tabs=tuple(TabRecord(url=url, title="", current=url == urls[-1]) for url in urls))


@pytest.mark.parametrize("blank", ["about:blank", "data:text/html,<p>a", "chrome-error://chromewebdata/", ""])
def test_an_empty_tab_is_no_site(blank: str) -> None:
    cdp = Cdp(number=1, first="Target.createTarget")
    episode = an_attempt((cdp, tabs("http://a.test/", blank)), (cdp, tabs("http://a.test/", blank)))
    task = replace(a_task(Web()), sites=("shop",))
    assert sites_at_risk(task, episode, (ONE, FORUM)) == {"shop"}
    check_driven(task, episode, sites=(ONE, FORUM), settings=ResumeSettings(), clean=FRESH)
    pending = replace(episode, steps=episode.steps[:1], pending=decided(2, BUTTON))
    assert plan(task, pending, sites=(ONE, FORUM), settings=ResumeSettings(), clean=FRESH).strategy == "replay"


@pytest.mark.parametrize(
    ("page", "at_risk"),
    [
        ("blob:http://b.test/5f1c", {"shop", "forum"}),
        ("blob:http://unknown.test/5f1c", {"shop", ""}),
        ("blob:null/5f1c", {"shop"}),
    ],
)
def test_a_document_made_by_a_page_is_of_its_site(page: str, at_risk: set[str]) -> None:
    episode = an_attempt((SCROLL, tabs("http://a.test/", page)), (BUTTON, tabs("http://a.test/", page)))
    assert sites_at_risk(replace(a_task(Web()), sites=("shop",)), episode, (ONE, FORUM)) == at_risk


@pytest.mark.parametrize("url", ["http://b.test/", "http://unknown.test/"])
def test_a_blank_page_may_be_written_by_any_page_that_was_open_before_it(url: str) -> None:
    blank = tabs("http://a.test/", "about:blank")
    episode = an_attempt((Goto(url=url), tabs("http://a.test/", url)), (SCROLL, blank), (BUTTON, blank))
    opener = {"http://b.test/": "forum"}.get(url, "")
    assert sites_at_risk(replace(a_task(Web()), sites=("shop",)), episode, (ONE, FORUM)) == {"shop", opener}


def test_the_step_that_would_be_repeated_is_named_with_what_can_be_done() -> None:
    cdp, page = Cdp(number=1, first="Target.createTarget"), tabs("http://a.test/", "http://b.test/")
    on_forum = replace(POST, url="http://b.test/do")
    episode = an_attempt((cdp, page), (cdp, page), (cdp, page))
    task = replace(a_task(Web()), sites=("shop",))
    late = replace(episode, late=(Late(step=3, effects=(on_forum,), at=0.0),))
    for broken, what in (
        (late, r"repeat POST http://b\.test/do of step 3, and forum was not reset before it"),
        (episode, r"repeat step 2, and forum was not reset before it"),
    ):
        with pytest.raises(EnvironmentDiverged, match=what) as raised:
            check_driven(task, broken, sites=(ONE, FORUM), settings=ResumeSettings(), clean=FRESH)
        assert "resume=auto" not in str(raised.value) and "cannot continue from a checkpoint" in str(raised.value)
    with pytest.raises(EnvironmentDiverged, match="resume=auto continues from a checkpoint instead"):
        plan(task, late, sites=(ONE, FORUM), settings=ResumeSettings(strategy=Strategy.replay), clean=FRESH)


def test_a_site_no_task_can_change_needs_no_reset() -> None:
    read_only = replace(ONE, read_only=True)
    made = plan(a_task(Web()), an_episode(), sites=(read_only,), settings=ResumeSettings(), clean=())
    assert made.strategy == "replay"


def test_a_task_on_no_configured_site_is_not_replayed() -> None:
    for sites in ((), ("another",)):
        task = replace(a_task(Web()), sites=sites)
        assert plan(task, an_episode(), sites=(), settings=ResumeSettings(), clean=()).strategy == "checkpoint"
        fresh = sites or ("",)
        assert plan(task, an_episode(), sites=(), settings=ResumeSettings(), clean=fresh).strategy == "replay"


def test_a_checkpoint_is_not_resumed_on_a_site_that_was_reset_since() -> None:
    settings = ResumeSettings(strategy=Strategy.checkpoint)
    made = plan(a_task(Web()), an_episode(POST), sites=(ONE,), settings=settings, clean=FRESH)
    assert made.strategy == "replay"
    began = Episode(arrival=acted(0, an_observation(), effects=(POST,)))
    made = plan(a_task(Web()), began, sites=(ONE,), settings=settings, clean=FRESH)
    assert made.strategy == "replay", "what step 0 stored is gone, too"
    both = replace(a_task(Web()), sites=("shop", "forum"))
    with pytest.raises(EnvironmentDiverged, match="shop was reset since, but other sites of the task were not"):
        plan(both, an_episode(POST), sites=(ONE, FORUM), settings=settings, clean=FRESH)


@pytest.mark.parametrize(("strategy", "error"), [("restart", EnvironmentDiverged), ("fail", InfraError)])
def test_asked_for_restarts_and_failures_need_something_to_restore(strategy: str, error: type[InfraError]) -> None:
    settings = ResumeSettings(strategy=Strategy[strategy])
    assert plan(a_task(Web()), Episode(), sites=(ONE,), settings=settings, clean=()).strategy == "reset"
    with pytest.raises(error, match=strategy) as raised:
        plan(a_task(Web()), an_episode(), sites=(ONE,), settings=settings, clean=())
    assert raised.type is error


def test_a_replay_that_was_asked_for_is_not_begun_where_it_would_repeat_an_effect() -> None:
    settings, task = ResumeSettings(strategy=Strategy.replay), a_task(Web())
    assert plan(task, an_episode(POST), sites=(ONE,), settings=settings, clean=FRESH).strategy == "replay"
    assert plan(task, an_episode(action=SCROLL), sites=(ONE,), settings=settings, clean=()).strategy == "replay"
    with pytest.raises(EnvironmentDiverged, match=r"repeat POST http://a\.test/do of step 1, and shop was not reset"):
        plan(task, an_episode(POST), sites=(ONE,), settings=settings, clean=())
    with pytest.raises(EnvironmentDiverged, match=r"repeat step 1, and shop was not reset"):
        plan(task, an_episode(), sites=(ONE,), settings=settings, clean=())


def a_way(*steps: tuple[Action, str]) -> Episode:
    """An episode of actions and where each led."""
    made = [
        Step(decided=decided(n, action), acted=acted(n, an_observation(url=url)))
        for n, (action, url) in enumerate(steps, start=1)
    ]
    return Episode(arrival=acted(0, an_observation()), steps=tuple(made))


@pytest.mark.parametrize(
    ("episode", "anchor"),
    [
        (a_way((BUTTON, "http://a.test/1")), 1),
        (a_way((BUTTON, "http://a.test/1"), (TYPED, "http://a.test/1"), (SCROLL, "http://a.test/1")), 1),
        (a_way((BUTTON, "http://a.test/1"), (TYPED, "http://a.test/1"), (BUTTON, "http://a.test/1")), 3),
        (a_way((BUTTON, "http://a.test/1"), (Goto(url="x"), "http://a.test/2"), (SCROLL, "http://a.test/2")), 2),
    ],
)
def test_what_a_checkpoint_cannot_hold_is_done_again_from_the_last_page_on(episode: Episode, anchor: int) -> None:
    made = plan(a_task(Web()), episode, sites=(ONE,), settings=ResumeSettings(), clean=())
    assert (made.strategy, made.anchor) == ("checkpoint", anchor)


# --- a pending action -------------------------------------------------------------------------------


def a_view(text: str, boxes: dict[str, Any] | None = None, nths: dict[str, int] | None = None) -> LiveObservation:
    seen = an_observation(f"Tab 0 (current): A\n\n{text}")
    nodes = {}
    for id, line in entries(seen.text):
        role, _, name = line.partition(" ")
        nth = (nths or {}).get(id, 0)
        nodes[id] = Node(role=role, name=name.strip("'"), nth=nth, line=line, box=(boxes or {}).get(id))
    return LiveObservation(observation=seen, nodes=nodes)


def vote(n: int, id: str) -> Click:
    return Click(target=Target(id=id, role="button", name=f"Vote {n}", line=f"button 'Vote {n}'"))


def test_a_pending_target_is_found_by_role_and_name_under_whatever_id() -> None:
    recorded = an_observation("Tab 0 (current): A\n\n" + "\n".join(f"[{n + 10}] button 'Vote {n}'" for n in range(9)))
    now = a_view("\n".join(f"[{n + 100}] button 'Vote {n}'" for n in reversed(range(9))))
    aimed = aim_pending(vote(5, "15"), now, recorded)
    assert isinstance(aimed, Click) and aimed.target.id == "105"


def test_a_pending_target_that_is_not_there_is_a_divergence_and_no_refusal_of_the_agent() -> None:
    recorded = an_observation("Tab 0 (current): A\n\n[15] button 'Vote 5'")
    with pytest.raises(EnvironmentDiverged, match=r"button 'Vote 5' .* is not on the restored page"):
        aim_pending(vote(5, "15"), a_view("[15] button 'Vote 7'"), recorded)
    never = Click(target=Target(id="99"))
    assert aim_pending(never, a_view("[15] button 'Vote 7'"), recorded) == never, "the agent was not shown [99] at all"


def test_of_several_alike_only_the_one_in_the_same_place_is_meant() -> None:
    recorded = an_observation("Tab 0 (current): A\n\n[1] button 'Delete'\n[2] button 'Delete'\n[3] StaticText 'old'")
    target = Target(id="2", role="button", name="Delete", nth=1, line="button 'Delete'", box=(0, 40, 50, 20))
    text = "[5] button 'Delete'\n[6] button 'Delete'\n[7] StaticText 'new'"
    there = a_view(text, boxes={"5": (0, 10, 50, 20), "6": (0, 41, 50, 20)}, nths={"6": 1})
    aimed = aim_pending(Click(target=target), there, recorded)
    assert isinstance(aimed, Click) and aimed.target.id == "6"
    moved = a_view(text, boxes={"5": (0, 40, 50, 20), "6": (0, 70, 50, 20)}, nths={"6": 1})
    with pytest.raises(EnvironmentDiverged):
        aim_pending(Click(target=target), moved, recorded)


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ("[1] textbox 'Note' value: 'x'\n[2] link 'Home'", None),
        ("[1] textbox 'Note' value: 'x' focused: True\n[2] link 'Home'", None),
        ("[1] textbox 'Note' value: 'x'\n[2] link 'Home'\n[3] StaticText 'three minutes ago'", None),
        ("[1] textbox 'Note'\n[2] link 'Home'", "is missing"),
        ("[1] textbox 'Note' value: 'x'\n[2] link 'Home'\n[3] button 'Close'", "is new"),
    ],
)
def test_what_an_agent_can_act_on_must_be_the_same(now: str, why: str | None) -> None:
    recorded = an_observation("Tab 0 (current): A\n\n[1] textbox 'Note' value: 'x'\n[2] link 'Home'")
    found = difference(a_view(now).observation, recorded)
    assert found is None if why is None else found is not None and why in found


def test_what_fields_hold_must_be_the_same_also_where_no_text_shows_it() -> None:
    recorded = replace(an_observation(), fields="2:abc")
    assert difference(replace(an_observation(), fields="2:abd"), recorded) is not None
    assert difference(an_observation(), recorded) is None, "unknown"
    assert difference(recorded, recorded) is None


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
    view = LiveObservation(observation=an_observation(), nodes={})
    seen: list[bool] = []

    async def perform(_: Action, recorded: Acted, is_last: bool) -> StepResult:
        seen.append(is_last)
        return StepResult(outcome=Done(), view=view)

    episode = Episode(arrival=acted(0, an_observation()), steps=(step, step, step))
    _, alike = asyncio.run(replay(episode, view, begin=0, perform=perform, least=0.9))
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

    def __init__(self, web: Web) -> None:
        self.web = web
        self.items: list[str] = []
        self.greeting = "Welcome"
        web.pages.update({"/": self.home, "/add": self.add, "/list": self.list})
        self.site = web.site

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


async def recorded(pool: ChromiumPool, web: Web, kept: Artifacts) -> Episode:
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


def a_pool(shop: Shop, kept: Artifacts, **restoring: Any) -> ChromiumPool:
    return shop.web.pool(QUICK, shop.site, restoring=ResumeSettings(**restoring), checkpoints=kept)


class TestInABrowser:
    pytestmark = browser

    async def test_replay_on_a_reset_site_leads_back_exactly(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            task = a_task(web)
            shop.items.clear()
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, episode, FRESH)
        assert (restored.strategy, restored.similarity) == ("replay", (1.0,) * 6)
        assert episode.last is not None
        assert restored.view.observation == episode.last.observation
        assert shop.items == ["item=lamp&size=Large"]

    @pytest.mark.slow
    async def test_a_picture_is_taken_of_where_a_replay_leads(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        settings = replace(QUICK, screenshots=True)
        async with web.pool(settings, shop.site, checkpoints=kept) as pool:
            episode = await recorded(pool, web, kept)
            task = a_task(web)
            refused = replace(BUTTON, target=Target(id="99", role="button", name="never there"))
            waits = Step(decided=decided(6, refused), acted=replace(episode.steps[-1].acted, step=6))
            for steps in ((), episode.steps, (*episode.steps, waits)):
                async with pool.open(task, 0) as env:
                    shop.items.clear()
                    restored = await env.restore(task, replace(episode, steps=steps), FRESH)
                assert restored.view.image is not None and restored.view.image.startswith(b"\x89PNG")

    @pytest.mark.slow
    async def test_replay_finds_targets_by_role_name_and_occurrence_not_by_id(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept, min_similarity=0.3) as pool:
            episode = await recorded(pool, web, kept)
            shop.home = self._with_more(shop)  # type: ignore[method-assign]
            web.pages["/"] = shop.home
            task = a_task(web)
            shop.items.clear()
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, episode, FRESH)
        assert restored.similarity[0] < 1.0
        assert shop.items == ["item=lamp&size=Large"]

    @staticmethod
    def _with_more(shop: Shop) -> Any:
        async def home(asked: Asked) -> Answer:
            status, headers, text = await Shop.home(shop, asked)
            return status, headers, text.replace("<h1>", "<a href=/x>one more</a><h1>")

        return home

    @pytest.mark.slow
    async def test_a_page_that_became_another_is_divergence(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            web.pages["/list"] = html("<h1>Maintenance</h1>")
            task = a_task(web)
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match="step 4"):
                    await env.restore(task, episode, FRESH)
                web.pages["/list"] = shop.list
                assert (await env.restore(task, Episode())).strategy == "reset"  # a new attempt in the same room

    @pytest.mark.slow
    async def test_a_target_that_is_not_there_is_divergence(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept, min_similarity=0.1) as pool:
            episode = await recorded(pool, web, kept)
            web.pages["/"] = html("<label>Item <input name=item></label>", title="Home")
            task = a_task(web)
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match="step 2: combobox 'Size'"):
                    await env.restore(task, episode, FRESH)

    async def test_a_checkpoint_leads_back_without_repeating_anything(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
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
        shop, kept = Shop(web), ArtifactStore(tmp_path)
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            for digest in [step.acted.checkpoint for step in episode.steps if step.acted.checkpoint]:
                path = kept.path(digest)
                path.write_bytes(b"damaged") if damage == "damaged" else path.unlink(missing_ok=True)
            async with pool.open(a_task(web), 0) as env:
                with pytest.raises(EnvironmentDiverged, match="the recorded storage state cannot be used"):
                    await env.restore(a_task(web), episode)

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("policy", ["ask_page", "skip", "repeat", "restart", "unscored"])
    async def test_a_pending_click_on_a_site_that_was_not_reset_is_in_doubt(self, web: Web, policy: str) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept, in_doubt=InDoubtPolicy[policy]) as pool:
            episode = await recorded(pool, web, kept)
            home = Click(target=Target(id="1", role="link", name="Home", line="link 'Home'"))
            task = a_task(web)
            async with pool.open(task, 0) as env:
                try:
                    restored = await env.restore(task, replace(episode, pending=decided(6, home)))
                except (EnvironmentDiverged, ActionInDoubt) as error:
                    assert {"restart": EnvironmentDiverged, "unscored": ActionInDoubt}[policy] is type(error)
                    return
        assert restored.doubt is not None and restored.doubt.resolution == policy
        assert (restored.pending is not None) is (policy == "repeat")
        assert bool(restored.doubt.notice) is (policy == "ask_page")

    async def test_a_page_that_shows_what_an_interrupted_click_did_is_gone_on_from(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            pending = decided(6, Click(target=Target(id="1", role="link", name="Home")))
            shop.items.append("what the lost click did")
            task = a_task(web)
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, replace(episode, pending=pending))
        assert "what the lost click did" in restored.view.observation.text
        assert restored.pending is None

    @pytest.mark.slow
    async def test_text_that_was_typed_and_not_sent_is_typed_again(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            whole = await recorded(pool, web, kept)
            task = a_task(web)
            added = whole.steps[3]  # a POST; back on the list now
            async with pool.open(task, 0) as env:
                visit = Visit(env, (await env.restore(task, replace(whole, steps=whole.steps[:4]))).view)
                steps = [*whole.steps[:4]]
                for make in (
                    lambda: Click(target=visit.target("link", "Home")),
                    lambda: Type(target=visit.target("textbox", "Item"), text="not sent", enter=False),
                ):
                    action = make()
                    await visit.act(action)
                    assert visit.landed is not None
                    done = acted(len(steps) + 1, visit.landed.view.observation)
                    steps.append(Step(decided=decided(len(steps) + 1, action), acted=done))
                episode = replace(whole, steps=tuple(steps))
                before = await env._window.tabs.current.page.input_value("input[name=item]")
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, episode)
                after = await env._window.tabs.current.page.input_value("input[name=item]")
        assert added.acted.effects and restored.strategy == "checkpoint"
        assert before == after == "not sent"
        assert shop.items == ["item=lamp&size=Large"]
        assert restored.view.observation.text == steps[-1].acted.observation.text, "ids included"

    async def test_a_field_that_lost_its_text_out_of_sight_is_a_divergence(self, web: Web) -> None:
        web.pages["/"] = html("<p>Top</p><div style='height:3000px'></div><input id=far value=old>", title="Far")
        kept = Memory()
        async with web.pool(checkpoints=kept) as pool:
            task = a_task(web)
            async with pool.open(task, 0) as env:
                view = (await env.restore(task, Episode())).view
                await env._window.tabs.current.page.fill("#far", "new")
                landed = await env.act(Scroll(direction="up"))
            done = Step(decided=decided(1, BUTTON), acted=acted(1, landed.view.observation))
            episode = Episode(arrival=acted(0, view.observation), steps=(done,))
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match="form fields have other values than recorded"):
                    await env.restore(task, episode)

    async def test_names_of_fields_that_each_visit_makes_anew_are_no_divergence(self, web: Web) -> None:
        named = "document.write(`<input type=radio name=${Math.random()} checked> <textarea name=${Math.random()}>a`)"
        web.pages["/"] = html(f"<script>{named}</script>", title="Named")
        async with web.pool(checkpoints=Memory()) as pool:
            task = a_task(web)
            async with pool.open(task, 0) as env:
                arrival = acted(0, (await env.restore(task, Episode())).view.observation)
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, Episode(arrival=arrival))
        assert restored.view.observation == arrival.observation

    async def test_a_page_that_existed_only_in_its_browser_is_a_divergence(self, web: Web) -> None:
        made = "window.open(window.URL.createObjectURL(new Blob(['<p>made here</p>'], {type: 'text/html'})))"
        web.pages["/"] = html(f'<button onclick="{made}">Make</button>')
        async with web.pool(checkpoints=Memory()) as pool:
            task = a_task(web)
            async with pool.open(task, 0) as env:
                visit = Visit(env, (await env.restore(task, Episode())).view)
                arrival = visit.view.observation
                await visit.act(click := Click(target=visit.target("button", "Make")))
            assert visit.view.observation.url.startswith("blob:http://shop.localhost/")
            done = Step(decided=decided(1, click), acted=acted(1, visit.view.observation))
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match=r"blob:http\S+ existed only in the browser that made it"):
                    await env.restore(task, Episode(arrival=acted(0, arrival), steps=(done,)))

    async def test_ids_of_a_restored_page_are_those_of_the_record_and_new_ones_are_free(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            episode = await recorded(pool, web, kept)
            used = {id for step in episode.steps for id, _ in entries(step.acted.observation.text)}
            task = a_task(web)
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, replace(episode, steps=episode.steps[:4]))
                assert restored.view.observation.text == episode.steps[3].acted.observation.text
                web.pages["/new"] = html("<button>Never seen</button>")
                seen = (await env.act(Goto(url="http://shop.localhost/new"))).view
        new = {id for id, line in entries(seen.observation.text)}
        assert new.isdisjoint(used)

    async def test_no_strategy_sends_a_recorded_effect_again_to_a_site_that_cannot_be_put_back(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept, strategy=Strategy.replay) as pool:
            episode = await recorded(pool, web, kept)
            asked = len(web.asked)
            task = a_task(web)
            async with pool.open(task, 0) as env:
                with pytest.raises(EnvironmentDiverged, match="resume=auto continues from a checkpoint"):
                    await env.restore(task, episode)
        assert web.asked[asked:] == [] and shop.items == ["item=lamp&size=Large"]

    async def test_checkpoints_hold_canonical_addresses(self, web: Web) -> None:
        shop, kept = Shop(web), Memory()
        async with a_pool(shop, kept) as pool:
            await recorded(pool, web, kept)
        assert kept.kept
        for data in kept.kept.values():
            assert str(web.port).encode() not in data and b"t0." not in data
