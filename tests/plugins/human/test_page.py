"""The page at which a person plays: who may open it, what it takes, pauses and several tasks at once."""

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect

from harness.actions import Keyboard, PointClick, Press, Stop
from harness.actions.computer_calls import Screen
from harness.api.pictures import blank_picture
from harness.api.request_guard import place_of as path_of
from harness.config import PROJECT
from harness.errors import ConfigError, ShutdownRequested
from harness.loopback_server import serving
from harness.plugins.human.agent import HumanAgent, HumanSession
from harness.plugins.human.app import HumanPage
from harness.plugins.human.desk import Desk, Glance, Turn
from harness.plugins.human.inputs import action_of
from harness.plugins.human.served import desk_of
from harness.plugins.human.stopwatch import Stopwatch
from harness.records import Done, Episode, LiveObservation, Node, ScriptedUser, Task
from harness.testing import a_task, observation
from tests.journal.episodes import acted, decided, folded, forked
from tests.looking import fits, keep_picture, serious_violations
from tests.plugins.human.person import Person, plans
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")
TOKEN = "s3cret"
SCREEN = Screen(width=1280, height=720)
HOSTILE = "<img src=x onerror=alert(1)>"


@dataclass
class Table:
    """A desk whose page is served."""

    desk: Desk
    client: httpx.AsyncClient
    base: str
    key: str = ""

    async def post(self, path: str, **said: Any) -> httpx.Response:
        return await self.client.post(f"{self.base}/{path}", json={"key": self.key, **said})

    async def state(self, seen: int = -1, place: str = "") -> dict[str, Any]:
        answer = await self.client.get(f"{self.base}/state", params={"seen": seen, "place": place})
        return answer.json()  # type: ignore[no-any-return]


@pytest_asyncio.fixture(loop_scope="session")
async def table() -> AsyncIterator[Table]:
    desk = Desk(screen=SCREEN, legend=True)
    client = httpx.AsyncClient(follow_redirects=True, verify=False)  # reading certificates takes 25 ms
    async with serving(HumanPage(desk).app(TOKEN)) as port, client:
        page = await client.get(f"http://127.0.0.1:{port}/?token={TOKEN}")
        found = re.search(r'name="cairn-key" content="([^"]+)"', page.text)
        assert found is not None
        yield Table(desk, client, f"http://127.0.0.1:{port}{path_of(TOKEN)}", found[1])


def seen(**more: Any) -> LiveObservation:
    nodes = {"1": Node(role="link", name=HOSTILE, box=(10, 20, 100, 40), nth=0, line=0)}
    return replace(observation(HOSTILE), image=blank_picture((1280, 720)), nodes=nodes, **more)


@dataclass
class Watched:
    """A browser that can be looked at."""

    look: Glance | None = None
    at_password: bool = False

    async def glance(self) -> bytes | None:
        return None if self.look is None else await self.look()

    async def is_at_password(self) -> bool:
        return self.at_password


def session(desk: Desk, watched: Watched | None = None) -> tuple[HumanSession, asyncio.Event]:
    stopping = asyncio.Event()

    async def stop() -> None:
        await stopping.wait()

    return HumanSession(HumanAgent(desk=desk, stopping=stop), watched), stopping


def asked(desk: Desk, task: Task | None = None, watched: Watched | None = None) -> "asyncio.Task[Any]":
    one, _ = session(desk, watched)
    return asyncio.create_task(one.decide(task or a_task(), Episode(), seen()))


async def begun(
    table: Table, task: Task | None = None, watched: Watched | None = None
) -> tuple["asyncio.Task[Any]", dict[str, Any]]:
    """A decision that is waited for, and what the page shows of it."""
    deciding = asked(table.desk, task, watched)
    await until(lambda: table.desk.chosen(""))
    place = table.desk.chosen("")
    assert (await table.post("let", place=place, goes=True)).status_code == 200
    return deciding, await table.state()


async def test_the_clock_of_a_fork_begins_with_the_persons_own_steps() -> None:
    episode = folded([forked(1), acted(0), decided(1), acted(1), decided(2), acted(2)])
    turn = Turn(place="0 7", task=a_task("Buy it"), episode=episode, view=observation("a page"))
    assert turn.earlier_s == pytest.approx(0.1)


