"""What only the cairn action set knows: checking, uploading, dragging, waiting, double clicks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Check, DoubleClick, Drag, Type, Upload, Wait
from harness.browser.session.chromium import ChromiumPool
from harness.records import Done, Refused
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
