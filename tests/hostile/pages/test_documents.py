"""Documents that never arrive, arrive broken, or are not documents: each step goes on with what there is."""

import gzip
import zlib
from dataclasses import replace

import pytest

from harness.actions import Action, Goto, Scroll
from harness.browser.session.chromium import ChromiumPool
from tests.hostile.pages.rows import Row, held, table
from tests.hostile.pages.wild import Stay, Wild, begun, dripping, raw

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HTML = "content-type: text/html; charset=utf-8"
BODY = b"<!doctype html><title>Page</title><p>hello there</p>"
CHUNKED = raw(HTML, "transfer-encoding: chunked", body=b"%x\r\n%s\r\n" % (len(BODY), BODY))
PART = b"--part\r\ncontent-type: text/html\r\n\r\n" + BODY + b"\r\n"
MULTIPART = raw("content-type: multipart/x-mixed-replace; boundary=part", body=PART + b"--part\r\n")
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db00000"
    "000049454e44ae426082"
)
WAITS = "waiting for"


def page(inside: str) -> str:
    return f"<!doctype html><title>Page</title><p>hello there</p>{inside}"


def endless(id: str, first: bytes, **fields: object) -> Row:
    return Row(id=id, page=begun(first), **fields)  # type: ignore[arg-type]


def scroll(stay: Stay) -> Action:
    return Scroll(direction="down")


def whole(id: str, data: bytes, shows: str = "hello there", **fields: object) -> Row:
    return Row(id=id, page=data, shows=shows, **fields)  # type: ignore[arg-type]


def typed(id: str, kind: str, body: bytes | str, shows: str = "") -> Row:
    data = body.encode() if isinstance(body, str) else body
    return Row(id=id, page=raw(f"content-type: {kind}", f"content-length: {len(data)}", body=data), shows=shows)


def deflated(first: bytes, blank: bytes, times: int) -> bytes:
    """What zlib makes of `first` and so many times `blank`, which is compressed once."""
    total = zlib.adler32(first)
    for _ in range(times):
        total = zlib.adler32(blank, total)
    pieces = []
    for data, how in ((first, zlib.Z_FULL_FLUSH), (blank, zlib.Z_FULL_FLUSH), (b"", zlib.Z_FINISH)):
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        pieces.append(packer.compress(data) + packer.flush(how))
    return b"\x78\x9c" + pieces[0] + pieces[1] * times + pieces[2] + total.to_bytes(4, "big")


NEVER = (
    endless("never ends", raw(HTML, body=BODY), shows="hello there", notice=WAITS),
    endless("never ends, with a length", raw(HTML, "content-length: 9999", body=BODY), shows="hello there", notice=WAITS, hostile=True),
    endless("never ends, in chunks", CHUNKED, shows="hello there", notice=WAITS, hostile=True),
    endless("never begins its body", raw(HTML), pictured=None, hostile=True),
    endless("stops in a tag", raw(HTML, body=BODY + b"<p class='"), shows="hello there", notice=WAITS, hostile=True),
    endless("stops in a script", raw(HTML, body=BODY + b"<script>let a = 1;"), shows="hello there", notice=WAITS),
    endless("stops in the title", raw(HTML, body=b"<!doctype html><title>Half"), pictured=None, hostile=True),
    endless("streams parts", MULTIPART, notice=""),
    Row(id="drips", page=dripping(raw(HTML, body=BODY), b"<i>x</i>", 0.05), shows="hello there", notice="busy", hostile=True),
    Row(id="pours", page=dripping(raw(HTML, body=BODY), b"<p>more</p>" * 50, 0.02), shows="hello there", notice="busy", hostile=True),
    Row(id="style never comes", page=page("<link rel=stylesheet href=/never>late"), more={"/never": begun(raw("content-type: text/css"))}, hostile=True),
    Row(id="script never comes", page=page("<script src=/never></script>late"), shows="hello there", more={"/never": begun(raw("content-type: text/javascript"))}, notice=WAITS),
    Row(id="image never comes", page=page("<img src=/never alt=pic>late"), shows="late", more={"/never": begun(raw("content-type: image/png"))}, hostile=True),
    Row(id="frame never comes", page=page("<iframe src=/never></iframe>late"), shows="late", more={"/never": begun(raw(HTML, body=BODY))}, hostile=True),
    Row(id="frame never answers", page=page("<iframe src=/never></iframe>late"), shows="late", more={"/never": begun(b"")}, hostile=True),
    Row(id="font never comes", page=page("<style>@font-face{font-family:f;src:url(/never)}body{font-family:f}</style>late"), shows="late", more={"/never": begun(raw("content-type: font/woff2"))}, hostile=True),
    Row(id="import never comes", page=page("<script type=module>import '/never'</script>late"), shows="late", more={"/never": begun(raw("content-type: text/javascript"))}, hostile=True),
    Row(id="events for ever", page=dripping(raw("content-type: text/event-stream"), b"data: x\n\n", 0.05), hostile=True),
    Row(id="text for ever", page=dripping(raw("content-type: text/plain", body=b"plain words " * 200), b"x\n", 0.05), shows="plain words", hostile=True),
)  # fmt: skip

BROKEN = (
    Row(id="without a root", page="<!doctype html><script>onload = () => document.documentElement.remove()</script>", does=scroll),
    whole("cut off", raw(HTML, "content-length: 9999", body=BODY)),
    whole("cut off in a chunk", CHUNKED + b"ff\r\nhalf", "", pictured=None, hostile=True),
    whole("a chunk of no length", CHUNKED + b"zz\r\nhalf", "", pictured=None, hostile=True),
    whole("half a gzip", raw(HTML, "content-encoding: gzip", body=gzip.compress(BODY * 100)[:-30]), ""),
    whole("says gzip, is none", raw(HTML, "content-encoding: gzip", body=BODY), "", pictured=None, hostile=True),
    whole("zeros of 50 MB, compressed", raw(HTML, "content-encoding: gzip", body=gzip.compress(BODY + bytes(50_000_000), 1)), "hello there", hostile=True),
    whole("200 MB of blanks, compressed", raw(HTML, "content-encoding: deflate", body=deflated(BODY, b" " * 1_000_000, 200)), hostile=True, lost="crashed: it used"),
    whole("no headers", b"HTTP/1.1 200 OK\r\n\r\n" + BODY, ""),
    whole("two lengths", raw(HTML, "content-length: 5", "content-length: 6", body=BODY), "", lost="MULTIPLE_CONTENT_LENGTH"),
    whole("a header of 100 KB", raw(HTML, "x-long: " + "a" * 100_000, body=BODY)),
    whole("no type", raw(body=BODY)),
    whole("unknown charset", raw("content-type: text/html; charset=klingon", body=BODY)),
    whole("UTF-16", raw("content-type: text/html; charset=utf-16le", body=page("").encode("utf-16le"))),
    whole("half characters", raw(HTML, body=BODY + b"\xff\xfe\xed\xa0\x80 end"), "end"),
    whole("zero bytes", raw(HTML, body=BODY + b"a\x00b\x00 end"), "end"),
    whole("404", raw(HTML, status="404 Not Found", body=BODY)),
    whole("status 299", raw(HTML, status="299 Strange", body=BODY)),
    whole("frameset", raw(HTML, body=b"<title>Page</title><frameset cols='*,*'><frame src=/a><frame src=/b></frameset>"), ""),
    whole("no body at all", raw(HTML, "content-length: 0"), ""),
    whole("5,000 elements deep", raw(HTML, body=BODY + b"<div>" * 5000 + b"deep"), ""),
    whole("50,000 elements deep", raw(HTML, body=BODY + b"<div>" * 50_000 + b"deep"), "", hostile=True),
    whole("30,000 paragraphs", raw(HTML, body=BODY + b"<p>x</p>" * 30_000), hostile=True),
    whole("20,000 options", raw(HTML, body=BODY + b"<select>" + b"<option>x" * 20_000), hostile=True),
    whole("an attribute of 5 MB", raw(HTML, body=BODY + b"<p title='" + b"t" * 5_000_000 + b"'>end"), "end", hostile=True),
    whole("300 frames", raw(HTML, body=BODY + b"<iframe srcdoc=x></iframe>" * 300), hostile=True),
    whole("frames in frames", raw(HTML, body=BODY + b"<script>if (location.hash.length < 30) document.body.append(Object.assign(document.createElement('iframe'), { src: '/' + (location.hash || '#') + 'x' }))</script>")),
)  # fmt: skip

KINDS = (
    typed("plain text", "text/plain", "hello there", "hello there"),
    typed("JSON", "application/json", '{"hello": "there"}', "hello"),
    typed("XML", "text/xml", "<a><b>hello there</b></a>", "hello there"),
    typed("broken XML", "text/xml", "<a><b>hello there", ""),
    typed("XHTML with a mistake", "application/xhtml+xml", "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>hello there", ""),
    typed("SVG", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'><text y='20'>hello there</text></svg>", ""),
    typed("SVG with a script", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'><script>for (let n = 0; n < 9; n++) alert(n)</script></svg>", ""),
    typed("an image", "image/png", PNG, ""),
    typed("a broken image", "image/png", PNG[:30], ""),
    typed("style", "text/css", "p { color: red }", ""),
    typed("an odd type", "x/y;;;=", "<p>hello", ""),
)  # fmt: skip


def midway(row: Row) -> Row:
    """The same document, opened from a calm page."""
    goto = Goto(url="http://shop.localhost/midway")
    more = {**row.more, "/midway": row.page}
    start = "<!doctype html><title>Start</title><p>before"
    moved = replace(row, id=f"{row.id}, midway", page=start, shows="before", more=more)
    return replace(moved, does=lambda stay: goto, then=row.shows)


@pytest.mark.sample(1)
@table(*NEVER, midway(NEVER[0]), *(replace(midway(row), hostile=True) for row in NEVER[1:8]))
async def test_documents_that_never_arrive(chromium: ChromiumPool, patient: ChromiumPool, wild: Wild, row: Row) -> None:
    await held(chromium, patient, wild, row)


@pytest.mark.sample(1)
@table(*BROKEN)
async def test_broken_documents(chromium: ChromiumPool, patient: ChromiumPool, wild: Wild, row: Row) -> None:
    await held(chromium, patient, wild, row)


@pytest.mark.sample(1)
@table(*KINDS)
async def test_documents_of_other_kinds(chromium: ChromiumPool, patient: ChromiumPool, wild: Wild, row: Row) -> None:
    await held(chromium, patient, wild, row)
