"""What pages cost while nobody acts on them, with `browser.rendering=on_demand` beside `always`, and whether both show
the same.

Run: `python -m benchmarks.idle_pages [--lanes 8] [--seconds 5] [--observations 200] [--stopped]`. Each kind of
page is opened in as many lanes as are asked for, and observed; then the processor time of this process, the driver and
the browser is counted while nothing happens. Afterwards the pages are played through in both browsers: an observation,
notice or (of pages that come to rest) screenshot that differs is an error.
"""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

import psutil

from benchmarks.results import NotInstalled, Rows, parser, row, tell
from harness.actions import Action, Click, Scroll, Target
from harness.browser.driver import executable
from harness.browser.session.chromium import ChromiumPool
from harness.records import Episode, Eval, LiveObservation, Site, Task
from harness.settings.browser import BrowserSettings

_SPIN = "@keyframes spin { to { transform: rotate(360deg) } }"
_SLIDE = "@keyframes slide { to { transform: translateX(-2560px) } }"
IDLE = {
    "still": "<p>Nothing moves.</p>",
    "spinner": f"<style>{_SPIN} i {{ display: block; width: 40px; height: 40px; border: 4px dashed; border-radius: 50%;"
    " animation: spin 1s linear infinite }</style><i></i>",
    "carousel": f"<style>{_SLIDE} b {{ display: block; width: 3840px; height: 400px; background:"
    " linear-gradient(90deg, red, blue, green, red); animation: slide 8s linear infinite }</style><b></b>",
    "canvas": "<canvas id=drawn width=1200 height=500></canvas><script>const pen = drawn.getContext('2d'); let n = 0;"
    "(function draw() { n++; pen.fillStyle = `hsl(${n % 360} 90% 50%)`;"
    "for (let i = 0; i < 40; i++) pen.fillRect((n * 7 + i * 31) % 1200, (n * 3 + i * 17) % 500, 40, 40);"
    "requestAnimationFrame(draw) })()</script>",
    "timer": "<div id=bar style='height:40px;background:teal'></div><script>let n = 0;"
    "setInterval(() => { bar.style.width = `${++n % 100 * 10}px` }, 100)</script>",
}
"""What is measured."""
_OUT = "<p id=out>nothing yet</p>"
COMES_TO_REST = {
    "fade": f"{_OUT}<style>p {{ transition: opacity .3s }} .gone {{ opacity: .2 }}</style><script>"
    "out.ontransitionend = () => { out.textContent = 'faded' };"
    "addEventListener('click', () => out.classList.toggle('gone'))</script>",
    "frames": f"{_OUT}<script>addEventListener('click', () => {{ let n = 0; (function next() {{"
    "if (++n < 15) requestAnimationFrame(next); else out.textContent = 'drawn' })() })</script>",
    # The node of the text stays the same, and so does its id in the observation.
    "lazy": f"{_OUT}<div style='height:900px'></div><p id=low>low</p><script>new IntersectionObserver((seen) => {{"
    "if (seen.some((one) => one.isIntersecting)) low.firstChild.data = 'loaded' }).observe(low)</script>",
    "scrolled": "<p id=out style='position:sticky;top:0'>top</p><div style='height:3000px'></div><script>"
    "addEventListener('scroll', () => { out.textContent = `at ${scrollY}` })</script>",
    "sized": f"{_OUT}<script>new ResizeObserver(([one]) => {{ out.textContent = `${{one.contentRect.width}} wide` }})"
    ".observe(out); addEventListener('click', () => { out.style.width = `${out.offsetWidth - 100}px` })</script>",
    "dialog": "<dialog id=box><p>Are you sure?</p></dialog><script>"
    "addEventListener('click', () => box.open || box.show(), { once: true })</script>",
    "details": "<details><summary>Details</summary><p>inside</p></details><script>"
    "addEventListener('click', () => { document.querySelector('details').open ^= true })</script>",
    "frame": "<iframe src=/fade width=600 height=200></iframe>",
}
"""Pages whose pictures are the same bytes whenever they are taken."""
MOVING = {
    **IDLE,
    "animated svg": "<svg width=300 height=60><circle r=20 cy=30><animate attributeName=cx values='0;300' dur=2s"
    " repeatCount=indefinite /></circle></svg>",
    "moving frame": "<iframe src=/spinner width=600 height=200></iframe>",
}
PAGES = {**COMES_TO_REST, **MOVING}


class Seen(NamedTuple):
    """What is compared of an observation."""

    text: str
    notices: tuple[str, ...]
    image: bytes | None


def written(name: str) -> str:
    return (
        f"<!doctype html><html lang=en><title>{name}</title><body><h1>{name}</h1>"
        "<button onclick='this.textContent = `pressed ${this.value = +this.value + 1}`' value=0>press</button>"
        f"{PAGES[name]}"
    )


