"""A process that drives the browser itself: somebody else's clients, hostile ones, and what is recorded of them."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from harness.actions import Cdp
from harness.browser.session.chromium import ChromiumPool
from harness.errors import EnvironmentDiverged
from harness.records import Acted, Commanded, Done, Episode
from harness.testing import MemoryJournal
from tests import waiting
from tests.browser.conftest import Answer, Asked, Web, html
from tests.plugins.process_agent.driven import RAW, SHOP, bought, driving, play_driven, serve_shop, shop_browser
from tests.plugins.process_agent.processes import HEAD, Model

Shop = tuple[Web, ChromiumPool]
MORE = pytest.param(True, id="more", marks=pytest.mark.slow)
pytestmark = [pytest.mark.browser, pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_shop() -> AsyncIterator[Shop]:
    async with shop_browser() as shared:
        yield shared


@pytest.fixture
def shop(one_shop: Shop) -> Shop:
    """The site that the tests share, as if nobody had been there, and a browser."""
    one_shop[0].asked.clear()
    return one_shop


PLAYWRIGHT = (
    HEAD
    + """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.connect_over_cdp(os.environ["CAIRN_CDP_URL"])
    (context,) = browser.contexts
    (page,) = context.pages
    said = [page.title()]
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.fill("#q", "tea")
    said.append(page.input_value("#q"))
    page.get_by_role("button", name="Ask").click()
    said.append(page.inner_text("#said"))
    with context.expect_page() as opened:
        page.get_by_role("link", name="More").click()
    opened.value.wait_for_load_state()
    said.append(opened.value.title())
    opened.value.close()
    page.get_by_role("link", name="File").click()
    page.get_by_role("button", name="Buy").click()
    page.wait_for_url("**/buy")
    said.append(page.inner_text("p"))
    further = context.new_page()
    further.goto("http://shop.localhost/more")
    said.append(further.title())
    said.append(len(context.pages))
    browser.close()
act("stop", answer=json.dumps(said))
"""
)


async def test_playwright_plays_through_the_relay(tmp_path: Path, shop: Shop) -> None:
    journal = MemoryJournal()
    web, pool = shop
    async with driving(PLAYWRIGHT, tmp_path) as agent:
        episode = await play_driven(agent, pool, journal)
        assert len(bought(web)) == 1
    assert episode.closed is not None
    said = json.loads(episode.closed.answer)
    assert said == ["Shop", "tea", "Sure?", "yes", "More", "POST 1", "More", 2]
    assert [type(step.decided.action) for step in episode.steps] == [Cdp] * len(episode.steps)
    assert all(step.acted.outcome == Done() for step in episode.steps)
    seen = [effect for step in episode.steps for effect in step.acted.effects]
    assert [(one.method, one.url) for one in seen] == [("POST", "http://shop.localhost/buy")]
    notices = " ".join(one for step in episode.steps for one in step.acted.observation.notices)
    assert "Sure?" in notices and "a download was blocked" in notices and "opened a new tab" in notices
    last = episode.steps[-1].acted.observation
    assert (last.url, len(last.tabs)) == ("http://shop.localhost/more", 2)
    sent = [command.method for step in range(1, len(episode.steps) + 1) for command in episode.commands_of(step)]
    assert {"Input.insertText", "Input.dispatchMouseEvent", "Page.navigate", "Target.createTarget"} <= set(sent)


BUYS = (
    RAW
    + """
