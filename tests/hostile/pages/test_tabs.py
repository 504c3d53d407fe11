"""Tabs that pages open, close and lose: a click never costs its step, however many windows it opens."""

import pytest

from harness.browser.session.chromium import ChromiumPool
from tests.hostile.pages.rows import Row, clicked, held, table
from tests.hostile.pages.wild import Wild, begun, raw

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FRESH = {"/new": "<!doctype html><title>New</title><p>fresh</p>"}
MANY = "for (let n = 0; n < {}; n++) window.open('{}')"


def opens(count: int, url: str = "/new", **fields: object) -> Row:
    id = f"{count} windows of {url or 'nothing'}"
    return clicked(id, MANY.format(count, url), then="Tab 1", notice="the page opened a new tab", more=FRESH, **fields)


@pytest.mark.sample(1)
@table(
    *(opens(count) for count in (1, 2, 3, 5, 10)),
    *(opens(count, "") for count in (2, 10)),
    *(opens(count, "about:blank") for count in (2,)),
    *(opens(count, hostile=True) for count in (30, 100, 300, 1000)),
    opens(1000, "", hostile=True),
    clicked("noopener", "for (let n = 0; n < 4; n++) open('/new', '_blank', 'noopener')", then="Tab 1", more=FRESH),
    clicked("pop-ups", "for (let n = 0; n < 4; n++) open('/new', '', 'width=9,height=9')", then="fresh", more=FRESH),
    clicked("one name", "for (let n = 0; n < 9; n++) open('/new', 'same')", then="fresh", more=FRESH),
    clicked("open and close at once", "for (let n = 0; n < 9; n++) open('/new').close()", then="before", more=FRESH),
    clicked("open and close the opener", "open('/new'); open('/new'); close()", more=FRESH),
    clicked(
        "close everything", "const all = [open('/new'), open('/new')]; for (const one of all) one.close(); close()"
    ),
    clicked("by and by", "let n = 0; setInterval(() => n++ < 6 && open('/new'), 30)", then="fresh", more=FRESH),
    clicked("two at once, then sent elsewhere", "open('').location = '/new'; open('').location = '/new'", more=FRESH),
    clicked("a window of script", "open('javascript:alert(1)'); open('javascript:alert(2)')", hostile=True),
    clicked("windows of data", "open('data:text/html,x'); open('data:text/html,y')", hostile=True),
    clicked("windows of a blob", "const u = URL.createObjectURL(new Blob(['hi'])); open(u); open(u)"),
    clicked("windows outside", "open('http://outside.invalid/'); open('http://outside.invalid/')"),
    clicked("windows of a scheme", "open('mailto:a@b.c'); open('tel:1'); open('ftp://x/')", hostile=True),
    clicked("a window that never answers", "open('/slow'); open('/slow')", more={"/slow": begun(b"")}, hostile=True),
    clicked(
        "a window that is a download",
        "open('/file'); open('/file')",
        more={"/file": raw("content-disposition: attachment", body=b"x")},
        pictured=None,
        hostile=True,
    ),
    clicked(
        "a window that opens itself",
        "open('/self')",
        more={"/self": "<title>Self</title><script>open('/self')</script>"},
        notice="tab",
    ),
    clicked(
        "links clicked by script",
        "for (let n = 0; n < 5; n++) { const a = document.createElement('a'); a.href = '/new'; a.target = '_blank';"
        " a.click() }",
        then="fresh",
        more=FRESH,
    ),
    clicked(
        "forms sent to new tabs",
        "for (let n = 0; n < 5; n++) { const f = document.body.appendChild(document.createElement('form')); f.action ="
        " '/new'; f.target = '_blank'; f.submit() }",
        then="fresh",
        more=FRESH,
    ),
    clicked(
        "a window that closes itself",
        "open('/shut'); open('/shut')",
        more={"/shut": "<title>Shut</title><script>close()</script>"},
    ),
    clicked(
        "a window that closes its opener",
        "open('/kill')",
        more={"/kill": "<title>Kill</title><p>alone<script>opener.close()</script>"},
        then="alone",
    ),
    clicked(
        "a window whose script never ends",
        "open('/busy'); open('/busy')",
        more={"/busy": "<title>Busy</title><p>soon<script>for (;;);</script>"},
        hostile=True,
        lost="blocks the page|took more than",
    ),
    Row(
        id="windows on arrival",
        page="<!doctype html><title>Page</title><p>before<script>open('/new'); open('/new'); open('/new')</script>",
        more=FRESH,
        notice="a new tab",
    ),
)
async def test_windows(chromium: ChromiumPool, patient: ChromiumPool, wild: Wild, row: Row) -> None:
    await held(chromium, patient, wild, row)
