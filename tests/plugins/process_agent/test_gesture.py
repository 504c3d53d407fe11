"""What commands of CDP clients add up to, in words."""

from typing import Any

import pytest

from harness.plugins.process_agent.cdp.gesture import Gesture, changed_by_script, quoted
from harness.plugins.process_agent.cdp.input_events import Kind, read_event
from harness.plugins.process_agent.cdp.rules import _BROWSER, _PAGE, Treatment
from harness.records import SeenElement

Command = tuple[str, dict[str, Any]]


def element(role: str = "textbox", name: str = "Note", *, kind: str = "text", value: str = "", node: int = 1) -> Any:
    return SeenElement(node=node, role=role, name=name, kind=kind, value=value)


NOTE, SEARCH = element(), element("button", "Search", kind="button", node=2)


def mouse(kind: str, x: float = 5, y: float = 5, **more: Any) -> Command:
    return "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", **more}


def key(kind: str, name: str, text: str = "", modifiers: int = 0) -> Command:
    return "Input.dispatchKeyEvent", {"type": kind, "key": name, "text": text, "modifiers": modifiers}


def struck(name: str, text: str = "", modifiers: int = 0) -> list[Command]:
    return [key("keyDown", name, text, modifiers), key("keyUp", name, "", modifiers)]


def click(x: float = 5, y: float = 5, count: int = 1, **more: Any) -> list[Command]:
    press = mouse("mousePressed", x, y, clickCount=count, **more)
    return [mouse("mouseMoved", x, y), press, mouse("mouseReleased", x, y, clickCount=count, **more)]


def characters(text: str) -> list[Command]:
    """As browser-use types: the key without its text, the character, the release."""
    return [part for one in text for part in (key("keyDown", one), key("char", one, one), key("keyUp", one))]


def said(commands: list[Command], *elements: SeenElement) -> list[str]:
    """The titles of the steps that the commands become; each element is found when the next one is looked for."""
    found, gestures = list(elements), [Gesture()]
    for method, params in commands:
        event = read_event(method, params, tab="tab 1", pages=params.pop("pages", 0))
        if not gestures[-1].takes(event):
            gestures.append(Gesture())
        seen = found.pop(0) if found and gestures[-1].looks(event, params.get("node", 0)) else None
        gestures[-1].add(event, seen)
    return [one.title for one in gestures]


WHEEL = mouse("mouseWheel", deltaX=0, deltaY=300)
TYPED: Command = ("Input.insertText", {"text": "board meeting"})
CONTROL_A = [key("rawKeyDown", "Control", modifiers=2), *struck("a", modifiers=2), key("keyUp", "Control")]
FOCUS: Command = ("DOM.focus", {"node": 1})