cdp = Cdp(); page = cdp.attach()
said = [ask("first")]
cdp.call("Input.dispatchMouseEvent", page, type="mousePressed", x=50, y=10, button="left", clickCount=1)
cdp.call("Input.insertText", page, text=said[0])
said.append(cdp.value(page, "q.value"))
said.append(ask("second " + cdp.value(page, "location.href")))
cdp.click(page, 50, 90)
cdp.until(page, "document.title == 'Bought' && document.readyState == 'complete'")
while not url().endswith("/buy"): time.sleep(0.02)
cdp.value(page, "void(location.href = '/more')")
cdp.until(page, "document.title == 'More' && document.readyState == 'complete'")
while not url().endswith("/more"): time.sleep(0.02)
said.append(ask("third"))
cdp.call("Page.navigate", page, url="http://shop.localhost/")
cdp.until(page, "document.title == 'Shop' && document.readyState == 'complete'")
act("stop", answer=" ".join(said))
"""
)
"""Asks its model, types, asks, buys, goes elsewhere by a script, asks, and goes back."""


@pytest.mark.slow
@pytest.mark.parametrize("more", [False, MORE])
async def test_wherever_it_is_killed_it_ends_the_same(tmp_path: Path, shop: Shop, more: bool) -> None:
    calm, model = MemoryJournal(), Model()
    web, pool = shop
    async with driving(BUYS, tmp_path, model=model) as agent:
        whole = await play_driven(agent, pool, calm)
    assert whole.closed is not None and whole.closed.answer == "r1 r1 r2 r3" and len(bought(web)) == 1
    assert b"http://shop.localhost/" in model.seen[1] and str(web.port).encode() not in model.seen[1]
    urls = [step.acted.observation.url for step in whole.steps]
    assert [url.rpartition("/")[2] for url in urls] == ["", "", "buy", "more", ""]
    assert [isinstance(one.decided.action, Cdp) and bool(one.decided.action.first) for one in whole.steps] == [
        *(True, True, True, False, True)
    ]
    records = [one for one in calm.records if one.kind not in ("closed", "scored", "exited")]
    decided = [at for at, one in enumerate(records, start=1) if one.kind == "decided"]
    further = (*decided[:4], decided[3] + 3) if more else ()
    for end in (decided[2] + 1, *further, len(records)):
        web.asked.clear()  # the site was reset
        journal = MemoryJournal(records[:end])
        journal.artifacts = calm.artifacts
        again = Model(seen=[b""] * len(journal.episode.answered))
        async with driving(BUYS, tmp_path, model=again) as agent:
            episode = await play_driven(agent, pool, journal)
        assert episode.closed is not None and episode.closed.answer == "r1 r1 r2 r3", end
        assert episode.diverged == () and episode.attempt == 1 and len(bought(web)) == 1
        assert [one.strategy for one in episode.resumed] == ["replay"]
        assert [one.acted.observation.url for one in episode.steps] == urls
        assert len(again.seen) == 3


LATER = (
    RAW
    + """
