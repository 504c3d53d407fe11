"""One element of the last observation: its current position, and the operations that need script.

The scripts run in an isolated world of the document, which the page's changes to prototypes do not reach. Only event
listeners are looked up in the page's own world, because they are known only there; the page can falsify the answer.
"""

import asyncio
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, TypedDict

from playwright.async_api import Error

from harness.browser.driver.cdp_send import RemoteObject, sender
from harness.browser.driver.playwright_errors import first_line, moved
from harness.browser.reading.document_client import together
from harness.browser.reading.frames import Document
from harness.codec import dumps
from harness.errors import ActionFailed

_SCRIPT = files("harness.browser.acting").joinpath("element.js").read_text(encoding="utf-8")
_PLACE = ("x", "y", "width", "height", "met", "covered")
_GOES_AWAY_S = 0.1
"""How long what covers an element is waited for."""
_GONE = ("No node with given id", "Could not find node", "does not belong to the document", "No node found")

# Elements of a page in which listeners are looked for; in a larger one text is typed.
_LARGEST = 5000
_MANY = 10
_PAGE = f"""function () {{
    const page = this.ownerDocument;
    const isHere = this.getRootNode().activeElement === this;
    return isHere && page.getElementsByTagName("*").length <= {_LARGEST} ? page : null;
}}"""
_WINDOW = "function () { return this.ownerDocument.defaultView; }"
# At first any listener on the page counted, and hardly any page qualified.
_PASSES = """function (...others) {
    const parent = Object.getOwnPropertyDescriptor(Node.prototype, "parentNode").get;
    const host = (at) => at instanceof ShadowRoot ? at.host : null;
    for (let at = this; at; at = parent.call(at) ?? host(at)) if (others.includes(at)) return true;
    return false;
}"""
"""Whether an event on its way to the element passes one of the others; a field called `parentNode`, or a form called
`host`, takes the place of what its form or document has itself.
"""
_TYPING = frozenset(
    "keydown keypress keyup beforeinput input textInput selectionchange compositionstart compositionupdate"
    " compositionend".split()
)
"""Events that text put in at once does not send, or sends once instead of for every character."""


class _Listener(TypedDict):
    """What CDP says of an event listener, as far as it is read here."""

    type: str
    backendNodeId: int


