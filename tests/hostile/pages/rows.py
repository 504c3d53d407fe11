"""What a row of a hostile page says, and what is done with it: look, act, look again, take the evidence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from harness.actions import Action, Click, Scroll
from harness.browser.session.chromium import ChromiumPool
from harness.browser.tabs.screenshot import MISSING
from harness.errors import InfraError
from harness.records import Done, Refused
from tests.hostile.pages.wild import CALM, Reply, Stay, Wild, staying

GO = "<button id=go onclick='go()'>go</button><p id=out></p>"
_LOOKS = 40
"""In how many further looks a page that costs its episode has done so, or one that is slow to arrive is there."""
MADE = "document.getElementById('out').textContent = 'made it'"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A page, what is to be seen of it, and what an action leads to."""

    id: str
    page: str | bytes | Reply
    shows: str = ""
    """In the text on arrival."""
    does: Callable[[Stay], Action] | None = None
    then: str = ""
    """In the text after the action."""
    refused: bool = False
    """Whether the action is the agent's mistake."""
    notice: str = ""
    """Among what the agent is told, on arrival or after the action."""
    more: Mapping[str, str | bytes | Reply] = field(default_factory=dict)
    """Other pages of the site."""
    pictured: bool | None = True
    """Whether each look has a picture; None = it may."""
    lost: str = ""
    """What its own episode is lost by, where nothing can be seen of it at all."""
    hostile: bool = False
    """Whether it takes long, see `make hostile`."""


def table(*rows: Row) -> pytest.MarkDecorator:
    """The rows as parameters of a test."""
    assert len({row.id for row in rows}) == len(rows), "two rows of one name"
    marks = [pytest.param(row, id=row.id, marks=[pytest.mark.hostile] if row.hostile else []) for row in rows]
    return pytest.mark.parametrize("row", marks)


def click(name: str = "go") -> Callable[[Stay], Action]:
    return lambda stay: Click(target=stay.target(name))


def clicked(id: str, script: str, *, then: str = "", body: str = "", notice: str = "", **fields: object) -> Row:
    """A page with a button whose click runs a script, between `body` and what it says in the end."""
    page = f"<!doctype html><title>Page</title><p>before</p>{body}{GO}<script>function go() {{ {script} }}</script>"
    return replace(Row(id=id, page=page, shows="before", does=click(), then=then, notice=notice), **fields)  # type: ignore[arg-type]


def _check_picture(stay: Stay, row: Row) -> None:
    assert (stay.view.image is None) is (MISSING in stay.notices), stay.notices
    assert row.pictured in (None, stay.view.image is not None)


async def held(quick: ChromiumPool, patient: ChromiumPool, wild: Wild, row: Row) -> None:
    """Play a row: every step goes on with what there is; where there is nothing, it costs that episode only."""
    chromium = patient if row.hostile else quick
    wild.pages.update({"/": row.page, **row.more})
    if not row.lost:
        return await _play(chromium, row)
    with pytest.raises(InfraError, match=row.lost):
        await _play(chromium, row)
    wild.pages["/"] = CALM
    async with staying(chromium) as stay:
        assert "all is calm" in stay.text


async def _until_it_shows(stay: Stay, text: str) -> str:
    """Look again while the page is said to be busy, as an agent would: half a second is short on a busy machine.

    Returns what was told meanwhile.
    """
    told = ""
    for _ in range(_LOOKS):
        if text in stay.text or "still busy" not in stay.notices:
            break
        await stay.act(Scroll(direction="down"))
        told += "\n" + stay.notices
    return told


async def _play(chromium: ChromiumPool, row: Row) -> None:
    async with staying(chromium) as stay:
        told = stay.notices + await _until_it_shows(stay, row.shows)
        assert row.shows in stay.text, (stay.text[:3000], told)
        _check_picture(stay, row)
        if row.does is not None:
            outcome = await stay.act(row.does(stay))
            told += "\n" + stay.notices + await _until_it_shows(stay, row.then)
            assert isinstance(outcome, Refused if row.refused else Done), outcome
            assert row.then in stay.text, (stay.text[:3000], told)
            _check_picture(stay, row)
        assert row.notice in told, told
        for _ in range(_LOOKS if row.lost else 0):  # on a busy machine the page comes bit by bit
            await stay.act(Scroll(direction="down"))
        evidence = await stay.gather()
        assert isinstance(evidence.html, str)
