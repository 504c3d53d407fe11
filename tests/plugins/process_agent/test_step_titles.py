"""The steps of clients that drive a real browser are told as a person would, and resume where scripts filled fields."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from harness.browser.session.chromium import ChromiumPool
from harness.records import Acted, Commanded, Decided, Episode, Landed
from harness.testing import MemoryJournal
from tests.browser.conftest import Web
from tests.plugins.process_agent.driven import RAW, driving, play_driven, shop_browser
from tests.plugins.process_agent.processes import HEAD, Model

Shop = tuple[Web, ChromiumPool]
pytestmark = [pytest.mark.browser, pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

FORM = """
<style>label, div, button { display: block; margin: 4px } iframe { border: 0; width: 200px; height: 40px }</style>
<form method=post action=/buy>
<label>Day <input type=date id=day></label>
<label>Note <input id=note></label>
<label>Word <input type=password id=word></label>
<label><input type=checkbox id=agree> I agree</label>
<label>Room <select id=room><option>Small<option>Large</select></label>
<button><b>Save</b> it</button></form>
<div id=card draggable=true role=img aria-label=Card>card</div><div id=box role=list aria-label=Box>box</div>
<div id=host></div><iframe srcdoc="<body style='margin:0'><button>Inner</button>"></iframe>
<script>
host.attachShadow({mode: "open"}).innerHTML = "<button>Shadow</button>";
</script><div style="height: 3000px"></div>
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_shop() -> AsyncIterator[Shop]:
    async with shop_browser() as shared:
        shared[0].page("/form", FORM, title="Form")
        yield shared


@pytest.fixture
def shop(one_shop: Shop) -> Shop:
    one_shop[0].asked.clear()
    return one_shop


def titles(episode: Episode) -> list[str]:
    return [episode.said(step.decided) for step in episode.steps]


def records_of(journal: MemoryJournal) -> list[object]:
    """Without the end, so that the episode is to be resumed."""
    return [one for one in journal.records if one.kind not in ("closed", "scored", "exited")]


PLAYWRIGHT = (
    HEAD
    + """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.connect_over_cdp(os.environ["CAIRN_CDP_URL"])
    (page,) = browser.contexts[0].pages
    page.goto("http://shop.localhost/form")
    ask("what is to be filled in?")
    page.get_by_label("Day").fill("2026-03-01")
    page.get_by_label("Note").fill("board meeting")
    page.get_by_label("Word").fill("hunter2secret")
    page.get_by_label("I agree").check()
    page.get_by_label("Room").select_option("Large")
    page.get_by_label("Room").press("Tab")
    page.locator("#card").drag_to(page.locator("#box"))
    page.get_by_role("button", name="Shadow").click()
    page.frame_locator("iframe").get_by_role("button").click()
    page.mouse.wheel(0, 300)
    page.get_by_role("button", name="Save it").hover()
    time.sleep(0.5)
    page.get_by_role("button", name="Save it").click()
    page.wait_for_url("**/buy")
    page.go_back()
    browser.close()
act("stop", answer="done")
"""
)

WANTED = [
    "goto http://shop.localhost/form",
    "type '2026-03-01' into 'Day'",
    "type 'board meeting' into 'Note'",
    "type a password into 'Word'",
    "click checkbox 'I agree'",
    "select 'Large' in 'Room'",
    "press Tab in combobox 'Room'",
    "drag image 'Card' onto list 'Box'",
    "click button 'Shadow'",
    "click button 'Inner'",
    "scroll down 300 px",
    "hover button 'Save it'",
    "click button 'Save it'",
    "go back",
]


@pytest.mark.slow
async def test_each_action_of_playwright_is_a_step_that_names_element_and_value(tmp_path: Path, shop: Shop) -> None:
    journal = MemoryJournal()
    _, pool = shop
    async with driving(PLAYWRIGHT, tmp_path, model=Model()) as agent:
        episode = await play_driven(agent, pool, journal)
    assert episode.closed is not None and episode.closed.answer == "done"
    assert titles(episode) == WANTED
    recorded = [*map(str, journal.records)]
    passwords = [line for line in recorded if "hunter2" in line]
    assert all("Input.insertText in tab 1 text=hunter2secret" in line for line in passwords), (
        "as ever, and nowhere else"
    )


