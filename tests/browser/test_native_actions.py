"""What only the cairn action set knows: checking, uploading, dragging, waiting, double clicks."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Action, Check, Click, DoubleClick, Drag, Hover, Type, Upload, Wait
from harness.browser.session.chromium import ChromiumPool
from harness.choices import ObservationDialect
from harness.records import Done, Refused
from harness.settings.observation import ObservationSettings
from tests.browser.conftest import QUICK, Visit, Web, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_checking_sets_what_it_says_whatever_was_set(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<label><input type=checkbox checked> Agree</label><div role=switch aria-checked=false "
        "onclick=\"ariaChecked = ariaChecked == 'true' ? 'false' : 'true'\">Dark</div><p>text</p>",
    )
    async with visiting(chromium, web) as visit:
        agree, dark = visit.target("checkbox", "Agree"), visit.target("switch", "Dark")
        assert "checkbox 'Agree' checked: true" in await visit.act(Check(target=agree))
        assert "checkbox 'Agree' checked: false" in await visit.act(Check(target=agree, checked=False))
        assert "switch 'Dark' checked: true" in await visit.act(Check(target=dark))
        assert visit.outcome == Done()
        await visit.act(Check(target=visit.target("StaticText", "text")))
        assert isinstance(visit.outcome, Refused) and "cannot be checked" in visit.outcome.why


async def test_options_of_a_list_of_several_are_chosen_and_taken_out(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<select multiple aria-label=Many onchange=\"out.textContent = 'now ' + [...selectedOptions].map((o) => o.text)\">"
        "<option selected>Red<option>Blue<option disabled selected>Green</select><p id=out></p>"
        "<select aria-label=One><option>Alpha<option>Beta</select>",
    )
    async with visiting(chromium, web) as visit:
        red, blue = visit.target("option", "Red"), visit.target("option", "Blue")
        assert "'now Red,Blue,Green'" in await visit.act(Check(target=blue))
        assert "'now Blue,Green'" in await visit.act(Check(target=red, checked=False))
        assert visit.outcome == Done()
        await visit.act(Check(target=visit.target("option", "Green"), checked=False))
        assert isinstance(visit.outcome, Refused) and "disabled" in visit.outcome.why
        await visit.act(Check(target=visit.target("option", "Beta")))
        assert isinstance(visit.outcome, Refused) and "cannot be checked" in visit.outcome.why


_OWN_SWITCH = """<x-switch style='display:inline-block;width:90px;height:30px'>Accept</x-switch><script>
customElements.define('x-switch', class extends HTMLElement {
  static formAssociated = true;
  connectedCallback() {
    const inner = this.attachInternals();
    Object.assign(inner, { role: 'switch', ariaChecked: 'false', ariaLabel: 'Accept' });
    this.onclick = () => { inner.ariaChecked = inner.ariaChecked === 'true' ? 'false' : 'true' };
  }
})</script>"""


async def test_a_switch_whose_state_only_the_accessibility_tree_tells_is_set(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", _OWN_SWITCH)
    async with visiting(chromium, web) as visit:
        accept = visit.target("switch", "Accept")
        for checked in (True, True, False):
            text = await visit.act(Check(target=accept, checked=checked))
            assert visit.outcome == Done() and f"switch 'Accept' checked: {str(checked).lower()}" in text


async def test_a_box_that_does_not_let_itself_be_checked_is_a_refusal(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<label><input type=checkbox onclick='return false'> Stubborn</label>")
    async with visiting(chromium, web) as visit:
        await visit.act(Check(target=visit.target("checkbox", "Stubborn")))
        assert isinstance(visit.outcome, Refused) and "stays unchecked" in visit.outcome.why


async def test_a_double_click_is_one(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<button ondblclick=\"textContent = 'twice'\">Press</button>")
    async with visiting(chromium, web) as visit:
        assert "twice" in await visit.act(DoubleClick(target=visit.target("button", "Press")))


async def test_dragging_drops_one_element_on_another(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<button draggable=true>Card</button><div id=bin style='height:90px' role=group"
        " aria-label=Bin>empty</div><script>bin.ondragover = (e) => e.preventDefault(); bin.ondrop = () => {"
        " bin.textContent = 'dropped' }</script>",
    )
    async with visiting(chromium, web) as visit:
        card, place = visit.target("button", "Card"), visit.target("group", "Bin")
        assert "dropped" in await visit.act(Drag(target=card, onto=place))


_LOGGING = (
    "<p id=log>log</p><script>const say = (word) => log.textContent += ` ${word}`; onmousedown = () => say('down');"
    "onmouseup = () => say('up'); onmousemove = (e) => { if (e.buttons) say('dragged') }</script>"
)


async def test_something_is_dropped_on_a_board_that_is_wider_than_the_page(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<p>Card</p><div style='overflow:auto'><div id=board style='width:5000px;height:300px' role=group"
        " aria-label=Board>empty</div></div><script>board.onmouseup = () => board.textContent = 'dropped'</script>",
    )
    async with visiting(chromium, web) as visit:
        await visit.act(Drag(target=visit.target("StaticText", "Card"), onto=visit.target("group", "Board")))
        assert "'dropped'" in visit.text


async def test_a_drag_that_fails_releases_the_mouse(web: Web, chromium: ChromiumPool) -> None:
    vanishing = "<button onmousedown=\"this.nextSibling.style.display='none'\">Card</button><button>Bin</button>"
    web.page("/", f"{_LOGGING}{vanishing}<select aria-label=Size><option>large</select>")
    async with visiting(chromium, web) as visit:
        card, place = visit.target("button", "Card"), visit.target("button", "Bin")
        await visit.act(Drag(target=card, onto=visit.target("option", "large")))
        assert isinstance(visit.outcome, Refused) and "'log'" in visit.text  # nothing was pressed
        await visit.act(Drag(target=card, onto=place))
        assert isinstance(visit.outcome, Refused) and "no longer visible" in visit.outcome.why
        assert "'log down up'" in await visit.act(Hover(target=card))


_COVER = "<div id=cover style='position:fixed;inset:0'><p>We use cookies</p><button>Accept</button></div>"
_SAY = (
    "<script>onclick = ({ target }) => { document.title = target.id || target.textContent.trim() || target.localName }"
    "</script>"
)
OUT_OF_REACH: Mapping[str, tuple[str, str]] = {
    "collapsed": (
        "<div style='height:0;overflow:hidden'><button>Go</button></div><button>Delete all</button>",
        "is covered by button 'Delete all'",
    ),
    "cut off": (
        "<div style='height:40px;width:100px;overflow:clip;position:relative'>"
        "<button style='position:absolute;left:200px'>Go</button></div>",
        "is cut off on the page, or lets the mouse through",
    ),
    "let through": (
        "<div style='pointer-events:none'><button>Go</button></div>",
        "is cut off on the page, or lets the mouse through",
    ),
    "overlay": (f"<button>Go</button>{_COVER}", "is covered by p 'We use cookies'"),
    "dialog": (
        f"<button>Go</button>{_COVER.replace('id=cover', 'role=dialog aria-label=Cookies')}",
        "is covered by dialog 'Cookies'",
    ),
    "modal": (
        "<button>Go</button><dialog id=d aria-label=Ask>Sure?</dialog><script>setTimeout(() => d.show());</script>"
        "<style>dialog { inset: 0; width: 100%; height: 100%; position: fixed }</style>",
        "is covered by dialog 'Ask'",
    ),
    "long name": (
        f"<button>Go</button><a href=# style='position:fixed;inset:0'>{'x&#39;' * 90}</a>",
        "is covered by link",
    ),
    "frame": (
        f"<iframe srcdoc='<button>Go</button>'></iframe>{_COVER}",
        "is covered by p 'We use cookies'",
    ),
    "frame of another site": (
        f"<iframe src='data:text/html,<button>Go</button>'></iframe>{_COVER}",
        "is covered by p 'We use cookies'",
    ),
    "in a frame of another site": (
        "<iframe src='data:text/html,<button>Go</button><p style=position:fixed;inset:0;margin:0>over</p>'></iframe>",
        "is covered by p 'over'",
    ),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("case", OUT_OF_REACH)
async def test_what_nothing_can_hit_is_refused_and_what_covers_it_is_named(
    web: Web, chromium: ChromiumPool, case: str
) -> None:
    text, why = OUT_OF_REACH[case]
    web.page("/", text + _SAY)
    async with visiting(chromium, web) as visit:
        target = visit.target("button", "Go")
        for action in (Click(target=target), Hover(target=target), Type(target=target, text="x", enter=False)):
            await visit.act(action)
            assert isinstance(visit.outcome, Refused)
            assert visit.outcome.why.startswith(f"element [{target.id}] {why}") and len(visit.outcome.why) < 200
        assert await evaluated(visit, "document.title") == "Page"


WITHIN_REACH: Mapping[str, tuple[str, str, str]] = {
    "child": ("<button><b style='position:absolute;inset:0'></b>Go</button>", "button", "b"),
    "label around a hidden box": (
        "<label><input type=checkbox id=box style='position:absolute;clip-path:inset(50%);width:1px'>Go</label>",
        "checkbox",
        "box",
    ),
    "label of a hidden box, not the link in it": (
        "<input type=checkbox id=box aria-label=Go style='position:absolute;clip-path:inset(50%);width:1px'>"
        "<label for=box>I agree <a href=#x>to all of the terms</a>"
        "</label>",
        "checkbox",
        "box",
    ),
    "floating label": (
        "<div style='position:relative'><label for=f style='position:absolute;pointer-events:none'>Go</label>"
        "<input id=f></div>",
        "StaticText",
        "f",
    ),
    "picture in a link under a layer": (
        "<a href=#x><img alt=Go width=50 height=50 src=/x><b id=layer style='position:absolute;inset:0'></b></a>",
        "image",
        "layer",
    ),
    "half covered": (
        "<button id=it style='width:300px;height:60px'>Go</button>"
        "<div style='position:fixed;inset:0 0 0 60px;background:white'></div>",
        "button",
        "it",
    ),
    "below a sticky header": (
        "<header style='position:sticky;top:0;height:90px;background:white'>Head</header><button id=it style='position:"
        "absolute;top:30px'>Go</button><p style='height:3000px'>",
        "button",
        "it",
    ),
    "open tree": (
        "<x-b></x-b><script>customElements.define('x-b', class extends HTMLElement { constructor() { super();"
        "this.attachShadow({mode: 'open'}).innerHTML = '<button><slot></slot></button>';"
        "this.innerHTML = '<i>Go</i>' } })"
        "</script>",
        "button",
        "Go",
    ),
    "closed tree": (
        "<x-b></x-b><script>customElements.define('x-b', class extends HTMLElement { constructor() { super();"
        "this.attachShadow({mode: 'closed'}).innerHTML = '<button><slot></slot></button>';"
        "this.innerHTML = '<i>Go</i>' } })"
        "</script>",
        "button",
        "Go",
    ),
    "drawing": (
        "<svg id=s width=90 height=90 role=group aria-label=S><circle role=button aria-label=Go tabindex=0"
        " cx=45 cy=45 r=40 stroke-width=9"
        " fill=none stroke=red></circle></svg>",
        "button",
        "circle",
    ),
    "going away once the page is scrolled": (
        f"<button id=it style='position:absolute;top:600px'>Go</button>{_COVER}<p style='height:3000px'>"
        "<script>onscroll = () => setTimeout(() => cover.remove(), 50)</script>",
        "button",
        "it",
    ),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("case", WITHIN_REACH)
async def test_what_can_be_hit_somewhere_is_clicked_there(web: Web, chromium: ChromiumPool, case: str) -> None:
    text, role, hit = WITHIN_REACH[case]
    web.page("/", text + _SAY)
    async with visiting(chromium, web) as visit:
        target = visit.target(role, "Go")
        await visit.act(Click(target=target))
        assert visit.outcome == Done()
        assert await evaluated(visit, "document.title") == hit


async def test_webarenas_dialect_presses_whatever_is_there(web: Web) -> None:
    web.page("/", f"<button>Go</button>{_COVER}{_SAY}")
    observation = ObservationSettings(dialect=ObservationDialect.webarena)
    async with web.pool(QUICK, observation=observation) as pool, visiting(pool, web) as visit:
        await visit.click("button", "Go")
        assert visit.outcome == Done() and await evaluated(visit, "document.title") == "We use cookies"


@pytest.mark.parametrize("how", ["hover", "double click", "drag from", "drag onto"])
async def test_a_mouse_reaches_no_option_of_a_closed_list(web: Web, chromium: ChromiumPool, how: str) -> None:
    web.page("/", "<select aria-label=Size><option>small<option>large</select><button>Go</button>")
    async with visiting(chromium, web) as visit:
        option, other = visit.target("option", "large"), visit.target("button", "Go")
        actions: dict[str, Action] = {
            "hover": Hover(target=option),
            "double click": DoubleClick(target=option),
            "drag from": Drag(target=option, onto=other),
            "drag onto": Drag(target=other, onto=option),
        }
        await visit.act(actions[how])
        why = f"element [{option.id}] is an option of a closed list; click or select it"
        assert isinstance(visit.outcome, Refused) and visit.outcome.why == why


async def test_waiting_ends_when_the_page_changes(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p id=word>early</p><script>setTimeout(() => { word.textContent = 'late' }, 1500)</script>")
    async with visiting(chromium, web) as visit:
        if "late" not in visit.text:
            assert "late" in await visit.act(Wait())


async def test_files_come_from_the_configured_folder_only(web: Web, tmp_path: Path) -> None:
    folder = tmp_path / "uploads"
    folder.mkdir()
    (folder / "plan.txt").write_text("a plan")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    web.page(
        "/",
        '<label>File <input type=file onchange="files[0].text().then((text) => { said.textContent = text })"></label>'
        "<p id=said>nothing</p><label>Name <input></label>",
    )
    async with (
        web.pool(replace(QUICK, uploads=str(folder))) as pool,
        visiting(pool, web) as visit,
    ):
        field = next(id for id, node in visit.view.nodes.items() if "File" in node.name and node.role == "button")
        target = visit.target("button", visit.view.nodes[field].name)
        for name in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "none.txt"):
            await visit.act(Upload(target=target, file=name))
            assert isinstance(visit.outcome, Refused) and "available files: 'plan.txt'" in visit.outcome.why
        if "a plan" not in await visit.act(
            Upload(target=target, file="plan.txt")
        ):  # the page reads files when it likes
            assert "a plan" in await visit.act(Wait())
        await visit.act(Upload(target=visit.target("textbox", "Name"), file="plan.txt"))
        assert isinstance(visit.outcome, Refused) and "does not accept a file" in visit.outcome.why


_HIDDEN_FIELD = 'hidden id=f onchange="said.textContent = `got ${files[0].name}`"'
_LATER = "setTimeout(() => f.click(), 200)"


@pytest.mark.parametrize(
    ("page", "role", "name"),
    [
        (f"<label>Choose <b>photo</b><input type=file {_HIDDEN_FIELD}></label>", "StaticText", "photo"),
        (f"<input type=file {_HIDDEN_FIELD}><button onclick='f.click()'>Attach</button>", "button", "Attach"),
        (f"<input type=file {_HIDDEN_FIELD}><a href=# onclick='{_LATER}'>Attach</a>", "link", "Attach"),
        (f"<iframe srcdoc='<label>Photo<input type=file {_HIDDEN_FIELD}></label><p id=said>'>", "StaticText", "Photo"),
    ],
    ids=["label", "button", "later", "label in a frame"],
)
async def test_a_hidden_file_field_is_given_files_by_what_opens_its_dialog(
    web: Web, tmp_path: Path, page: str, role: str, name: str
) -> None:
    (tmp_path / "plan.txt").write_text("a plan")
    web.page("/", f"{page}<p id=said>nothing</p>")
    async with web.pool(replace(QUICK, uploads=str(tmp_path))) as pool, visiting(pool, web) as visit:
        assert "got plan.txt" in await visit.act(Upload(target=visit.target(role, name), file="plan.txt"))
        assert isinstance(visit.outcome, Done)


async def test_what_opens_no_file_dialog_takes_no_file(web: Web, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("a plan")
    web.page("/", "<p>Plain</p><label>Folder<input type=file webkitdirectory hidden></label>")
    async with web.pool(replace(QUICK, uploads=str(tmp_path))) as pool, visiting(pool, web) as visit:
        for name, why in (("Plain", "opens no dialog"), ("Folder", "refuses the file")):
            await visit.act(Upload(target=visit.target("StaticText", name), file="plan.txt"))
            assert isinstance(visit.outcome, Refused) and why in visit.outcome.why


async def test_nothing_can_be_uploaded_unless_a_folder_was_given(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<label>File <input type=file></label>")
    async with visiting(chromium, web) as visit:
        field = next(node for node in visit.view.nodes.values() if "File" in node.name and node.role == "button")
        await visit.act(Upload(target=visit.target("button", field.name), file="plan.txt"))
        assert isinstance(visit.outcome, Refused) and "uploads are not enabled" in visit.outcome.why
        await visit.act(Type(target=visit.target("button", field.name), text="x"))
        assert isinstance(visit.outcome, Refused) and "use upload instead" in visit.outcome.why


FORM = (
    "<form action=/sent><textarea name=t aria-label=Text></textarea><input name=i aria-label=Line><button>Send</button>"
    "</form><div contenteditable role=textbox aria-label=Rich></div><script>document.querySelector('textarea').onkeydown ="
    " (e) => { if (e.key === 'Enter') document.title = 'sent by Enter' }</script>"
)


async def evaluated(visit: Visit, script: str) -> Any:
    return await visit.env._window.tabs.current.page.evaluate(script)


PARAGRAPHS = "First [1] paragraph.\n\nSecond: `x` -> y"


async def test_text_of_several_lines_is_typed_into_a_field_of_several_lines(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", FORM)
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Text"), text=PARAGRAPHS, enter=False))
        assert visit.outcome == Done()
        value = await evaluated(visit, "document.querySelector('textarea').value")
        assert (value, await evaluated(visit, "document.title")) == (PARAGRAPHS, "Page")
        await visit.act(Type(target=visit.target("textbox", "Text"), text="a\r\nb", enter=False, clear=True))
        assert await evaluated(visit, "document.querySelector('textarea').value") == "a\nb"


async def test_text_of_several_lines_in_a_rich_editor(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", FORM)
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Rich"), text="one\ntwo", enter=False))
        assert await evaluated(visit, "document.querySelector('[contenteditable]').innerText") == "one\ntwo"


async def test_a_field_of_one_line_refuses_line_breaks_and_submits_nothing(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", FORM)
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Line"), text="a\nb", enter=True))
        assert isinstance(visit.outcome, Refused) and "is a field of one line" in visit.outcome.why
        assert await evaluated(visit, "location.pathname + document.querySelector('input').value") == "/"
