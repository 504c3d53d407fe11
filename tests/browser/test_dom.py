"""The DOM as observation: what a real page gives, in both dialects, and that its ids can be acted on."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from harness.actions import Click, Scroll, Target
from harness.browser.rendering.dom_text import TextElement, print_html
from harness.browser.session.chromium import ChromiumPool
from harness.choices import ObservationDialect
from harness.records import Done
from harness.settings.observation import ObservationSettings
from tests.browser.conftest import QUICK, Web, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

BODY = (
    '<p class="a  b">first &amp; last</p><input required name=q><a href="/next">on</a>'
    '<div style="height:3000px"></div><p>far below</p><script>let hidden = 1</script>'
)


@pytest_asyncio.fixture(params=["cairn", "webarena"], loop_scope="session")
async def reader(request: pytest.FixtureRequest, web: Web) -> AsyncIterator[ChromiumPool]:
    async with web.pool(
        QUICK, observation=ObservationSettings(type="html", dialect=ObservationDialect(request.param))
    ) as pool:
        yield pool


async def test_the_visible_dom_is_shown_and_its_ids_can_be_clicked(reader: ChromiumPool, web: Web) -> None:
    web.page("/", BODY)
    web.page("/next", "<p>arrived</p>", title="Next")
    async with visiting(reader, web) as visit:
        assert '<P class="a b"> \n' in visit.text
        assert "<#text> first & last" in visit.text
        assert "far below" not in visit.text
        id = next(id for id, node in visit.view.nodes.items() if node.line.startswith("<A "))
        await visit.act(Click(target=Target(id=id)))
        assert visit.outcome == Done()
        assert "arrived" in visit.text


async def test_what_is_scrolled_into_view_is_shown(reader: ChromiumPool, web: Web) -> None:
    web.page("/", BODY)
    async with visiting(reader, web) as visit:
        for _ in range(5):
            await visit.act(Scroll(direction="down"))
        assert "far below" in visit.text
        assert "first & last" not in visit.text


async def test_an_empty_attribute_is_empty_only_in_the_corrected_dialect(web: Web) -> None:
    web.page("/", BODY)
    shown = {}
    for dialect in ("cairn", "webarena"):
        observation = ObservationSettings(type="html", dialect=ObservationDialect(dialect))
        async with web.pool(QUICK, observation=observation) as pool, visiting(pool, web) as visit:
            shown[dialect] = next(node.line for node in visit.view.nodes.values() if node.line.startswith("<INPUT"))
    assert 'required=""' in shown["cairn"]
    assert 'required=""' not in shown["webarena"]


async def test_a_container_of_something_visible_is_shown_only_in_the_corrected_dialect() -> None:
    document = TextElement(name="#document", parent=-1, box=(0, 0, 10, 10))
    far = TextElement(name="DIV", parent=0, attributes=(("id", "x"),), box=(0, 900, 10, 10))
    text = TextElement(name="#text", parent=1, value="seen", box=(0, 0, 50, 20))
    lines = {
        dialect: print_html([document, far, text], viewport=(1280, 720), dialect=dialect).text
        for dialect in ("cairn", "webarena")
    }
    assert lines == {"cairn": '[1] <DIV id="x"> \n\t[2] <#text> seen\n', "webarena": "[1] <#text> seen\n"}
