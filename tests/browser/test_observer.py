"""What an observer makes of live pages; the slow reference is the judge."""

import re
from collections.abc import AsyncIterator
from importlib.resources import files

import pytest
import pytest_asyncio
from playwright.async_api import Browser, CDPSession, Page, Route

from benchmarks.pages import ASTRAY, AWKWARD, ESCAPES, FIELDS_IN_A_HOST, HIDDEN_HOSTS, LISTS, MUTE, menus, rows
from benchmarks.reference import Labels, measure, observe
from harness.actions import Box
from harness.browser.reading.document_client import DocumentClient
from harness.browser.reading.document_snapshot import read_document
from harness.browser.reading.dom_index import Region
from harness.browser.rendering import tree_webarena
from harness.browser.rendering.observer import Observer
from tests.browser.random_pages import random_page

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

VIEWPORT = (1280, 720)
VIEW = (0.0, 0.0, 1280.0, 720.0)
MENU = f"<div hidden>{'<ul><li><a href=#>Choice</a></ul>' * 200}</div>"
WAYS = ("described", "seen", "parts")


@pytest_asyncio.fixture(loop_scope="session")
async def page(shared_browser: Browser) -> AsyncIterator[Page]:
    context = await shared_browser.new_context(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
    yield await context.new_page()
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def cdp(page: Page) -> CDPSession:
    return await page.context.new_cdp_session(page)


def cairn() -> Observer:
    return Observer(dialect="cairn", viewport=VIEWPORT)


def without_ids(text: str) -> str:
    return re.sub(r"\[\d+\] ", "", text)


async def scroll(page: Page, top: float) -> None:
    frame = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"
    await page.evaluate(f"(top) => {{ scrollTo(0, top); return {frame}; }}", top)


async def frame_id(cdp: CDPSession) -> str:
    return str((await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]["id"])


async def questions(cdp: CDPSession, *, as_webarena: bool = True) -> DocumentClient:
    await cdp.send("DOM.enable", {"includeWhitespace": "all"})
    await cdp.send("Accessibility.enable")
    return await DocumentClient.about(cdp, await frame_id(cdp), as_webarena=as_webarena)


async def assert_same_as_reference(cdp: CDPSession, *ways: str | None, calm_from: int = 5000) -> None:
    """Text, lines, ids and boxes, before and after the clean-up."""
    reference = await observe(cdp, viewport=VIEWPORT, label=Labels())
    for way in ways:
        reading = await read_document(await questions(cdp), view=VIEW, way=way, calm_from=calm_from)
        ours = tree_webarena.print_tree(reading.nodes, reading.rects, viewport=VIEWPORT, label=Labels())
        assert ours.raw == reference.raw
        assert ours.text == reference.text
        assert [(id, one.line, one.box) for id, one in ours.shown.items()] == [
            (id, one.line, one.box) for id, one in reference.shown.items()
        ]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", AWKWARD)
async def test_reading_gives_what_two_calls_per_node_give(page: Page, cdp: CDPSession, name: str) -> None:
    await page.set_content(AWKWARD[name])
    for top in (0, 350, 1_000_000):
        await scroll(page, top)
        await assert_same_as_reference(cdp, *WAYS)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(60))
async def test_a_random_page_is_read_the_same_in_each_way(page: Page, cdp: CDPSession, seed: int) -> None:
    """By WebArena's rule and by Cairn's, which differ in what is a frame; in parts also beside two calls per node."""
    await page.set_content("<title>Random</title><body>")
    await page.evaluate("(text) => document.body.setHTMLUnsafe(text)", random_page(seed))
    await page.wait_for_load_state()
    for top in (0, 900, 1_000_000):
        await scroll(page, top)
        await assert_counted_alike(await questions(cdp))
        for as_webarena in (True, False):
            found = [await read_as(cdp, way, as_webarena=as_webarena) for way in WAYS]
            assert found == found[:1] * len(WAYS)
    await assert_same_as_reference(cdp, "parts", calm_from=0)


async def assert_counted_alike(ask: DocumentClient) -> None:
    """The script counts nodes as a description does; otherwise each is measured by itself, and no frame is found."""
    walk, outline = await ask.walk(VIEW, way="described", calm_from=5000), await ask.outline(ask.document)
    assert walk.regions[0].size == len(outline.order)


