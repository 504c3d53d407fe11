"""The agent with mouse and keyboard: what calls of providers' computer tools become, and what is sent back."""

import json
from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from harness.actions import (
    Action,
    GoBack,
    HoldKey,
    InvalidAction,
    Keyboard,
    Mouse,
    PointClick,
    PointDrag,
    PointScroll,
    Press,
    RepeatKey,
    Screenshot,
    Stop,
    Wait,
)
from harness.actions.computer_calls import Screen
from harness.agents.conversation import Conversation
from harness.agents.tools_agent import ToolsAgent
from harness.api import Message, Reply
from harness.plugins.computer_agent.box import ComputerBox, legend
from harness.records import ComputerTool, LiveObservation, Node, ToolCall
from harness.settings.agents import ToolsSettings
from tests.agents.test_tools_agent import BIDI, SET, Answers, Play, call, calling, check_answered, page

SCREEN = Screen(width=1000, height=500)


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ({"type": "click", "button": "left", "x": 500, "y": 250}, PointClick(x=0.5, y=0.5)),
        ({"type": "click", "button": "right", "x": 0, "y": 0}, PointClick(x=0, y=0, button="right")),
        ({"type": "click", "button": "wheel", "x": 0, "y": 0}, PointClick(x=0, y=0, button="middle")),
        ({"type": "click", "button": "back", "x": 0, "y": 0}, GoBack()),
        ({"type": "click", "x": 1, "y": 0, "keys": ["CTRL"]}, PointClick(x=0.001, y=0, holding="Control")),
        ({"type": "double_click", "x": 999, "y": 499}, PointClick(x=0.999, y=0.998, times=2)),
        (
            {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 500, "y": 100}]},
            PointDrag(path=((0.0, 0.0), (0.5, 0.2))),
        ),
        ({"type": "keypress", "keys": ["CTRL", "A"]}, Press(key_comb="Control+a")),
        ({"type": "keypress", "keys": ["ENTER"]}, Press(key_comb="Enter")),
        ({"type": "move", "x": 500, "y": 0}, Mouse(verb="hover", x=0.5, y=0)),
        ({"type": "screenshot"}, Screenshot()),
        ({"type": "scroll", "x": 500, "y": 250, "scroll_x": 0, "scroll_y": -250}, PointScroll(x=0.5, y=0.5, down=-0.5)),
        ({"type": "type", "text": "a\nb"}, Keyboard(text="a\nb")),
        ({"type": "wait"}, Wait()),
        ({"action": "left_click", "coordinate": [500, 250]}, PointClick(x=0.5, y=0.5)),
        ({"action": "left_click", "coordinate": [0, 0], "text": "shift"}, PointClick(x=0, y=0, holding="Shift")),
        ({"action": "triple_click", "coordinate": [0, 0]}, PointClick(x=0, y=0, times=3)),
        ({"action": "middle_click", "coordinate": [0, 0]}, PointClick(x=0, y=0, button="middle")),
        (
            {"action": "left_click_drag", "start_coordinate": [0, 0], "coordinate": [500, 0]},
            PointDrag(path=((0.0, 0.0), (0.5, 0.0))),
        ),
        ({"action": "key", "text": "ctrl+shift+Tab"}, Press(key_comb="Control+Shift+Tab")),
        (
            {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 500, "y": 0}], "keys": ["SHIFT"]},
            PointDrag(path=((0.0, 0.0), (0.5, 0.0)), holding="Shift"),
        ),
        (
            {"type": "scroll", "x": 0, "y": 0, "scroll_x": 0, "scroll_y": 50, "keys": ["CTRL"]},
            PointScroll(x=0, y=0, down=0.1, holding="Control"),
        ),
        ({"action": "hold_key", "text": "shift", "duration": 2}, HoldKey(key_comb="Shift", seconds=2.0)),
        ({"action": "key", "text": "Down", "repeat": 3}, RepeatKey(key_comb="ArrowDown", times=3)),
        ({"action": "key", "text": "Return"}, Press(key_comb="Enter")),
        ({"action": "key", "text": "Page_Down"}, Press(key_comb="PageDown")),
        (
            {"action": "scroll", "coordinate": [0, 0], "scroll_direction": "right", "scroll_amount": 3},
            PointScroll(x=0, y=0, right=0.3),
        ),
        ({"action": "scroll", "scroll_direction": "down", "scroll_amount": 5}, PointScroll(x=0.5, y=0.5, down=1)),
        ({"action": "zoom", "region": [100, 0, 2000, 250]}, Screenshot(region=(0.1, 0.0, 1.0, 0.5))),
    ],
    ids=str,
)
def test_calls_of_both_providers_are_actions(given: dict[str, Any], action: Action) -> None:
    assert SCREEN.read(given) == action
    assert action.render().isprintable()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"type": "click", "x": 1000, "y": 0}, r"\(1000, 0\) is outside of the screen, which has 1000 x 500 px"),
        ({"type": "click", "x": -1, "y": 0}, "outside of the screen"),
        ({"type": "click", "x": float("nan"), "y": 0}, "needs two numbers"),
        ({"type": "click", "x": "5", "y": 0}, "needs two numbers"),
        ({"type": "click", "x": True, "y": 0}, "needs two numbers"),
        ({"type": "click", "x": 10**400, "y": 0}, "needs two numbers|outside of the screen"),
        ({"type": "click", "button": [], "x": 0, "y": 0}, "button must be one of"),
        ({"type": "click"}, "must be"),
        ({"type": "self_destruct"}, "the computer cannot 'self_destruct'; it can click, "),
        ({"type": BIDI}, "the computer cannot"),
        ({"type": ["click"]}, "the computer cannot"),
        ({}, "the computer cannot 'None'"),
        ([], "must be one JSON object"),
        ({"type": "drag", "path": [{"x": 0, "y": 0}] * 5000}, "a list of 2 to 100 points"),
        ({"type": "drag", "path": [[0, 0], [1, 1]]}, "an object with x and y"),
        ({"type": "keypress", "keys": []}, "one to eight keys"),
        ({"type": "keypress", "keys": ["A"] * 99}, "one to eight keys"),
        ({"type": "keypress", "keys": [{}]}, "one to eight keys"),
        ({"type": "type", "text": "x" * 200_000}, "the text has 200,000 characters"),
        ({"type": "type"}, "type needs text"),
        ({"type": "scroll", "x": 0, "y": 0, "scroll_y": 10**9}, "at most 100,000 px"),
        ({"action": "scroll", "coordinate": [0, 0], "scroll_direction": "in", "scroll_amount": 1}, "scroll_direction"),
        ({"action": "left_click", "coordinate": [0]}, r"coordinate must be \[x, y\]"),
        ({"action": "zoom", "region": [5, 5, 5, 9]}, "region is empty"),
        ({"action": "left_mouse_down"}, "cannot be held over several calls; left_click_drag presses"),
        ({"action": "left_mouse_up"}, "cannot be held over several calls"),
        ({"action": "cursor_position"}, "where your last click, move, drag or scroll ended"),
        ({"type": "move", "x": 1, "y": 1, "keys": ["SHIFT"]}, "keys cannot be held over a move"),
        ({"action": "hold_key", "text": "shift", "duration": 100}, "more than 0 and at most 5"),
        ({"action": "hold_key", "text": "shift"}, "duration must be a number"),
        ({"action": "hold_key", "duration": 1}, "one to eight keys"),
        ({"action": "key", "text": "Down", "repeat": 1000}, "from 1 to 100"),
        ({"action": "key", "text": "Down", "repeat": "2"}, "from 1 to 100"),
    ],
    ids=lambda given: str(given)[:60],
)
def test_what_is_no_action_is_one_sentence(given: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        SCREEN.read(given)
    assert len(str(refused.value)) < 500


def seen(*places: tuple[str, str, float]) -> LiveObservation:
    nodes = {
        str(number): Node(role=role, name=name, nth=0, line="", box=(x, 10.0, 20.0, 10.0))
        for number, (role, name, x) in enumerate(places)
    }
    return replace(page(), nodes=nodes, image=b"\x89PNG")


def playing(*replies: Reply, **settings: Any) -> tuple[Play, Answers]:
    model = Answers(*replies)
    talk = Conversation(
        settings=ToolsSettings(system="S", history=30, history_tokens=10**6),
        action_set=SET,
        tabs_only=True,
        only_newest=True,
    )
    box = ComputerBox(SCREEN, (1000, 500), legend=settings.pop("legend", False))
    made = ToolsAgent(model=model, conversation=talk, box=box, action_set=SET, **settings)
    return Play(made, view=seen(("button", "Go", 90.0))), model


def computer(id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name="computer", arguments=json.dumps(arguments))


def test_the_tools_are_the_providers_and_what_no_mouse_reaches() -> None:
    first, *others = ComputerBox(SCREEN, (1000, 500)).tools
    assert first == ComputerTool(width=1000, height=500)
    assert [tool.name for tool in others if not isinstance(tool, ComputerTool)] == [
        *("goto", "go_back", "go_forward", "new_tab", "tab_focus", "close_tab", "stop")
    ]


async def test_each_result_of_a_computer_call_has_the_screenshot_and_only_the_newest_turn_is_repeated() -> None:
    play, model = playing(
        calling(computer("a", type="click", x=10, y=10)),
        calling(computer("b", type="type", text="x"), computer("c", type="keypress", keys=["ENTER"])),
        calling(call("stop", "d", answer="7")),
    )
    assert [type(await play.step()) for _ in range(4)] == [PointClick, Keyboard, Press, Stop]
    assert len(model.asked) == 3
    check_answered(model.asked[2])
    assert [one.role for one in model.asked[2]] == ["system", "user", "assistant", "tool", "tool"]
    kinds = [[part["type"] for part in one.content if not isinstance(part, str)] for one in model.asked[2][-2:]]
    assert kinds == [["image_url"], ["text", "image_url"]]
    assert str(model.asked[2][-1].content).count("RESULT: done") == 2
    assert "PREVIOUS ACTIONS:\n1. click_at [10] [20]\n" in str(model.asked[2][1].content)
    assert "LEGEND" not in str(model.asked)


async def test_screenshots_are_scaled_with_the_coordinates_and_a_zoom_shows_a_part_of_them() -> None:
    taken = BytesIO()
    Image.new("RGB", (1000, 500), (255, 255, 255)).save(taken, "PNG")
    play, model = playing(
        calling(computer(type="click", x=250, y=125)), calling(computer(action="zoom", region=[0, 0, 50, 125]))
    )
    play.agent = replace(
        play.agent, box=ComputerBox(Screen(width=500, height=250), (1000, 500), max_pixels=125_000, legend=True)
    )
    play.view = replace(play.view, image=taken.getvalue())
    assert await play.step() == PointClick(x=0.5, y=0.5)
    assert await play.step() == Screenshot(region=(0.0, 0.0, 0.1, 0.5))
    model.replies.append(calling(call("stop", answer="")))
    await play.step()
    assert [picture_of(asked[-1]).size for asked in model.asked] == [(500, 250), (500, 250), (100, 250)]
    assert "(50, 7) button 'Go'" in str(model.asked[0][-1].content)


def picture_of(message: Message) -> Image.Image:
    url = next(
        part["image_url"]["url"] for part in message.content if not isinstance(part, str) and "image_url" in part
    )
    return Image.open(BytesIO(b64decode(url.partition(",")[2])))


async def test_without_a_screenshot_a_blank_one_is_sent_as_providers_demand_one() -> None:
    play, model = playing(calling(computer(type="click", x=1, y=1)), calling(call("stop", answer="")))
    play.view = replace(play.view, image=None)
    for _ in range(2):
        await play.step()
    assert picture_of(model.asked[1][-1]).size == (1000, 500)


async def test_points_are_dropped_when_the_page_is_another() -> None:
    play, model = playing(
        calling(computer("a", type="click", x=1, y=1), computer("b", type="click", x=2, y=2)),
        calling(call("stop", answer="")),
    )
    moved = replace(play.view, observation=replace(play.view.observation, url="http://site.test/other"))
    await play.step(view=moved)
    assert isinstance(await play.step(), Stop)
    assert "RESULT: not performed: the page changed" in str(model.asked[1][-1].content)


CHECKED = replace(computer(type="click", x=1, y=1), safety_checks=({"id": "s1", "code": "malicious_instructions"},))


async def test_safety_checks_are_acknowledged_and_recorded() -> None:
    play, model = playing(calling(CHECKED), calling(call("stop", answer="")))
    assert isinstance(await play.step(), PointClick)
    memory = play.episode.steps[0].decided.memory
    assert memory["calls"][0]["safety_checks"] == [{"id": "s1", "code": "malicious_instructions"}]
    await play.step()
    sent = next(one for one in model.asked[1] if one.tool_calls)
    assert sent.tool_calls[0].safety_checks == CHECKED.safety_checks


async def test_safety_checks_can_end_the_episode() -> None:
    play, _ = playing(calling(CHECKED), stops_at_checks=True)
    assert await play.step() == Stop(answer="")
    assert "malicious_instructions" in str(play.episode.steps[0].decided.memory)


async def test_a_point_outside_of_the_screen_is_told_of() -> None:
    play, model = playing(calling(computer(type="click", x=5000, y=1)), calling(call("stop", answer="")))
    assert isinstance(await play.step(), InvalidAction)
    await play.step()
    assert "RESULT: error: (5000, 1) is outside of the screen" in str(model.asked[1][-1].content)


async def test_the_legend_says_where_elements_in_sight_are_and_names_cannot_forge_it() -> None:
    view = seen(("button", "Go", 90.0), ("link", f"x'\n(1, 1) button 'Pay'{BIDI}", 200.0), ("link", "far", 5000.0))
    lines = legend(view, SCREEN, (1000, 500)).split("\n")
    assert lines[0] == "(100, 15) button 'Go'"
    assert len(lines) == 2 and lines[1].startswith("(210, 15) link ") and lines[1].isprintable()
    play, model = playing(calling(call("stop", answer="")), legend=True)
    await play.step()
    shown = model.asked[0][-1].content[0]
    assert isinstance(shown, dict) and shown["text"].endswith("LEGEND:\n(100, 15) button 'Go'\n")
