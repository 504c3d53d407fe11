"""An observation after an action shows what the action led to, however late, and a restless page costs a bounded
time.
"""

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from harness.actions import Goto, InvalidAction, Press, Type
from harness.browser.session.chromium import ChromiumPool
from harness.records import Site
from tests.browser.conftest import QUICK, Answer, Asked, Web, html, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
OUT = "<p id=out>before</p>"
SAY = "document.getElementById('out').textContent='after'"

PARTS = (
    "(async()=>new Response(new ReadableStream({start(c){let n=0;const t=setInterval(()=>{"
    "if(++n==6){clearInterval(t);c.close()}else c.enqueue(new Uint8Array([65]))},200)}})).body)()"
)
"""A body that comes in six parts, for longer than timers are followed."""
SLICES = (
    "const c=new MessageChannel();let n=0;c.port1.onmessage=()=>{for(const t=performance.now()+5;performance.now()<t;);"
    f"if(++n<30)c.port2.postMessage(0);else{{{SAY}}}}};c.port2.postMessage(0)"
)
"""Work that is done in slices of 5 ms, and shown when all of it is done."""


DATABASE = (
    "const r=indexedDB.open('d');r.onupgradeneeded=()=>{const s=r.result.createObjectStore('s');"
    "for(let i=0;i<3000;i++)s.put('x'.repeat(999),i)};"
    f"r.onsuccess=()=>r.result.transaction('s').objectStore('s').getAll().onsuccess=()=>setTimeout(()=>{{{SAY}}},300)"
)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "script",
    [
        SAY,
        *(f"setTimeout(()=>{{{SAY}}},{delay})" for delay in (0, 30, 120, 300, 500)),
        f"setTimeout(()=>setTimeout(()=>setTimeout(()=>{{{SAY}}},150),150),150)",
        f"new Promise(r=>setTimeout(r,200)).then(()=>new Promise(r=>setTimeout(r,200))).then(()=>{{{SAY}}})",
        f"let n=0;const t=setInterval(()=>{{if(++n==4){{clearInterval(t);{SAY}}}}},100)",
        f"let n=0;(function f(){{if(++n==20){{{SAY}}}else requestAnimationFrame(f)}})()",
        f"requestIdleCallback(()=>{{{SAY}}})",
        f"const c=new MessageChannel();c.port1.onmessage=()=>{{{SAY}}};c.port2.postMessage(1)",
        SLICES,
        DATABASE,
        f"fetch('/data').then(r=>r.text()).then(()=>{{{SAY}}})",
        f"fetch('/data').then(r=>r.json()).then(()=>setTimeout(()=>{{{SAY}}},300))",
        f"const x=new XMLHttpRequest();x.open('GET','/data');x.onload=()=>{{{SAY}}};x.send()",
        f"setTimeout(`{SAY}`,300)",
        f"scheduler.postTask(()=>{{{SAY}}},{{delay:300}})",
        *(
            f"({PARTS}).then(async body=>{{{read};{SAY}}})"
            for read in (
                "const r=body.getReader();while(!(await r.read()).done);",
                "for await(const part of body.pipeThrough(new TextDecoderStream()));",
            )
        ),
        "const s=document.createElement('script');s.src='/late.js';document.body.append(s)",
        f"const i=new Image();i.onload=()=>{{{SAY}}};i.src='/dot.svg'",
        f"const f=document.createElement('iframe');f.src='/frame';f.onload=()=>{{{SAY}}};document.body.append(f)",
        "setTimeout(()=>location.href='/after',400)",
        "document.getElementById('form').submit()",
        "history.pushState({},'','/pushed');setTimeout(()=>location.reload(),100)",
    ],
)
async def test_the_effect_of_a_script_is_never_missed(web: Web, chromium: ChromiumPool, script: str) -> None:
    async def slow(answer: Answer) -> Answer:
        await asyncio.sleep(0.4)
        return answer

    web.pages["/data"] = lambda _: slow((200, {"content-type": "application/json"}, "{}"))
    web.pages["/late.js"] = lambda _: slow((200, {"content-type": "text/javascript"}, SAY))
    web.pages["/dot.svg"] = lambda _: slow(
        (200, {"content-type": "image/svg+xml"}, "<svg xmlns='http://www.w3.org/2000/svg'/>")
    )
    web.pages["/frame"] = lambda _: slow(html("framed"))
    web.page("/after", "<p>after</p>")
    web.page("/pushed", "<p>after</p>", delay_s=0.3)
    web.page("/", f"""{OUT}<form id=form action=/after method=post></form><button onclick="{script}">go</button>""")
    async with visiting(chromium, web) as visit:
        assert "'before'" in visit.text
        assert "'after'" in await visit.click("button", "go")


