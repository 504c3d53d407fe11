"""Tabs opened by pages are followed, closed ones replaced, dialogs answered, and the agent told."""

import asyncio

import pytest

from harness.actions import CloseTab, GoBack, Goto, NewTab, TabFocus
from harness.browser.session.chromium import ChromiumPool
from harness.browser.tabs.tab import Tab
from harness.records import Refused
from tests.browser.conftest import Web, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "opener",
    [
        "<a href=/new target=_blank>open</a>",
        "<a href=/new target=_blank rel=noopener>open</a>",
        "<a href=# onclick=\"window.open('/new');return false\">open</a>",
        "<a href=# onclick=\"setTimeout(()=>window.open('/new'),200);return false\">open</a>",
        "<a href=# onclick=\"const w=window.open('');setTimeout(()=>w.location='/new',100);return false\">open</a>",
    ],
)
async def test_a_tab_opened_by_the_page_becomes_current(web: Web, chromium: ChromiumPool, opener: str) -> None:
    web.page("/", opener, title="Old")
    web.page("/new", "<p>fresh</p>", title="New", delay_s=0.3)
    async with visiting(chromium, web) as visit:
        assert "'fresh'" in await visit.click("link", "open")
        assert visit.text.startswith("Tab 0: Old | Tab 1 (current): New\n\n")
        assert "Tab 1" in visit.notices
        assert [tab.url for tab in visit.view.observation.tabs] == [
            "http://shop.localhost/",
            "http://shop.localhost/new",
        ]
        await visit.act(CloseTab())
        assert visit.text.startswith("Tab 0 (current): Old\n\n") and visit.notices == ""


