"""Scripts of plug-ins run in the pages of an episode: from their step on, after a resume as before, and never in evidence."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from harness.actions import Action, Click, Goto, Scroll
from harness.api import PageScript
from harness.browser.session import page_scripts
from harness.browser.session.chromium import ChromiumPool
from harness.choices import Strategy
from harness.errors import PluginFailed
from harness.records import Episode, Eval, HtmlTarget, Opened, Step, Task
from harness.settings.resume import ResumeSettings
from tests.browser.conftest import QUICK, Visit, Web, a_task
from tests.browser.test_restoration import Memory, acted, decided

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ADD = """(sites, addresses) => addEventListener("DOMContentLoaded", () => document.body.append(
    Object.assign(document.createElement("p"), {id: "planted", textContent: "planted at " + sites.shop + (addresses.flat().includes(sites.shop) ? "" : " of no site")})))"""
ADD_NOW = """(sites) => {
    const add = () => document.body.append(
        Object.assign(document.createElement("p"), {id: "planted", textContent: "planted late"}));
    document.body ? add() : addEventListener("DOMContentLoaded", add);
}"""
LIFT = "() => document.getElementById('planted').remove()"
PLANTED = {"metadata": {"planted": True}}


class Registered:
    """What the table of plug-ins would have."""

    def __init__(self, make: Callable[[Task, int], Sequence[PageScript]]) -> None:
        self.make = make
        self.asked: list[int] = []

    def names(self) -> tuple[str, ...]:
        return ("planted",)

    def find(self, _: str) -> Callable[[Task, int], Sequence[PageScript]]:
        def asked(task: Task, seed: int) -> Sequence[PageScript]:
            self.asked.append(seed)
            return self.make(task, seed)

        return asked


@contextmanager
def giving(*scripts: PageScript) -> Iterator[Registered]:
    registered = Registered(lambda task, seed: scripts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_scripts, "PAGE_SCRIPTS", registered)
        yield registered


@pytest.fixture
def shop(web: Web) -> Web:
    web.page("/", "<h1>Home</h1><a href=/list>List</a><iframe src=/inner title=Inner></iframe>", title="Home")
    web.page("/inner", "<p>Inner</p>")
    web.page("/list", "<h1>List</h1><a href=/>Home</a>", title="List")
    return web


async def test_a_script_runs_in_each_document_of_the_sites_from_its_step_on(shop: Web, chromium: ChromiumPool) -> None:
    task = a_task(shop, **PLANTED)
    with giving(PageScript(source=ADD_NOW, from_step=2), PageScript(source=ADD.replace("planted at", "first at"))):
        async with chromium.open(task, 0) as env:
            visit = Visit(env, (await env.restore(task, Episode())).view)
            assert visit.text.count("first at http://shop.localhost") == 1, (
                "no frame has it, and its address is canonical"
            )
            assert "planted late" not in await visit.click("link", "List")
            assert "first at" in visit.text
            assert visit.text.count("planted late") == 0
            assert (await visit.act(Scroll(direction="down"))).count("planted late") == 1, (
                "in the document that is open"
            )
            assert (await visit.act(Scroll(direction="down"))).count("planted late") == 1, "once"
            assert (await visit.click("link", "Home")).count("planted late") == 1, "and in the next one"


async def test_tasks_without_the_key_have_none(shop: Web, chromium: ChromiumPool) -> None:
    task = a_task(shop)
    with giving(PageScript(source=ADD)) as registered:
        async with chromium.open(task, 0) as env:
            text = (await env.restore(task, Episode())).view.observation.text
    assert "planted" not in text and registered.asked == []


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [Strategy.replay, Strategy.checkpoint])
async def test_a_resume_plants_the_same(shop: Web, strategy: Strategy) -> None:
    kept, task = Memory(), a_task(shop, mutates=False, **PLANTED)
    settings = ResumeSettings(strategy=strategy)
    opened = Opened(attempt=1, trial=0, task=task, task_digest="", config_digest="", seed=7, at=0.0)
    with giving(PageScript(source=ADD_NOW, from_step=2)) as registered:
        async with shop.pool(QUICK, restoring=settings, checkpoints=kept) as pool:
            async with pool.open(task, 0) as env:
                episode = await _played(env, Episode(opened=opened), task)
            assert [("planted late" in step.acted.observation.text) for step in episode.steps] == [False, True, True]
            for steps in (1, 2, 3):
                part = replace(episode, steps=episode.steps[:steps])
                async with pool.open(task, 0) as env:
                    restored = await env.restore(task, part)
                    assert restored.similarity[-1] == 1.0 and restored.strategy == strategy.value
                    landed = await env.act(Scroll(direction="down"))
                    assert landed.view.observation.text.count("planted late") == 1
    assert set(registered.asked) == {7}, "they follow from the seed of the attempt"


async def _played(env: Any, episode: Episode, task: Task) -> Episode:
    view = (await env.restore(task, episode)).view
    episode = replace(episode, arrival=acted(0, view.observation))
    visit = Visit(env, view)
    moves: tuple[Callable[[], Action], ...] = (
        lambda: Click(target=visit.target("link", "List")),
        lambda: Scroll(direction="down"),
        lambda: Click(target=visit.target("link", "Home")),
    )
    for number, make in enumerate(moves, start=1):
        action = make()
        await visit.act(action)
        step = Step(decided=decided(number, action), acted=acted(number, visit.view.observation))
        episode = replace(episode, steps=(*episode.steps, step))
    return episode


async def test_the_evidence_has_none_of_it(shop: Web, chromium: ChromiumPool) -> None:
    text = "document.body.innerText"
    targets = (HtmlTarget(url="last", locator=text), HtmlTarget(url="http://shop.localhost/list", locator=text))
    task = a_task(shop, eval=Eval(eval_types=("program_html",), program_html=targets), **PLANTED)
    with giving(PageScript(source=ADD, lift=LIFT)):
        async with chromium.open(task, 0) as env:
            assert "planted" in (await env.restore(task, Episode())).view.observation.text
            raw = await env.gather(task)
    assert [one.error for one in raw.selections] == ["", ""]
    assert ["planted" in one.value for one in raw.selections] == [False, False]
    assert "planted" not in raw.html and "Home" in raw.html


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (PageScript(source="() => { throw new Error('no') }", from_step=1), "a page script raised Error: no"),
        (PageScript(source="() => (", from_step=1), "a page script cannot be run"),
    ],
)
async def test_a_faulty_script_fails_the_attempt_in_a_sentence(
    shop: Web, chromium: ChromiumPool, script: PageScript, said: str
) -> None:
    task = a_task(shop, **PLANTED)
    with giving(script):
        async with chromium.open(task, 0) as env:
            await env.restore(task, Episode())
            with pytest.raises(PluginFailed, match=said):
                await env.act(Scroll(direction="down"))


async def test_a_plug_in_that_gives_none_fails_the_attempt_in_a_sentence(shop: Web, chromium: ChromiumPool) -> None:
    task = a_task(shop, **PLANTED)
    with giving() as registered:
        registered.make = lambda task, seed: 1 / 0  # type: ignore[assignment, return-value]
        async with chromium.open(task, 0) as env:
            with pytest.raises(PluginFailed, match="cannot make the page scripts of a task's planted: ZeroDivision"):
                await env.restore(task, Episode())


async def test_pages_of_others_are_left_alone(shop: Web, chromium: ChromiumPool) -> None:
    task = a_task(shop, **PLANTED)
    with giving(PageScript(source=ADD_NOW.replace("(sites)", "()"))):
        async with chromium.open(task, 0) as env:
            await env.restore(task, Episode())
            landed = await env.act(Goto(url="about:blank"))
    assert "planted" not in landed.view.observation.text


async def test_a_step_before_the_start_is_refused() -> None:
    with pytest.raises(ValueError, match="from_step is -1; give 0 or more"):
        PageScript(source="() => 1", from_step=-1)