def _cuts(records: list[object]) -> list[int]:
    """Where a script has filled a field: after its decision, its command, its end; and in the middle of a click."""
    days = [at for at, one in enumerate(records, start=1) if getattr(one, "step", 0) == 2 and at > 0]
    kinds = {type(records[at - 1]): at for at in days}
    clicked = next(at for at, one in enumerate(records, start=1) if isinstance(one, Commanded) and one.step == 5)
    return [kinds[Decided], kinds[Landed], kinds[Acted], clicked, len(records)]


@pytest.mark.slow
@pytest.mark.parametrize("everywhere", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_wherever_it_is_killed_the_steps_are_the_same(tmp_path: Path, shop: Shop, everywhere: bool) -> None:
    calm = MemoryJournal()
    web, pool = shop
    async with driving(PLAYWRIGHT, tmp_path, model=Model()) as agent:
        await play_driven(agent, pool, calm)
    records = records_of(calm)
    cuts = _cuts(records)
    for end in cuts if everywhere else cuts[1:4:2]:  # after a script's command, and in the middle of a click
        journal = MemoryJournal(records[:end])
        journal.artifacts = calm.artifacts
        web.asked.clear()  # the site was reset
        async with driving(PLAYWRIGHT, tmp_path, model=Model(seen=[b""] * len(journal.episode.answered))) as agent:
            episode = await play_driven(agent, pool, journal)
        assert episode.closed is not None and episode.closed.answer == "done", end
        assert (episode.diverged, episode.attempt) == ((), 1), end
        assert titles(episode) == WANTED, end


@pytest.mark.slow
async def test_a_run_of_an_older_version_goes_on_and_keeps_its_titles(tmp_path: Path, shop: Shop) -> None:
    """It recorded no titles and no scripts: one step holds what the scripts and commands of several actions did."""
    calm = MemoryJournal()
    web, pool = shop
    script = RAW + (
        "cdp = Cdp(); page = cdp.attach()\n"
        "handle = cdp.call('Runtime.evaluate', page, expression='q')['result']['result']['objectId']\n"
        "fill = 'function(text) { this.value = text }'\n"
        "def fills(text): cdp.call('Runtime.callFunctionOn', page, objectId=handle, functionDeclaration=fill,"
        " arguments=[{'value': text}])\n"
        "said = [ask('first')]\n"
        "fills('by a script')\n"
        "cdp.click(page, 50, 50)\n"
        "said.append(ask('second'))\n"
        "cdp.click(page, 50, 90)\n"
        "cdp.until(page, \"document.title == 'Bought'\")\n"
        "act('stop', answer=' '.join(said))"
    )
    async with driving(script, tmp_path, model=Model()) as agent:
        whole = await play_driven(agent, pool, calm)
    assert titles(whole) == ["type 'by a script' into the textbox", "click button 'Ask'", "click button 'Buy'"]
    old = _as_before(records_of(calm))
    for end in (len(old), len(old) - 1):
        journal = MemoryJournal(old[:end])
        journal.artifacts = calm.artifacts
        web.asked.clear()  # the site was reset
        before = titles(journal.episode)
        assert all(title.startswith("cdp [Input.dispatchMouseEvent in tab 1") for title in before) and before
        async with driving(script, tmp_path, model=Model(seen=[b""] * len(journal.episode.answered))) as agent:
            episode = await play_driven(agent, pool, journal)
        assert episode.closed is not None and episode.closed.answer == "r1 r2"
        assert (episode.diverged, episode.attempt) == ((), 1)
        assert titles(episode)[: len(before)] == before


def _as_before(records: list[object]) -> list[object]:
    """The same episode as the version before wrote it: the script is part of no step, and no step has a title."""
    kept: list[object] = []
    for one in records:
        step = getattr(one, "step", 0)
        if step == 1 and not isinstance(one, Acted) and getattr(one, "kind", "") not in ("asked", "answered"):
            continue  # the step of the script
        if step == 1 and isinstance(one, Acted):
            continue
        if isinstance(one, Landed):
            one = replace(one, title="")
        kept.append(replace(one, step=step - 1) if step > 1 else one)
    return kept


CLIENTS = (
    RAW
    + """
cdp = Cdp(); page = cdp.attach()
cdp.call("Page.navigate", page, url="http://shop.localhost/form")
cdp.until(page, "document.title == 'Form' && document.readyState == 'complete'")
def handle(of): return cdp.call("Runtime.evaluate", page, expression=of)["result"]["result"]["objectId"]
def keys(text):
    for one in text:
        cdp.call("Input.dispatchKeyEvent", page, type="keyDown", key=one)
        cdp.call("Input.dispatchKeyEvent", page, type="char", text=one)
        cdp.call("Input.dispatchKeyEvent", page, type="keyUp", key=one)
note = handle("note")
cdp.call("DOM.focus", page, objectId=note)
keys("tea")
cdp.call("DOM.focus", page, objectId=handle("day"))
cdp.call("DOM.focus", page, objectId=note)
clear = "function() { this.value = ''; this.dispatchEvent(new Event('input', {bubbles: true})) }"
cdp.call("Runtime.callFunctionOn", page, objectId=note, functionDeclaration=clear)
keys("milk")
cdp.call("Input.synthesizeScrollGesture", page, x=50, y=50, yDistance=-200)
cdp.call("Runtime.callFunctionOn", page, objectId=handle("agree"), functionDeclaration="function() { this.click() }")
link = "const a = document.body.appendChild(document.createElement('a')); a.href = '/more'; a.textContent = 'More'; a"
cdp.call("Runtime.callFunctionOn", page, objectId=handle(link), functionDeclaration="function() { this.click() }")
cdp.until(page, "document.title == 'More' && document.readyState == 'complete'")
while not url().endswith("/more"): time.sleep(0.02)
act("stop", answer="done")
"""
)


@pytest.mark.slow
async def test_what_other_clients_do_is_told_the_same_way(tmp_path: Path, shop: Shop) -> None:
    """Characters as browser-use sends them, fields that scripts empty, boxes and links that scripts click."""
    journal = MemoryJournal()
    _, pool = shop
    async with driving(CLIENTS, tmp_path) as agent:
        episode = await play_driven(agent, pool, journal)
    assert episode.closed is not None and episode.closed.answer == "done"
    assert titles(episode) == [
        "goto http://shop.localhost/form",
        "type 'tea' into 'Note'",
        "type 'milk' into 'Note'",
        "scroll down 200 px",
        "check 'I agree'",
        "click link 'More'",
    ]


@pytest.mark.slow
async def test_commands_that_are_not_answered_do_not_hold_up_others(tmp_path: Path, shop: Shop) -> None:
    """A script that writes and never ends, and a page that is never answered."""
    script = RAW + (
        "cdp = Cdp(); page = cdp.attach(); other = Cdp(); seen = other.attach()\n"
        "handle = cdp.call('Runtime.evaluate', page, expression='q')['result']['result']['objectId']\n"
        "endless = 'function() { this.value = 1; return new Promise(() => 0) }'\n"
        "cdp.socket.send(json.dumps({'id': 900, 'method': 'Runtime.callFunctionOn', 'sessionId': page, 'params':"
        " {'objectId': handle, 'functionDeclaration': endless, 'awaitPromise': True}}))\n"
        "cdp.call('Input.insertText', page, text='tea')\n"
        "act('stop', answer=cdp.value(page, 'document.title'))"
    )
    journal = MemoryJournal()
    _, pool = shop
    async with driving(script, tmp_path) as agent:
        episode = await play_driven(agent, pool, journal)
    assert episode.closed is not None and episode.closed.answer == "Shop"
    assert titles(episode) == ["type 'tea'"]