cdp = Cdp(); page = cdp.attach()
said = [ask("first")]
cdp.until(page, "document.readyState == 'complete'")
cdp.click(page, 50, 250)
said.append(ask("second"))
cdp.call("Page.navigate", page, url="http://shop.localhost/more")
cdp.until(page, "document.title == 'More' && document.readyState == 'complete'")
said.append(ask("third"))
act("stop", answer=" ".join(said))
"""
)
"""Clicks on what sends something later, asks, and leaves the page."""


@pytest.mark.slow
async def test_a_page_is_not_left_by_a_replay_before_it_has_sent_what_is_recorded(tmp_path: Path, shop: Shop) -> None:
    """The model is not asked again, so the process is faster than it was."""
    came = asyncio.Event()

    class Patient(Model):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if len(self.seen) == 1:
                await came.wait()
            await super().__call__(scope, receive, send)

    async def seen(_: Asked) -> Answer:  # asked for after the browser has reported the POST
        came.set()
        return html("done")

    web, pool = shop
    send = "setTimeout(() => fetch('/late', {method: 'POST'}).then(() => fetch('/seen')), 1500)"
    button = f"<button style='top:240px' onclick=\"{send}\">Later</button>"
    web.page("/", SHOP + button, title="Shop")
    web.page("/late", "done")
    web.pages["/seen"] = seen
    try:
        calm = MemoryJournal()
        async with driving(LATER, tmp_path, model=Patient()) as agent:
            whole = await play_driven(agent, pool, calm)
        assert whole.closed is not None and whole.closed.answer == "r1 r2 r3"
        assert [asked.path for asked in bought(web)] == ["/late"]
        records = [one for one in calm.records if one.kind not in ("closed", "scored", "exited")]
        web.asked.clear()  # the site was reset
        journal = MemoryJournal(records)
        journal.artifacts = calm.artifacts
        async with driving(LATER, tmp_path, model=Model(seen=[b""] * len(journal.episode.answered))) as agent:
            episode = await play_driven(agent, pool, journal)
    finally:
        serve_shop(web)
    assert episode.closed is not None and episode.closed.answer == "r1 r2 r3" and episode.diverged == ()
    assert [asked.path for asked in bought(web)] == ["/late"]
    assert sum(len(one.effects) for one in episode.late) + sum(len(one.acted.effects) for one in episode.steps) == 1


@pytest.mark.slow
async def test_a_page_is_as_old_as_it_was_when_its_process_goes_on(tmp_path: Path, shop: Shop) -> None:
    """What the page sent is in no record: the kill came before it was told of."""

    class Thinking(Model):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if len(self.seen) == 1:
                await waiting.until(lambda: bool(bought(web)))
                await asyncio.sleep(2)  # the page is surely older than its timer, however its age is measured
            await super().__call__(scope, receive, send)

    web, pool = shop
    send = "setTimeout(() => fetch('/late', {method: 'POST'}), 2000)"
    web.page("/", SHOP + f"<button style='top:240px' onclick=\"{send}\">Later</button>", title="Shop")
    web.page("/late", "done")
    try:
        calm = MemoryJournal()
        async with driving(LATER, tmp_path, model=Thinking()) as agent:
            await play_driven(agent, pool, calm)
        assert [asked.path for asked in bought(web)] == ["/late"]
        (end,) = [at for at, one in enumerate(calm.records, 1) if one.kind == "answered" and one.number == 2]
        web.asked.clear()  # the site was reset
        journal = MemoryJournal(
            replace(one, effects=()) if isinstance(one, Acted) else one
            for one in calm.records[:end]
            if one.kind != "late"
        )
        journal.artifacts = calm.artifacts
        async with driving(LATER, tmp_path, model=Model(seen=[b""] * len(journal.episode.answered))) as agent:
            episode = await play_driven(agent, pool, journal)
    finally:
        serve_shop(web)
    assert episode.closed is not None and episode.closed.answer == "r1 r2 r3" and episode.diverged == ()
    assert [asked.path for asked in bought(web)] == ["/late"]


TABS = (
    RAW
    + """