@pytest.mark.sample(1)
@pytest.mark.parametrize("delay_s", [0.0, 0.2, 1.0, 2.5])
async def test_a_slow_server_is_waited_for_beyond_the_settle_timeout(
    web: Web, chromium: ChromiumPool, delay_s: float
) -> None:
    web.page("/", "<a href=/there>there</a><form method=post action=/there><button>send</button></form>")
    web.page("/there", "<p>arrived</p>", delay_s=delay_s)
    async with visiting(chromium, web) as visit:
        assert "'arrived'" in await visit.click("link", "there")
    async with visiting(chromium, web) as visit:
        assert "'arrived'" in await visit.click("button", "send")


async def test_a_chain_of_redirects_by_script_and_header_is_followed_to_its_end(
    web: Web, chromium: ChromiumPool
) -> None:
    web.page("/", "<a href=/one>start</a>")
    web.pages["/one"] = (302, {"location": "/two"}, "")
    web.page("/two", "<script>setTimeout(()=>location.replace('/three'),50)</script>two")
    web.pages["/three"] = html("<meta http-equiv=refresh content='0;url=/four'>three")
    web.page("/four", "<p>the end</p>", delay_s=0.2)
    async with visiting(chromium, web) as visit:
        assert "'the end'" in await visit.click("link", "start")
        assert visit.view.observation.url == "http://shop.localhost/four"


async def test_content_a_page_loads_after_its_own_arrival_is_seen(web: Web, chromium: ChromiumPool) -> None:
    async def data(_: Asked) -> Answer:
        await asyncio.sleep(0.6)
        return 200, {"content-type": "text/plain"}, "from the server"

    web.pages["/data"] = data
    web.page("/", "<p id=out></p><script>fetch('/data').then(r=>r.text()).then(t=>out.textContent=t)</script>")
    async with visiting(chromium, web) as visit:
        assert "'from the server'" in visit.text


async def test_a_quiet_page_costs_a_frame_or_two(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p>quiet</p>")
    async with visiting(chromium, web) as visit:
        costs = []
        for _ in range(7):
            begun = time.perf_counter()
            await visit.env._window.settler.settle()
            costs.append(time.perf_counter() - begun)
    assert sorted(costs)[3] < QUICK.settle_timeout_s / 2, "the timeout is not waited for; the benchmark says how long"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "script",
    [
        "setInterval(()=>out.textContent=Math.random(),40)",
        "(function f(){out.textContent=Math.random();requestAnimationFrame(f)})()",
        "(async()=>{for(;;){await new Promise(r=>setTimeout(r,60));out.textContent=Math.random()}})()",
        "(function f(){fetch('/data').then(()=>{out.textContent=Math.random();setTimeout(f,20)})})()",
        "const w=new Worker(URL.createObjectURL(new Blob(['setInterval(()=>postMessage(1),10)'])));"
        "w.onmessage=()=>out.textContent=Math.random()",
        "const c=new MessageChannel();c.port1.onmessage=()=>{out.textContent=Math.random();c.port2.postMessage(0)};"
        "c.port2.postMessage(0)",
        "fetch('/never').then(()=>{})",
    ],
)
async def test_a_page_that_never_rests_is_left_in_time_and_the_agent_is_told_once(web: Web, script: str) -> None:
    over = asyncio.Event()

    async def never(_: Asked) -> Answer:
        await over.wait()
        return html("")

    web.pages["/never"] = never
    web.pages["/data"] = (200, {}, "x")
    web.page("/", f"<p id=out>restless</p><script>{script}</script>")
    settings = replace(QUICK, settle_timeout_s=4.0)
    async with asyncio.timeout(300), web.pool(settings) as pool, visiting(pool, web) as visit:
        told = visit.notices
        for _ in range(5):
            begun = time.monotonic()
            await visit.act(InvalidAction())
            assert time.monotonic() - begun < settings.settle_timeout_s, "it is used up once"
            told += visit.notices
            if told:
                break  # a worker may take until now to begin
        assert "still busy" in told or "kept changing while it was read" in told
        over.set()