class Pages(BaseHTTPRequestHandler):
    """Answers `/NAME`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.path.strip("/").replace("%20", " ")
        body = (written(name) if name in PAGES else "").encode()
        self.send_response(200 if body else 404)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """No access log: it would stand between the rows."""


@contextmanager
def served() -> Iterator[Site]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    try:
        yield Site(name="pages", url=base, canonical="http://pages.example")
    finally:
        server.shutdown()
        server.server_close()


def pool_on(site: Site, *, rendering: str, time: str = "running") -> ChromiumPool:
    # Long limits, because a busy machine must not make a difference.
    limits = {"settle_timeout_s": 30.0, "action_timeout_s": 30.0, "step_deadline_s": 150.0}
    settings = BrowserSettings(allowed="any", rendering=rendering, time=time, **limits)
    return ChromiumPool(settings, sites=lambda _: (site,))


def visit_to(name: str) -> Task:
    url = f"http://pages.example/{name.replace(' ', '%20')}"
    return Task(task_id=name, sites=("pages",), intent="Look", start_urls=(url,), eval=Eval(eval_types=("url_match",)))


def used_s() -> float:
    """Processor time of this process and of all that it started."""
    me, used = psutil.Process(), 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used += times.user + times.system
    return used


async def idle_cores(pool: ChromiumPool, name: str, *, lanes: int, seconds: float) -> float:
    """Of `lanes` lanes that stand on a page."""
    async with AsyncExitStack() as opened:
        for lane in range(lanes):
            env = await opened.enter_async_context(pool.open(visit_to(name), lane))
            await env.restore(visit_to(name), Episode())
        before, begun = used_s(), time.monotonic()
        await asyncio.sleep(seconds)  # what is measured: nothing happens
        return (used_s() - before) / (time.monotonic() - begun)


async def played(pool: ChromiumPool, name: str) -> list[Seen]:
    """Five observations of a page."""
    found = []
    async with pool.open(visit_to(name), 0) as env:
        view = (await env.restore(visit_to(name), Episode())).view
        found.append(_seen(view, name))
        steps: Sequence[Action | None] = (None, Scroll(direction="down"), Scroll(direction="up"), None)
        for step in steps:
            view = (await env.act(step or _press(view))).view
            found.append(_seen(view, name))
    return found


def _seen(view: LiveObservation, name: str) -> Seen:
    shown = view.observation
    return Seen(shown.text, shown.notices, view.image if name in COMES_TO_REST else None)


def _press(view: LiveObservation) -> Action:
    for id, node in view.nodes.items():
        if node.role == "button":
            return Click(target=Target(id=id, role=node.role, name=node.name, nth=node.nth, box=node.box))
    raise SystemExit(f"no button in\n{view.observation.text}")


async def differing(ours: ChromiumPool, reference: ChromiumPool, names: Sequence[str]) -> list[str]:
    """What the two browsers show differently, in words."""
    found = []
    for name in names:
        mine, theirs = await played(ours, name), await played(reference, name)
        for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            parts = [part for part in Seen._fields if getattr(one, part) != getattr(other, part)]
            found += [f"{part} of observation {number} of {name!r} differs" for part in parts]
            if "image" not in parts and parts:
                found.append(f"{one}\nbeside\n{other}")
    return found


async def measure(*, lanes: int = 8, seconds: float = 5.0, observations: int = 200, stopped: bool = False) -> Rows:
    """
    Raises:
        SystemExit: The two show something differently.
    """
    if not executable.is_shell(executable.find()):
        raise NotInstalled("a headless shell is not installed (apt-get install chromium-headless-shell)")
    how = "stopped" if stopped else "running"
    rows: Rows = {}
    with served() as site:
        async with pool_on(site, rendering="on_demand", time=how) as ours, pool_on(site, rendering="always") as always:
            for name in IDLE:
                cores = [await idle_cores(pool, name, lanes=lanes, seconds=seconds) for pool in (ours, always)]
                kind = f"idle pages, {lanes} lanes, {name}{', time stopped' if stopped else ''}"
                rows[kind] = row(cores[:1], cores[1:], "cores")
            rounds = -(-observations // (5 * len(PAGES)))
            wrong = [one for _ in range(rounds) for one in await differing(ours, always, list(PAGES))]
    if wrong:
        raise SystemExit("\n".join(wrong))
    return rows


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--lanes", type=int, default=8)
    options.add_argument("--seconds", type=float, default=5.0, help="for which each page stands")
    options.add_argument("--observations", type=int, default=200, help="that are compared, at least")
    options.add_argument("--stopped", action="store_true", help="with browser.time=stopped")
    asked = options.parse_args()
    tell(
        asyncio.run(
            measure(lanes=asked.lanes, seconds=asked.seconds, observations=asked.observations, stopped=asked.stopped)
        )
    )


if __name__ == "__main__":
    sys.exit(main())