cdp = Cdp(); page = cdp.attach()
said = [ask("open")]
cdp.click(page, 50, 130)
while not url().endswith("/more"): time.sleep(0.02)
said.append(ask("look"))
cdp.call("Target.activateTarget", targetId=next(one["targetId"] for one in cdp.pages() if not one["url"].endswith("/more")))
while url().endswith("/more"): time.sleep(0.02)
said.append(ask("back"))
other = cdp.attach(next(one["targetId"] for one in cdp.pages() if one["url"].endswith("/more")))
cdp.call("Page.bringToFront", other)
while not url().endswith("/more"): time.sleep(0.02)
act("stop", answer=" ".join(said))
"""
)
"""Opens a tab by a click, goes back to the first by its connection to the browser, and on by that to the page."""


@pytest.mark.slow
@pytest.mark.parametrize("more", [False, MORE])
async def test_the_current_tab_is_the_one_that_was_opened_or_chosen_last(
    tmp_path: Path, shop: Shop, more: bool
) -> None:
    calm = MemoryJournal()
    _, pool = shop
    async with driving(TABS, tmp_path, model=Model()) as agent:
        whole = await play_driven(agent, pool, calm)
    assert whole.closed is not None and whole.closed.answer == "r1 r2 r3"
    assert _pages(whole) == ["", "more", "", "more"]
    records = [one for one in calm.records if one.kind not in ("closed", "scored", "exited")]
    for end in (
        at for at, one in enumerate(records, start=1) if one.kind == "acted" or (more and one.kind == "decided")
    ):
        journal = MemoryJournal(records[:end])
        journal.artifacts = calm.artifacts
        again = Model(seen=[b""] * len(journal.episode.answered))
        async with driving(TABS, tmp_path, model=again) as agent:
            episode = await play_driven(agent, pool, journal)
        assert episode.closed is not None and episode.closed.answer == "r1 r2 r3"
        assert episode.diverged == () and episode.attempt == 1
        assert _pages(episode) == ["", "more", "", "more"]


def _pages(episode: Episode) -> list[str]:
    """Which pages were observed one after the other; on a busy machine a click may become two steps."""
    assert episode.arrival is not None
    seen = [episode.arrival.observation, *(step.acted.observation for step in episode.steps)]
    return [page for page, _ in groupby(one.url.rpartition("/")[2] for one in seen)]


@pytest.mark.slow
async def test_nothing_is_done_twice_on_a_site_that_was_not_reset(tmp_path: Path, shop: Shop) -> None:
    calm = MemoryJournal()
    web, pool = shop
    async with driving(BUYS, tmp_path, model=Model()) as agent:
        await play_driven(agent, pool, calm)
        records = [one for one in calm.records if one.kind not in ("closed", "scored", "exited")]
        web.asked.clear()
        journal = MemoryJournal(records)
        journal.artifacts = calm.artifacts
        with pytest.raises(EnvironmentDiverged, match="a replay would repeat"):
            await play_driven(agent, pool, journal, clean=())
    assert bought(web) == []


@pytest.mark.slow
async def test_what_differs_from_the_recording_is_a_divergence(tmp_path: Path, shop: Shop) -> None:
    script = RAW + (
        f"path = {str(tmp_path / 'count')!r}\n"
        "count = len(open(path).read()) if os.path.exists(path) else 0\n"
        "open(path, 'a').write('x')\n"
        "cdp = Cdp(); page = cdp.attach()\n"
        "cdp.click(page, 50, 10)\n"
        "cdp.call('Input.insertText', page, text='tea' + 'x' * count)\n"
        "act('stop', answer='done')"
    )
    calm = MemoryJournal()
    _, pool = shop
    async with driving(script, tmp_path) as agent:
        await play_driven(agent, pool, calm)
        records = [one for one in calm.records if one.kind not in ("closed", "exited")]
        last = max(at for at, one in enumerate(records, start=1) if isinstance(one, Acted | Commanded))
        journal = MemoryJournal(records[:last])
        journal.artifacts = calm.artifacts
        with pytest.raises(EnvironmentDiverged, match=r"it sent Input\.insertText in tab 1 text=teax"):
            await play_driven(agent, pool, journal)
        (diverged,) = journal.episode.diverged
        assert diverged.boundary == "browser" and "recorded is Input.insertText in tab 1 text=tea" in diverged.why
        episode = await play_driven(agent, pool, journal)
    assert episode.attempt == 2 and episode.closed is not None


@pytest.mark.slow
async def test_after_a_divergence_nothing_more_is_paid_for_or_performed(tmp_path: Path, shop: Shop) -> None:
    script = RAW + (
        f"path = {str(tmp_path / 'count')!r}\n"
        "count = len(open(path).read()) if os.path.exists(path) else 0\n"
        "open(path, 'a').write('x')\n"
        "cdp = Cdp(); page = cdp.attach()\n"
        "try: ask('what now?' + 'x' * count)\n"
        "except Exception: pass\n"
        "while count == 1:\n"
        "    try: ask('and now?')\n"
        "    except Exception: pass\n"
        "    cdp.click(page, 50, 90)\n"
        "cdp.call('Input.insertText', page, text='tea')\n"
        "act('stop', answer='done')"
    )
    calm, model = MemoryJournal(), Model()
    web, pool = shop
    async with driving(script, tmp_path, model=model) as agent:
        await play_driven(agent, pool, calm)
        pending = next(at for at, one in enumerate(calm.records, start=1) if one.kind == "decided")
        journal = MemoryJournal(calm.records[:pending])
        journal.artifacts = calm.artifacts
        with pytest.raises(EnvironmentDiverged, match="none of those recorded"):
            await play_driven(agent, pool, journal)
    assert len(model.seen) == 1 and bought(web) == [] and journal.episode.steps == ()


HOSTILE = (
    RAW
    + """