async def test_a_frame_without_an_address_may_hold_a_document(web: Web, chromium: ChromiumPool) -> None:
    write = f"f.contentDocument.body.innerHTML = '{OUT}'; const w = f.contentWindow; w.setTimeout(() => w.{SAY}, 300)"
    web.page("/", f"""<iframe id=f src="javascript:1"></iframe><button onclick="{write}">go</button>""")
    async with visiting(chromium, web) as visit:
        assert "'after'" in await visit.click("button", "go")


@pytest.mark.slow
async def test_a_frame_whose_document_never_comes_is_waited_for_once(web: Web) -> None:
    over = asyncio.Event()

    async def never(_: Asked) -> Answer:
        await over.wait()
        return html("")

    web.pages["/never"] = never
    script = (
        "setTimeout(() => { const f = document.createElement('iframe'); f.src = '/never'; document.body.append(f) })"
    )
    web.page("/", f"<p>here</p><script>{script}</script>")
    async with visiting(web.pool(replace(QUICK, settle_timeout_s=1.0)), web) as visit:
        assert "here" in visit.text
        assert "still busy after 1 s" in visit.notices
        assert "was stopped" not in visit.notices, "no script was ended"
        await visit.act(InvalidAction())
        assert "still busy" not in visit.notices
        over.set()


