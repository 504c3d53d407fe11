"""What providers' computer tools call, as actions: OpenAI's (`type`) and those of Anthropic's versions (`action`).

Coordinates are pixels of the screenshot that the model was sent. A point outside is not an action: where it was meant
nobody knows. What would last from one call to the next (a button that is held, where the cursor is) is refused with a
sentence, as an interruption between the two would lose it.

Source: https://platform.openai.com/docs/guides/tools-computer-use,
https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/computer-use-tool.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.actions import (
    Action,
    GoBack,
    GoForward,
    HoldKey,
    Keyboard,
    Mouse,
    PointClick,
    PointDrag,
    PointScroll,
    Press,
    RepeatKey,
    Screenshot,
    Wait,
)
from harness.actions.browser_controls import Button
from harness.actions.key_names import cairn_keys
from harness.actions.keyboard import MOST_HELD_S, MOST_PRESSES
from harness.actions.point import MOST_OF_A_PATH
from harness.actions.tool_schema import MOST_TEXT

Arguments = Mapping[str, Any]
NOTCH_PX = 100
"""What one notch of a wheel scrolls; Anthropic counts in notches."""
_MOST_SCROLL_PX = 100_000
# An integer of JSON has no bound: dividing 10**400 by the width of the screen is an OverflowError, not a ValueError.
_LARGEST = 10**9
_BUTTONS: Mapping[str, Button] = {"left": "left", "right": "right", "wheel": "middle"}
_KEYS = {"prior": "PageUp", "next": "PageDown", "super": "Meta", "kp_enter": "Enter", "win": "Meta"}
"""Names of X11 that `cairn_keys` does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """The size of the screenshots that a model is sent, in px."""

    width: int
    height: int

    def read(self, arguments: object) -> Action:
        """The action of a call.

        Raises:
            ValueError: It is none; the sentence may be shown to the model.
        """
        if not isinstance(arguments, dict):
            raise ValueError("the arguments of computer must be one JSON object")
        name = arguments.get("type", arguments.get("action"))
        reader = _READERS.get(name) if isinstance(name, str) else None
        if reader is None:
            unknown = f"the computer cannot {str(name)[:80]!r}; it can {', '.join(_READERS)}"
            raise ValueError(_REFUSED.get(str(name), unknown))
        return reader(self, arguments)

    def point(self, x: object, y: object) -> tuple[float, float]:
        """The point, in fractions of the viewport."""
        if not (_is_number(x) and _is_number(y)):
            raise ValueError(f"a point needs two numbers, not {str(x)[:40]}, {str(y)[:40]}")
        if not (0 <= x < self.width and 0 <= y < self.height):  # type: ignore[operator]  # numbers, see above
            raise ValueError(f"({x:.9g}, {y:.9g}) is outside of the screen, which has {self.width} x {self.height} px")
        return x / self.width, y / self.height  # type: ignore[operator]

    def place(self, arguments: Arguments, name: str = "coordinate") -> tuple[float, float]:
        """The point of a call, however the provider gives it."""
        # OpenAI gives x and y, Anthropic a pair.
        if "x" in arguments:
            return self.point(arguments["x"], arguments.get("y"))
        pair = arguments.get(name)
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"{name} must be [x, y]")
        return self.point(*pair)


def _click(screen: Screen, arguments: Arguments) -> Action:
    button = arguments.get("button", "left")
    if button in ("back", "forward"):
        return GoBack() if button == "back" else GoForward()
    if not isinstance(button, str) or button not in _BUTTONS:
        raise ValueError(f"button must be one of {', '.join((*_BUTTONS, 'back', 'forward'))}, not {str(button)[:40]!r}")
    return _clicked(screen, arguments, button=_BUTTONS[button])


def _clicked(screen: Screen, arguments: Arguments, *, button: Button = "left", times: int = 1) -> Action:
    x, y = screen.place(arguments)
    return PointClick(x=x, y=y, button=button, times=times, holding=_held(arguments))


def _clicks(times: int, button: Button = "left") -> Callable[[Screen, Arguments], Action]:
    return lambda screen, arguments: _clicked(screen, arguments, button=button, times=times)


def _move(screen: Screen, arguments: Arguments) -> Action:
    if arguments.get("keys"):
        raise ValueError("keys cannot be held over a move; give them with the click, drag or scroll that follows it")
    x, y = screen.place(arguments)
    return Mouse(verb="hover", x=x, y=y)


def _drag(screen: Screen, arguments: Arguments) -> Action:
    path = arguments.get("path")
    if not isinstance(path, list) or not 2 <= len(path) <= MOST_OF_A_PATH:
        raise ValueError(f"path must be a list of 2 to {MOST_OF_A_PATH} points")
    if not all(isinstance(point, dict) for point in path):
        raise ValueError("each point of path must be an object with x and y")
    points = tuple(screen.point(point.get("x"), point.get("y")) for point in path)
    return PointDrag(path=points, holding=_held(arguments))


def _left_click_drag(screen: Screen, arguments: Arguments) -> Action:
    path = (screen.place(arguments, "start_coordinate"), screen.place(arguments))
    return PointDrag(path=path, holding=_held(arguments))