async def test_what_a_person_does_is_the_decision(table: Table) -> None:
    deciding, state = await begun(table)
    assert state["phase"] == "turn" and state["elements"] == [{"x": 60, "y": 40, "role": "link", "name": HOSTILE}]
    picture = await table.client.get(f"{table.base}/shot/{state['turn']}")
    assert picture.content.startswith(b"\x89PNG") and picture.headers["content-type"] == "image/png"
    said = await table.post("act", turn=state["turn"], action={"type": "click", "x": 640, "y": 360}, note="the lamp")
    assert said.json() == {"taken": True}
    decision = await deciding
    assert decision.action == PointClick(x=0.5, y=0.5) and decision.reply.text == "the lamp"
    assert decision.memory is None and decision.messages == ()
    again = await table.post("act", turn=state["turn"], action={"type": "click", "x": 640, "y": 360})
    assert again.status_code == 409, "a second click is not taken for the next step"


async def test_giving_up_ends_the_task_and_is_known(table: Table) -> None:
    deciding, state = await begun(table)
    await table.post("act", turn=state["turn"], action=None, gave_up=True)
    decision = await deciding
    assert decision.action == Stop(answer="") and decision.memory == {"gave_up": True}


@pytest.mark.parametrize("action", [{"type": "type", "text": "hunter2"}, {"type": "keypress", "keys": ["h"]}])
async def test_that_a_password_was_typed_is_known(table: Table, action: dict[str, Any]) -> None:
    for at_password in (True, False):
        deciding, state = await begun(table, watched=Watched(at_password=at_password))
        await table.post("act", turn=state["turn"], action=action)
        assert (await deciding).memory == ({"password": True} if at_password else None)


async def test_nothing_is_seen_before_the_task_is_begun_or_while_it_is_paused(table: Table) -> None:
    deciding = asked(table.desk)
    await until(lambda: table.desk.chosen(""))
    place = table.desk.chosen("")
    state = await table.state()
    assert state["phase"] == "paused" and not state["begun"] and "objective" not in state
    await table.post("let", place=place, goes=True)
    turn = (await table.state())["turn"]
    await table.post("let", place=place, goes=False)
    state = await table.state()
    assert state["phase"] == "paused" and state["begun"] and "turn" not in state
    assert (await table.client.get(f"{table.base}/shot/{turn}")).status_code == 404
    assert (await table.post("act", turn=turn, action={"type": "wait"})).status_code == 409
    deciding.cancel()


async def test_time_counts_only_while_somebody_looks(table: Table) -> None:
    now = 100.0
    watch = Stopwatch(clock=lambda: now)
    for runs, took in ((False, 5.0), (True, 7.0), (True, 2.0), (False, 11.0)):
        watch.let(runs)
        now += took
    assert watch.read() == 9.0 and not watch.runs
    turn = table.desk.ask(a_task(), Episode(), seen())
    assert not turn.stopwatch.runs
    table.desk.let(turn.place, True)
    assert not turn.stopwatch.runs, "nobody looks"
    with table.desk.looked_at(turn.place), table.desk.looked_at(turn.place):
        assert turn.stopwatch.runs
        table.desk.let(turn.place, False)
        assert not turn.stopwatch.runs
        table.desk.let(turn.place, True)
        assert turn.stopwatch.runs
    assert not turn.stopwatch.runs
    table.desk.close(turn.place)


async def test_a_run_that_is_to_stop_does_not_wait_for_the_person(table: Table) -> None:
    one, stopping = session(table.desk)
    deciding = asyncio.create_task(one.decide(a_task(), Episode(), seen()))
    await asyncio.sleep(0)
    stopping.set()
    with pytest.raises(ShutdownRequested):
        await deciding


async def test_of_several_tasks_one_is_chosen(table: Table) -> None:
    first, second = (asked(table.desk, replace(a_task(), task_id=one)) for one in ("a", "b"))
    await until(lambda: len(table.desk.state("")["episodes"]) == 2)
    assert (await table.state())["place"] == "0 a" and (await table.state(place="0 b"))["place"] == "0 b"
    await table.post("let", place="0 b", goes=True)
    state = await table.state(place="0 b")
    await table.post("act", turn=state["turn"], action={"type": "keypress", "keys": ["Enter"]})
    assert (await second).action == Press(key_comb="Enter") and not first.done()
    assert (await table.state(place="0 b"))["phase"] == "busy"
    table.desk.close("0 b")
    assert (await table.state(place="0 b"))["place"] == "0 a"
    first.cancel()