import urllib.parse
cdp = Cdp(); page = cdp.attach()
url = urllib.parse.urlsplit(os.environ["CAIRN_CDP_URL"])
other = open(OTHER).read()
def refused(answer): return "error" in answer
tries = {
    "attach to another": refused(cdp.call("Target.attachToTarget", targetId=other, flatten=True)),
    "info of another": refused(cdp.call("Target.getTargetInfo", targetId=other)),
    "close another": refused(cdp.call("Target.closeTarget", targetId=other)),
    "activate another": refused(cdp.call("Target.activateTarget", targetId=other)),
    "another from a page": refused(cdp.call("Target.attachToTarget", page, targetId=other, flatten=True)),
    "list": other not in json.dumps(cdp.call("Target.getTargets", filter=[{}])),
    "list from a page": other not in json.dumps(cdp.call("Target.getTargets", page, filter=[{}])),
    "discover": other not in json.dumps([cdp.call("Target.setDiscoverTargets", discover=True, filter=[{}]), cdp.events]),
    "attach by itself": other not in json.dumps([cdp.call("Target.setAutoAttach", autoAttach=True, flatten=True, waitForDebuggerOnStart=True), cdp.events]),
    "attach to the browser": refused(cdp.call("Target.attachToBrowserTarget")),
    "expose": refused(cdp.call("Target.exposeDevToolsProtocol", targetId=cdp.pages()[0]["targetId"])),
    "new context": refused(cdp.call("Target.createBrowserContext")),
    "drop context": refused(cdp.call("Target.disposeBrowserContext", browserContextId="x")),
    "related": refused(cdp.call("Target.autoAttachRelated", targetId=other, waitForDebuggerOnStart=False)),
    "message to another": refused(cdp.call("Target.sendMessageToTarget", targetId=other, message="{}")),
    "close": refused(cdp.call("Browser.close")) and refused(cdp.call("Browser.close", page)),
    "crash": refused(cdp.call("Browser.crash")) and refused(cdp.call("Page.crash", page)),
    "trace": refused(cdp.call("Tracing.start")) and refused(cdp.call("Tracing.start", page)),
    "processes": refused(cdp.call("SystemInfo.getProcessInfo")),
    "bind a port": refused(cdp.call("Tethering.bind", port=9999)),
    "stream": refused(cdp.call("IO.read", page, handle="1")) and refused(cdp.call("IO.read", handle="1")),
    "file": refused(cdp.call("Page.navigate", page, url="file:///etc/passwd")),
    "file in a tab": refused(cdp.call("Target.createTarget", url="file:///etc/passwd")),
    "source": refused(cdp.call("Page.navigate", page, url="view-source:http://shop.localhost/")),
    "settings": refused(cdp.call("Page.navigate", page, url="chrome://version")),
    "other site": refused(cdp.call("Page.navigate", page, url="http://example.test/")),
    "upload": refused(cdp.call("DOM.setFileInputFiles", page, files=["/etc/passwd"], nodeId=1)),
    "drag": refused(cdp.call("Input.dispatchDragEvent", page, type="drop", x=1, y=1, data={"items": [], "files": ["/etc/passwd"], "dragOperationsMask": 1})),
    "load": refused(cdp.call("Network.loadNetworkResource", page, url="file:///etc/passwd", options={"disableCache": True, "includeCredentials": True})),
    "stand still": refused(cdp.call("Debugger.enable", page)),
    "foreign session": refused(cdp.call("Page.reload", "0123456789ABCDEF")),
    "unknown": refused(cdp.call("Invented.command")),
    "downloads": cdp.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=FOLDER).get("result") == {},
    "cookies of another": "secret" not in json.dumps(cdp.call("Storage.getCookies", browserContextId=CONTEXT)),
}
for nonsense in ("", "{", "[]", "7", '{"id":"x"}', '{"id":1e99,"method":"Page.enable"}', '{"id":-1,"method":"a"}', '{"id":5,"method":"Page.enable","params":[]}', "\\ud83d", '{"a":' * 2000):
    cdp.socket.send(nonsense.encode("utf-8", "replace") if "\\ud83d" in nonsense else nonsense)
    tries["nonsense " + nonsense[:12]] = "error" in json.loads(cdp.socket.recv(timeout=60))
