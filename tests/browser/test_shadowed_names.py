"""Images and fields that are named like a property take its place in their document or form, for our scripts as well."""

from typing import Any

import pytest

from harness.actions import Click, Scroll, Type
from harness.browser.session.chromium import ChromiumPool
from tests.browser.conftest import Visit, Web, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# Chromium lets images take names of their document only in the page's own world, and fields those of their form in any.
OF_DOCUMENT = (
    "baseURI body documentElement getAnimations getElementsByTagName hidden readyState querySelectorAll".split()
)
OF_FORM = (
    "clientHeight closest contains control getAttribute getBoundingClientRect getClientRects getRootNode isConnected"
    " localName matches name nodeType ownerDocument parentElement parentNode scrollHeight scrollIntoView scrollTop"
    " textContent type value"
).split()
IMAGES = "".join(f"<img name={name} alt=''>" for name in OF_DOCUMENT)
FIELDS = "".join(f"<input type=hidden name={name}>" for name in OF_FORM)
FORM = f"""<div onkeyup=1></div><form contenteditable onclick='top.clicked = (top.clicked ?? 0) + 1' aria-label=Order>
Words {FIELDS}<label>Name <input></label></form>"""


async def asked(visit: Visit, expression: str) -> Any:
    return await visit.env._window.tabs.current.page.evaluate(expression)


async def test_the_timers_of_a_page_with_named_images_are_waited_for(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/", f"{IMAGES}<button onclick=\"setTimeout(() => out.textContent = 'done', 300)\">Go</button><p id=out></p>"
    )
    async with visiting(chromium, web) as visit:
        assert visit.notices == ""
        assert "'done'" in await visit.click("button", "Go")


async def test_a_form_with_named_fields_is_clicked_and_typed_into(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", FORM)
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Name"), text="typed", enter=False))
        assert "value: 'typed'" in visit.text
        before = await visit.env._window.tabs.current.fields()
        clicked = await asked(visit, "top.clicked")
        await visit.act(Click(target=visit.target("StaticText", "Words")))
        await visit.act(Click(target=visit.target("form", "Order")))
        assert await asked(visit, "top.clicked") == clicked + 2
        await asked(visit, "void document.querySelector('form').append('more')")
        assert await visit.env._window.tabs.current.fields() != before


async def test_a_page_whose_form_has_named_fields_is_scrolled(web: Web, chromium: ChromiumPool) -> None:
    fields = "<input type=hidden name=parentElement><input type=hidden name=scrollHeight>"
    web.page(
        "/",
        "<div style='position:fixed;inset:0;overflow:auto'>"
        f"<form style='height:9000px'>{fields}<p>far below</p></form></div>",
    )
    async with visiting(chromium, web) as visit:
        await visit.act(Scroll(direction="down"))
        assert await asked(visit, "document.querySelector('div').scrollTop") == 720


async def test_an_element_in_a_form_with_named_fields_is_named(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<form><input name=parentElement hidden><h1>Heading</h1></form>")
    async with visiting(chromium, web) as visit:
        window = visit.env._window
        x, y = await asked(visit, "(({x, y}) => [x + 5, y + 5])(document.querySelector('h1').getBoundingClientRect())")
        seen = await window._elements.read(window.tabs.current, (x, y))
        assert seen is not None and (seen.role, seen.name) == ("heading", "Heading")


async def test_a_page_with_a_class_called_document_is_waited_for(web: Web, chromium: ChromiumPool) -> None:
    script = "<script>class Document {} class Reflect {}</script>"
    button = "<button onclick=\"setTimeout(() => out.textContent = 'done', 300)\">Go</button><p id=out></p>"
    web.page("/", f"{script}{button}")
    async with visiting(chromium, web) as visit:
        assert visit.notices == ""
        assert "'done'" in await visit.click("button", "Go")
        assert visit.notices == ""


async def test_a_form_called_host_holds_nothing_up(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<form name=host><label>Name <input></label></form><p onkeyup=1>other</p><h1>Heading</h1>")
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Name"), text="typed", enter=False))
        assert "value: 'typed'" in visit.text
        window = visit.env._window
        x, y = await asked(visit, "(({x, y}) => [x + 5, y + 5])(document.querySelector('h1').getBoundingClientRect())")
        seen = await window._elements.read(window.tabs.current, (x, y))
        assert seen is not None and (seen.role, seen.name) == ("heading", "Heading")
        await window._elements.read(window.tabs.current, (390, 390))
        assert await asked(visit, "1 + 1") == 2, "asking where no control is keeps no script running"