async def test_a_tab_that_closes_itself_gives_way_to_the_last_one(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<a href=/new target=_blank>open</a>", title="Old")
    web.page("/new", "<button onclick='opener||1;window.close()'>close me</button>", title="New")
    async with visiting(chromium, web) as visit:
        await visit.click("link", "open")
        assert "'open'" in await visit.click("button", "close me")
        assert visit.text.startswith("Tab 0 (current): Old\n\n")
        assert visit.notices == "the current tab was closed by its page; Tab 0 is current"


async def test_a_tab_that_closes_itself_at_once_is_told(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<a href=/new target=_blank rel=opener>open</a>", title="Old")
    web.page("/new", "<script>setTimeout(() => window.close(), 200)</script>", title="New")
    async with visiting(chromium, web) as visit:
        await visit.click("link", "open")
        assert visit.text.startswith("Tab 0 (current): Old\n\n")
        opened, closed = visit.notices.splitlines()
        assert "opened a new tab" in opened and closed == "the current tab was closed by its page; Tab 0 is current"


async def test_a_tab_that_opens_after_the_page_was_seen_is_not_acted_in_by_ids_of_that_page(
    web: Web, chromium: ChromiumPool
) -> None:
    button = "<button onclick=\"document.title += ' pressed'\">Press</button>"
    web.page("/", button, title="Old")
    web.page("/new", button, title="New")
    async with visiting(chromium, web) as visit:
        tabs = visit.env._window.tabs
        await tabs.current.page.evaluate("void window.open('/new')")
        async with asyncio.timeout(300):
            while len(tabs.all) < 2:  # noqa: ASYNC110 (a page opens its tabs when it likes)
                await asyncio.sleep(0.01)
        text = await visit.click("button", "Press")
        assert text.startswith("Tab 0: Old | Tab 1 (current): New\n\n") and "pressed" not in text
        assert isinstance(visit.outcome, Refused) and "no element" in visit.outcome.why
        assert (await visit.click("button", "Press")).startswith("Tab 0: Old | Tab 1 (current): New pressed\n\n")


async def test_the_last_tab_may_close_itself_after_it_was_seen(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<button>Press</button>", title="Old")
    async with visiting(chromium, web) as visit:
        await visit.env._window.tabs.current.page.close()
        assert (await visit.click("button", "Press")).startswith("Tab 0 (current): \n\n")
        assert isinstance(visit.outcome, Refused)


async def test_tabs_are_opened_focused_and_closed_and_never_run_out(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p>first</p>", title="One")
    web.page("/two", "<p>second</p>", title="Two")
    async with visiting(chromium, web) as visit:
        assert (await visit.act(NewTab())).startswith("Tab 0: One | Tab 1 (current): \n\n")
        await visit.act(Goto(url="http://shop.localhost/two"))
        assert (await visit.act(TabFocus(index=0))).startswith("Tab 0 (current): One | Tab 1: Two")
        await visit.act(TabFocus(index=2))
        assert isinstance(visit.outcome, Refused) and "there is no tab 2" in visit.outcome.why
        assert (await visit.act(CloseTab())).startswith("Tab 0 (current): Two\n\n")
        assert (await visit.act(CloseTab())).startswith("Tab 0 (current): \n\n")
        assert "'first'" in await visit.act(Goto(url="http://shop.localhost/"))


async def test_start_pages_get_a_tab_each_and_the_first_is_current(web: Web, chromium: ChromiumPool) -> None:
    web.page("/a", "<p>a</p>", title="A")
    web.page("/b", "<p>b</p>", title="B")
    async with visiting(chromium, web, "/a", "/b") as visit:
        assert visit.text.startswith("Tab 0 (current): A | Tab 1: B\n\n")
        assert "'a'" in visit.text


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("alert('note')", "undefined"),
        ("confirm('sure?')", "true"),
        ("prompt('name?','Ada')", "Ada"),
        ("prompt('name?')", "null"),
    ],
)
async def test_dialogs_are_answered_and_told(web: Web, chromium: ChromiumPool, script: str, result: str) -> None:
    web.page("/", f"<button onclick=\"out.textContent='got '+{script}\">ask</button><p id=out></p>")
    async with visiting(chromium, web) as visit:
        assert f"'got {result}'" in await visit.click("button", "ask")
        assert f"({script.split('(')[0]})" in visit.notices
        assert script.split("'")[1] in visit.notices


async def test_a_page_that_wants_to_keep_its_visitor_does_not(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p>start</p><a href=/form>form</a>")
    web.page(
        "/form",
        "<label>Name <input></label><script>onbeforeunload=e=>{e.preventDefault();return 'x'}</script>"
        "<button>touch</button>",
    )
    async with visiting(chromium, web) as visit:
        await visit.click("link", "form")
        await visit.click("button", "touch")  # without a gesture Chromium asks nobody
        assert "'start'" in await visit.act(GoBack())
        assert "beforeunload" in visit.notices


async def test_dialogs_on_arrival_do_not_hang(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<script>alert('welcome')</script><p>in</p>")
    async with visiting(chromium, web) as visit:
        assert "'in'" in visit.text and "welcome" in visit.notices


async def test_downloads_are_refused_and_told(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<a href=/file>get</a><p>still here</p>")
    web.pages["/file"] = (200, {"content-disposition": "attachment; filename=x.bin"}, "data")
    async with visiting(chromium, web) as visit:
        assert "'still here'" in await visit.click("link", "get")
        assert "download was blocked: http://shop.localhost/file" in visit.notices


async def test_a_link_out_of_the_sites_is_not_followed_and_told(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<a href=http://example.org/x>out</a>")
    async with visiting(chromium, web) as visit:
        await visit.click("link", "out")
        assert "was not allowed to request http://example.org/x" in visit.notices
        assert visit.view.observation.url == "http://example.org/x"
        assert "'out'" in await visit.act(GoBack())


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "page",
    [
        "<!doctype html><title>Plain</title><p>&lt;b&gt; &amp; \u00a0\u2028 \U0001f600",
        "<p>no doctype, no title",
        (
            '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/x.dtd"><title> a  b'
            " </title><!-- c -->"
        ),
        "<!-- before --><!doctype html><form name=doctype></form><form name=title></form><img name=documentElement>",
        "<!doctype html><div><template shadowrootmode=open><p>inside</p></template></div>",
        (
            "<!doctype html><title>Mine</title><script>XMLSerializer = Object = null;"
            " document.write('<p>written')</script>"
        ),
    ],
)
async def test_a_page_has_the_source_playwright_says_it_has(web: Web, chromium: ChromiumPool, page: str) -> None:
    web.pages["/"] = (200, {}, page)
    async with visiting(chromium, web) as visit:
        tab = visit.env._window.tabs.current
        assert await tab.source() == (await tab.page.title(), await tab.page.content())


async def test_a_tab_that_is_attached_twice_at_once_listens_once(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p>here</p>")
    async with visiting(chromium, web) as visit:
        window = visit.env._window
        tab = Tab(window.tabs.current.page, asyncio.Event(), window.storage)
        await asyncio.gather(tab.attach(), tab.attach())
        await tab.page.reload()
        await tab.cdp.send("Page.getFrameTree")
        assert tab.commits == 1