for number in range(3000):
    cdp.socket.send(json.dumps({"id": 10000 + number, "method": "Runtime.getIsolateId", "sessionId": page}))
tries["thousands"] = "result" in cdp.answer(12999)
def turned_away(address, **how):
    try:
        connect(address, **how).recv(timeout=10)
    except Exception as error:
        return type(error).__name__
base = "ws://" + url.netloc
tries["no token"] = turned_away(base + "/devtools/browser") == "InvalidStatus"
tries["wrong token"] = turned_away(base + "/" + "x" * 43 + "/devtools/browser") == "InvalidStatus"
tries["a page"] = turned_away(base + url.path + "/devtools/browser", origin="http://shop.localhost") == "InvalidStatus"
tries["page of another"] = turned_away(base + url.path + "/devtools/page/" + other) == "ConnectionClosedError"
huge = Cdp()
try:
    huge.socket.send('{"id":1,"method":"Page.enable","params":{"x":"' + "x" * (70 << 20) + '"}}'); huge.socket.recv(timeout=60)
except Exception as error:
    tries["huge"] = "1009" in str(error)
tries["alive"] = cdp.value(page, "document.title") == "Shop"
act("stop", answer=json.dumps([name for name, held in tries.items() if not held]) + str(len(tries)))
"""
)


async def test_a_hostile_client_reaches_nothing_but_its_own_episode(tmp_path: Path, shop: Shop) -> None:
    web, pool = shop
    browser = (await pool._running(0)).browser
    other = await browser.new_context()
    page = await other.new_page()
    await page.goto(f"http://127.0.0.1:{web.port}/")
    await other.add_cookies([{"name": "secret", "value": "of another", "url": f"http://127.0.0.1:{web.port}/"}])
    about = (await (await other.new_cdp_session(page)).send("Target.getTargetInfo"))["targetInfo"]
    (tmp_path / "other").write_text(about["targetId"])
    names = {"OTHER": str(tmp_path / "other"), "FOLDER": str(tmp_path), "CONTEXT": about["browserContextId"]}
    script = "".join(f"{name} = {value!r}\n" for name, value in names.items()) + HOSTILE
    async with driving(script, tmp_path) as agent:
        episode = await play_driven(agent, pool, MemoryJournal())
    assert page.url.endswith("/") and await page.title() == "Shop"
    await other.close()
    assert episode.closed is not None
    answer = episode.closed.answer
    assert answer.startswith("[]") and int(answer[2:]) >= 45, answer


HABIT = (
    RAW
    + """
cdp = Cdp(); page = cdp.attach()
said = ["error" in cdp.call(method) for method in ("Page.enable", "Network.enable", "Log.disable")]
said += ["error" in cdp.call("Page.enable", "0123456789ABCDEF"), "error" in cdp.call("Debugger.enable"), "error" in cdp.call("Page.reload")]
act("stop", answer=json.dumps(said))
"""
)


async def test_habits_of_clients_are_refused_and_no_violation_and_tries_are_one(tmp_path: Path, shop: Shop) -> None:
    _, pool = shop
    async with driving(HABIT, tmp_path) as agent:
        episode = await play_driven(agent, pool, MemoryJournal())
    assert episode.closed is not None and episode.closed.answer == json.dumps([True] * 6)
    tries = [one.what.partition(":")[0] for one in episode.violations]
    assert tries == ["Page.enable", "Debugger.enable", "Page.reload"], "the first of another's session"


FORGED = (
    RAW
    + r"""
