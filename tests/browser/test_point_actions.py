"""Mouse and keyboard at points of a real page."""

from typing import cast

import pytest

from harness.actions import HoldKey, Keyboard, PointClick, PointDrag, PointScroll, RepeatKey, Screenshot
from harness.browser.session.chromium import ChromiumPool
from harness.records import Done, Refused
from tests.browser.conftest import Visit, Web, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGE = """<style>body{margin:0;height:3000px} #pad{position:fixed;left:0;top:0;width:640px;height:360px}
#box{position:fixed;left:700px;top:0;width:200px;height:100px;overflow:auto}</style>
<div id=pad></div><div id=box><p style='height:900px;width:900px'>long</p></div>
<input aria-label=Field style='position:fixed;left:700px;top:300px;width:200px;height:40px'>
<p role=status aria-live=polite>none</p>
<script>const say = (text) => { document.querySelector('[role=status]').textContent = text };
pad.onmousedown = (e) => say('down ' + e.clientX + ' ' + e.clientY + ' button ' + e.button + ' shift ' + e.shiftKey);
pad.onmouseup = (e) => say(document.querySelector('[role=status]').textContent + ', up ' + e.clientX + ' ' + e.clientY);
pad.ondblclick = () => say('double'); pad.oncontextmenu = (e) => e.preventDefault();</script>"""


async def evaluated(visit: Visit, script: str) -> object:
    return await visit.env._window.tabs.current.page.evaluate(script)


async def test_clicks_land_where_they_are_meant_with_button_count_and_modifiers(
    web: Web, chromium: ChromiumPool
) -> None:
    web.page("/", PAGE)
    async with visiting(chromium, web) as visit:
        await visit.act(PointClick(x=0.25, y=0.125, button="right", holding="Shift"))
        assert "down 320 90 button 2 shift true, up 320 90" in visit.text
        await visit.act(PointClick(x=0.25, y=0.125, times=2))
        assert "double" in visit.text
        await visit.act(PointClick(x=0.1, y=0.1, holding="Enter"))
        assert isinstance(visit.outcome, Refused) and "Enter cannot be held" in visit.outcome.why
        await visit.act(PointClick(x=0.1, y=0.1))
        assert "shift false" in visit.text


async def test_a_drag_goes_from_the_first_point_to_the_last(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", PAGE)
    async with visiting(chromium, web) as visit:
        await visit.act(PointDrag(path=((0.125, 0.25), (0.25, 0.25), (0.25, 0.375))))
        assert "down 160 180 button 0 shift false, up 320 270" in visit.text


async def test_modifier_keys_are_held_during_a_drag_and_a_turn_of_the_wheel(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", f"{PAGE}<script>const turns = []; addEventListener('wheel', (e) => turns.push(e.ctrlKey))</script>")
    async with visiting(chromium, web) as visit:
        await visit.act(PointDrag(path=((0.125, 0.25), (0.25, 0.25)), holding="Shift"))
        assert "down 160 180 button 0 shift true, up 320 180" in visit.text
        await visit.act(PointScroll(x=0.1, y=0.1, down=0.1, holding="Control"))
        await visit.act(PointScroll(x=0.1, y=0.1, down=0.1))
        assert await evaluated(visit, "turns") == [True, False]


async def test_a_key_is_held_and_released_or_pressed_several_times(web: Web, chromium: ChromiumPool) -> None:
    heard = (
        "for (const kind of ['keydown', 'keyup']) addEventListener(kind, (e) => heard.push([kind, e.key, e.repeat]))"
    )
    web.page("/", f"{PAGE}<script>const heard = []; {heard}</script>")
    async with visiting(chromium, web) as visit:
        await visit.act(HoldKey(key_comb="Shift+ArrowDown", seconds=0.3))
        first, second, *repeats, last, modifier = cast("list[list[object]]", await evaluated(visit, "heard"))
        assert (first, second) == (["keydown", "Shift", False], ["keydown", "ArrowDown", False])
        assert repeats and all(one == ["keydown", "ArrowDown", True] for one in repeats)
        assert (last, modifier) == (["keyup", "ArrowDown", False], ["keyup", "Shift", False])
        await visit.act(RepeatKey(key_comb="b", times=3))
        assert await evaluated(visit, "heard.filter(([kind, key]) => kind === 'keydown' && key === 'b').length") == 3
        await visit.act(HoldKey(key_comb="Nonsense", seconds=0.1))
        assert isinstance(visit.outcome, Refused) and "Unknown key" in visit.outcome.why


async def test_the_wheel_scrolls_what_is_under_the_point(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", PAGE)
    async with visiting(chromium, web) as visit:
        await visit.act(PointScroll(x=800 / 1280, y=50 / 720, down=0.25))
        assert await evaluated(visit, "[scrollY, box.scrollTop]") == [0, 180]
        await visit.act(PointScroll(x=0.9, y=0.9, down=0.5))
        assert await evaluated(visit, "[scrollY, box.scrollTop]") == [360, 180]


async def test_a_field_is_clicked_and_typed_into_and_looking_again_does_nothing(
    web: Web, chromium: ChromiumPool
) -> None:
    web.page("/", PAGE)
    async with visiting(chromium, web) as visit:
        await visit.act(PointClick(x=800 / 1280, y=320 / 720))
        await visit.act(Keyboard(text="tea"))
        assert await evaluated(visit, "document.querySelector('input').value") == "tea"
        text = visit.text
        await visit.act(Screenshot(region=(0.0, 0.0, 0.5, 0.5)))
        assert (visit.outcome, visit.text) == (Done(), text)


async def test_what_is_seen_after_keys_and_the_wheel_is_where_they_lead(web: Web, chromium: ChromiumPool) -> None:
    """Not a part of the way there: keys scroll in one go, and the wheel is waited for."""
    rows = "".join(f"<p style='font:60px/100px monospace;margin:0'>row {number}.</p>" for number in range(200))
    web.page("/", rows)
    async with visiting(chromium, web) as visit:
        top = 0
        down = [(RepeatKey(key_comb="PageDown", times=1), 630), (PointScroll(x=0.5, y=0.5, down=0.25), 180)]
        for action, by in 6 * down:
            await visit.act(action)
            top += by
            shown = [number for number in range(200) if f"row {number}." in visit.text]
            assert shown[:7] == [*range(top // 100, top // 100 + 7)], action