async def read_as(cdp: CDPSession, way: str, *, as_webarena: bool) -> tuple[str, list[tuple[str, Box]]]:
    """Text, and frames with their boxes; in parts, far elements are passed over."""
    ask = await questions(cdp, as_webarena=as_webarena)
    reading = await read_document(ask, view=VIEW, way=way, calm_from=0 if way == "parts" else 5000)
    text = tree_webarena.print_tree(reading.nodes, reading.rects, viewport=VIEWPORT, label=Labels()).raw
    return text, sorted((frame.id, frame.box) for frame in reading.frames if frame.box[2] > 0 and frame.box[3] > 0)


@pytest.mark.slow
async def test_reading_a_long_page_gives_the_same_and_fetches_the_viewport_only(page: Page, cdp: CDPSession) -> None:
    await page.set_content(rows(60))
    await scroll(page, 700)
    await assert_same_as_reference(cdp, None)
    await page.set_content(rows(3000))
    reading = await read_document(await questions(cdp), view=VIEW)
    assert len(reading.nodes) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", ESCAPES)
async def test_what_far_away_elements_send_into_view_is_read(page: Page, cdp: CDPSession, name: str) -> None:
    await page.set_content(ESCAPES[name])
    for top in (0, 1_000_000):
        await scroll(page, top)
        await assert_same_as_reference(cdp, "parts", calm_from=0)


async def test_an_element_that_the_walk_names_twice_is_read(page: Page, cdp: CDPSession) -> None:
    """It has no height, and holds what is in view: Chromium says the second time only that it was there before."""
    await page.set_content(ESCAPES["float"])
    await scroll(page, 1_000_000)
    await assert_same_as_reference(cdp, "parts", calm_from=0)


async def test_a_hidden_shadow_tree_does_not_hide_frames(page: Page, cdp: CDPSession) -> None:
    await page.set_content(HIDDEN_HOSTS)
    await scroll(page, 1_000_000)
    ask = await questions(cdp)
    await assert_counted_alike(ask)
    for way in WAYS:
        assert len((await read_document(ask, view=VIEW, way=way)).frames) == 1


async def test_what_is_in_a_field_is_read_wherever_the_field_is(page: Page, cdp: CDPSession) -> None:
    await page.set_content(FIELDS_IN_A_HOST)
    await scroll(page, 1_000_000)
    for way in WAYS:
        reading = await read_document(await questions(cdp), view=VIEW, way=way)
        ours = tree_webarena.print_tree(reading.nodes, reading.rects, viewport=VIEWPORT, label=Labels())
        assert "StaticText 'in a field'" in ours.raw and "StaticText 'in an area'" in ours.raw


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
async def test_the_items_of_a_list_are_read_wherever_they_stand(page: Page, cdp: CDPSession, name: str) -> None:
    await page.set_content(LISTS[name])
    for top in (0, 4500, 1_000_000):
        await scroll(page, top)
        await assert_same_as_reference(cdp, "parts", calm_from=0)


@pytest.mark.parametrize("name", ["plain", "hidden items"])
async def test_a_view_further_down_shows_the_same_however_it_is_found(page: Page, cdp: CDPSession, name: str) -> None:
    """As in a frame that reaches above the viewport: elements without a box stand at its top, far above the view."""
    await page.set_content(LISTS[name])
    texts = set()
    for calm_from in (0, 1_000_000):
        view = (0.0, 5000.0, 1280.0, 720.0)
        reading = await read_document(await questions(cdp), view=view, way="parts", calm_from=calm_from)
        texts.add(tree_webarena.print_tree(reading.nodes, reading.rects, viewport=None, label=Labels()).raw)
    assert len(texts) == 1
    assert "item 3" in texts.pop()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("content", "cheapest"),
    [
        (menus(50), "seen"),
        (MUTE + MENU, "seen"),
        (ASTRAY + MENU, "described"),
        (f"<details open><summary>s</summary>{'<p>text</p>' * 150}</details>{MENU}", "described"),
        (rows(3), "described"),
        (rows(100), "parts"),
    ],
    ids=["menus", "mute", "astray", "many to measure", "all in view", "long"],
)
async def test_a_document_is_read_as_was_cheapest_last_time(
    page: Page, cdp: CDPSession, content: str, cheapest: str
) -> None:
    await page.set_content(content)
    ask = await questions(cdp)
    reference = await observe(cdp, viewport=VIEWPORT, label=Labels())
    for _ in range(3):
        reading = await read_document(ask, view=VIEW, elements=900)
        ours = tree_webarena.print_tree(reading.nodes, reading.rects, viewport=VIEWPORT, label=Labels())
        assert ours.text == reference.text
    assert ask.cheapest == cheapest