async def test_news_are_told_when_there_are_some(table: Table) -> None:
    version = (await table.state())["version"]
    waiting = asyncio.create_task(table.state(seen=version))
    deciding = asked(table.desk)
    assert (await waiting)["version"] > version
    deciding.cancel()


async def test_what_the_browser_shows_is_pushed_but_not_before_the_task_is_begun_or_in_a_pause(table: Table) -> None:
    images, asked_for = [b"one", b"one", None, b"two"], list[bool]()

    async def glance() -> bytes | None:
        asked_for.append(True)
        return images.pop(0) if len(images) > 1 else images[0]

    place = table.desk.ask(a_task(), Episode(), seen(), glance).place
    pushed, paused = list[bytes](), 0
    async with asyncio.timeout(300):
        async for image in table.desk.pictures(place):
            if image is not None:
                pushed.append(image)
            if pushed == [b"one", b"two"]:
                break
            paused += not asked_for
            if paused == 2:
                table.desk.let(place, True)
    assert pushed == [b"one", b"two"] and paused >= 2
    images[:] = [b"three"]
    table.desk.let(place, False)
    table.desk.close("0 another")
    stream = table.client.stream("GET", f"{table.base}/live", params={"place": place}, timeout=60)
    async with stream as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        assert await anext(lines) == ":", "a pause shows nothing"
        table.desk.let(place, True)
        while not (line := await anext(lines)).startswith("data: "):
            assert line in ("", ":")
        assert b64decode(line.removeprefix("data: ")) == b"three"
        table.desk.close(place)
        assert {line async for line in lines} <= {"", ":"}, "it ends with the episode"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"action": {"type": "click", "x": 1280, "y": 0}}, "outside of the screen"),
        ({"action": {"type": "fly"}}, "the computer cannot 'fly'"),
        ({"action": "click"}, "must be a JSON object"),
        ({"action": {"type": ["click"]}}, "the computer cannot"),
        ({"action": {"type": "goto"}}, "goto needs the argument url"),
        ({"action": {"type": "ask_user", "question": "May I?"}}, "the computer cannot 'ask_user'"),
        ({"action": {"type": "wait"}, "note": "x" * 4001}, "a note is a text of at most 4,000 characters"),
        ({"action": {"type": "wait"}, "note": 3}, "a note is a text"),
    ],
)
async def test_what_is_no_action_is_one_sentence(table: Table, said: dict[str, Any], why: str) -> None:
    deciding, state = await begun(table)
    answer = await table.post("act", turn=state["turn"], **said)
    assert answer.status_code == 400 and why in answer.json()["why"] and not deciding.done()
    deciding.cancel()


async def test_a_user_is_asked_only_where_the_task_has_one(table: Table) -> None:
    deciding, state = await begun(table, replace(a_task(), user=ScriptedUser()))
    assert state["asks"]
    await table.post("act", turn=state["turn"], action={"type": "ask_user", "question": "May I?"})
    assert (await deciding).action.render().startswith("ask_user")
    with pytest.raises(ValueError, match="ask_user"):
        action_of({"type": "ask_user", "question": "May I?"}, SCREEN)


async def test_only_who_has_the_token_and_the_key_plays(table: Table) -> None:
    deciding, state = await begun(table)
    wait = {"turn": state["turn"], "action": {"type": "wait"}}
    root = table.base.rpartition("/")[0]
    async with httpx.AsyncClient() as stranger:
        for path in ("/", "/state", f"/shot/{state['turn']}", f"{path_of(TOKEN)}/state", "/?token=guess"):
            assert (await stranger.get(root + path)).status_code == 403
        assert (await stranger.post(f"{table.base}/act", json={"key": table.key, **wait})).status_code == 403
    for headers, status in (({"Host": "evil.example"}, 400), ({"Sec-Fetch-Site": "cross-site"}, 403)):
        answer = await table.client.post(f"{table.base}/act", json={"key": table.key, **wait}, headers=headers)
        assert answer.status_code == status
    for body, status in ((json.dumps({"key": "guess", **wait}), 403), ("[]", 400), ("{", 400), ("x" * 64_001, 413)):
        assert (await table.client.post(f"{table.base}/act", content=body)).status_code == status
    assert (await table.client.post(f"{table.base}/shot/{state['turn']}", json={})).status_code == 405
    assert not deciding.done()
    page = await table.client.get(f"{table.base}/")
    assert "default-src 'none'" in page.headers["content-security-policy"] and TOKEN not in page.text
    deciding.cancel()


