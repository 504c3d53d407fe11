"""Pages that break what every script relies on: what the harness runs in them is not theirs to break."""

from itertools import product

import pytest

from harness.actions import Action, Check, Scroll, Select, Type, Wait
from harness.browser.session.chromium import ChromiumPool
from tests.hostile.pages.rows import Row, click, held, table
from tests.hostile.pages.wild import Stay, Wild

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

THROWS = "() => { throw new Error('broken') }"
BREAKS = {
    "Array.prototype": (
        "for (const n of ['map', 'filter', 'find', 'some', 'push', 'includes', 'forEach']) Array.prototype[n] ="
        f" {THROWS}"
    ),
    "Array iteration": f"Array.prototype[Symbol.iterator] = {THROWS}",
    "Array.from": f"Array.from = {THROWS}; Array.isArray = {THROWS}",
    "an index setter": "Object.defineProperty(Array.prototype, '0', { set() { throw new Error('broken') } })",
    "setters of Object": (
        "for (const n of ['x', 'y', 'tag', 'type', 'option', 'list', 'busy', 'value', 'what', 'url', 'point', 'get',"
        " 'kind']) Object.defineProperty(Object.prototype, n, { set() { throw new Error('broken') }, get() { return"
        " 'broken' } })"
    ),
    "toJSON": (
        "Object.prototype.toJSON = () => 'broken'; Array.prototype.toJSON = () => 'broken'; String.prototype.toJSON ="
        " () => 'broken'"
    ),
    "JSON": f"JSON.stringify = {THROWS}; JSON.parse = {THROWS}",
    "no JSON": "delete window.JSON",
    "Map and Set": (
        "for (const K of [Map, Set, WeakMap, WeakSet]) for (const n of ['get', 'set', 'has', 'add', 'delete',"
        f" 'values', 'keys', 'entries', 'forEach']) if (K.prototype[n]) K.prototype[n] = {THROWS}"
    ),
    "no Map": "Map = Set = WeakMap = undefined",
    "Promise.then": f"Promise.prototype.then = {THROWS}",
    "no Promise": "Promise = undefined",
    "Promise.constructor": "Promise.prototype.constructor = function () {}",
    "Function": f"Function.prototype.call = Function.prototype.apply = Function.prototype.bind = {THROWS}",
    "String": (
        f"for (const n of ['trim', 'replace', 'split', 'startsWith', 'toLowerCase']) String.prototype[n] = {THROWS}"
    ),
    "Object": (
        "for (const n of ['keys', 'entries', 'assign', 'defineProperty', 'getOwnPropertyDescriptor', 'create'])"
        f" Object[n] = {THROWS}"
    ),
    "Reflect, Symbol, Proxy": "Reflect = Symbol = Proxy = undefined",
    "document.querySelector": (
        "document.querySelector = document.querySelectorAll = document.getElementById = document.elementFromPoint ="
        f" {THROWS}"
    ),
    "Element.prototype": (
        "for (const n of ['getBoundingClientRect', 'getClientRects', 'closest', 'matches', 'getAttribute',"
        f" 'querySelectorAll', 'getElementsByTagName', 'scrollIntoView', 'contains']) Element.prototype[n] = {THROWS}"
    ),
    "Node.prototype": (
        "for (const n of ['isConnected', 'nodeType', 'parentElement', 'parentNode', 'firstChild', 'ownerDocument',"
        f" 'textContent']) Object.defineProperty(Node.prototype, n, {{ get: {THROWS} }})"
    ),
    "wrong rectangles": (
        "Element.prototype.getBoundingClientRect = Element.prototype.getClientRects = () => ({ x: NaN, y: NaN, width:"
        " 0, height: 0, length: 0 })"
    ),
    "HTMLInputElement.value": (
        f"Object.defineProperty(HTMLInputElement.prototype, 'value', {{ get: {THROWS}, set: {THROWS} }})"
    ),
    "HTMLSelectElement": (
        "for (const n of ['options', 'value', 'selectedOptions', 'disabled'])"
        f" Object.defineProperty(HTMLSelectElement.prototype, n, {{ get: {THROWS} }})"
    ),
    "Event": "Event = InputEvent = MouseEvent = undefined",
    "dispatchEvent": f"EventTarget.prototype.dispatchEvent = EventTarget.prototype.addEventListener = {THROWS}",
    "MutationObserver": f"MutationObserver.prototype.observe = {THROWS}; MutationObserver = undefined",
    "timers": f"setTimeout = setInterval = requestAnimationFrame = queueMicrotask = {THROWS}",
    "frames that never come": "requestAnimationFrame = () => 0; setTimeout = () => 0",
    "performance": "performance.now = () => NaN; Date.now = () => NaN; Performance.prototype.now = () => NaN",
    "time that runs back": "{ let t = 1e9; performance.now = () => (t -= 1000); Date.now = () => (t -= 1000) }",
    "a false __cairn": (
        "try { window.__cairn = { quiet: () => { throw 1 }, rested: () => new Promise(() => {}) } } catch {}; try {"
        " delete window.__cairn } catch {}; try { Object.defineProperty(window, '__cairn', { value: 1 }) } catch {}"
    ),
    "a frozen window": (
        "Object.freeze(Object.prototype); Object.freeze(Array.prototype); try { Object.freeze(window) } catch {}"
    ),
    "getAnimations": f"document.getAnimations = {THROWS}; Document.prototype.getElementsByTagName = {THROWS}",
    "readyState": "Object.defineProperty(document, 'readyState', { get: () => 'loading' })",
    "title, URL, body": (
        "for (const n of ['title', 'URL', 'body', 'documentElement', 'scrollingElement', 'doctype', 'defaultView'])"
        f" Object.defineProperty(document, n, {{ get: {THROWS} }})"
    ),
    "scrolling": (
        f"Element.prototype.scrollTo = window.scrollTo = {THROWS}; Object.defineProperty(Element.prototype,"
        f" 'scrollTop', {{ set: {THROWS}, get: {THROWS} }})"
    ),
    "globals": (
        "var module, exports, require, define, globalThis; window.window = null; window.undefined = 1; var Node,"
        " Element, Document, Window"
    ),
    "eval and Error": f"eval = {THROWS}; Error = TypeError = undefined; console.log = {THROWS}",
    "an error handler": (
        "onerror = onunhandledrejection = () => { for (let n = 0; n < 1e5; n++) new Error('x') }; throw new"
        " Error('first')"
    ),
}
PLACE = """<!doctype html><title>Page</title><script>{0}</script><p>before</p>
<button id=go onclick="document.title = 'made it'">go</button> <input aria-label=field> <input type=date aria-label=date>
<select aria-label=list><option>red<option>blue</select> <input type=checkbox aria-label=box>
<form><input name=body><input name=querySelector><input name=parentNode></form><div style="height: 3000px">tall</div>"""