async def regions(cdp: CDPSession, *, way: str) -> list[Region]:
    """What a walk takes whole, every position proven: CDP's node there has the rectangle the walk saw."""
    ask = await questions(cdp)
    walk = await ask.walk(VIEW, way=way, calm_from=0)
    for region in walk.regions:
        outline = await ask.outline(region.root)
        assert len(outline.order) == region.size
        for position, box in region.boxes.items():
            assert await measure(cdp, outline.order[position]) == box
    return list(walk.regions)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["described", "parts"])
async def test_far_nodes_are_counted_where_positions_depend_on_them(page: Page, cdp: CDPSession, way: str) -> None:
    """They stand between nodes in view, and hold all that counts and all that does not."""
    far = """<div style='margin-top: 4000px'>far <b>x</b><!-- no --><template>no <i>no</i></template></div>
        <div>far <svg><g></g></svg><textarea>t</textarea></div><ul>"""
    items = "<li>item <a href=#>a</a><!-- no --></li> between " * 40
    late = "</ul><i style='position: fixed; top: 90px'>late <a href=#>l</a></i>"
    await page.set_content(f"<title>P</title><section>{'<a href=#>seen</a> ' * 150}{far}{items}{late}</section>")
    await page.evaluate(
        """() => {
            const far = document.querySelector("section > div");
            far.firstChild.splitText(2);
            far.append("", document.adoptNode(new Document().createCDATASection("no")));
            document.querySelector("li").before("", "two", "three");
        }"""
    )
    found = await regions(cdp, way=way)
    assert max(max(region.boxes) for region in found) > 150 * 2 + 40 * 5


@pytest.mark.slow
async def test_far_items_do_not_count_for_the_region_before_them(page: Page, cdp: CDPSession) -> None:
    tall = f"<li>{'<a href=#>seen</a> ' * 30}<p style='line-height: 4000px'>tall</p></li>"
    await page.set_content(f"<title>P</title><ul>{tall}{'<li>far</li>' * 80}</ul>")
    (region,) = await regions(cdp, way="parts")
    assert region.size == 1 + 30 * 3 + 2


async def test_what_is_passed_over_as_plain_cannot_have_a_shadow_tree(page: Page) -> None:
    source = files("harness.browser.reading").joinpath("calm.js").read_text(encoding="utf-8")
    found = re.search(r'PLAIN = "([a-z0-9,]+)"', source)
    assert found
    refused = await page.evaluate(
        """(names) => names.filter((name) => {
            try { document.createElement(name).attachShadow({ mode: "open" }); } catch { return true; }
        })""",
        names := found[1].split(","),
    )
    assert refused == names


@pytest.mark.sample(1)
@pytest.mark.parametrize(("content", "times"), [(ESCAPES["nothing"], 3), (rows(2000), 10)], ids=["blocks", "list"])
async def test_calm_parts_far_away_are_not_measured(page: Page, cdp: CDPSession, content: str, times: int) -> None:
    """Counted by a page whose every measuring is counted, in the world the walk runs in."""
    await page.set_content(content)
    main = await frame_id(cdp)
    world = await cdp.send("Page.createIsolatedWorld", {"frameId": main, "worldName": "cairn"})
    context = world["executionContextId"]
    spy = """(() => {
        const measure = Element.prototype.getBoundingClientRect;
        window.measured = 0;
        Element.prototype.getBoundingClientRect = function () { window.measured++; return measure.call(this); };
    })()"""
    await cdp.send("Runtime.evaluate", {"expression": spy, "contextId": context})
    counts = []
    for calm_from in (0, 1_000_000):
        await read_document(await questions(cdp), view=VIEW, way="parts", calm_from=calm_from)
        told = await cdp.send("Runtime.evaluate", {"expression": "measured", "contextId": context})
        counts.append(told["result"]["value"])
    assert counts[0] * times < counts[1] - counts[0]