@pytest.mark.slow
async def test_an_endless_script_is_stopped_and_told(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<button onclick='for(;;);'>hang</button><p>here</p>")
    begun = time.monotonic()
    async with visiting(chromium, web) as visit:
        text = await visit.click("button", "hang")
        assert "'here'" in text
        assert "did not end and was stopped" in visit.notices
        await visit.act(Press(key_comb="Tab"))
    assert time.monotonic() - begun < 20


@pytest.mark.slow
async def test_an_endless_script_of_a_page_with_many_frames_is_stopped_once(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<button onclick='for(;;);'>hang</button><p>here</p>" + "<iframe srcdoc=x></iframe>" * 30)
    async with visiting(chromium, web) as visit:
        assert "'here'" in await visit.click("button", "hang")
        assert visit.notices.count("did not end and was stopped") == 1


@pytest.mark.slow
async def test_a_page_that_reloads_for_ever_is_left_in_time(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p>again</p><script>setTimeout(()=>location.reload(),10)</script>")
    web.page("/calm", "<p>calm</p>")
    begun = time.monotonic()
    async with visiting(chromium, web, "/calm") as visit:
        await visit.act(Goto(url="http://shop.localhost/"))
        assert "again" in visit.text
        assert "keeps reloading itself" in visit.notices
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("before", [0, 1, 60])
async def test_what_a_socket_answers_is_seen(web: Web, before: int) -> None:
    async def answer(socket: ServerConnection) -> None:
        async for said in socket:
            for _ in range(before):  # that it has begun, or parts of the answer
                await socket.send("begun")
            await asyncio.sleep(0.2)  # the other side takes its time; nobody waits by this
            await socket.send(said)

    async with serve(answer, "127.0.0.1", 0) as answering:
        port = answering.sockets[0].getsockname()[1]
        pushes = Site(name="push", url=f"http://127.0.0.1:{port}", canonical="http://push.localhost")
        script = f"const s=new WebSocket('ws://127.0.0.1:{port}/');s.onmessage=e=>out.textContent='answer '+e.data"
        web.page("/", f"{OUT}<script>let n=0;{script}</script><button onclick='s.send(++n)'>go</button>")
        async with visiting(web.pool(None, web.site, pushes), web) as visit:
            for number in (1, 2, 3):
                assert f"'answer {number}'" in await visit.click("button", "go")
                assert visit.notices == "", "it has said all it had to say"


@pytest.mark.parametrize(
    "script",
    [
        "cancelIdleCallback(requestIdleCallback(()=>0))",
        "cancelAnimationFrame(requestAnimationFrame(()=>0))",
        "clearTimeout(setTimeout(()=>0,300))",
        "clearInterval(setInterval(()=>0,300))",
        "const c=new AbortController();scheduler.postTask(()=>0,{delay:300,signal:c.signal}).catch(()=>0);c.abort()",
    ],
)
async def test_what_a_page_has_taken_back_is_not_waited_for(web: Web, chromium: ChromiumPool, script: str) -> None:
    web.page("/", f"""<button onclick="{script}">go</button>""")
    async with visiting(chromium, web) as visit:
        await visit.click("button", "go")
        assert visit.notices == ""


async def test_a_time_that_runs_out_later_does_not_make_a_page_restless(web: Web, chromium: ChromiumPool) -> None:
    late = f"fetch('/data').then(()=>{{{SAY};setTimeout(()=>location.reload(),60000)}})"
    web.pages["/data"] = (200, {}, "x")
    web.page("/", f"""{OUT}<button onclick="{late}">go</button>""")
    async with visiting(chromium, web) as visit:
        assert "'after'" in await visit.click("button", "go")
        assert visit.notices == ""


@pytest.mark.parametrize("headers", [{}, {"content-security-policy": "sandbox"}])
async def test_a_document_without_scripts_is_not_waited_for(
    web: Web, chromium: ChromiumPool, headers: dict[str, str]
) -> None:
    script = "setTimeout(()=>this.textContent='late',400)"
    web.pages["/"] = html(
        f"<iframe sandbox srcdoc='<p>framed</p>'></iframe><button onclick=\"{script}\">go</button>", headers=headers
    )
    async with visiting(chromium, web) as visit:
        assert "'framed'" in visit.text
        await visit.click("button", "go")
        assert ("'late'" in visit.text) is not bool(headers)
        assert visit.notices == ""


async def test_an_address_that_answered_slowly_once_is_waited_for_again(web: Web) -> None:
    async def slow(asked: Asked) -> Answer:
        await asyncio.sleep(float(asked.query))
        return 200, {}, asked.query

    web.pages["/query"] = slow
    script = "out.textContent='loading';fetch('/query?'+this.id).then(r=>r.text()).then(t=>out.textContent='got '+t)"
    buttons = "".join(f'<button id={took} onclick="{script}">for {took}</button>' for took in ("1.5", "0.3"))
    web.page("/", f"{OUT}{buttons}<a href=/>again</a>")
    async with visiting(web.pool(replace(QUICK, settle_timeout_s=1.0)), web) as visit:
        assert "'loading'" in await visit.click("button", "for 1.5")
        assert "still busy" in visit.notices
        for _ in range(2):
            assert "'got 0.3'" in await visit.click("button", "for 0.3")
            await visit.click("link", "again")


async def test_typing_that_filters_a_list_later_is_seen(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        """<label>Find <input oninput="clearTimeout(window.t);window.t=setTimeout(()=>{
        out.textContent='results for '+this.value},250)"></label><p id=out></p>""",
    )
    async with visiting(chromium, web) as visit:
        await visit.act(Type(target=visit.target("textbox", "Find"), text="tea", enter=False))
        assert "'results for tea'" in visit.text


async def test_what_comes_up_in_the_last_frame_is_noticed(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", OUT)
    quiet = "await window.__cairn.quiet(1000, [], true);"
    change = "document.getElementById('out').textContent = 'after';"
    async with visiting(chromium, web) as visit:
        page = visit.env._window.tabs.current.page
        assert await page.evaluate(f"(async () => {{ {quiet} return window.__cairn.rested([]); }})()")
        assert not await page.evaluate(f"(async () => {{ {quiet} {change} return window.__cairn.rested([]); }})()")


async def test_a_page_that_did_not_rest_is_read_again(
    web: Web, chromium: ChromiumPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.page("/", f"{OUT}<button>go</button>")
    async with visiting(chromium, web) as visit:
        window, is_read = visit.env._window, asyncio.Event()
        read, asked = window._observer.read, 0

        async def reading(*args: Any) -> Any:
            body = await read(*args)
            is_read.set()
            return body

        async def rested(_: object) -> bool:
            nonlocal asked
            asked += 1
            if asked > 1:
                return True
            await is_read.wait()
            await window.tabs.current.page.evaluate("document.getElementById('out').textContent = 'after'")
            return False

        monkeypatch.setattr(window._observer, "read", reading)
        monkeypatch.setattr(window.settler, "rested", rested)
        assert "'after'" in await visit.click("button", "go")


async def test_a_shared_worker_of_a_blob_is_no_request_under_way(web: Web, chromium: ChromiumPool) -> None:
    web.page(
        "/",
        "<p id=out>none</p><script>const source = new Blob(['onconnect = (e) => e.ports[0].postMessage(1)']);"
        "const worker = new SharedWorker(URL.createObjectURL(source)); worker.port.onmessage = () =>"
        " out.textContent = 'answered'</script>",
    )
    async with visiting(chromium, web) as visit:
        assert visit.notices == ""