cdp = Cdp()
page = cdp.attach()
known = [target["targetId"] for target in cdp.pages()]
cdp.call("Runtime.enable", page)
forged = []
for text in (
    '{"id":1073741824,"result":{}}',
    '"},"id":1073741824,"method":"Target.attachedToTarget","params":{"sessionId":"mine","a":"',
    '{"method":"Target.attachedToTarget","params":{"sessionId":"mine","targetInfo":{"targetId":"x","type":"page"}}}',
    '{"method":"Target.targetDestroyed","params":{"targetId":"%s"}}' % known[0],
):
    text = (text + "\n") * (1 if len(forged) % 2 else 20000)
    said = cdp.value(page, "console.log(%s); %s" % (json.dumps(text), json.dumps(text)))
    while not (logged := [one for one in cdp.events if one.get("method") == "Runtime.consoleAPICalled"]):
        cdp.call("Runtime.getIsolateId", page)
    cdp.events.clear()
    forged.append(said == text and logged[0]["params"]["args"][0]["value"] == text)
    cdp.value(page, "document.title = %s" % json.dumps(text[:500]))
refused = cdp.call("Runtime.evaluate", "mine", expression="1")["error"]["message"]
same = [target["targetId"] for target in cdp.pages()] == known
act("stop", answer=json.dumps([forged, refused, same, cdp.value(page, "1 + 1")]))
"""
)
"""A page that says, in results, in messages of the console and in its title, what the browser says about targets."""


async def test_ill_typed_commands_are_answered_with_errors_on_the_same_connection(tmp_path: Path, shop: Shop) -> None:
    script = (
        RAW
        + """
cdp = Cdp()
session = cdp.attach()
deep = params = {}
for _ in range(400): params["a"] = {}; params = params["a"]
odd = [[], {}, 5, True, [[]]]
said = [cdp.call(method, session, **{name: one}) for one in odd for method, name in (
    ("IO.read", "handle"), ("IO.close", "handle"), ("DOM.setFileInputFiles", "files"), ("Page.navigate", "url"))]
said += [cdp.call(method, **{name: one}) for one in odd for method, name in (
    ("Target.detachFromTarget", "sessionId"), ("Target.attachToTarget", "targetId"), ("Target.closeTarget", "targetId"),
    ("Target.activateTarget", "targetId"), ("Target.createTarget", "url"))]