@pytest.mark.slow
async def test_reading_follows_mutations(page: Page, cdp: CDPSession) -> None:
    await page.set_content(rows(30))
    await assert_same_as_reference(cdp, None)
    await page.evaluate(
        """() => {
            const all = document.querySelectorAll("tr");
            all[2].remove(); all[3].after(all[9]); all[4].hidden = true;
            all[5].querySelector("a").textContent = "renamed";
            all[6].querySelector("input").checked = true;
            all[7].cells[0].append(document.createElement("input"));
            all[7].cells[0].lastChild.value = "typed";
            document.querySelector("nav").style.display = "contents";
        }"""
    )
    await assert_same_as_reference(cdp, *WAYS)


async def test_ids_count_down_the_page_and_stay_with_their_nodes(page: Page, cdp: CDPSession) -> None:
    await page.set_content("<title>P</title><a href=#1>one</a><a href=#2>two</a><div style='height: 3000px'></div>low")
    eyes = cairn()
    first = await eyes.read(page, cdp)
    assert first.text == "[1] RootWebArea 'P'\n\t[2] link 'one'\n\t[3] link 'two'"
    eyes.confirm(first)
    await page.evaluate("document.body.prepend(document.querySelectorAll('a')[1], 'new')")
    assert (await eyes.read(page, cdp)).text == (
        "[1] RootWebArea 'P'\n\t[3] link 'two'\n\t[4] StaticText 'new'\n\t[2] link 'one'"
    )
    assert first.elements["2"].backend != first.elements["3"].backend


async def test_ids_of_a_text_that_nobody_is_shown_are_given_again(page: Page, cdp: CDPSession) -> None:
    await page.set_content("<title>P</title><a href=#1>one</a>")
    eyes = cairn()
    eyes.confirm(await eyes.read(page, cdp))
    await page.evaluate("document.body.append('passing')")
    assert "[3] StaticText 'passing'" in (await eyes.read(page, cdp)).text, "the page changed: it is read once more"
    await page.evaluate("document.body.lastChild.remove(); document.body.append('staying')")
    assert "[3] StaticText 'staying'" in (await eyes.read(page, cdp)).text