async def test_a_port_that_cannot_be_used_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_HUMAN_PORT", "lots")
    with pytest.raises(ConfigError, match="CAIRN_HUMAN_PORT=lots is not a port"):
        await desk_of((1280, 720), legend=False, say=lambda text: None)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1500), ("dark", 1500), ("light", 390)])
async def test_the_page_is_accessible_and_hostile_text_is_text(
    table: Table, browser: Browser, scheme: Any, width: int
) -> None:
    deciding = asked(table.desk, replace(a_task(), intent=HOSTILE))
    await until(lambda: table.desk.chosen(""))
    context = await browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = await context.new_page()
    dialogs: list[str] = []
    page.on("dialog", lambda one: dialogs.append(one.message))
    await page.goto(f"{table.base.rpartition('/')[0]}/?token={TOKEN}")
    await page.get_by_role("button", name="Begin").press("Enter")
    await expect(page.locator("#objective")).to_have_text(HOSTILE)
    await expect(page.locator("#elements button")).to_have_text(f"link {HOSTILE}")
    assert await serious_violations(page) == [] and await fits(page) and dialogs == []
    await keep_picture(page, f"human-{scheme}-{width}")
    await page.locator("#note").fill("by keys alone")
    await page.locator("#screen").focus()
    await page.keyboard.press("Control+Enter")
    decision = await deciding
    assert decision.action == Press(key_comb="Control+Enter") and decision.reply.text == "by keys alone"
    await page.close()


@pytest.mark.slow
@pytest.mark.browser
async def test_a_task_stays_in_sight_while_others_wait(table: Table, browser: Browser) -> None:
    first, second = (asked(table.desk, replace(a_task(), task_id=one)) for one in ("a", "b"))
    await until(lambda: len(table.desk.state("")["episodes"]) == 2)
    page = await (await browser.new_context()).new_page()
    await page.goto(f"{table.base.rpartition('/')[0]}/?token={TOKEN}")
    await page.get_by_role("button", name="Begin").click()
    await page.locator("#answer").fill("half of an answer")
    await page.get_by_role("button", name="Wait").click()
    await first
    await expect(page.locator("body")).to_have_attribute("data-phase", "busy")
    await expect(page.locator("#label")).to_have_text("Task a")
    third = asked(table.desk, replace(a_task(), task_id="a"))
    await expect(page.locator("body")).to_have_attribute("data-phase", "turn")
    assert await page.locator("#answer").input_value() == "half of an answer"
    await page.get_by_role("button", name="Task b").click()
    await expect(page.locator("body")).to_have_attribute("data-phase", "paused")
    await expect(page.locator("#label")).to_have_text("Task b")
    second.cancel()
    third.cancel()
    await page.close()


@pytest.mark.browser
async def test_a_step_begins_when_its_picture_is_there(table: Table, browser: Browser) -> None:
    deciding = asked(table.desk)
    await until(lambda: table.desk.chosen(""))
    page = await (await browser.new_context(viewport={"width": 1500, "height": 900})).new_page()
    held, asks = list[Route](), asyncio.Event()

    async def hold(route: Route) -> None:
        held.append(route)
        asks.set()

    await page.route("**/shot/*", hold)
    await page.goto(f"{table.base.rpartition('/')[0]}/?token={TOKEN}")
    await page.get_by_role("button", name="Begin").click()
    await asks.wait()
    assert await page.locator("body").get_attribute("data-phase") == "paused" and not deciding.done()
    await held[0].continue_()
    await expect(page.locator("body")).to_have_attribute("data-phase", "turn")
    box = await page.locator("#shot").bounding_box()
    assert box is not None and box["height"] == pytest.approx(box["width"] * 720 / 1280, abs=2)
    await page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    action = (await deciding).action
    assert isinstance(action, PointClick) and (action.x, action.y) == pytest.approx((0.5, 0.5), abs=0.01)
    await page.close()


