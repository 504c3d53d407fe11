"""What the commands of a step add up to, as a person would say it: `click button 'Search'`. Pure.

A gesture begins with one command, and takes those that belong to it: the movement before a press, its release, further
characters for the same field. What it does not take is another gesture, and so another step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.api.records import SeenElement
from harness.api.text import cut
from harness.plugins.process_agent.cdp.input_events import InputEvent, Kind

_MOVED = 5.0
"""CSS px from where it was pressed: the mouse drags."""
_EDITING = frozenset({"Backspace", "Delete", "Control+A", "Meta+A", "Home", "End", "Shift+Home", "Shift+End"})
"""Keys that make room for a text."""
_TIMES = {2: "double-click", 3: "triple-click"}
_FOCUSED = frozenset({Kind.TEXT, Kind.KEY})
_WRITES = frozenset({Kind.FOCUS, Kind.TEXT, Kind.KEY, Kind.SCRIPT})
_OF_LINES = frozenset({"textarea", "editable"})
_MOST_TEXT = 4000
"""Characters."""


@dataclass(slots=True, kw_only=True, eq=False)
class Gesture:
    """One of them, as it is made."""

    does: Kind | None = None
    """What it is so far; None = only what may come before anything."""
    element: SeenElement | None = None
    """What it is done to."""
    onto: SeenElement | None = None
    """Where something is dropped."""
    first: InputEvent | None = None
    last: InputEvent | None = None
    count: int = 1
    """Number of clicks."""
    text: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    right: float = 0.0
    down: float = 0.0
    words: str = ""
    by_script: str = ""
    """What a script has done to the same field meanwhile, in words."""
    is_cleared: bool = False
    """A script has emptied the field last."""
    is_dropped: bool = False
    asks_focus: bool = True
    pressed: set[str] = field(default_factory=set)
    """Buttons and keys that are down."""

    def takes(self, event: InputEvent) -> bool:  # noqa: PLR0911 (one case per kind)
        """Whether a command belongs to it."""
        match event.kind:
            case Kind.UP | Kind.RELEASE | Kind.REST:
                return True
            case Kind.MOVE:
                return self.does in (None, Kind.MOVE) or self._is_down
            case Kind.DOWN:
                again = self.does is Kind.DOWN and event.count > self.count
                return self.does in (None, Kind.MOVE) or again or self._is_down
            case Kind.WHEEL:
                return self.does in (None, Kind.MOVE, Kind.WHEEL)
            case Kind.FOCUS:
                return self.does in (None, Kind.FOCUS)
            case Kind.DROP:
                return self.does is None or self._is_down
            case Kind.TEXT:
                is_cleared = self.does is Kind.SCRIPT and self.is_cleared
                return self.does in (None, Kind.FOCUS, Kind.TEXT) or self._makes_room or is_cleared
            case Kind.KEY:
                makes_room = event.text in _EDITING and self._makes_room
                repeats = self.does is Kind.KEY and {event.text} == set(self.keys)
                ends_line = event.text == "Enter" and self.does is Kind.TEXT and self._has_lines
                return self.does in (None, Kind.FOCUS) or makes_room or repeats or ends_line
            case Kind.MODIFIER:
                writes = self.does is Kind.TEXT and event.key == "Shift"
                return self.does in (None, Kind.MOVE, Kind.FOCUS) or writes or self._makes_room or bool(self.pressed)
        same = self.does is event.kind is Kind.OTHER and event.text == self.words
        return self.does is None or same

    def wants_point(self, event: InputEvent) -> bool:
        """Whether the element under the command is to be named."""
        match event.kind:
            case Kind.DOWN:
                return self.element is None
            case Kind.UP:
                return self._has_moved(event)
        return event.kind in (Kind.TAP, Kind.DROP)

    def looks(self, event: InputEvent, node: int) -> bool:
        """Whether an element is to be named for the command: under it, with the focus, or the `node` that it names."""
        wants_focus = event.kind in _FOCUSED and self.element is None and self.asks_focus
        return bool(node) or wants_focus or self.wants_point(event)

    def writes_into(self, node: int) -> bool:
        """Whether it is about what is written into this element."""
        return self.element is not None and self.element.node == node and self.does in _WRITES

    def add(self, event: InputEvent, element: SeenElement | None = None) -> None:
        """Take a command; `element`: what it is aimed at, where it was asked for."""
        match event.kind:
            case Kind.UP:
                self._release(event, element)
            case Kind.RELEASE:
                self.pressed.discard(event.key)
                self.words = self.words or (f"release {event.key}" if event.key and self.does is None else "")
            case Kind.DROP:
                self.does, self.is_dropped = Kind.DOWN, True
                self.onto, self.last = element, event
                self.first = self.first or event
                self.pressed.discard("mouse")
            case Kind.MOVE:
                self.does = self.does or Kind.MOVE
                self.last = event
            case Kind.MODIFIER:
                self.pressed.add(event.key)
            case Kind.REST:
                pass
            case _:
                self._begin(event, element)

    def add_script(self, words: str, element: SeenElement) -> None:
        """Take a script that has changed a field; `words`: how."""
        self.does, self.element = self.does or Kind.SCRIPT, self.element or element
        self.by_script, self.is_cleared = words, not element.value

    def _begin(self, event: InputEvent, element: SeenElement | None) -> None:
        before, self.does = self.does, event.kind
        self.element = element if event.kind is Kind.FOCUS else self.element or element
        match event.kind:
            case Kind.DOWN:
                self.first = self.last = event
                self.count = max(self.count, event.count)
                self.pressed.add("mouse")
            case Kind.TAP:
                self.first = event
            case Kind.WHEEL:
                self.right, self.down = self.right + event.right, self.down + event.down
            case Kind.TEXT:
                if before is not Kind.TEXT:
                    self.keys.clear()  # which made room
                self._strike(event)
                self.text.append(event.text)
                self.keys += [event.key] if not event.text else []
            case Kind.KEY if before is Kind.TEXT:
                self.does = Kind.TEXT
                self._strike(event)
                self.text.append("\n")
            case Kind.KEY:
                self._strike(event)
                self.keys.append(event.text)
            case Kind.UPLOAD | Kind.OTHER:
                self.words = event.text

    def _strike(self, event: InputEvent) -> None:
        self.asks_focus = False
        if event.key:
            self.pressed.add(event.key)

    def _release(self, event: InputEvent, element: SeenElement | None) -> None:
        self.pressed.discard("mouse")
        if self.does is not Kind.DOWN:
            self.words = self.words or f"release the mouse at {_point(event)}"
        elif self._has_moved(event):
            self.is_dropped, self.onto = True, element
        self.last = event

    @property
    def is_held(self) -> bool:
        """Whether a button or a key is down, so that more is to come soon."""
        return bool(self.pressed)

    @property
    def is_under_way(self) -> bool:
        """Whether it has only begun: a button or a key is down, or the mouse was moved and is about to do something."""
        return self.is_held or self.does in (None, Kind.MOVE)

    @property
    def hovers_at(self) -> tuple[float, float] | None:
        """Where the mouse rests, if it did nothing else, and it is not known over what."""
        return self.last.point if self.does is Kind.MOVE and self.element is None and self.last else None

    @property
    def title(self) -> str:  # noqa: PLR0911 (one case per kind)
        """The gesture in words; "" = nothing that a person would name."""
        if self.by_script and self.does in (Kind.FOCUS, Kind.SCRIPT):
            return self.by_script
        match self.does:
            case Kind.MOVE:
                return f"hover {_named(self.element, self.last)}"
            case Kind.TAP:
                return f"tap {_named(self.element, self.first)}"
            case Kind.DOWN:
                return self._dragged() if self.is_dropped else self._clicked()
            case Kind.WHEEL:
                return _scrolled(self.right, self.down)
            case Kind.TEXT:
                return self._typed()
            case Kind.KEY:
                return self._pressed(self.keys)
            case Kind.FOCUS:
                return f"focus {_named(self.element)}"
            case Kind.UPLOAD:
                return f"upload {quoted(self.words)}" + (f" into {field_named(self.element)}" if self.element else "")
        return self.words

    def _clicked(self) -> str:
        verb = _TIMES.get(self.count, "click")
        if self.first is not None and self.first.button == "right":
            verb = f"right-{verb}"
        if "mouse" in self.pressed:
            verb = "press the mouse on"
        held = f" with {self.first.held} held" if self.first and self.first.held else ""
        return f"{verb} {_named(self.element, self.first)}{held}"

    def _dragged(self) -> str:
        start, end = _point(self.first), _point(self.last)
        if self.element and self.onto and self.element.node != self.onto.node:
            return f"drag {_named(self.element)} onto {_named(self.onto)}"
        return f"drag {_named(self.element) + ' ' if self.element else ''}from {start} to {end}"

    def _typed(self) -> str:
        text = "".join(self.text)
        if not text.strip():
            keys = ["Enter" if one == "\n" else "Space" for one in text] or self.keys
            return self._pressed(keys) if keys else "type nothing"
        said = typed(self.element, text) if self.element else f"type {quoted(text)}"
        return f"{said}, press Enter" if text.endswith("\n") else said

    def _pressed(self, keys: Sequence[str]) -> str:
        return f"press {_keys(keys)}" + (f" in {_named(self.element)}" if self.element else "")

    @property
    def _is_down(self) -> bool:
        return "mouse" in self.pressed

    @property
    def _has_lines(self) -> bool:
        return self.element is not None and self.element.kind in _OF_LINES

    @property
    def _makes_room(self) -> bool:
        """Whether all of it makes room for a text, or comes before one."""
        return self.does is Kind.KEY and _EDITING.issuperset(self.keys)

    def _has_moved(self, event: InputEvent) -> bool:
        if self.first is None or self.does is not Kind.DOWN or self.is_dropped:
            return False
        return max(abs(self.first.x - event.x), abs(self.first.y - event.y)) > _MOVED


def changed_by_script(before: SeenElement, now: SeenElement) -> str:
    """What a script did to a field, in words; "" = nothing that shows in the field."""
    if before.value == now.value:
        return ""
    if now.kind in ("checkbox", "radio"):
        return f"{'check' if now.value else 'uncheck'} {field_named(now)}"
    if now.kind == "select":
        return f"select {quoted(now.value)} in {field_named(now)}"
    if now.kind == "file":
        return f"upload {quoted(now.value)} into {field_named(now)}"
    return typed(now, now.value) if now.value else f"clear {field_named(now)}"


def typed(into: SeenElement, text: str) -> str:
    """Words for a typed text; no character of a password is shown."""
    said = "a password" if into.kind == "password" else quoted(text)
    return f"type {said} into {field_named(into)}"


def field_named(element: SeenElement | None) -> str:
    """A field by its label, as `'Note'`; by its role where it has none."""
    return quoted(element.name) if element is not None and element.name else f"the {_named(element) or 'page'}"


def clicked_by_script(element: SeenElement) -> str:
    return f"click {_named(element)}"


def quoted(text: str) -> str:
    """The text on one line, bounded, without control characters."""
    return "'" + " ".join("".join(one if one.isprintable() else " " for one in cut(text, _MOST_TEXT)).split()) + "'"


def _named(element: SeenElement | None, at: InputEvent | None = None) -> str:
    """An element by role and name, as `button 'Search'`; by its place where there is none."""
    if element is None:
        return "" if at is None else f"at {_point(at)}"
    role = element.role or ("" if element.name else element.kind)
    return " ".join(filter(None, (role, quoted(element.name) if element.name else "")))


def _point(event: InputEvent | None) -> str:
    return f"({event.x:.0f}, {event.y:.0f})" if event is not None else "its place"


def _keys(keys: Sequence[str]) -> str:
    if len(keys) > 1 and len(set(keys)) == 1:
        return f"{keys[0]} {len(keys)} times"
    return ", ".join("Space" if key == " " else key for key in keys)


def _scrolled(right: float, down: float) -> str:
    ways = (("down" if down > 0 else "up", abs(down)), ("right" if right > 0 else "left", abs(right)))
    return "scroll" + " and".join(f" {way} {far:.0f} px" for way, far in ways if round(far))
