"""Locators of `program_html`: what one gives, or does to its page, is a matter of that target, never of the
infrastructure.
"""

from dataclasses import dataclass

import pytest

from harness.browser.session.chromium import ChromiumPool
from harness.records import HtmlTarget
from tests.hostile.pages.wild import Wild, a_task, staying

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGE = "<!doctype html><title>Page</title><p id=p>hello there</p><script>const f = () => f()</script>"


@dataclass(frozen=True, kw_only=True)
class Case:
    id: str
    locator: str
    error: str = ""
    """Part of the target's error; "" = none, as what WebArena reads from such a locator can be judged."""
    value: object = None
    hostile: bool = False
    then: bool = True
    """Whether the next target on the same page still finds what it looks for."""


def case(id: str, locator: str, error: str = "", **more: object) -> Case:
    return Case(id=id, locator=locator, error=error, **more)  # type: ignore[arg-type]


CASES = (
    case("a text", "document.querySelector('p').outerText", value="hello there"),
    case("a date", "[document, new Date(0)][1]", "not JSON"),
    case("a far date", "[document, new Date(8.64e15)][1]", "not JSON"),
    case("a date before Christ", "[document, new Date(-8.64e15)][1]", "not JSON"),
    case("a date that is none", "[document, new Date(NaN)][1]", "not JSON"),
    case("many far dates", "[document, Array.from({length: 99}, () => new Date(8.64e15))][1]", "not JSON"),
    case("a huge integer", "[document, 10n ** 400n][1]", value=10**400), # as JSON a text
    case("not a number", "[document, NaN][1]", "not JSON"),
    case("infinity", "[document, -Infinity][1]", "not JSON"),
    case("minus nought", "[document, -0][1]", value=0),
    case("nothing", "[document, undefined][1]", value=None),
    case("a symbol", "[document, Symbol('x')][1]", value=None),
    case("a function", "[document, () => 1][1]", value=None),
    case("the document", "document"),
    case("the window", "document.defaultView"),
    case("an element", "document.body"),
    case("an error", "[document, new Error('x')][1]", "not JSON"),
    case("a URL", "[document, new URL('http://x/')][1]"),
    case("an expression", "[document, /x/g][1]", "not JSON"),
    case("a map", "[document, new Map([[1, 2]])][1]"),
    case("bytes", "[document, new Uint8Array(9)][1]"),
    case("half a character", "[document, '\\ud800'][1]"),
    case("a circle", "[document, (() => { const a = {}; a.a = a; return a })()][1]", "returned more than"),
    case("deeply nested", "[document, (() => { let a = []; for (let n = 0; n < 3000; n++) a = [a]; return a })()][1]", "returned more than"),
    case("a getter that throws", "[document, { get a() { throw 1 } }][1]"),
    case("a proxy", "[document, new Proxy({}, { ownKeys() { throw 1 } })][1]"),
    case("a thenable", "[document, { then() {} }][1]", "returned nothing within", hostile=True),
    case("a promise that never ends", "[document, new Promise(() => {})][1]", "returned nothing within", hostile=True),
    case("a promise that fails", "[document, Promise.reject(1)][1]", value=""),
    case("throws", "document.nowhere.to.be.found", value=""),
    case("throws nothing", "document && (() => { throw null })()", value=""),
    case("throws for ever", "document && f()", value=""),
    case("no script", "document.querySelector('p'", "is not JavaScript", value=""),
    case("no script at all", "document)))}}}", "is not JavaScript", value=""),
    case("30 MB", "document && 'x'.repeat(30_000_000)", "returned more than"),
    case("300 MB", "document && 'x'.repeat(300_000_000)", "returned more than"),
    case("more than a text can hold", "document && 'x'.repeat(2 ** 30)", value=""),
    case("two million numbers", "document && Array.from({ length: 2_000_000 }, (_, n) => n)", "returned more than"),
    case("loops for ever", "document && (() => { for (;;); })()", "returned nothing within", hostile=True, then=False),
    case("closes its page", "document && (close(), new Promise(() => {}))", "the page closed", value="", then=False),
    case("goes elsewhere", "document && new Promise(() => { location = '/elsewhere' })", "the page closed", value="", then=False),
    case("goes elsewhere at once", "(document.location = '/elsewhere')", then=False),
    case("asks", "document && confirm('sure?')", value=True),
    case("asks ten times", "document && Array.from({ length: 10 }, () => confirm('sure?')).length", value=10),
    case("opens windows", "document && [open('/'), open('/')].length", value=2, then=False),
    case("empties the document", "document && document.documentElement.remove()", value=None, then=False),
    case("writes the document anew", "document.write('new')", value=None, then=False),
    case("breaks its page", "document && (JSON.stringify = Map.prototype.get = Array.prototype.map = () => { throw 1 }, 1)", "breaks", value="", then=False),
)  # fmt: skip


def target(locator: str, url: str = "last", **fields: object) -> HtmlTarget:
    return HtmlTarget(url=url, locator=locator, must_include=("x",), **fields)  # type: ignore[arg-type]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "one", [pytest.param(one, id=one.id, marks=[pytest.mark.hostile] if one.hostile else []) for one in CASES]
)
async def test_a_locator(chromium: ChromiumPool, wild: Wild, one: Case) -> None:
    wild.pages["/"] = PAGE
    after = target("document.getElementById('p').outerText")
    async with staying(chromium, a_task(targets=[target(one.locator), after])) as stay:
        found = await stay.gather()
    assert "hello there" in found.html
    first, second = found.selections
    assert one.error in first.error and bool(one.error) is bool(first.error), first
    if one.value is not None or "value" in one.locator:
        assert first.value == one.value
    if one.then:
        assert second.value == "hello there" and not second.error
