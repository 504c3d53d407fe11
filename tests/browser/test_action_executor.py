"""Actions have the effects a person's mouse and keyboard would have, and refusals are sentences, never exceptions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import parse_qs

import pytest
from playwright.async_api import Page

from harness.actions import (
    Action,
    AskUser,
    Click,
    Code,
    GoBack,
    GoForward,
    Goto,
    HoldKey,
    Hover,
    Keyboard,
    Mouse,
    Press,
    Scroll,
    Select,
    Target,
    Type,
)
from harness.actions.browser_controls import BrowserControls
from harness.browser.session.chromium import ChromiumPool
from harness.choices import ObservationDialect
from harness.records import Done, Refused, ScriptedUser, Site, Unknown, UserAnswer
from harness.settings.observation import ObservationSettings
from tests.browser.conftest import QUICK, Answer, Asked, Visit, Web, html, visiting

AS_WEBARENA = ObservationSettings(dialect=ObservationDialect.webarena)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def why(outcome: object) -> str:
    assert isinstance(outcome, Refused), outcome
    return outcome.why


def page_of(visit: Visit) -> Page:
    """The page itself, for what only a test may do to it."""
    return visit.env._window.tabs.current.page


@pytest.mark.slow
async def test_any_unicode_can_be_typed_and_arrives_letter_for_letter(web: Web, chromium: ChromiumPool) -> None:
    text = "Ünï “quoted” 漢字 – €5 🙂 \u202etxt"
    web.page("/", "<label>Name <input></label>")
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Name"), text=text, enter=False))
        assert f"textbox 'Name' value: {text!r}" in visit.text


# As CodeMirror and Monaco are made: a field of which nothing is to be seen takes the keys, and its text is drawn.
_EDITOR = (
    "<style>#edit{position:relative} #edit div{width:3px;height:0;overflow:hidden} textarea{width:900px;outline:0}"
    "pre{margin:0}</style><div id=edit><div><textarea id=keys aria-label=Source>x=1</textarea></div><pre id=drawn>x=1"
    "</pre></div><script>keys.oninput=()=>drawn.textContent=keys.value;edit.onmousedown=()=>keys.focus()</script>"
)


@pytest.mark.parametrize("clear", [False, True])
async def test_the_hidden_field_of_a_code_editor_is_typed_into(web: Web, chromium: ChromiumPool, clear: bool) -> None:
    web.page("/", _EDITOR)
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Source"), text=";y=2", enter=False, clear=clear))
        assert visit.outcome == Done() and f"StaticText '{';y=2' if clear else 'x=1;y=2'}'" in visit.text


async def test_a_field_in_a_collapsed_part_is_not_typed_into(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<div style='height:0;overflow:hidden'><label>Name <input></label></div><p>Covers</p>")
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Name"), text="x", enter=False))
        assert "is covered by" in why(visit.outcome) or "is cut off" in why(visit.outcome)


@pytest.mark.slow
async def test_what_a_page_takes_late_is_typed_whole(web: Web, chromium: ChromiumPool) -> None:
    async with visiting_busy(web, chromium) as visit:

        async def answer(_: Asked) -> Answer:
            async with asyncio.timeout(300):
                while "did not react" not in "".join(visit.env._window.tabs._notices._first):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            return html("go on")

        web.pages["/busy"] = answer
        await visit.act(Type(target=visit.target("textbox", "Name"), text="all of it", enter=False))
        assert visit.outcome == Done() and "value: 'all of it'" in visit.text
        assert "the page did not react to the action within 3 s" in visit.notices


@asynccontextmanager
async def visiting_busy(web: Web, chromium: ChromiumPool) -> AsyncIterator[Visit]:
    """A page that takes no input from the first click on until `/busy` has answered."""
    busy = "const asked = new XMLHttpRequest(); asked.open('GET', '/busy', false); asked.send()"
    web.page("/", f'<label>Name <input onmousedown="{busy}"></label>')
    async with visiting(chromium, web) as visit:
        yield visit


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered(Action):
    """Input that the browser never answers, on a page that is at rest."""

    kind: ClassVar[str] = "unanswered"

    async def perform(self, browser: BrowserControls) -> None:
        await asyncio.Event().wait()

    def may_change_sites(self) -> bool:
        return True


async def test_input_that_is_given_up_is_not_called_done(web: Web) -> None:
    web.page("/", "<p>at rest</p>")
    async with web.pool(replace(QUICK, action_timeout_s=0.5)) as pool, visiting(pool, web) as visit:
        assert "at rest" in await visit.act(Unanswered())
        assert isinstance(visit.outcome, Unknown) and "took no more input" in visit.outcome.why
        assert "did not react to the action within 0.5 s" in visit.notices


async def test_typing_appends_and_clear_replaces(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<label>Name <input value='first middle'></label><label>Long <textarea>one\ntwo</textarea></label>")
    async with visiting(chromium, web) as visit:
        box = visit.target("textbox", "Name")
        assert "value: 'first middle last'" in await visit.act(Type(target=box, text=" last", enter=False))
        assert "value: 'new'" in await visit.act(Type(target=box, text="new", enter=False, clear=True))
        await visit.act(Type(target=box, text="", enter=False, clear=True))
        assert "value" not in visit.text.splitlines()[4]
        await visit.act(Type(target=visit.target("textbox", "Long"), text="!", enter=False))
        assert "two!" in visit.text


FILLED = """<style>input, textarea { font: 20px monospace; width: 600px; padding: 0; border: 0 }</style>
<label>Short <input value=abc></label><p><label>Full <input value="%s"></label>
<p><label>Lines <textarea rows=3>first\n%s\nlast</textarea></label>"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("listening", ["", "<script>addEventListener('keydown', () => 1)</script>"])
async def test_webarenas_dialect_types_where_its_click_puts_the_caret(web: Web, listening: str) -> None:
    web.page("/", FILLED % ("x" * 90, "y" * 40) + listening)
    async with web.pool(QUICK, observation=AS_WEBARENA) as pool, visiting(pool, web) as visit:
        for name in ("Short", "Full", "Lines"):
            await visit.act(Type(target=visit.target("textbox", name), text="HERE", enter=False))
        values = await page_of(visit).evaluate(
            "[...document.querySelectorAll('input, textarea')].map((at) => at.value)"
        )
    short, full, lines = values
    assert short == "abcHERE", "the text ends before the middle of the field"
    assert full.count("x") == 90 and 20 < full.index("HERE") < 30, "the middle of 600 px in letters of 12 px"
    assert lines.startswith("first\ny") and lines.endswith("y\nlast") and "yHEREy" in lines