class Element:
    """An element the agent named by id; every question looks at the page as it is now."""

    def __init__(self, document: Document, backend: int, *, id: str) -> None:
        """`document` holds it; `backend` is its backendDOMNodeId."""
        self._send = sender(document.session)
        self._document = document
        self._backend = backend
        self.id = id

    async def locate(self, *, surely: bool = False) -> Mapping[str, Any]:
        """Scroll the element into view when it is not, and say where a click meets it.

        Args:
            surely: Look for any point that a click meets, and once more where something may just be going away.
        Returns:
            `x`, `y` (CSS px of the viewport; an option of a closed list has none), `met` (whether a click there meets
            it), `covered` (whether something else is there), `tag`, `type`, `option`, `list`, `picker` (whether that is
            open and its options lie on the page), `filled`, `takesText`, `locked` (`disabled` or `read-only`, if it
            is), `unseen` (whether only keys reach it).
        Raises:
            ActionFailed: It is not on the page, or not visible there.
        """
        found = await self._look("")
        for waits_s in (0.0, _GOES_AWAY_S) if surely else ():
            if not found.get("met", True):
                await asyncio.sleep(waits_s)
                found = await self._look("again")
        if found.get("hidden") and not found["option"]:
            raise ActionFailed(f"element [{self.id}] is no longer visible on the page")
        return found

    def point(self, found: Mapping[str, Any]) -> tuple[float, float]:
        """`x` and `y` of what was located. Raises ActionFailed: It has none."""
        if "x" not in found:
            raise ActionFailed(f"element [{self.id}] is an option of a closed list; click or select it")
        return found["x"], found["y"]

    async def _look(self, how: str) -> Mapping[str, Any]:
        """What it is and where, in the coordinates of the page; each document around it is asked, as scripts do not see
        those of other sites.
        """
        found, inner = dict(await self._run("locate", how)), self._document
        at = {key: found.pop(key) for key in _PLACE if key in found}
        while "x" in at and inner.holder is not None:
            frame = Element(inner.holder, inner.owner, id=self.id)
            at, inner = dict(await frame._run("outward", dumps(at).decode())), inner.holder
        return {**found, **at}

    async def focus(self) -> None:
        """Let keys go to it."""
        await self._run("focus")

    async def pick(self, *, selected: bool = True) -> None:
        """Choose this option in its list; False takes it out of what is chosen, where that can be several."""
        self._check_enabled(await self._run("pick", "on" if selected else "off"))

    async def choose(self, label: str, *, typed: bool) -> bool:
        """Choose the option with this label in this list; `typed` also accepts the beginning of a label.

        Returns:
            False: The list is open, and has to be closed by the mouse first.
        """
        answer = await self._run("type" if typed else "choose", label)
        if answer.get("notList"):
            raise ActionFailed(f"element [{self.id}] is not a native list but a {answer['tag']}; click it instead")
        if "options" in answer:
            options = ", ".join(repr(option) for option in answer["options"][:50])
            raise ActionFailed(f"element [{self.id}] has no option {label!r}; its options: {options or 'none'}")
        self._check_enabled(answer)
        return not answer.get("open")

    async def is_checked(self) -> bool:
        """Whether this box, button, switch or option of a list of which several can be chosen is on.

        Raises:
            ActionFailed: It is nothing that can be checked.
        """
        answer = await self._run("checked")
        if answer.get("checked") is None:
            answer = {**answer, "checked": await self._said_checked()}
        if answer["checked"] is None:
            raise ActionFailed(f"element [{self.id}] cannot be checked (it is a {answer['tag']})")
        return bool(answer["checked"])

    async def _said_checked(self) -> bool | None:
        """The state in the accessibility tree, where elements have one that no attribute tells; None = it has none."""
        answer = await self._send("Accessibility.getPartialAXTree", backendNodeId=self._backend, fetchRelatives=False)
        has = {entry["name"]: entry["value"].get("value") for entry in answer["nodes"][0].get("properties", ())}
        said = has.get("checked", has.get("pressed"))
        return None if said is None else said == "true"

    async def give(self, path: str) -> bool:
        """Put a file of this machine into this file field.

        Returns:
            False: It is none, but a click on it may open a file dialog.
        Raises:
            ActionFailed: It takes no files.
        """
        answer = await self._run("file")
        self._check_enabled(answer)
        if answer["opens"]:
            return False
        if not answer["file"]:
            raise ActionFailed(f"element [{self.id}] does not accept a file (it is a {answer['tag']})")
        await self._send("DOM.setFileInputFiles", files=[path], backendNodeId=self._backend)
        return True

    async def fill(self, text: str, *, type: str) -> None:
        """Set the value of an input whose widget cannot be typed into."""
        if (await self._run("fill", text)).get("malformed"):
            shape = _SHAPES.get(type, "another format")
            raise ActionFailed(f"element [{self.id}] is a {type} field and needs {shape}, not {text!r}")

    async def hears_typing(self) -> bool:
        """Whether a script could tell text that is put in here at once from text that is typed key by key.

        True also when that cannot be found out: keys would go elsewhere, the page is too large to be searched, or it
            went away.
        """
        try:
            handle = await self._resolve()
            page, window = await together(*(self._call(handle, whom) for whom in (_PAGE, _WINDOW)))
            if "objectId" not in page or "objectId" not in window:
                return True
            everybody, outermost = await together(*(self._listeners(one["objectId"]) for one in (page, window)))
            hearing = {listener["backendNodeId"] for listener in everybody}
            # Every event passes the window; and to ask about many listeners takes longer than to type.
            if outermost or len(hearing) > _MANY:
                return True
            # What is left for a script to find is performance.eventCounts.
            if not hearing:
                return False
            others = await together(*(self._resolve(backend) for backend in hearing))
            return (await self._call(handle, _PASSES, *others)).get("value") is not False
        except Error:
            return True

    async def matched(self, selectors: Sequence[str]) -> tuple[str, ...]:
        """Those of the selectors that fit it, or the link, button, label or list that it is part of.

        Raises:
            ActionFailed: It is not on the page.
        """
        found = await self._run("matched", dumps(list(selectors)).decode())
        return tuple(selectors[at] for at in found.get("matched", ()))

    async def plain_link(self) -> str:
        """Real address of a link that does nothing but open it, as far as it and what is in it tell; "" = it is none.

        Listeners of what it is in are not looked at: nearly every page has some, and who declares a site's links to be
        safe knows them (`sites.X.safe_get`).
        """
        # Only looked at here: recorded with every observation, the addresses of links would make journals larger.
        if not (href := (await self._run("link")).get("href")):
            return ""
        try:
            handle = await self._resolve()
            heard = await self._send("DOMDebugger.getEventListeners", objectId=handle, depth=-1, pierce=True)
        except Error:
            return ""
        return "" if heard["listeners"] else str(href)

    async def _listeners(self, handle: str) -> list[_Listener]:
        """Who would hear typing, of an object and, if it is a document, all that is in it."""
        found = await self._send("DOMDebugger.getEventListeners", objectId=handle, depth=-1, pierce=True)
        return [listener for listener in found["listeners"] if listener["type"] in _TYPING]

    async def _call(self, handle: str, function: str, *others: str) -> RemoteObject:
        """What a function of the element gives, by its handle; nothing when it throws."""
        arguments = [{"objectId": other} for other in others]
        answer = await self._send(
            "Runtime.callFunctionOn", objectId=handle, functionDeclaration=function, arguments=arguments
        )
        result: RemoteObject = {} if "exceptionDetails" in answer else answer["result"]
        return result

    def _check_enabled(self, answer: Mapping[str, Any]) -> None:
        if answer.get("disabled"):
            raise ActionFailed(f"element [{self.id}] or the requested option is disabled")

    async def _run(self, task: str, value: str = "") -> Mapping[str, Any]:
        try:
            mine = await self._resolve(executionContextId=self._document.world)
            answer = await self._send(
                "Runtime.callFunctionOn",
                objectId=mine,
                functionDeclaration=_SCRIPT,
                arguments=[{"value": task}, {"value": value}],
                returnByValue=True,
                userGesture=True,
            )
        except Error as exc:
            if moved(exc) or any(text in first_line(exc) for text in _GONE):
                raise self._gone() from exc
            raise
        found: Mapping[str, Any] = answer["result"].get("value") or {}
        if "exceptionDetails" in answer or found.get("gone"):
            raise self._gone()
        return found

    async def _resolve(self, backend: int = 0, **world: int) -> str:
        """A handle of the element, or of another node; in the page's own world, unless another one is asked for."""
        resolved = await self._send("DOM.resolveNode", backendNodeId=backend or self._backend, **world)
        handle: str = resolved["object"]["objectId"]
        return handle

    def _gone(self) -> ActionFailed:
        return ActionFailed(f"element [{self.id}] is no longer on the page")


_SHAPES = {
    "date": "a date like 2024-01-31",
    "time": "a time like 14:05",
    "datetime-local": "a date and time like 2024-01-31T14:05",
    "month": "a month like 2024-01",
    "week": "a week like 2024-W05",
    "color": "a colour like #1a2b3c",
    "range": "a number within its range, a multiple of its step from its minimum",
}
WIDGETS = frozenset(_SHAPES)
"""Types of input that are filled, because typing into their widget depends on locale and platform."""
