"""`action_set=playwright`: what a model writes wrongly is refused, with a sentence, and the page stays in use."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from harness.browser.session.chromium import ChromiumPool
from harness.evaluation.action_classes import action_set_of
from harness.records import Done, Refused
from tests.hostile.pages.wild import QUICK, Stay, Wild, staying, wild_site

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGE = """<!doctype html><title>Page</title><h1>Heading</h1>
<a href="#one">twin</a> <a href="#two">twin</a> <a href="#only">only</a>
<button>press</button> <button disabled>off</button> <button style="display: none">hidden</button>
<input id=field aria-label=field> <input id=ro readonly aria-label=fixed> <input type=file aria-label=file>
<input type=checkbox aria-label=box> <input type=number aria-label=number> <input type=date aria-label=date>
<select aria-label=list><option>red<option>blue</select> <img alt=picture> <iframe srcdoc="<button>inner</button>"></iframe>
<div style="position: relative"><button>below</button><div style="position: absolute; inset: 0">over</div></div>
<p contenteditable aria-label=rich></p><p style="font-size: 9px">small</p>"""
WRONG = {
    "strict mode: two links": "page.get_by_role('link', name='twin').click()",
    "strict mode: all buttons": "page.get_by_role('button').click()",
    "strict mode: hover": "page.get_by_role('link').hover()",
    "strict mode: fill": "page.get_by_role('textbox').fill('x')",
    "strict mode: text": "page.get_by_text('t').click()",
    "nothing of that name": "page.get_by_role('link', name='nowhere').click()",
    "nothing of that label": "page.get_by_label('nowhere').fill('x')",
    "nothing of that text": "page.get_by_text('nowhere').hover()",
    "nothing of that placeholder": "page.get_by_placeholder('nowhere').fill('x')",
    "nothing of that title": "page.get_by_title('nowhere').click()",
    "nothing of that test id": "page.get_by_test_id('nowhere').click()",
    "nothing of that alt text": "page.get_by_alt_text('nowhere').click()",
    "beyond the last": "page.get_by_role('link').nth(99).click()",
    "before the first": "page.get_by_role('link').nth(-99).click()",
    "fill a heading": "page.get_by_role('heading').fill('x')",
    "fill a button": "page.get_by_role('button', name='press').fill('x')",
    "fill a link": "page.get_by_role('link', name='only').fill('x')",
    "fill a box": "page.get_by_label('box').fill('x')",
    "fill a list": "page.get_by_label('list').fill('red')",
    "fill a file field": "page.get_by_label('file').fill('x')",
    "fill a number with words": "page.get_by_label('number').fill('many')",
    "fill what is fixed": "page.get_by_label('fixed').fill('x')",
    "check a link": "page.get_by_role('link', name='only').check()",
    "check a heading": "page.get_by_role('heading').check()",
    "check a field": "page.get_by_label('field').check()",
    "click what is off": "page.get_by_role('button', name='off').click()",
    "click what is hidden": "page.get_by_text('hidden', exact=True).click()",
    "click what is covered": "page.get_by_role('button', name='below').click()",
    "an option that is not there": "page.get_by_label('list').select_option('green')",
    "an option of a link": "page.get_by_role('link', name='only').select_option('red')",
    "malformed CSS": "page.locator('a[[').click()",
    "malformed XPath": "page.locator('xpath=//a[').click()",
    "unknown engine": "page.locator('spell=abc').click()",
    "an empty selector": "page.locator('').click()",
    "unknown role": "page.get_by_role('wizard').click()",
    "a name that is a number": "page.get_by_role('link', name=5).click()",
    "a role that is a number": "page.get_by_role(5).click()",
    "a text that is a number": "page.get_by_text(5).click()",
    "a label that is a truth": "page.get_by_label(True).fill('x')",
    "a place that is a text": "page.get_by_role('link').nth('first').click()",
    "a level that is a text": "page.get_by_role('heading', level='x').click()",
    "no role": "page.get_by_role().click()",
    "too many arguments": "page.get_by_text('a', 'b', 'c').click()",
    "filter by a number": "page.get_by_role('link').filter(has_text=5).click()",
    "a frame that is not there": "page.frame_locator('#no').get_by_role('button').click()",
    "a frame that is a link": "page.frame_locator('a').first.get_by_role('button').click()",
    "a malformed frame": "page.frame_locator('[[').get_by_role('button').click()",
    "a selector of half characters": "page.get_by_text('\\ud800').click()",
    "an unknown call": "page.get_by_magic('x').click()",
    "a forbidden call": "page.evaluate('1').click()",
    "a property": "page.context.click()",
    "first of the page": "page.first.click()",
    "a huge number": "page.get_by_role('link').nth(10000000000000000000000).click()",
}
RIGHT = {
    "a link": "page.get_by_role('link', name='only').click()",
    "one of two": "page.get_by_role('link', name='twin').nth(1).click()",
    "first": "page.get_by_role('link', name='twin').first.click()",
    "a field": "page.get_by_label('field').fill('x')",
    "a box": "page.get_by_label('box').check()",
    "an option": "page.get_by_label('list').select_option('blue')",
    "in a frame": "page.frame_locator('iframe').get_by_role('button').click()",
    "rich text": "page.get_by_label('rich').fill('x')",
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stay() -> AsyncIterator[Stay]:
    """One episode for all rows: none of them may end it."""
    async with wild_site() as wild:
        wild.pages["/"] = PAGE
        settings = replace(QUICK, screenshots=False, action_timeout_s=0.5)
        async with ChromiumPool(settings, sites=lambda _: (wild.site,)) as chromium, staying(chromium) as stay:
            yield stay


@pytest.mark.sample(3)
@pytest.mark.parametrize("code", [pytest.param(code, id=id) for id, code in WRONG.items()])
async def test_a_mistake_of_the_model_is_refused(stay: Stay, code: str) -> None:
    outcome = await stay.act(action_set_of("playwright").parse(code))
    assert isinstance(outcome, Refused), (outcome, stay.notices)
    assert outcome.why and "\n" not in outcome.why and len(outcome.why) < 600
    assert outcome.why in stay.notices and "'Heading'" in stay.text


@pytest.mark.sample(1)
@pytest.mark.parametrize("code", [pytest.param(code, id=id) for id, code in RIGHT.items()])
async def test_what_can_be_done_is_done(chromium: ChromiumPool, wild: Wild, code: str) -> None:
    wild.pages["/"] = PAGE
    async with staying(chromium) as stay:
        assert isinstance(await stay.act(action_set_of("playwright").parse(code)), Done), stay.notices


async def test_a_page_that_closes_itself_under_the_click_is_no_mistake(chromium: ChromiumPool, wild: Wild) -> None:
    wild.pages["/"] = "<!doctype html><title>Page</title><button onmousedown='open(`/`); close()'>shut</button>"
    async with staying(chromium) as stay:
        outcome = await stay.act(action_set_of("playwright").parse("page.get_by_role('button', name='shut').click()"))
        assert isinstance(outcome, Done) and stay.text.startswith("Tab 0 (current): \n")


@pytest.mark.hostile
async def test_a_page_that_moves_under_the_click_is_no_mistake(chromium: ChromiumPool, wild: Wild) -> None:
    wild.pages["/"] = "<!doctype html><title>Page</title><button onmousedown='location = `/new`'>go</button>"
    async with staying(chromium) as stay:
        outcome = await stay.act(action_set_of("playwright").parse("page.get_by_role('button', name='go').click()"))
        assert isinstance(outcome, Done) and "all is calm" in stay.text