said += [cdp.call("Page.navigate", session, url="http://site.test/", extra=deep)]
act("stop", answer=json.dumps([sum("error" in one for one in said), len(said), cdp.value(session, "1 + 1")]))
"""
    )
    _, pool = shop
    async with driving(script, tmp_path) as agent:
        episode = await play_driven(agent, pool, MemoryJournal())
    assert episode.closed is not None and json.loads(episode.closed.answer) == [46, 46, 2]


@pytest.mark.slow
async def test_what_a_page_says_is_never_taken_for_the_browsers_own_words(tmp_path: Path, shop: Shop) -> None:
    _, pool = shop
    async with driving(FORGED, tmp_path) as agent:
        episode = await play_driven(agent, pool, MemoryJournal())
    assert episode.closed is not None
    assert json.loads(episode.closed.answer) == [[True] * 4, "Session with given id not found.", True, 2]


@pytest.mark.slow
async def test_pages_are_listed_in_the_order_in_which_they_were_opened(tmp_path: Path, shop: Shop) -> None:
    script = RAW + (
        "cdp = Cdp(); opened = [one['targetId'] for one in cdp.pages()]\n"
        "for _ in range(5): opened.append(cdp.call('Target.createTarget', url='about:blank')['result']['targetId'])\n"
        "cdp.call('Target.activateTarget', targetId=opened[2])\n"
        "listed = json.load(urllib.request.urlopen(os.environ['CAIRN_CDP_URL'] + '/json/list'))\n"
        "new = Cdp(); new.call('Target.setDiscoverTargets', discover=True)\n"
        "told = [one['params']['targetInfo']['targetId'] for one in new.events]\n"
        "ids = [one['targetId'] for one in new.pages()]\n"
        "act('stop', answer=json.dumps([ids == opened, [one['id'] for one in listed] == opened, told == opened]))"
    )
    _, pool = shop
    async with driving(script, tmp_path) as agent:
        episode = await play_driven(agent, pool, MemoryJournal())
    assert episode.closed is not None and json.loads(episode.closed.answer) == [True] * 3


@pytest.mark.slow
async def test_a_client_hears_what_changed_before_it_was_ready(tmp_path: Path, shop: Shop) -> None:
    script = RAW + (
        "cdp = Cdp(); cdp.call('Target.setDiscoverTargets', discover=True); page = cdp.attach()\n"
        "other = Cdp(); other.value(other.attach(), \"void(location.href = '/more')\")\n"
        "while not url().endswith('/more'): time.sleep(0.02)\n"
        "said = []\n"
        "for _ in range(6):\n"
        "    cdp.events.clear(); cdp.call('Runtime.getIsolateId', page); cdp.call('Target.getTargets')\n"
        "    told = [one['params'] for one in cdp.events if one['method'] == 'Target.targetInfoChanged']\n"
        "    said.append([one['targetInfo']['url'].rpartition('/')[2] for one in told][-1:])\n"
        "act('stop', answer=json.dumps(said))"
    )
    _, pool = shop
    async with driving(script, tmp_path) as agent:
        episode = await play_driven(agent, pool, MemoryJournal())
    assert episode.closed is not None
    said = json.loads(episode.closed.answer)
    assert said[:4] == [["more"]] * 4 and [] in said[4:]


@pytest.mark.slow
async def test_two_episodes_in_one_browser_see_only_their_own(tmp_path: Path, shop: Shop) -> None:
    script = RAW + (
        "cdp = Cdp(); page = cdp.attach()\n"
        "cdp.call('Target.setDiscoverTargets', discover=True)\n"
        "cdp.call('Target.createTarget', url='http://shop.localhost/more')\n"
        "cdp.call('Network.setCookie', page, name='mine', value=NAME, url=cdp.value(page, 'location.href'))\n"
        "open(os.path.join(FOLDER, NAME), 'w').close()\n"
        "while len(os.listdir(FOLDER)) < 2: time.sleep(0.02)\n"
        "values = [one['value'] for one in cdp.call('Storage.getCookies')['result']['cookies']]\n"
        "listed = json.load(urllib.request.urlopen(os.environ['CAIRN_CDP_URL'] + '/json/list'))\n"
        "told = {one['params']['targetInfo']['targetId'] for one in cdp.events if one['method'] == 'Target.targetCreated'}\n"
        "act('stop', answer=json.dumps([values, len(cdp.pages()), len(listed), len(told)]))"
    )
    (tmp_path / "meet").mkdir()

    async def one(name: str, pool: object) -> str:
        (tmp_path / name).mkdir()
        head = f"NAME, FOLDER = {name!r}, {str(tmp_path / 'meet')!r}\n"
        async with driving(head + script, tmp_path / name) as agent:
            episode = await play_driven(agent, pool, MemoryJournal())  # type: ignore[arg-type]
        assert episode.closed is not None
        return episode.closed.answer

    _, pool = shop
    answers = await asyncio.gather(one("a", pool), one("b", pool))
    assert [json.loads(answer) for answer in answers] == [[["a"], 2, 2, 2], [["b"], 2, 2, 2]]