@pytest.mark.slow
async def test_the_same_page_gives_the_same_bytes_in_every_browser_context(shared_browser: Browser, page: Page) -> None:
    texts = []
    for name in ("forms", "cards", "forms"):
        context = await shared_browser.new_context(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
        other = await context.new_page()
        await other.set_content(AWKWARD[name])
        texts.append((await cairn().read(other, await context.new_cdp_session(other))).text)
        await context.close()
    assert texts[0] == texts[2] != texts[1]


async def test_ids_of_another_document_are_new(page: Page, cdp: CDPSession) -> None:
    async def answer(route: Route) -> None:
        await route.fulfill(content_type="text/html", body=f"<title>T</title><a href=#>{route.request.url}</a>")

    await page.route("**/*", answer)
    eyes = cairn()
    seen: set[str] = set()
    for host in ("one.test", "one.test", "two.test", "three.test"):
        await page.goto(f"http://{host}/")
        body = await eyes.read(page, cdp)
        assert f"link 'http://{host}/'" in body.text
        assert seen.isdisjoint(body.elements)
        seen |= body.elements.keys()
        eyes.confirm(body)


async def test_what_a_select_holds_and_offers_is_shown(page: Page, cdp: CDPSession) -> None:
    await page.set_content(
        "<title>P</title><select aria-label=Size><option>S<option selected>M<option disabled>L</select>"
    )
    body = await cairn().read(page, cdp)
    assert without_ids(body.text) == (
        "RootWebArea 'P'\n\tcombobox 'Size' value: 'M' expanded: False hasPopup: menu\n"
        "\t\toption 'S'\n\t\toption 'M' selected: True\n\t\toption 'L' disabled: True"
    )


@pytest.mark.slow
async def test_options_are_shown_however_long_the_page(page: Page, cdp: CDPSession) -> None:
    select = "<select aria-label=Size><option>S<option selected>M</select>"
    await page.set_content(select + rows(2000))
    assert "\toption 'M' selected: True" in without_ids((await cairn().read(page, cdp)).text)


async def test_frames_are_read_wherever_they_run(page: Page, cdp: CDPSession) -> None:
    async def answer(route: Route) -> None:
        inner = '<iframe srcdoc="<button>nested</button>"></iframe><div style="height: 900px"></div><a href=#>below</a>'
        frames = '<iframe src="http://other.test/in"></iframe><iframe src="http://top.test/in"></iframe>'
        body = f"<title></title><b>{route.request.url}</b>{inner}" if "/in" in route.request.url else frames
        await route.fulfill(content_type="text/html", body=body)

    await page.route("**/*", answer)
    await page.goto("http://top.test/")
    body = await cairn().read(page, cdp)
    lines = [
        line
        for host in ("other", "top")
        for line in (
            "\tIframe ''",
            f"\t\tStaticText 'http://{host}.test/in'",
            "\t\tIframe ''",
            "\t\t\tbutton 'nested'",
        )
    ]
    assert without_ids(body.text).split("\n")[1:] == lines
    buttons = [one for one in body.elements.values() if one.node.role == "button"]
    for one in buttons:
        found = await one.document.session.send("DOM.describeNode", {"backendNodeId": one.backend})
        assert found["node"]["localName"] == "button"
    boxes = [one.node.box for one in buttons]
    assert boxes[0] and boxes[1] and boxes[1][0] - boxes[0][0] > 300


async def test_webarena_dialect_does_not_look_into_frames(page: Page, cdp: CDPSession) -> None:
    await page.set_content('<title>P</title><iframe srcdoc="<a href=#>inner</a>"></iframe>')
    assert "inner" not in (await Observer(dialect="webarena", viewport=VIEWPORT).read(page, cdp)).text
    assert "inner" in (await cairn().read(page, cdp)).text


async def test_the_nodes_say_what_the_lines_say(page: Page, cdp: CDPSession) -> None:
    await page.set_content("<title>P</title><button>Buy</button> or <button>Buy</button><input aria-label=N value=v>")
    body = await cairn().read(page, cdp)
    lines = dict(re.findall(r"\[(\d+)\] (.*)", body.text))
    assert lines == {id: one.node.line for id, one in body.elements.items()}
    buttons = [one.node for one in body.elements.values() if one.node.role == "button"]
    assert [(node.name, node.nth) for node in buttons] == [("Buy", 0), ("Buy", 1)]
    assert all(node.box and node.box[2] > 0 for node in buttons)


async def test_text_that_no_encoder_takes_is_replaced(page: Page, cdp: CDPSession) -> None:
    await page.set_content("<title>P</title><p id=p></p><a href=# id=a></a>")
    await page.evaluate("() => { p.textContent = 'x\\ud800y'; a.setAttribute('aria-label', 'l\\udfff'); }")
    for dialect in ("cairn", "webarena"):
        body = await Observer(dialect=dialect, viewport=VIEWPORT).read(page, cdp)
        body.text.encode()
        for node, *_ in body.elements.values():
            (node.name + node.line).encode()


async def test_a_page_that_never_rests_is_read_and_said_to_be_torn(page: Page, cdp: CDPSession) -> None:
    await page.set_content("<title>P</title><p id=p>0</p><a href=#>stays</a>")
    await page.evaluate(
        """() => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = () => { p.textContent = Math.random(); port2.postMessage(0); };
            port2.postMessage(0);
        }"""
    )
    body = await cairn().read(page, cdp)
    assert body.torn
    assert "link 'stays'" in body.text


async def test_a_page_cannot_lie_about_where_its_elements_are(page: Page, cdp: CDPSession) -> None:
    await page.set_content("<title>P</title><a href=#>seen</a><div style='height: 2000px'></div><a href=#>unseen</a>")
    await page.evaluate(
        "() => { Element.prototype.getBoundingClientRect = () => ({ x: 0, y: 0, width: 9, height: 9 }) }"
    )
    assert without_ids((await cairn().read(page, cdp)).text) == "RootWebArea 'P'\n\tlink 'seen'"


async def test_the_whole_page_can_be_had(page: Page, cdp: CDPSession) -> None:
    await page.set_content("<title>P</title><a href=#>top</a><div style='height: 2000px'></div><a href=#>end</a>")
    body = await Observer(dialect="cairn", viewport=VIEWPORT, whole_page=True).read(page, cdp)
    assert without_ids(body.text) == "RootWebArea 'P'\n\tlink 'top'\n\tlink 'end'"
