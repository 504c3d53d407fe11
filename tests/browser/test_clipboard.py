"""Each episode has a clipboard of its own, though the contexts of a browser share one."""

import asyncio

import pytest

from harness.actions.keyboard import Press
from harness.actions.point import PointClick
from harness.browser.acting.clipboard import Clipboard, is_clipboard_key
from harness.browser.session.chromium import ChromiumPool
from harness.errors import ActionFailed
from harness.records import Done
from tests.browser.conftest import Visit, Web, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
FIELDS = (
    "<style>*{margin:0;padding:0;border:0}input{position:absolute;left:0;width:1280px;height:100px}</style>"
    "<input id=from style='top:0' value='%s'><input id=to style='top:100px'>"
)

BUTTON = "<button style='position:absolute;top:300px' onclick=\"%s\">Press</button>"


async def copy(visit: Visit, keys: str = "Control+c") -> None:
    await visit.act(PointClick(x=0.5, y=0.05))
    await visit.act(Press(key_comb="Control+a"))
    await visit.act(Press(key_comb=keys))


async def paste(visit: Visit, keys: str = "Control+v") -> str:
    """What the second field holds then."""
    page = visit.env._window.tabs.current.page
    await page.fill("#to", "")
    await visit.act(PointClick(x=0.5, y=0.2, button="left" if keys else "middle"))
    if keys:
        await visit.act(Press(key_comb=keys))
    return await page.input_value("#to")


@pytest.mark.slow
async def test_the_middle_button_does_not_paste(web: Web, chromium: ChromiumPool) -> None:
    """It would paste what any page of the browser has selected last. A link is opened in another tab, as by it."""
    web.page("/", FIELDS % "selected" + "<a href=/new style='position:absolute;top:300px'>a link of some length</a>")
    web.page("/new", "fresh", title="New")
    async with visiting(chromium, web) as visit, visiting(chromium, web) as other:
        await copy(visit)
        assert await paste(visit, "") == await paste(other, "") == ""
        await visit.act(PointClick(x=0.04, y=308 / 720, button="middle"))
        assert "New" in visit.text.splitlines()[0] and len(visit.env._window.tabs.all) == 2


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["Control+v", "Shift+Insert", "Control+Shift+v", "Control+V", "Meta+v"])
async def test_an_episode_pastes_what_it_copied_itself_and_nothing_else(
    web: Web, chromium: ChromiumPool, keys: str
) -> None:
    web.page("/", FIELDS % "of lane 0")
    web.page("/other", FIELDS % "of lane 1")
    async with visiting(chromium, web) as one, visiting(chromium, web, "/other") as two:
        await copy(one)
        assert await paste(two, keys) == ""
        await copy(two, "Control+Insert")
        assert await paste(one, keys) == "of lane 0"
        assert await paste(two, keys) == "of lane 1"
    async with visiting(chromium, web) as later:
        assert await paste(later, keys) == ""


async def test_simultaneous_episodes_never_paste_each_others_text(web: Web, chromium: ChromiumPool) -> None:
    async def played(number: int) -> set[str]:
        web.page(f"/{number}", FIELDS % f"text {number}")
        async with visiting(chromium, web, f"/{number}") as visit:
            await copy(visit)
            return {await paste(visit) for _ in range(4)}

    assert await asyncio.gather(*map(played, range(4))) == [{f"text {number}"} for number in range(4)]


async def test_what_a_page_puts_there_by_a_script_reaches_no_other_episode(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", FIELDS % "x" + BUTTON % "navigator.clipboard.writeText('MINE')")
    read = "navigator.clipboard.readText().then(t => document.title = 'read ' + t, e => document.title = e.name)"
    web.page("/other", FIELDS % "y" + BUTTON % read)
    async with visiting(chromium, web) as one, visiting(chromium, web, "/other") as two:
        await one.click("button", "Press")
        assert await paste(two) == "" and await paste(two, "") == ""
        await two.click("button", "Press")
        await two.env._window.tabs.current.page.wait_for_function("document.title === 'NotAllowedError'")


@pytest.mark.slow
async def test_markup_is_copied_as_markup(web: Web, chromium: ChromiumPool) -> None:
    edited = "<div id=to contenteditable style='position:absolute;top:100px;width:1280px;height:100px'></div>"
    written = (
        "<div contenteditable style='position:absolute;top:0;width:1280px;height:100px'>some <b>bold</b> words</div>"
    )
    web.page("/", written + edited)
    async with visiting(chromium, web) as visit, visiting(chromium, web) as between:
        await copy(visit)
        await copy(between)
        await visit.act(PointClick(x=0.5, y=0.2))
        await visit.act(Press(key_comb="Control+v"))
        page = visit.env._window.tabs.current.page
        assert isinstance(visit.outcome, Done) and "<b" in await page.inner_html("#to")


async def test_keys_that_a_page_has_not_taken_keep_the_clipboard_until_the_episode_is_over(
    web: Web, chromium: ChromiumPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.browser.acting.clipboard._ANSWERS_WITHIN_S", 0.3)
    web.page("/", FIELDS % "x")
    async with visiting(chromium, web) as one, visiting(chromium, web) as two:
        first, second = one.env._window.clipboard, two.env._window.clipboard
        with pytest.raises(TimeoutError):
            async with first.used():
                raise TimeoutError  # the page does not answer
        with pytest.raises(ActionFailed, match="in use by a page"):
            async with second.used():
                raise AssertionError("another episode has the clipboard")
        async with first.used():
            pass
        first.close()
        async with second.used():
            assert isinstance(second, Clipboard)


@pytest.mark.parametrize(
    ("keys", "is_one"),
    [
        *((keys, True) for keys in ("Control+c", "Meta+KeyX", "ControlOrMeta+v", "Shift+Insert", "Shift+Delete")),
        *((keys, False) for keys in ("c", "Control+a", "Shift+v", "Insert", "Control", "Enter", "Control+Enter", "+")),
    ],
)
async def test_only_keys_that_may_use_the_clipboard_wait_for_it(keys: str, is_one: bool) -> None:
    assert is_clipboard_key(keys) is is_one