def _scroll(screen: Screen, arguments: Arguments) -> Action:
    if "scroll_direction" in arguments:
        amount = arguments.get("scroll_amount", 1)
        signs = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
        direction = arguments["scroll_direction"]
        if not isinstance(direction, str) or direction not in signs or not _is_number(amount):
            raise ValueError("scroll needs scroll_direction (up, down, left or right) and scroll_amount (a number)")
        right, down = (sign * amount * NOTCH_PX for sign in signs[direction])
    else:
        right, down = arguments.get("scroll_x", 0), arguments.get("scroll_y", 0)
    if not (_is_number(right) and _is_number(down)) or max(abs(right), abs(down)) > _MOST_SCROLL_PX:
        raise ValueError(f"scroll needs numbers of at most {_MOST_SCROLL_PX:,} px")
    anywhere = "x" in arguments or arguments.get("coordinate") is not None
    x, y = screen.place(arguments) if anywhere else (0.5, 0.5)
    right, down = right / screen.width, down / screen.height
    return PointScroll(x=x, y=y, right=right, down=down, holding=_held(arguments))


def _type(screen: Screen, arguments: Arguments) -> Action:
    text = arguments.get("text")
    if not isinstance(text, str) or not text:
        raise ValueError("type needs text")
    if len(text) > MOST_TEXT:
        raise ValueError(f"the text has {len(text):,} characters; {MOST_TEXT:,} are allowed")
    return Keyboard(text=text)


def _press(screen: Screen, arguments: Arguments) -> Action:
    keys, times = _keys(arguments.get("keys", arguments.get("text"))), arguments.get("repeat") or 1
    if not isinstance(times, int) or not 1 <= times <= MOST_PRESSES:
        raise ValueError(f"repeat must be a whole number from 1 to {MOST_PRESSES}")
    return Press(key_comb=keys) if times == 1 else RepeatKey(key_comb=keys, times=int(times))


def _hold_key(screen: Screen, arguments: Arguments) -> Action:
    seconds = arguments.get("duration")
    if not _is_number(seconds) or not 0 < seconds <= MOST_HELD_S:  # type: ignore[operator]  # a number, see above
        raise ValueError(f"duration must be a number of seconds, more than 0 and at most {MOST_HELD_S:g}")
    return HoldKey(key_comb=_keys(arguments.get("text")), seconds=float(seconds))  # type: ignore[arg-type]


def _zoom(screen: Screen, arguments: Arguments) -> Action:
    region = arguments.get("region")
    if not isinstance(region, list) or len(region) != 4 or not all(map(_is_number, region)):
        raise ValueError("region must be [x0, y0, x1, y1]")
    # Cut to the screen, as a look past its edge harms nothing; a click there is refused, as it would hit something
    # else.
    left, right = (min(max(value / screen.width, 0.0), 1.0) for value in (region[0], region[2]))
    top, bottom = (min(max(value / screen.height, 0.0), 1.0) for value in (region[1], region[3]))
    if left >= right or top >= bottom:
        raise ValueError("region is empty; give its left, top, right and bottom edge in px")
    return Screenshot(region=(left, top, right, bottom))


_READERS: Mapping[str, Callable[[Screen, Arguments], Action]] = {
    "click": _click,
    "double_click": _clicks(2),
    "drag": _drag,
    "keypress": _press,
    "move": _move,
    "screenshot": lambda screen, arguments: Screenshot(),
    "scroll": _scroll,
    "type": _type,
    "wait": lambda screen, arguments: Wait(),
    "left_click": _clicks(1),
    "right_click": _clicks(1, "right"),
    "middle_click": _clicks(1, "middle"),
    "triple_click": _clicks(3),
    "left_click_drag": _left_click_drag,
    "mouse_move": _move,
    "key": _press,
    "zoom": _zoom,
    "hold_key": _hold_key,
}
_LEFT_BUTTON = "the button cannot be held over several calls; left_click_drag presses, moves and releases it"
_REFUSED: Mapping[str, str] = {
    "left_mouse_down": _LEFT_BUTTON,
    "left_mouse_up": _LEFT_BUTTON,
    "cursor_position": "the cursor is where your last click, move, drag or scroll ended; give the point with each call",
}
"""Calls that cannot be performed, and why."""


def _held(arguments: Arguments) -> str:
    """The keys that a call wants held meanwhile: OpenAI's `keys`, Anthropic's `text`."""
    holding = arguments.get("keys") or arguments.get("text")
    return _keys(holding) if holding else ""


def _keys(given: object) -> str:
    """Playwright's names of keys, joined by `+`."""
    # `+` alone is the key itself, which a split would lose.
    keys: object = [given] if given == "+" else given.split("+") if isinstance(given, str) else given
    if not isinstance(keys, list) or not 0 < len(keys) <= 8 or not all(isinstance(one, str) and one for one in keys):
        raise ValueError("keys must be the names of one to eight keys")
    names = [_KEYS.get(str(key).strip().lower()) or cairn_keys(str(key)[:40]) for key in keys]
    if len(names) > 1 and "Shift" not in names:
        names = [name.lower() if len(name) == 1 else name for name in names]  # CTRL and A mean Control+a
    return "+".join(names)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST
