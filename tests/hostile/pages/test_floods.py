"""Pages that say, store, ask and open without end: what enters our records is bounded, and a step ends."""

import pytest

from harness.actions import Click
from harness.browser import text_limits
from harness.browser.session.chromium import ChromiumPool
from harness.codec import dumps, loads
from tests.hostile.pages.rows import Row, clicked, held, table
from tests.hostile.pages.wild import Wild, staying

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CHURN = "let k = 0; setInterval(() => { for (let n = 0; n < 500; n++) localStorage['k' + n] = 'v' + k++ }, 20)"


@pytest.mark.sample(1)
@table(
    clicked("a title of 10 MB", "document.title = 'T'.repeat(1e7)", then="more characters)", hostile=True),
    clicked("an address of 1.9 MB", "history.replaceState(0, '', '/?' + 'a'.repeat(1_900_000))", hostile=True),
    clicked("a name of 18 MB", "document.getElementById('go').ariaLabel = 'N'.repeat(18e6)", then="more characters)", hostile=True),
    clicked("a text of 5 MB", "document.getElementById('out').textContent = 'w '.repeat(25e5)", then="more characters)", hostile=True),
    clicked("a value of 5 MB", "document.querySelector('input').value = 'v'.repeat(5e6)", body="<input>", then="more characters)", hostile=True),
    clicked("a description of 5 MB", "document.querySelector('[role]').ariaRoleDescription = document.querySelector('[role]').ariaValueText = 'v'.repeat(5e6)", body="<i role=slider>i</i>", hostile=True),
    clicked("300 dialogs", "for (let n = 0; n < 300; n++) confirm('sure? ' + n)", notice="more notices)", hostile=True),
    clicked("a dialog of 5 MB", "alert('d'.repeat(5e6))", notice="more characters)"),
    clicked("a prompt with an answer of 5 MB", "out.textContent = prompt('q', 'a'.repeat(5e6)).length", then="5000000", hostile=True),
    clicked("500 addresses outside", "for (let n = 0; n < 500; n++) fetch('http://outside.invalid/' + n).catch(() => 0)"),
    clicked("200 frames outside", "for (let n = 0; n < 200; n++) document.body.append(Object.assign(document.createElement('iframe'), { src: 'http://outside.invalid/' + n }))", notice="was not allowed to request", hostile=True),
    clicked("3,000 requests", "for (let n = 0; n < 3000; n++) fetch('/x', { method: 'POST' }).catch(() => 0)", hostile=True),
    clicked("2,000 beacons", "for (let n = 0; n < 2000; n++) navigator.sendBeacon('/x', 'b')", hostile=True),
    clicked("storage without end", CHURN, notice=""),
    clicked("large values without end", "let k = 0; setInterval(() => localStorage.big = String(k++ % 9).repeat(4e6), 20)", hostile=True),
    clicked("a full storage", "try { for (let n = 0; ; n++) localStorage['k' + n] = 'v'.repeat(1e5) } catch {}", hostile=True),
    clicked("session storage without end", CHURN.replace("local", "session"), hostile=True),
    clicked("5,000 cookies", "for (let n = 0; n < 5000; n++) document.cookie = 'c' + n + '=' + 'v'.repeat(3000)", hostile=True),
    clicked("databases", "for (let n = 0; n < 200; n++) indexedDB.open('d' + n)"),
    clicked("states without end", "for (let n = 0; n < 3000; n++) history.pushState(n, '', '/?' + n)", hostile=True),
    clicked("anchors without end", "let n = 0; setInterval(() => { location.hash = n++ }, 1)"),
    clicked("50,000 lines on the console", "for (let n = 0; n < 50000; n++) console.log('x'.repeat(100), { n })", hostile=True),
    clicked("errors without end", "setInterval(() => { for (let n = 0; n < 200; n++) setTimeout(() => { throw new Error('x'.repeat(1000)) }) }, 20)", hostile=True),
    clicked("changes without end", "setInterval(() => { for (let n = 0; n < 300; n++) document.getElementById('out').append('x') }, 1)", hostile=True),
    clicked("elements without end", "setInterval(() => { for (let n = 0; n < 50; n++) document.body.append(document.createElement('p')) }, 5)", hostile=True),
    clicked("workers", "for (let n = 0; n < 30; n++) new Worker(URL.createObjectURL(new Blob(['for (;;) postMessage(1)'])))", hostile=True, lost="crashed: it used|blocks the page"),
    clicked("sockets", "for (let n = 0; n < 300; n++) new WebSocket('ws://shop.localhost/' + n)"),
    clicked("messages without end", "addEventListener('message', () => postMessage(1)); for (let n = 0; n < 100; n++) postMessage(1)"),
    clicked("promises for a second", "const end = Date.now() + 1000; (async () => { while (Date.now() < end) await null })()", hostile=True),
    clicked("a click of two seconds", "const end = Date.now() + 2000; while (Date.now() < end);"),
    clicked("a click that never ends", "for (;;);", notice="", hostile=True),
    clicked("reloads without end", "location.reload()", more={"/": "<!doctype html><title>Page</title><p>before<button>go</button><script>addEventListener('click', () => 0); if (performance.navigation.type) location.reload()</script>"}, does=None),
    clicked("elsewhere without end", "location = '/a'", more={"/a": "<script>location = '/b'</script>", "/b": "<script>location = '/a'</script>"}, hostile=True),
    clicked("downloads", "for (let n = 0; n < 5; n++) { const a = document.createElement('a'); a.href = 'data:x/y,z'; a.download = 'f'; a.click() }"),
    clicked("asks before it goes", "onbeforeunload = (e) => { e.preventDefault(); return 1 }; location = '/elsewhere'", then="calm"),
    clicked("prints", "print(); print(); print()"),
    clicked("full screen", "document.documentElement.requestFullscreen(); document.body.requestPointerLock()"),
    clicked("permissions", "Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => 0); navigator.mediaDevices?.getUserMedia({ video: true }).catch(() => 0)"),
    clicked("writes itself anew", "document.open(); document.write('<p>all new'); document.close()", then="all new"),
    clicked("removes itself", "document.documentElement.remove()"),
    clicked("a comment for a document", "document.documentElement.replaceWith(document.createComment('x'))"),
    clicked("is hidden", "document.body.hidden = true"),
    clicked("a canvas of 16,000 px", "const c = document.createElement('canvas'); c.width = c.height = 16000; c.getContext('2d').fillRect(0, 0, 9, 9); document.body.append(c)", hostile=True, lost="crashed: it used|blocks the page"),
    clicked("a billion pixels high", "document.body.style.height = '1e9px'; scrollTo(0, 1e9)"),
    clicked("turned upside down", "document.body.style.transform = 'rotate(180deg) scale(0.001)'"),
    clicked("3,000 animations", "for (let n = 0; n < 3000; n++) document.body.animate({ opacity: [0, 1] }, { duration: 9e6, iterations: Infinity })", hostile=True),
    clicked("debugger", "debugger"),
    clicked("half characters", "document.title = out.textContent = '\\ud800 x \\udfff'", then="x"),
    clicked("characters of control", "document.title = out.textContent = '\\x00\\x1b[31m\\u202e\\u2028red'", then="red"),
)  # fmt: skip
async def test_floods(chromium: ChromiumPool, patient: ChromiumPool, wild: Wild, row: Row) -> None:
    await held(chromium, patient, wild, row)


async def test_nothing_of_a_page_makes_a_large_record(chromium: ChromiumPool, wild: Wild) -> None:
    long = "y" * 200_000
    wild.pages["/"] = (
        f"<!doctype html><title>{long}</title><button id=go aria-label='go' onclick='history.replaceState(0, ``, `/?` +"
        f" `a`.repeat(1e5)); alert(`d`.repeat(1e5)); this.ariaLabel = `n`.repeat(1e5)'>go</button><p>{long}</p><input"
        f" value='{long}'>"
    )
    async with staying(chromium) as stay:
        await stay.act(Click(target=stay.target("go")))
        record = dumps([stay.view.observation, {id: (node.name, node.line) for id, node in stay.view.nodes.items()}])
        evidence = await stay.gather()
    assert len(record) < 200_000  # of nearly a million characters
    seen = stay.view.observation
    assert len(seen.url) <= text_limits.MAX_URL_CHARS and seen.url.endswith("more characters)")
    assert not text_limits.is_complete_url(seen.url) and len(seen.title) <= text_limits.MAX_TITLE_CHARS
    assert len(evidence.url) <= text_limits.MAX_URL_CHARS and len(evidence.title) <= text_limits.MAX_TITLE_CHARS


@pytest.mark.hostile
async def test_what_is_stored_without_end_is_in_the_checkpoint_all_the_same(chromium: ChromiumPool, wild: Wild) -> None:
    wild.pages["/"] = (
        f'<!doctype html><title>Page</title><button id=go onclick="localStorage.kept = 1; {CHURN}">go</button>'
    )
    async with staying(chromium) as stay:
        await stay.act(Click(target=stay.target("go")))
        first = stay.landed
        await stay.act(Click(target=stay.target("go")))
        kept = [landed.checkpoint for landed in (first, stay.landed) if landed is not None and landed.checkpoint]
        (origin,) = loads(kept[-1])["origins"]
        names = {item["name"] for item in origin["localStorage"]}
        assert origin["origin"] == "http://shop.localhost" and {"kept", "k0", "k499"} <= names
