"""Pages that take memory: they are ended at the bound, their own episode hears why, and nobody else's is touched."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import psutil
import pytest
import pytest_asyncio

from harness.actions import Click, InvalidAction
from harness.browser.session.chromium import ChromiumPool
from harness.errors import BrowserCrashed, BrowserLost
from harness.records import HtmlTarget
from tests.hostile.pages.wild import CALM, QUICK, Wild, a_task, staying, wild_site

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MOST_MB = 300
TAKES = {
    "numbers": "const a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))",
    "bytes": "const a = []; for (;;) a.push(new Uint8Array(5e6).fill(1))",
    "texts": "const a = []; for (let n = 0; ; n++) a.push(('x' + n).repeat(1e6).split('').join('y'))",
    "elements": (
        "for (;;) document.body.append(Object.assign(document.createElement('p'), { textContent: 'x'.repeat(1000) }))"
    ),
    "canvases": (
        "const a = []; for (;;) { const c = document.createElement('canvas'); c.width = c.height = 2000;"
        " c.getContext('2d').fillRect(0, 0, 2000, 2000); c.getContext('2d').getImageData(0, 0, 2000, 2000); a.push(c) }"
    ),
    "by and by": "const a = []; setInterval(() => a.push(new Uint8Array(8e6).fill(1)), 10)",
    "a worker": (
        "new Worker(URL.createObjectURL(new Blob(['const a = []; for (;;) a.push(new Uint8Array(5e6).fill(1))'])))"
    ),
    "a frame": (
        "const f = document.body.appendChild(document.createElement('iframe')); f.srcdoc = '<script>const a = []; for"
        " (;;) a.push(new Uint8Array(5e6).fill(1))<\\/script>'"
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bounded() -> AsyncIterator[tuple[ChromiumPool, Wild]]:
    settings = replace(QUICK, max_memory_mb=float(MOST_MB), action_timeout_s=15.0, step_deadline_s=60.0)
    async with wild_site() as wild, ChromiumPool(settings, sites=lambda _: (wild.site,)) as pool:
        yield pool, wild


def held_mb() -> int:
    """By the largest process of pages."""
    sizes = [0]
    for process in psutil.Process().children(recursive=True):
        try:
            if "--type=renderer" in process.cmdline():
                sizes.append(process.memory_info().rss >> 20)
        except psutil.Error:
            continue
    return max(sizes)


async def sampled(largest: list[int]) -> None:
    while True:
        largest.append(held_mb())
        await asyncio.sleep(0.1)  # the sampling's own pace


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, id=id, marks=[] if id in ("numbers", "bytes") else [pytest.mark.hostile])
        for id, script in TAKES.items()
    ],
)
async def test_a_page_that_takes_memory_is_ended(bounded: tuple[ChromiumPool, Wild], script: str) -> None:
    pool, wild = bounded
    wild.pages["/"] = f"<!doctype html><title>Page</title><button id=go>go</button><script>function go() {{ {script} }} document.getElementById('go').onclick = go</script>"  # fmt: skip
    largest: list[int] = []
    async with staying(pool) as neighbour:
        starts = pool.starts
        sampling = asyncio.create_task(sampled(largest))
        with pytest.raises(BrowserCrashed, match=f"MB of memory; browser.max_memory_mb={MOST_MB}") as caught:
            async with staying(pool) as stay:
                await stay.act(Click(target=stay.target("go")))
                for _ in range(100):
                    await stay.act(InvalidAction())
        sampling.cancel()
        assert not isinstance(caught.value, BrowserLost)
        await neighbour.act(InvalidAction())
        assert "'go'" in neighbour.text and pool.starts == starts
    assert max(largest) < 3000, "it overshoots by what is taken between two looks; without a bound it takes 4.8 GB"


async def test_many_small_ones_are_bounded_together(bounded: tuple[ChromiumPool, Wild]) -> None:
    """Windows without an opener have processes of their own."""
    _, wild = bounded
    wild.pages["/part"] = "<!doctype html><title>Part</title><script>const a = []; for (let n = 0; n < 12; n++) a.push(new Uint8Array(1e7).fill(1))</script>"  # fmt: skip
    wild.pages["/"] = "<!doctype html><title>Page</title><button onclick='for (let n = 0; n < 6; n++) open(`http://part${n}.localhost:` + location.port + `/part`, `_blank`, `noopener`)'>go</button>"  # fmt: skip
    everywhere = replace(QUICK, max_memory_mb=float(MOST_MB), allowed="any", step_deadline_s=60.0)
    parts = (f"http://part{number}.localhost" for number in range(6))
    sites = (wild.site, *(replace(wild.site, name=url, url=f"{url}:{wild.port}", canonical=url) for url in parts))
    async with ChromiumPool(everywhere, sites=lambda _: sites) as wide:
        with pytest.raises(BrowserCrashed, match="the pages of 1 episode used"):
            async with staying(wide) as stay:
                await stay.act(Click(target=stay.target("go")))
                for _ in range(100):
                    await stay.act(InvalidAction())


async def test_a_locator_that_takes_memory_is_its_own_episodes_failure(bounded: tuple[ChromiumPool, Wild]) -> None:
    pool, wild = bounded
    wild.pages["/"] = CALM
    taking = HtmlTarget(url="last", locator=f"document && (() => {{ {TAKES['bytes']} }})()", must_include=("x",))
    with pytest.raises(BrowserCrashed, match=r"it used .* MB of memory"):
        async with staying(pool, a_task(targets=[taking])) as stay:
            await stay.gather()
    async with staying(pool) as stay:
        assert "all is calm" in stay.text