@pytest.mark.browser
async def test_a_picture_follows_what_the_browser_does(table: Table, browser: Browser) -> None:
    shown = blank_picture((1280, 720))

    async def glance() -> bytes:
        return shown

    deciding = asked(table.desk, watched=Watched(glance))
    await until(lambda: table.desk.chosen(""))
    page = await (await browser.new_context()).new_page()
    await page.goto(f"{table.base.rpartition('/')[0]}/?token={TOKEN}")
    await page.get_by_role("button", name="Begin").click()
    await page.get_by_role("button", name="Wait").click()
    await deciding
    await expect(page.locator("body")).to_have_attribute("data-phase", "busy")
    shown = blank_picture((640, 360))
    await expect(page.locator("#shot")).to_have_js_property("naturalWidth", 640)
    assert await page.locator("#screen").get_attribute("class") == "live"
    again = asked(table.desk, watched=Watched(glance))
    await expect(page.locator("body")).to_have_attribute("data-phase", "turn")
    await expect(page.locator("#shot")).to_have_js_property("naturalWidth", 1280)
    shown = blank_picture((320, 180))
    await expect(page.locator("#shot")).to_have_js_property("naturalWidth", 320)
    again.cancel()
    await page.close()


@pytest.mark.browser
async def test_a_run_that_does_not_answer_is_said_and_asked_again(table: Table, browser: Browser) -> None:
    deciding = asked(table.desk)
    await until(lambda: table.desk.chosen(""))
    page = await (await browser.new_context()).new_page()
    await page.clock.install()
    await page.goto(f"{table.base.rpartition('/')[0]}/?token={TOKEN}")
    await page.get_by_role("button", name="Begin").click()
    await page.locator("#answer").fill("half of an answer")
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        held.set()  # and it is never answered

    await page.route("**/state?*", hold)
    table.desk.let(table.desk.chosen(""), True)
    await held.wait()
    await page.clock.fast_forward(46_000)
    await expect(page.get_by_role("alert")).to_contain_text("The run cannot be reached")
    await page.unroute("**/state?*", hold)
    await page.clock.fast_forward(2_000)
    await expect(page.locator("body")).to_have_attribute("data-phase", "turn")
    await expect(page.get_by_role("alert")).to_be_hidden()
    assert await page.locator("#answer").input_value() == "half of an answer"
    deciding.cancel()
    await page.close()


@pytest.mark.slow
@pytest.mark.browser
async def test_the_page_says_how_long_nothing_has_come(table: Table, browser: Browser) -> None:
    page = await (await browser.new_context()).new_page()
    await page.clock.install()
    await page.goto(f"{table.base.rpartition('/')[0]}/?token={TOKEN}")
    await expect(page.locator("#gate-text")).to_contain_text("No task waits for you")
    await page.clock.fast_forward(31_000)
    await expect(page.locator("#said")).to_contain_text(re.compile(r"Nothing has come for \d+ s"))
    await page.close()


@pytest.mark.slow
@pytest.mark.browser
async def test_a_person_plays_a_plan_however_late_its_pictures_come(table: Table, browser: Browser) -> None:
    field = Node(role="searchbox", name="Search products", box=(800, 10, 200, 40), nth=0, line=0)
    view = replace(observation("the shop"), image=blank_picture((1280, 720)), nodes={"7": field})
    one, _ = session(table.desk)
    decided = list[Any]()

    async def plays() -> None:
        step: Any = SimpleNamespace(decided=SimpleNamespace(elapsed_ms=10.0), acted=SimpleNamespace(outcome=Done()))
        for number in range(3):
            decided.append(await one.decide(replace(a_task(), task_id="0"), Episode(steps=(step,) * number), view))
        table.desk.close(one.place)

    playing = asyncio.create_task(plays())
    page = await browser.new_page(viewport={"width": 1700, "height": 1100})

    async def late(route: Route) -> None:
        await asyncio.sleep(0.3)  # a slow network; nobody waits by this
        await route.continue_()

    await page.route("**/shot/*", late)
    address = f"{table.base.rpartition('/')[0]}/?token={TOKEN}"
    person = Person(plans(PROJECT / "tasks" / "demo.plans.json", [0]))
    await person.play(page, address, lambda one: one.stops == 1)
    await playing
    clicked, typed, stopped = (one.action for one in decided)
    assert isinstance(clicked, PointClick) and decided[0].memory["element"]["name"] == "Search products"
    assert typed == Keyboard(text="Storm Lantern\n") and stopped == Stop(answer="$44.50") and person.acts == 3
    await page.close()
