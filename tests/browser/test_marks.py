"""Marks on demo pages, on documentation and on pages made to be awkward: the browser's own mouse is the judge."""

import re
from collections.abc import AsyncIterator, Mapping
from io import BytesIO
from pathlib import Path

import pytest
import pytest_asyncio
from markdown import markdown  # type: ignore[import-untyped]
from PIL import Image
from playwright.async_api import Browser, CDPSession, Page, Route, async_playwright

from benchmarks.pages import AWKWARD, LISTS, rows
from harness.actions import Box
from harness.browser.driver import executable
from harness.browser.marks.marks import find_marks
from harness.browser.rendering.observer import Observer, RenderedPage
from harness.browser.tabs.screenshot import capture
from harness.loopback_server import serving
from harness.pictures.png import label_boxes
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import SitesApp
from tests.overlaps import overlapping

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

VIEWPORT = (1280, 720)
ARGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--site-per-process",
]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "pages"
TOLERATED = 0.02
"""Of all marks: those whose number may lie on another's."""

_FIELDS = (
    "<p><label><input type=checkbox> One</label> <input type=radio name=r> <select><option>A<option>B</select>"
    "<input value=text> <textarea>t</textarea> <input type=range> <input type=date> <button>Go</button></p>"
)
_STICKY = (
    "<style>header { position: sticky; top: 0; height: 90px; background: #fff } p { margin: 4px }</style>"
    "<header><a href=#h>Home</a> <button>Menu</button></header>"
    + "".join(f"<p>Line {n} <a href=#{n}>link {n}</a> <button>b{n}</button></p>" for n in range(60))
    + "<script>scrollTo(0, 333)</script>"
)
_OVERLAY = (
    "".join(f"<p><a href=#{n}>covered {n}</a> <button>b{n}</button></p>" for n in range(30))
    + "<div style='position: fixed; inset: 100px 300px; background: #eee'><button>Accept</button> "
    "<a href=#more>More</a></div>"
)
_FULL_OVERLAY = _OVERLAY.replace("inset: 100px 300px", "inset: 0")
_DIALOG = (
    "<a href=#a>behind</a><button>behind</button><dialog><button>Yes</button><button>No</button></dialog>"
    "<script>document.querySelector('dialog').showModal()</script>"
)
_WRAPPED = (
    f"<p style='width: 260px; font-size: 20px'>Some text <a href=#x>{'a long link that wraps ' * 4}</a> and on</p>"
)
_CLIPPED = (
    "<div style='width: 200px; height: 100px; overflow: hidden'><button style='width: 900px; height: 40px'>wide</button>"
    "<br><button style='margin-top: 90px'>below the edge</button></div>"
    "<div style='height: 60px; overflow: auto'>" + "".join(f"<button>s{n}</button><br>" for n in range(9)) + "</div>"
)
_SHADOW = """<div id=open></div><div id=closed></div><x-slot><a href=#s>slotted</a></x-slot><script>
    open.attachShadow({mode: "open"}).innerHTML = "<button>in open</button><p><a href=#1>deep</a>";
    closed.attachShadow({mode: "closed"}).innerHTML = "<button>in closed</button><input>";
    customElements.define("x-slot", class extends HTMLElement {
        constructor() { super().attachShadow({mode: "open"}).innerHTML = "<button><slot></slot></button>" }
    });
    </script>""".replace("open.attach", "document.getElementById('open').attach").replace(
    "closed.attach", "document.getElementById('closed').attach"
)
_CLOBBERED = (
    "<form><input name=contains><input name=getRootNode><input name=parentNode><input name=labels><button>Send</button>"
    "</form><img name=elementFromPoint alt=x><a href=#a>link</a>"
)
_DENSE = "".join(f"<button style='width: 30px; height: 16px; padding: 0'>{n}</button>" for n in range(300))
_INVISIBLE = (
    "<button style='visibility: hidden'>v</button><button style='display: none'>n</button>"
    "<button style='pointer-events: none'>p</button><button style='opacity: 0'>o</button>"
    "<label><input type=checkbox style='position: absolute; width: 1px; height: 1px; clip-path: inset(50%)'>Tick me</label>"
    "<input type=radio style='position: absolute; left: -9999px' id=far><label for=far>Choose me</label>"
    "<button style='width: 1px; height: 1px; padding: 0; border: 0'></button>"
)
_TURNED = (
    "<button style='transform: rotate(30deg); margin: 80px'>turned</button>"
    "<button style='transform: scale(0.5)'>small</button><button style='border-radius: 50%; width: 80px; height: 80px'>o"
    "</button><div style='perspective: 300px'><button style='transform: rotateY(60deg); width: 200px'>askew</button></div>"
)
_MAP = (
    "<img usemap=#m width=200 height=100 alt=map style='background: #ccc'><map name=m>"
    "<area href=#l alt=left coords=0,0,100,100><area href=#r alt=right coords=100,0,200,100></map>"
)
PAGES: Mapping[str, str] = {
    **{f"awkward: {name}": text for name, text in AWKWARD.items()},
    **{f"list: {name}": LISTS[name] for name in ("rows", "clobbered", "columns", "askew", "vertical")},
    "rows": rows(60),
    "fields": _FIELDS * 9,
    "sticky": _STICKY,
    "overlay": _OVERLAY,
    "covered all over": _FULL_OVERLAY,
    "dialog": _DIALOG,
    "wrapped": _WRAPPED,
    "clipped": _CLIPPED,
    "shadow": _SHADOW,
    "clobbered": _CLOBBERED,
    "dense": _DENSE,
    "invisible": _INVISIBLE,
    "turned": _TURNED,
    "image map": _MAP,
}
FRAMES: Mapping[str, str] = {
    "/": "<a href=#top>top</a><iframe src=/same width=600 height=300 style='border: 7px solid; padding: 3px'></iframe>"
    "<iframe src=http://other.test/ width=400 height=200></iframe>"
    "<iframe src=/same width=400 height=200 style='transform: scale(0.7)'></iframe>"
    "<div style='position: absolute; top: 60px; left: 40px; width: 90px; height: 200px; background: #eee'>over</div>",
    "/same": f"{_FIELDS}<button>in a frame</button><iframe src=/inner width=200 height=90></iframe>{_FIELDS * 9}",
    "/inner": "<button>deep</button><a href=#far style='position: absolute; left: 400px'>out of sight</a>",
}
SITE_PAGES = (
    *(
        "shop:/",
        "shop:/category/kitchen",
        "forum:/",
        "forum:/f/books",
        "code:/",
        "shop:/login",
        "office:/",
        "forum:/login",
    ),
)
ALL: dict[str, tuple[int, int]] = {}
"""By page, how many marks there are, and how many of their numbers lie on another; filled by the tests."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable.find(), args=ARGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="module")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    context = await chromium.new_context(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
    yield await context.new_page()
    await context.close()


async def show(page: Page, text: str) -> None:
    """With a doctype: without one, `:hover` matches only links."""
    await page.set_content(text if text.startswith("<!doctype") else f"<!doctype html><html lang=en>{text}")


async def marked(page: Page) -> tuple[RenderedPage, dict[str, Box]]:
    cdp = await page.context.new_cdp_session(page)
    body = await Observer(dialect="cairn", viewport=VIEWPORT).read(page, cdp)
    return body, await find_marks(body, VIEWPORT)


_HOVERED = """function () {
    const element = this.nodeType === 1 ? this : this.parentElement;
    if (element.matches(":hover")) return "hit";
    const area = element.localName === "area" && document.querySelector("img[usemap]:hover");
    return area ? "hit" : "missed";
}"""


async def judged(page: Page, name: str) -> list[str]:
    """Moves the mouse to the centre of each mark; names the elements that it does not hover over."""
    body, marks = await marked(page)
    missed = []
    for id, (x, y, width, height) in marks.items():
        assert x >= 0 and y >= 0 and x + width <= VIEWPORT[0] + 0.01 and y + height <= VIEWPORT[1] + 0.01
        await page.mouse.move(x + width / 2, y + height / 2)
        session: CDPSession = body.elements[id].document.session
        node = await session.send("DOM.resolveNode", {"backendNodeId": body.elements[id].backend})
        handle = node["object"]["objectId"]
        answer = await session.send("Runtime.callFunctionOn", {"functionDeclaration": _HOVERED, "objectId": handle})
        if answer["result"]["value"] != "hit":
            missed.append(f"[{id}] {body.elements[id].node.line} at {(x, y, width, height)}")
    labels = list(label_boxes(marks, VIEWPORT).values())
    ALL[name] = len(labels), len(overlapping(labels))
    return missed


def names(body: RenderedPage, marks: Mapping[str, Box]) -> set[str]:
    return {body.elements[id].node.name for id in marks}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PAGES)
async def test_the_centre_of_every_mark_hits_its_element(page: Page, name: str) -> None:
    await show(page, PAGES[name])
    assert await judged(page, name) == []


@pytest.mark.slow
@pytest.mark.parametrize("doc", ["tutorial.md", "extending.md", "webarena.md", "formats.md", "faq.md", "resume.md"])
async def test_documentation(page: Page, doc: str) -> None:
    text = (DOCS / doc).resolve().read_text("utf-8")
    head = (
        "<header style='position: sticky; top: 0; background: #fff'><a href=#x>Cairn</a> <input type=search></header>"
    )
    await show(page, f"{head}{markdown(text, extensions=['tables', 'toc', 'fenced_code'])}")
    for top in (0, 500, 1500):
        await page.evaluate("(top) => scrollTo(0, top)", top)
        assert await judged(page, f"{doc} at {top}") == []


@pytest.mark.sample(2)  # of two sites one page
@pytest.mark.parametrize("name", SITE_PAGES)
async def test_demo_sites(page: Page, name: str) -> None:
    site, _, path = name.partition(":")
    async with serving(SitesApp(SITES)) as port:
        await page.goto(f"http://t0.{site}.localhost:{port}{path}")
        assert await judged(page, name) == []
    assert ALL[name][0] > 0


@pytest.mark.slow
async def test_frames_of_this_and_of_another_process(page: Page) -> None:
    async def answer(route: Route) -> None:
        path = re.sub(r"^http://[^/]+", "", route.request.url)
        text = FRAMES["/same"] if "other.test" in route.request.url and path == "/" else FRAMES.get(path, "")
        await route.fulfill(body=f"<!doctype html>{text}", content_type="text/html")

    await page.route("**/*", answer)
    await page.goto("http://page.test/")
    assert await judged(page, "frames") == []
    body, marks = await marked(page)
    holders = [body.elements[id].document.holder for id in marks]
    assert sum(holder is None for holder in holders) == 1
    assert sum(holder is not None for holder in holders) > 10
    assert len({id(body.elements[one].document.session) for one in marks}) == 2, "one frame is of another process"
    assert "out of sight" not in names(body, marks)


async def test_what_is_covered_or_cannot_be_seen_has_no_mark(page: Page) -> None:
    await show(page, _FULL_OVERLAY)
    assert names(*await marked(page)) == {"Accept", "More"}
    await show(page, _DIALOG)
    assert names(*await marked(page)) == {"Yes", "No"}
    await show(page, _INVISIBLE)
    assert names(*await marked(page)) == {"o", "Tick me", "Choose me"}
    await show(page, _CLIPPED)
    assert "below the edge" not in names(*await marked(page))


async def test_shadow_trees_are_looked_into(page: Page) -> None:
    await show(page, _SHADOW)
    assert {"in open", "deep", "in closed", "slotted"} <= names(*await marked(page))


async def test_the_page_cannot_see_that_it_is_marked(page: Page) -> None:
    await show(
        page,
        f"{_FIELDS}<script>window.seen = 0; const all = {{subtree: true, childList: true, attributes: true,"
        " characterData: true}; new MutationObserver((list) => (seen += list.length)).observe(document, all);"
        " for (const name of ['pointermove', 'mouseover', 'focusin', 'resize'])"
        " addEventListener(name, () => seen++, true)</script>",
    )
    _, marks = await marked(page)
    assert len(marks) >= 8
    assert await page.evaluate("new Promise((resolve) => setTimeout(() => resolve(seen)))") == 0


async def test_a_picture_that_is_taken_quickly_has_the_same_pixels(page: Page) -> None:
    await show(page, f"<h1 style='background: linear-gradient(red, blue)'>Title</h1>{_FIELDS * 5}{_TURNED}")
    plain = await page.screenshot(type="png", scale="css", caret="initial", animations="allow")
    quick = await capture(await page.context.new_cdp_session(page), quick=True)
    one, two = (Image.open(BytesIO(data)).convert("RGB") for data in (plain, quick))
    assert one.size == VIEWPORT and one.tobytes() == two.tobytes()


async def test_few_numbers_lie_on_others(page: Page) -> None:
    """After all pages above; alone it says nothing."""
    if not ALL:
        pytest.skip("no page was marked before")
    marks, overlapping = (sum(column) for column in zip(*ALL.values(), strict=True))
    assert overlapping <= TOLERATED * marks, {name: found for name, found in ALL.items() if found[1]}