async def test_the_cairn_action_set_appends_in_every_dialect(web: Web) -> None:
    web.page("/", FILLED % ("x" * 90, "y" * 40))
    async with web.pool(QUICK, observation=AS_WEBARENA, appends=True) as pool, visiting(pool, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Full"), text="HERE", enter=False))
        assert await page_of(visit).input_value("p input") == "x" * 90 + "HERE"


KEYS_DOWN = "performance.eventCounts.get('keydown') ?? 0"
FIELD = "<label>Name <input></label>"


async def typed(visit: Visit, text: str) -> int:
    """Type into the field called Name; gives the number of keys that have gone down."""
    box = next(id for id, node in visit.view.nodes.items() if node.name == "Name" and node.role != "StaticText")
    await visit.act(Type(target=Target(id=box), text=text, enter=False))
    keys: int = await page_of(visit).evaluate(KEYS_DOWN)
    return keys


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "page",
    [
        FIELD,
        "<form onsubmit='1' onclick='1'><label>Name <input type=email onchange='1' value=me></label></form>",
        "<label>Name <textarea maxlength=12></textarea></label><script>onload = onblur = () => 1</script>",
        "<label>Name <input type=search maxlength=12></label>",
        "<div><template shadowrootmode=open><label>Name <input></label></template></div>",
        f"{FIELD}<nav onkeydown='1'><input oninput='1'></nav>",
    ],
)
async def test_text_is_put_in_at_once_where_nobody_listens_to_keys(web: Web, chromium: ChromiumPool, page: str) -> None:
    web.page("/", page)
    async with visiting(chromium, web) as visit:
        assert await typed(visit, "many letters more") <= 1, "End, where there is something to add to"
        at_once = [node.line for node in visit.view.nodes.values()]
        assert "many letters" in visit.text
        await visit.act(Goto(url="http://shop.localhost/"))
        await page_of(visit).evaluate("addEventListener('keydown', () => 1)")
        assert await typed(visit, "many letters more") >= 17
        assert [node.line for node in visit.view.nodes.values()] == at_once


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "page",
    [
        *(f"{FIELD}<script>addEventListener('{name}', () => 1)</script>" for name in ("keydown", "keyup", "keypress")),
        *(f"{FIELD}<script>document.addEventListener('{name}', () => 1)</script>" for name in ("input", "beforeinput")),
        "<form oninput='1'><label>Name <input></label></form>",
        "<div onkeyup='1'><template shadowrootmode=open><p><label>Name <input></label></p></template></div>",
        FIELD + "<input oninput='1'>" * 11,
        "<label>Name <input list=all></label><datalist id=all><option>one</datalist>",
        "<label>Name <input onfocus='other.focus()'></label><input id=other>",
        FIELD + "<p></p>" * 5000,
    ],
)
async def test_text_is_typed_key_by_key_where_somebody_could_tell(web: Web, chromium: ChromiumPool, page: str) -> None:
    web.page("/", page)
    async with visiting(chromium, web) as visit:
        assert await typed(visit, "many letters") == 12


async def test_a_field_that_leads_elsewhere_when_it_is_clicked_harms_nobody(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<label>Name <input onmousedown=\"location = '/next'\"></label>")
    web.page("/next", "<p>arrived</p>", delay_s=0.0)
    async with visiting(chromium, web) as visit:
        await typed(visit, "many letters")
        assert isinstance(visit.outcome, Done) and "arrived" in visit.text


async def test_a_number_is_typed_key_by_key(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<label>Name <input type=number></label>")
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("spinbutton", "Name"), text="12x345", enter=False))
        assert "value: '12345'" in visit.text or "value: 12345" in visit.text