def typing(stay: Stay) -> Action:
    return Type(target=stay.target("field"), text="words of it", enter=False)


def dating(stay: Stay) -> Action:
    return Type(target=stay.target("date"), text="2024-02-29", enter=False)


def picking(stay: Stay) -> Action:
    return Select(target=stay.target("list"), option="blue")


def checking(stay: Stay) -> Action:
    return Check(target=stay.target("box"))


ACTIONS = {
    "click": (click("go"), "made it"),
    "type": (typing, "value: 'words of it'"),
    "date": (dating, "2024-02-29"),
    "select": (picking, "value: 'blue'"),
    "check": (checking, "checked: true"),
    "scroll": (lambda stay: Scroll(direction="down"), ""),
    "wait": (lambda stay: Wait(), ""),
}
TOGETHER = {
    "wrong rectangles", "Element.prototype", "setters of Object", "Map and Set", "JSON", "no Promise", "Function"
}  # fmt: skip


def rows() -> list[Row]:
    """Each break with a click and a choice; some with every action; the others in the longer set."""
    found = []
    for (broken, script), (does, (action, then)) in product(BREAKS.items(), ACTIONS.items()):
        quick = does == "select" or (does == "click" and broken in TOGETHER) or broken == "setters of Object"
        quick = quick and broken != "readyState"
        page = PLACE.format(script)
        if broken == "title, URL, body":
            then = then.removeprefix("made it")  # by a title it can no longer set
        found.append(Row(id=f"{broken}, {does}", page=page, shows="before", does=action, then=then, hostile=not quick))
    return found


@pytest.mark.sample(2)
@table(*rows())
async def test_broken_prototypes(chromium: ChromiumPool, patient: ChromiumPool, wild: Wild, row: Row) -> None:
    await held(chromium, patient, wild, row)