@pytest.mark.parametrize(
    ("commands", "elements", "wanted"),
    [
        (click(), [SEARCH], ["click button 'Search'"]),
        (click(), [], ["click at (5, 5)"]),
        (click(modifiers=2), [SEARCH], ["click button 'Search' with Control held"]),
        ([*click(), *click(count=2)[1:]], [SEARCH], ["double-click button 'Search'"]),
        ([*click(), *click(80, 80)], [SEARCH, NOTE], ["click button 'Search'", "click textbox 'Note'"]),
        ([mouse("mouseMoved")], [], ["hover at (5, 5)"]),
        ([mouse("mousePressed")], [SEARCH], ["press the mouse on button 'Search'"]),
        ([mouse("mouseReleased")], [], ["release the mouse at (5, 5)"]),
        ([mouse("mousePressed", button="right"), mouse("mouseReleased")], [SEARCH], ["right-click button 'Search'"]),
        ([WHEEL, WHEEL], [], ["scroll down 600 px"]),
        ([mouse("mouseMoved"), mouse("mouseWheel", deltaX=-40, deltaY=0)], [], ["scroll left 40 px"]),
        ([("Input.synthesizeScrollGesture", {"x": 1, "y": 1, "yDistance": -90})], [], ["scroll down 90 px"]),
        (
            [mouse("mousePressed"), mouse("mouseMoved", 90), mouse("mouseReleased", 90)],
            [SEARCH, NOTE],
            ["drag button 'Search' onto textbox 'Note'"],
        ),
        (
            [mouse("mousePressed"), mouse("mouseMoved", 90), ("Input.dispatchDragEvent", {"type": "drop", "x": 90})],
            [SEARCH, NOTE],
            ["drag button 'Search' onto textbox 'Note'"],
        ),
        (
            [mouse("mousePressed"), mouse("mouseMoved", 90), mouse("mouseReleased", 90)],
            [NOTE, NOTE],
            ["drag textbox 'Note' from (5, 5) to (90, 5)"],
        ),
        ([TYPED], [NOTE], ["type 'board meeting' into 'Note'"]),
        ([TYPED], [], ["type 'board meeting'"]),
        ([TYPED], [element(name="Word", kind="password")], ["type a password into 'Word'"]),
        ([TYPED], [element(name="")], ["type 'board meeting' into the textbox"]),
        ([*struck("t", "t"), *struck("e", "e"), *struck("a", "a")], [NOTE], ["type 'tea' into 'Note'"]),
        ([FOCUS, *characters("tea")], [NOTE], ["type 'tea' into 'Note'"]),
        ([FOCUS], [NOTE], ["focus textbox 'Note'"]),
        ([FOCUS, FOCUS, TYPED], [SEARCH, NOTE], ["type 'board meeting' into 'Note'"]),
        (
            [*characters("tea"), *struck("Enter"), key("char", "Enter", "\r")],
            [NOTE, NOTE],
            ["type 'tea' into 'Note'", "press Enter in textbox 'Note'"],
        ),
        (
            [*characters("a"), *struck("Enter"), *characters("b"), *struck("Enter")],
            [element(kind="textarea")],
            ["type 'a b' into 'Note', press Enter"],
        ),
        ([*CONTROL_A, *struck("Backspace"), TYPED], [NOTE], ["type 'board meeting' into 'Note'"]),
        ([*CONTROL_A, *struck("Backspace")], [NOTE], ["press Control+A, Backspace in textbox 'Note'"]),
        ([*struck("ArrowDown"), *struck("ArrowDown")], [], ["press ArrowDown 2 times"]),
        ([*struck("Tab"), *struck("Enter")], [], ["press Tab", "press Enter"]),
        (struck(" ", " "), [SEARCH], ["press Space in button 'Search'"]),
        ([*click(), TYPED], [NOTE, NOTE], ["click textbox 'Note'", "type 'board meeting' into 'Note'"]),
        ([("Page.navigate", {"url": "http://a.test/"})], [], ["goto http://a.test/"]),
        ([("Page.navigateToHistoryEntry", {"entryId": 1, "pages": -1})], [], ["go back"]),
        ([("Page.navigateToHistoryEntry", {"entryId": 1})], [], ["go to another page of the history"]),
        ([("Target.createTarget", {"url": "about:blank"})], [], ["open a tab"]),
        ([("Target.activateTarget", {})], [], ["switch to tab 1"]),
        ([("DOM.setFileInputFiles", {"files": ["/a/b.pdf"], "node": 1})], [NOTE], ["upload 'b.pdf' into 'Note'"]),
        (
            [("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": 1, "y": 2}]})],
            [],
            ["tap at (1, 2)"],
        ),
    ],
)
def test_commands_are_told_as_a_person_would(
    commands: list[Command], elements: list[SeenElement], wanted: list[str]
) -> None:
    assert said(commands, *elements) == wanted


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Input.dispatchMouseEvent", {"type": ["x"], "x": "far", "y": None, "clickCount": 1e300}),
        ("Input.dispatchKeyEvent", {"type": 5, "key": {"a": 1}, "text": [], "modifiers": "2"}),
        ("Input.dispatchKeyEvent", {"type": "keyDown", "windowsVirtualKeyCode": -4}),
        ("Input.dispatchKeyEvent", {"type": "keyDown", "windowsVirtualKeyCode": 5_000_000}),
        ("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": "none"}),
        ("DOM.setFileInputFiles", {"files": 5}),
        ("Page.navigate", {"url": {"a": 1}}),
        ("Input.insertText", {"text": None}),
        ("Input.dispatchMouseEvent", {"type": "mousePressed", "x": float("nan")}),
    ],
)
def test_nonsense_is_no_error(method: str, params: dict[str, Any]) -> None:
    (title,) = said([(method, params)])
    assert len(title) < 200


def test_every_command_that_may_change_something_has_words() -> None:
    changing = [name for table in (_PAGE, _BROWSER) for name, kind in table.items() if kind is Treatment.CHANGE]
    for method in changing:
        event = read_event(method, {}, tab="tab 1")
        assert event.kind is not Kind.OTHER or (event.text and event.text != "do something else"), method


@pytest.mark.parametrize(
    ("before", "now", "wanted"),
    [
        (element(kind="select", value="A"), element(kind="select", value="B"), "select 'B' in 'Note'"),
        (element(kind="date"), element(kind="date", value="2026-03-01"), "type '2026-03-01' into 'Note'"),
        (element(kind="checkbox"), element(kind="checkbox", value="on"), "check 'Note'"),
        (element(kind="checkbox", value="on"), element(kind="checkbox"), "uncheck 'Note'"),
        (element(value="tea"), element(), "clear 'Note'"),
        (element(kind="password"), element(kind="password", value="8"), "type a password into 'Note'"),
        (element(kind="file"), element(kind="file", value="a.pdf"), "upload 'a.pdf' into 'Note'"),
        (element(value="tea"), element(value="tea"), ""),
    ],
)
def test_what_a_script_has_done_to_a_field_is_told(before: SeenElement, now: SeenElement, wanted: str) -> None:
    assert changed_by_script(before, now) == wanted


def test_a_text_is_one_bounded_line() -> None:
    text = quoted("a\n\u202eb\x1b[31m" + "x" * 10_000)
    assert text.startswith("'a b [31mx") and len(text) <= 4002 and text.isprintable()