async def test_enter_submits_the_form(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<form action=/found><label>Find <input name=q></label></form>")
    web.page("/found", "<p>found</p>")
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Find"), text="a b&c", enter=True))
        assert visit.view.observation.url == "http://shop.localhost/found?q=a+b%26c"


async def test_a_long_text_is_entered_whole(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<label>Note <textarea></textarea></label>")
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Note"), text="wörd " * 400, enter=False))
        assert "wörd " * 399 in visit.text


LISTS = """<label>One <select onchange="out.textContent='changed to '+this.value">
<option value=a>Alpha<option value=b>Beta &amp; more<option value=c disabled>Gamma</select></label>
<label>Many <select multiple><option selected>Red<option>Green<option>Blue</select></label><p id=out></p><button>b</button>"""


async def test_options_are_chosen_by_label_and_the_page_is_told(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", LISTS)
    async with visiting(chromium, web) as visit:
        one = visit.target("combobox", "One")
        assert "'changed to b'" in await visit.act(Select(target=one, option="Beta & more"))
        assert "'changed to a'" in await visit.act(Select(target=one, option="  ALPHA "))
        assert "'changed to b'" in await visit.act(Type(target=one, text="bet"))
        assert "'changed to a'" in await visit.click("option", "Alpha")
        await visit.act(Select(target=one, option="Delta"))
        assert "'Alpha', 'Beta & more', 'Gamma'" in why(visit.outcome)
        await visit.act(Select(target=one, option="Gamma"))
        assert "disabled" in why(visit.outcome)
        await visit.act(Select(target=visit.target("button", "b"), option="x"))
        assert "not a native list" in why(visit.outcome)


async def test_a_list_of_the_pages_own_look_is_closed_when_an_option_is_chosen(
    web: Web, chromium: ChromiumPool
) -> None:
    web.page(
        "/",
        "<style>select,select::picker(select){appearance:base-select}</style><select aria-label=One"
        " onchange=\"out.textContent='changed to '+value\"><option>a<option>b<option>c<option disabled>d</select>"
        "<p id=out></p><button style='position:absolute;top:60px'>Next</button>",
    )
    async with visiting(chromium, web) as visit:
        one = visit.target("combobox", "One")
        assert "expanded: True" in await visit.act(Click(target=one))
        await visit.click("option", "d")
        assert "disabled" in why(visit.outcome) and "expanded: True" in visit.text
        assert "'changed to b'" in await visit.click("option", "b") and "expanded: False" in visit.text
        assert "expanded: True" in await visit.act(Click(target=one))
        await visit.act(Select(target=one, option="x"))
        assert "has no option 'x'" in why(visit.outcome) and "expanded: True" in visit.text
        assert "'changed to c'" in await visit.act(Select(target=one, option="c")) and "expanded: False" in visit.text
        await visit.act(Click(target=one))
        assert "'changed to a'" in await visit.act(Type(target=one, text="a")) and "expanded: False" in visit.text
        await visit.click("button", "Next")
        assert visit.outcome == Done()


async def test_choosing_in_a_multiple_list_keeps_what_was_chosen(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", LISTS)
    async with visiting(chromium, web) as visit:
        await visit.act(Select(target=visit.target("listbox", "Many"), option="Blue"))
        chosen = await page_of(visit).evaluate(
            "[...document.querySelectorAll('select')[1].selectedOptions].map(o => o.label)"
        )
        assert chosen == ["Red", "Blue"]


async def test_fields_with_widgets_take_values_or_say_what_they_take(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<label>Day <input type=date onchange='out.textContent=this.value'></label><p id=out></p>")
    async with visiting(chromium, web) as visit:
        day = visit.target("Date", "Day")
        assert "'2024-02-29'" in await visit.act(Type(target=day, text="2024-02-29", enter=False))
        await visit.act(Type(target=day, text="29.2.2024", enter=False))
        assert "a date like" in why(visit.outcome)


@pytest.mark.parametrize(
    ("field", "role", "text", "value"),
    [
        ("type=color", "ColorWell", "#FF8800", "#ff8800"),
        ("type=datetime-local", "DateTime", "2024-01-31T14:05:00", "2024-01-31T14:05"),
        ("type=datetime-local", "DateTime", "2024-01-31 14:05", "2024-01-31T14:05"),
        ("type=time", "InputTime", "14:05:30", "14:05:30"),
        ("type=date", "Date", " 2024-01-31 ", "2024-01-31"),
        ("type=range min=1 max=9 step=2", "slider", "7.0", "7"),
    ],
)
async def test_fields_take_every_form_of_a_value_that_browsers_take(
    web: Web, chromium: ChromiumPool, field: str, role: str, text: str, value: str
) -> None:
    web.page("/", f"<input aria-label=Field {field} onchange=\"out.textContent='now '+value\"><p id=out></p>")
    async with visiting(chromium, web) as visit:
        assert f"'now {value}'" in await visit.act(Type(target=visit.target(role, "Field"), text=text, enter=False))


@pytest.mark.parametrize(
    ("field", "role", "text", "needs"),
    [
        ("type=range step=2", "slider", "7", "a multiple of its step from its minimum, not '7'"),
        ("type=range", "slider", "200", "a number within its range"),
        ("type=color", "ColorWell", "orange", "a colour like"),
        ("type=datetime-local", "DateTime", "tomorrow", "a date and time like"),
    ],
)
async def test_a_value_that_is_refused_moves_no_focus(
    web: Web, chromium: ChromiumPool, field: str, role: str, text: str, needs: str
) -> None:
    web.page("/", f"<input aria-label=Field {field} onfocus=\"document.title='focused'\"><input autofocus value=mine>")
    async with visiting(chromium, web) as visit:
        before = visit.text
        assert await visit.act(Type(target=visit.target(role, "Field"), text=text, enter=False)) == before
        assert needs in why(visit.outcome)


async def test_an_editor_of_plain_text_is_shown_when_empty_and_takes_text(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<div contenteditable=plaintext-only style='height:40px'></div><textarea aria-label=Area></textarea>")
    async with visiting(chromium, web) as visit:
        assert "generic '' editable: plaintext" in visit.text and "textbox 'Area'\n" in f"{visit.text}\n"
        text = await visit.act(Type(target=visit.target("generic", ""), text="typed", enter=False))
        assert "generic '' value: 'typed' editable: plaintext" in text


LOCKED = (
    "<input aria-label=Text disabled value=old><textarea aria-label=Area readonly>old</textarea>"
    "<input type=date aria-label=Day readonly value=2024-01-31><fieldset disabled><input aria-label=Inner value=old>"
    "<input type=range aria-label=Size max=9 value=3></fieldset><input type=color aria-label=Ink readonly>"
    "<script>onkeydown = () => document.title = 'key'</script>"
)
READ = "Array.from(document.querySelectorAll('input, textarea'), (one) => one.value).join()"


@pytest.mark.parametrize("dialect", ["cairn", "webarena"])
async def test_text_for_a_disabled_or_read_only_field_is_refused(web: Web, dialect: str) -> None:
    web.page("/", LOCKED)
    observation = ObservationSettings(dialect=ObservationDialect(dialect))
    async with web.pool(QUICK, observation=observation) as pool, visiting(pool, web) as visit:
        before = await page_of(visit).evaluate(READ)
        for part, text, locked in (
            ("'Day'", "2025-05-05", "read-only"),
            ("'Size'", "7", "disabled"),
            ("'Text'", "new", "disabled"),
            ("'Area'", "new", "read-only"),
            ("'Inner'", "new", "disabled"),
        ):
            target = Target(id=next(id for id, node in visit.view.nodes.items() if part in node.line))
            await visit.act(Type(target=target, text=text, enter=False))
            if dialect == "cairn" or part in ("'Day'", "'Size'"):
                assert why(visit.outcome) == f"element [{target.id}] is {locked} and takes no text"
            else:  # as in WebArena
                assert visit.outcome == Done()
        assert await page_of(visit).evaluate(READ) == before
        ink = Target(id=next(id for id, node in visit.view.nodes.items() if "'Ink'" in node.line))
        await visit.act(Type(target=ink, text="#1a2b3c", enter=False))
        assert visit.outcome == Done()


async def test_elements_out_of_sight_are_scrolled_to_and_wrapped_links_are_hit(
    web: Web, chromium: ChromiumPool
) -> None:
    web.page("/far", "<p>far</p>")
    web.page("/wrapped", "<p>wrapped</p>")
    web.page(
        "/",
        """<p style='width:180px'>some text before it <a href=/wrapped>a link that wraps onto the next</a></p>
        <div style='height:600px'></div><a href=/far style='display:block;height:3000px'>tall</a>""",
    )
    async with visiting(chromium, web) as visit:
        assert "'far'" in await visit.click("link", "tall")
    async with visiting(chromium, web) as visit:
        assert "'wrapped'" in await visit.click("link", "a link that wraps onto the next")


async def test_elements_inside_frames_are_hit(web: Web, chromium: ChromiumPool) -> None:
    web.page("/inner", "<button onclick=\"top.out.textContent='heard'\">inside</button>")
    web.page("/", "<p id=out></p><iframe src=/inner style='margin:50px;border:7px solid'></iframe>")
    async with visiting(chromium, web) as visit:
        assert "'heard'" in await visit.click("button", "inside")


FRAMED = "<button onclick=\"document.body.append(' heard')\">inside</button>"
DELETE = (
    "<button style='position:absolute;left:0;top:0;width:60px;height:40px' onclick=\"document.body.append(' lost')\">"
    "Delete</button><div style='height:70px'></div>"
)


@pytest.mark.parametrize(
    "frame",
    [
        "src='OTHER/inner' style='margin-left:90px'",
        "src='OTHER/around' style='margin-left:90px;width:500px;height:300px'",
        "src=/inner sandbox=allow-scripts style='margin-left:90px'",
        'src="data:text/html,<button onclick=document.body.append(`heard`)>inside</button>" style="margin-left:90px"',
        "src=/inner style='padding:60px;border:3px solid'",
        "src=/inner style='transform:scale(2);transform-origin:0 0;margin:50px'",
        "src=/inner style='zoom:2;padding:20px'",
    ],
    ids=["other site", "nested", "sandbox", "data", "padding", "scaled", "zoomed"],
)
async def test_elements_inside_any_frame_are_hit_and_not_what_lies_around_it(web: Web, frame: str) -> None:
    other = Site(name="other", url=f"http://t0.other.localhost:{web.port}", canonical="http://other.localhost")
    web.page("/inner", FRAMED)
    web.page("/around", "<div style='height:50px'></div><iframe src=SHOP/inner></iframe>".replace("SHOP", web.site.url))
    web.page("/", f"{DELETE}<iframe {frame.replace('OTHER', other.url)}></iframe>")
    async with web.pool(QUICK, web.site, other) as pool, visiting(pool, web) as visit:
        assert "heard" in await visit.click("button", "inside")
        assert "lost" not in visit.text


async def test_an_element_far_down_in_a_frame_of_another_site_is_scrolled_to(web: Web) -> None:
    other = Site(name="other", url=f"http://t0.other.localhost:{web.port}", canonical="http://other.localhost")
    place = "position:absolute;top:390px;height:60px"
    web.page("/inner", f"<button onclick=\"textContent='heard'\" style='{place}'>inside</button>")
    frame = (
        f"<iframe src={other.url}/inner style='position:absolute;top:320px;left:90px;border:0;height:900px'></iframe>"
    )
    web.page("/", f"{DELETE}{frame}")
    async with web.pool(QUICK, web.site, other) as pool, visiting(pool, web) as visit:
        assert "button 'heard'" in await visit.click("button", "inside")


async def test_hovering_opens_what_hovering_opens(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/", "<style>#m{display:none} nav:hover #m{display:block}</style><nav><button>Menu</button><p id=m>in</p></nav>"
    )
    async with visiting(chromium, web) as visit:
        assert "'in'" not in visit.text
        assert "'in'" in await visit.act(Hover(target=visit.target("button", "Menu")))


async def test_ids_that_are_not_there_or_no_longer_there_are_refused(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<button id=a>hide</button><button id=b>gone</button><i id=c></i>")
    async with visiting(chromium, web) as visit:
        await visit.act(Click(target=Target(id="99999")))
        assert "no element [99999]" in why(visit.outcome)
        assert "no element [99999]" in visit.notices
        gone = visit.target("button", "gone")
        await page_of(visit).evaluate("b.remove()")
        await visit.act(Click(target=gone))
        assert "no longer on the page" in why(visit.outcome)
        hidden = visit.target("button", "hide")
        await page_of(visit).evaluate("a.style.display='none'")
        await visit.act(Click(target=hidden))
        assert "no longer visible" in why(visit.outcome)


async def test_keys_are_pressed_by_any_spelling_and_unknown_ones_refused(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p id=out></p><script>onkeydown=e=>out.textContent=(e.ctrlKey?'ctrl ':'')+e.key</script>")
    async with visiting(chromium, web) as visit:
        for written, pressed in (
            ("arrowleft", "ArrowLeft"),
            ("ctrl+a", "ctrl a"),
            ("Meta+a", "ctrl a"),
            ("esc", "Escape"),
            ("PageDown", "PageDown"),
        ):
            assert f"'{pressed}'" in await visit.act(Press(key_comb=written)), written
        await visit.act(Press(key_comb="nonsense"))
        assert "nonsense" in why(visit.outcome)


async def test_a_blank_is_the_space_bar_as_in_webarena(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<input autofocus aria-label=Name>")
    async with visiting(chromium, web) as visit:
        for key in ("a", " ", "b", "Shift+ ", "c"):
            await visit.act(Press(key_comb=key))
        assert await page_of(visit).evaluate("document.querySelector('input').value") == "a b c"


_KEY_LOG = "<p id=out></p><script>onkeydown = (e) => { out.textContent += ` ${e.key}`; return false }</script>"


async def test_a_letter_with_a_modifier_is_pressed_without_shift(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", _KEY_LOG)
    keys = ("Control+S", "Alt+S", "Control+Shift+S", "Shift+S", "S")
    async with visiting(chromium, web) as visit:
        for key in keys:
            await visit.act(Press(key_comb=key))
        assert "'Control s Alt s Control Shift S Shift S S'" in visit.text
        await visit.act(HoldKey(key_comb="Control+D", seconds=0.01))
        assert "S Control d" in visit.text
    async with web.pool(QUICK, observation=AS_WEBARENA) as pool, visiting(pool, web) as visit:
        assert "'Control S'" in await visit.act(Press(key_comb="Control+S"))


async def test_scrolling_moves_by_one_viewport_at_once(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<style>html{scroll-behavior:smooth}</style><p id=out style='position:fixed'>0</p>"
        "<div style='height:5000px'></div><script>onscroll=()=>out.textContent='at '+scrollY</script>",
    )
    async with visiting(chromium, web) as visit:
        assert "'at 720'" in await visit.act(Scroll(direction="down"))
        assert "'at 1440'" in await visit.act(Scroll(direction="down"))
        assert "'at 720'" in await visit.act(Scroll(direction="up"))


async def test_a_page_whose_document_cannot_scroll_scrolls_within(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<style>body{margin:0;overflow:hidden;height:100vh}</style><main style='height:100vh;overflow-y:auto'>"
        "<p>top</p><div style='height:900px'></div><p>bottom</p></main>",
    )
    async with visiting(chromium, web) as visit:
        assert "'bottom'" not in visit.text
        assert "'bottom'" in await visit.act(Scroll(direction="down"))


_HIDDEN_BOXES = {
    "tiny": "position:absolute;opacity:0;width:0;height:0",
    "left": "position:absolute;left:-9999px",
    "above": "position:absolute;top:-9999px",
    "bare": "appearance:none;margin:0;width:0;height:0;position:absolute",
    "shrunk": "position:absolute;transform:scale(0)",
    "clear": "position:absolute;opacity:0",
}


@pytest.mark.parametrize(
    "below", ["", pytest.param("<p>line</p>" * 2000, marks=pytest.mark.slow)], ids=["small page", "large page"]
)
async def test_hidden_boxes_are_shown_and_ticked_at_their_labels(web: Web, chromium: ChromiumPool, below: str) -> None:
    boxes = [(kind, name, style) for kind in ("checkbox", "radio") for name, style in _HIDDEN_BOXES.items()]
    web.page(
        "/",
        "".join(
            f'<div><label><input type={kind} style="{style}"><a href=/terms>terms</a> <b>{kind} {name} in it</b></label>'
            f'<input type={kind} style="{style}" id={kind}{name}><label for={kind}{name}>{kind} {name}</label></div>'
            for kind, name, style in boxes
        )
        + below,
    )
    names = [f"{kind} {name}" for kind, name, _ in boxes]
    async with visiting(chromium, web) as visit:
        for name in (*names, *(f"terms {name} in it" for name in names)):
            role = name.removeprefix("terms ").partition(" ")[0]
            assert visit.text.count(f"{role} '{name}' checked: false") == 1
            assert f"{role} '{name}' checked: true" in await visit.click(role, name)
        assert visit.text.count("terms'") == len(names)


async def test_a_hidden_box_in_a_shadow_tree_is_shown_by_its_label_there(web: Web, chromium: ChromiumPool) -> None:
    inner = f"<input type=checkbox style='{_HIDDEN_BOXES['left']}' id=a><label for=a>Dark</label>"
    web.page("/", f"<div><template shadowrootmode=open>{inner}</template></div>")
    async with visiting(chromium, web) as visit:
        assert "checkbox 'Dark' checked: true" in await visit.click("checkbox", "Dark")


_LONG = "<div style='height:4000px'>background</div>"
_SCROLLED = "[document.scrollingElement.scrollTop, document.getElementById('inner')?.scrollTop]"


@pytest.mark.parametrize(
    ("page", "scrolled"),
    [
        (
            f"<style>body{{overflow:hidden}}</style>{_LONG}<div id=inner role=dialog"
            f" style='position:fixed;inset:40px;overflow:auto'>{_LONG}</div>",
            [0, 1280],
        ),
        (
            f"<style>html{{overflow:hidden}}</style>{_LONG}<div style='position:fixed;inset:0 0 0 auto;width:300px'>"
            f"<div id=inner style='height:100%;overflow:auto'>{_LONG}</div></div>",
            [0, 1440],
        ),
        (
            f"{_LONG}<dialog><div id=inner style='height:300px;overflow:auto'>{_LONG}</div></dialog>"
            "<script>document.querySelector('dialog').showModal()</script>",
            [0, 600],
        ),
        (f"<style>body{{overflow:clip}}</style>{_LONG}", [0, None]),
        (f"<div id=inner style='height:500px;overflow:auto'>{_LONG}</div>{_LONG}", [1440, 0]),
    ],
    ids=["dialog over a held page", "drawer over a held page", "modal dialog", "held page", "box in a page"],
)
async def test_scrolling_moves_what_a_person_could_scroll(
    web: Web, chromium: ChromiumPool, page: str, scrolled: list[int | None]
) -> None:
    web.page("/", page)
    async with visiting(chromium, web) as visit:
        await visit.act(Scroll(direction="down"))
        await visit.act(Scroll(direction="down"))
        assert await page_of(visit).evaluate(_SCROLLED) == scrolled


_ROWS = "".join(f"<p>row {number}</p>" for number in range(60))
_WHOLE = "<style>html,body{height:100%;margin:0;overflow:hidden}iframe{width:100%;height:100%;border:0}</style>"


@pytest.mark.parametrize(
    "page",
    [
        f"{_WHOLE}<iframe src=/rows></iframe>",
        f"{_WHOLE}<iframe src=/nested></iframe>",
        f"{_WHOLE}<iframe src=OTHER/rows></iframe>",
        f"{_WHOLE}<iframe src=/nested_other></iframe>",
        "<style>body{margin:0;display:flex;height:100vh}</style><div style='width:250px;overflow:auto'>"
        f"{_ROWS}</div><div style='flex:1'>right</div>",
        f"<div style='height:300px;overflow:auto'>{_ROWS}</div><p>end",
        f"<div style='height:90px;width:90px;overflow:auto'>{_LONG}</div><div style='height:200px;overflow:auto'>{_ROWS}",
    ],
    ids=["frame", "nested frames", "other site", "other site, nested", "left column", "box above", "larger box"],
)
async def test_where_the_middle_cannot_scroll_another_part_in_view_does(web: Web, page: str) -> None:
    other = Site(name="other", url=f"http://t0.other.localhost:{web.port}", canonical="http://other.localhost")
    web.page("/rows", _ROWS)
    web.page("/nested", f"{_WHOLE}<iframe src=/rows></iframe>")
    web.page("/nested_other", f"{_WHOLE}<iframe src={other.url}/rows></iframe>")
    web.page("/", page.replace("OTHER", other.url))
    async with web.pool(QUICK, web.site, other) as pool, visiting(pool, web) as visit:
        assert "'row 0'" in visit.text
        text = await visit.act(Scroll(direction="down"))
        assert "'row 0'" not in text and "'row 2" in text and visit.notices == ""
        assert "'row 0'" in await visit.act(Scroll(direction="up"))


async def test_a_frameset_is_scrolled_in_its_frame(web: Web, chromium: ChromiumPool) -> None:
    web.page("/rows", _ROWS)
    web.pages["/"] = (200, {}, "<!doctype html><frameset cols='20%,80%'><frame><frame src=/rows></frameset>")
    async with visiting(chromium, web) as visit:
        assert "'row 0'" in visit.text
        assert "'row 0'" not in await visit.act(Scroll(direction="down"))


@pytest.mark.parametrize(
    "page",
    [
        "<p>short",
        f"<div style='height:300px;overflow:auto'>{_LONG}</div><div style='position:fixed;inset:0;background:white'>dialog",
        f"<style>body{{overflow:clip}}</style>{_LONG}",
    ],
    ids=["short page", "covered box", "held page"],
)
async def test_it_is_said_when_nothing_scrolls(web: Web, chromium: ChromiumPool, page: str) -> None:
    web.page("/", page)
    async with visiting(chromium, web) as visit:
        await visit.act(Scroll(direction="down"))
        assert visit.notices == "nothing in view scrolls further down"
        await visit.act(Scroll(direction="up"))
        assert visit.notices == "nothing in view scrolls further up"


async def test_webarenas_dialect_scrolls_the_document_only(web: Web) -> None:
    web.page("/", f"<div style='height:300px;overflow:auto'>{_ROWS}</div>")
    async with web.pool(QUICK, observation=AS_WEBARENA) as pool, visiting(pool, web) as visit:
        assert "'row 0'" in await visit.act(Scroll(direction="down")) and visit.notices == ""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("data:text/html,x", "only http and https"),
        ("chrome://settings", "only http and https"),
        ("http://example.org/", "outside the sites of this task (http://shop.localhost)"),
        ("http://127.0.0.1:1234/", "outside the sites"),
        ("mailto:me@shop.localhost", "only http and https"),
        ("http://[bad", ""),
        ("/two", "is a path"),
        ("", ""),
    ],
)
async def test_addresses_that_may_not_be_opened_are_refused(
    web: Web, chromium: ChromiumPool, url: str, reason: str
) -> None:
    web.page("/", "<p>start</p>")
    async with visiting(chromium, web) as visit:
        assert "'start'" in await visit.act(Goto(url=url))
        assert reason in why(visit.outcome)


async def test_goto_takes_canonical_addresses_in_any_form(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p>start</p>")
    web.page("/two", "<p>two</p>")
    async with visiting(chromium, web) as visit:
        for url in (
            "http://shop.localhost/two",
            "https://shop.localhost/two",
            "shop.localhost/two",
            " http://shop.localhost/two#x ",
            "http:/shop.localhost/two",
            "HTTP:shop.localhost/two",
            "shop.localhost/two?next=http://shop.localhost/",
        ):
            await visit.act(Goto(url="http://shop.localhost/"))
            assert "'two'" in await visit.act(Goto(url=url))
            assert visit.view.observation.url.startswith("http://shop.localhost/two")


@pytest.mark.slow
async def test_a_server_that_never_answers_refuses_the_goto_and_the_page_stays(
    web: Web, chromium: ChromiumPool
) -> None:
    web.page("/", "<p>start</p>")
    web.page("/never", "never", delay_s=30)
    async with visiting(chromium, web) as visit:
        assert "'start'" in await visit.act(Goto(url="http://shop.localhost/never"))
        assert "no answer within 3 s" in why(visit.outcome)


async def test_going_back_and_forward_and_where_there_is_nothing_to_go_to(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<a href=/two>two</a>")
    web.page("/two", "<button onclick=\"history.pushState({},'','/three')\">push</button>")
    async with visiting(chromium, web) as visit:
        await visit.act(GoBack())
        assert "no earlier page" in why(visit.outcome)
        await visit.click("link", "two")
        await visit.click("button", "push")
        assert visit.view.observation.url.endswith("/three")
        await visit.act(GoBack())
        assert visit.view.observation.url.endswith("/two")
        assert "'two'" in await visit.act(GoBack())
        assert "'push'" in await visit.act(GoForward())
        await visit.act(GoForward())
        await visit.act(GoForward())
        assert "no later page" in why(visit.outcome)


async def test_effects_are_the_requests_that_may_change_a_site(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<form method=post action=/do><button>send</button></form><a href=/done>read</a>"
        "<button onclick=\"fetch('/api',{method:'DELETE'})\">delete</button>",
    )
    web.pages["/do"] = (303, {"location": "/done"}, "")
    web.pages["/api"] = (500, {}, "")
    web.page("/done", "done")
    async with visiting(chromium, web) as visit:
        await visit.click("button", "delete")
        assert visit.landed is not None
        assert [(e.method, e.url, e.status) for e in visit.landed.effects] == [
            ("DELETE", "http://shop.localhost/api", 500)
        ]
        await visit.click("button", "send")
        assert [(e.method, e.url, e.status) for e in visit.landed.effects] == [
            ("POST", "http://shop.localhost/do", 303)
        ]
        await visit.act(GoBack())
        await visit.click("link", "read")
        assert visit.landed.effects == ()


async def test_points_and_bare_keys_work_for_agents_that_look(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<input style='position:absolute;left:600px;top:340px;width:80px' oninput='out.textContent=this.value'><p"
        " id=out></p>",
    )
    async with visiting(chromium, web) as visit:
        await visit.act(Mouse(verb="click", x=0.5, y=0.49))
        assert "'héy'" in await visit.act(Keyboard(text="héy"))


async def test_code_is_performed_from_a_list_of_calls_and_never_run(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<button onclick=\"out.textContent='pressed'\">Go</button><label>Name <input></label><p id=out></p>")
    async with visiting(chromium, web) as visit:
        code = 'page.get_by_role("button", name="Go").click()'
        assert "'pressed'" in await visit.act(Code(verb="click", pw_code=code))
        await visit.act(Code(verb="type", pw_code='page.get_by_label("Name").fill("x")', text="Ada"))
        assert visit.outcome == Done() and "Ada" in visit.text
        for bad in (
            "__import__('os').system('true').click()",
            "page.evaluate('1').click()",
            "page.context.browser.click()",
            "page.get_by_role(open('/etc/passwd').read()).click()",
            "page.locator('button').page.locator('x').click()",
            "not code",
        ):
            await visit.act(Code(verb="click", pw_code=bad))
            assert why(visit.outcome), bad


@pytest.mark.parametrize(
    "options", ['"Bee"', '"b"', '["Bee"]', 'label="Bee"', 'value="b"', "index=1", '"http://shop.localhost/b"']
)
async def test_code_chooses_options_by_value_or_label(web: Web, chromium: ChromiumPool, options: str) -> None:
    label = "Bee" if "http" not in options else f"{web.site.url}/b"
    web.page("/", f"<select aria-label=Animal><option value=a>Ant<option value=b>{label}</select>")
    async with visiting(chromium, web) as visit:
        code = f'page.get_by_role(role="combobox", name="Animal").select_option({options})'
        await visit.act(Code(verb="select_option", pw_code=code))
        assert visit.outcome == Done()
        assert await page_of(visit).evaluate("document.querySelector('select').value") == "b"


@pytest.mark.parametrize("dialect", ["webarena", "cairn"])
async def test_code_names_elements_by_the_addresses_that_agents_are_shown(web: Web, dialect: str) -> None:
    web.page("/", f"<input aria-label='Link of {web.site.url}/x'>")
    observation = ObservationSettings(dialect=ObservationDialect(dialect))
    async with web.pool(QUICK, observation=observation) as pool, visiting(pool, web) as visit:
        code = 'page.get_by_label("Link of http://shop.localhost/x").fill("…")'
        await visit.act(Code(verb="type", pw_code=code, text="http://shop.localhost/a"))
        assert visit.outcome == Done()
        typed = await page_of(visit).evaluate("document.querySelector('input').value")
    assert typed == (f"{web.site.url}/a" if dialect == "webarena" else "http://shop.localhost/a")


async def test_real_addresses_show_nowhere(web: Web, chromium: ChromiumPool) -> None:
    web.pages["/"] = html(
        f"<p>{web.site.url}/x</p><a href=/>home</a><button onclick='alert(location.href)'>tell</button>",
        title=f"At {web.site.url}",
    )
    async with visiting(chromium, web) as visit:
        await visit.click("button", "tell")
        shown = repr(visit.view.observation)
        assert "http://shop.localhost/x" in shown and "At http://shop.localhost" in shown
        assert str(web.port) not in shown


@pytest.mark.parametrize("dialect", ["webarena", "cairn"])
async def test_an_address_in_typed_text_is_the_deployments_under_webarenas_dialect_only(web: Web, dialect: str) -> None:
    web.pages["/"] = html("<form action=/sent><input aria-label=Link name=link><button>Send</button></form>")
    web.page("/sent", "thanks")
    async with (
        web.pool(QUICK, observation=ObservationSettings(dialect=ObservationDialect(dialect))) as pool,
        visiting(pool, web) as visit,
    ):
        await visit.act(
            Type(target=visit.target("textbox", "Link"), text="http://shop.localhost/a", enter=True, clear=False)
        )
    real = f"http://t0.shop.localhost:{web.port}/a"
    (asked,) = [parse_qs(asked.query)["link"] for asked in web.asked if asked.path == "/sent"]
    assert asked == [real if dialect == "webarena" else "http://shop.localhost/a"]


async def test_the_user_of_a_task_answers_with_a_notice(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p>Hello</p>")
    user = ScriptedUser(answers=(UserAnswer(says="No, keep it.", about=("delete",), consents=False),))
    async with visiting(chromium, web, user=user) as visit:
        await visit.act(AskUser(question="May I delete it?"))
        assert visit.outcome == Done()
        assert "the user answers: No, keep it." in visit.notices
        await visit.act(Scroll(direction="down"))
        assert "the user answers" not in visit.notices
    async with visiting(chromium, web) as visit:
        await visit.act(AskUser(question="May I delete it?"))
        assert why(visit.outcome) == "this task has no user to ask"


async def test_the_selectors_of_a_task_that_fit_an_element_are_recorded(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<label>Key <input type=password></label><label>Name <input id=name></label><button><b>Save</b> it</button>",
    )
    wanted = ("[type='password']", "#name", "//button[contains(., 'Save')]", "//label[contains(., 'Name')]/input", "][")
    async with visiting(chromium, web, selectors=wanted) as visit:
        await visit.act(Type(target=visit.target("textbox", "Key"), text="x", enter=False))
        assert visit.landed is not None
        assert visit.landed.matched == ("[type='password']",)
        await visit.act(Type(target=visit.target("textbox", "Name"), text="x", enter=False))
        assert visit.landed.matched == ("#name", "//label[contains(., 'Name')]/input")
        await visit.click("button", "Save it")
        assert visit.landed.matched == ("//button[contains(., 'Save')]",)
        await visit.act(Press(key_comb="Enter"))
        assert visit.landed.matched is None
        await visit.act(Click(target=Target(id="9999")))
        assert visit.landed.matched is None, "there is no such element"
    async with visiting(chromium, web) as visit:
        await visit.click("button", "Save it")
        assert visit.landed is not None
        assert visit.landed.matched is None
