"""What an episode of an agent's process takes of the processors, through relay and gateway and without either.

Run: `python -m benchmarks.process_episode [--episodes 6]`. The agent is a usual one: Playwright's Python package on the
browser, OpenAI's on the model, ten steps on the embedded shop, each after a request that holds the page. In turn it
drives the browser and asks the endpoint directly (the reference), and plays an episode of a run (ours), all in one
Chromium and with one endpoint that answers at once. Counted is user and system time of all processes from the start of
the agent to its end: the agent with its start, the run, browser, site and endpoint. Rows `relay` compare an episode
whose commands are passed on, but are no steps, with the same one that sends them to the browser directly. Rows
`passed on` compare the former with the agent alone: what relay, gateway, and the opening and closing of an episode
take. Rows `recorded` are a run's, with an observation, a screenshot and the effects of each step.
"""

import asyncio
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import psutil

from benchmarks.debugging_port import reachable_pool
from benchmarks.gateway import passthrough_to, record, with_settings
from benchmarks.instant_endpoint import instant_endpoint
from benchmarks.results import Rows, parser, row, tell
from benchmarks.step_overhead import HOME, task
from harness.embedded_server import start_servers
from harness.plugins.process_agent.cdp.bursts import Bursts, Sent, Ticket
from harness.plugins.process_agent.scripted import scripted_process
from harness.records import Site

AGENT = """
import json, os, sys
from openai import OpenAI
from playwright.sync_api import expect, sync_playwright

STEPS = (
    ("type", "searchbox", "Search products", "camp", ("link", "Camp Mug")),
    ("click", "link", "Camp Mug", "", ("button", "Add to cart")),
    ("click", "tab", "Details", "", ("tabpanel", "Details")),
    ("click", "button", "Add to cart", "", ("link", "Go to checkout")),
    ("click", "link", "Go to checkout", "", ("textbox", "E-mail")),
    ("fill", "textbox", "E-mail", "ada@example.org", ("textbox", "E-mail")),
    ("fill", "textbox", "Password", "difference", ("textbox", "Password")),
    ("click", "link", "Contact", "", ("textbox", "Your e-mail")),
    ("goto", "", "", "", ("searchbox", "Search products")),
    ("type", "searchbox", "Search products", "lamp", ("link", "Harbour Floor Lamp")),
)
model = OpenAI()
with sync_playwright() as playwright:
    browser = playwright.chromium.connect_over_cdp(os.environ["CDP"] or os.environ["CAIRN_CDP_URL"])
    if os.environ["CDP"]:
        context = browser.new_context()
        page = context.new_page()
    else:
        context = browser.contexts[0]
        page = context.pages[0]
    page.goto(os.environ["HOME_PAGE"])
    for do, role, name, text, shows in STEPS:
        said = page.locator("body").aria_snapshot()
        model.chat.completions.create(model="m", messages=[{"role": "user", "content": said}])
        if do == "goto":
            page.goto(os.environ["HOME_PAGE"])
        else:
            target = page.get_by_role(role, name=name, exact=True).first
            if do == "click":
                target.click()
            else:
                target.fill(text)
                if do == "type":
                    target.press("Enter")
        expect(page.get_by_role(shows[0], name=shows[1], exact=True).first).to_be_visible()
    if os.environ["CDP"]:
        context.close()
if "CAIRN_ANSWER" in os.environ:
    open(os.environ["CAIRN_ANSWER"], "w").write("done")
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of processor time."""

    browser: float
    other: float

    @property
    def whole(self) -> float:
        return self.browser + self.other


def spent() -> Spent:
    """By this process and all it has started; what has ended counts with its parent."""
    sums = {True: 0.0, False: 0.0}
    for one in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            with one.oneshot():
                is_browser = "chrom" in one.name() or "headless" in one.name()
                sums[is_browser] += sum(one.cpu_times()[:4])
        except psutil.NoSuchProcess:
            pass
    return Spent(browser=sums[True], other=sums[False])


async def during(work: Callable[[], Awaitable[None]]) -> Spent:
    before = spent()
    await work()
    after = spent()
    return Spent(browser=after.browser - before.browser, other=after.other - before.other)


async def _let_through(bursts: Bursts, sent: Sent, *, is_recorded: bool = False) -> Ticket:
    return Ticket(None, 0)


async def _unmarked(bursts: Bursts) -> None:
    pass


def unrecorded() -> AbstractContextManager[Any]:
    """Commands are passed on as they come, and are no steps."""
    return patch.multiple(Bursts, admit=_let_through, script=_unmarked)


async def measure(*, episodes: int = 6) -> Rows:
    found: dict[str, list[Spent]] = defaultdict(list)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = await stack.enter_async_context(start_servers("harness.plugins.demo", log=folder / "log"))
        home = f"http://t0.shop.localhost:{port}/"
        site = Site(name="shop", url=home.rstrip("/"), canonical=HOME.rstrip("/"))
        pool, browser = await stack.enter_async_context(reachable_pool(site))
        address = await stack.enter_async_context(instant_endpoint())
        script = folder / "agent.py"
        script.write_text(AGENT)
        command = [sys.executable, str(script)]
        agent = await stack.enter_async_context(scripted_process(command, timeout_s=600.0))
        passthrough = passthrough_to(f"{address}/v1")
        stack.push_async_callback(passthrough.close)
        devtools = f"http://{urlsplit(browser).netloc}"
        agent = with_settings(replace(agent, passthrough=passthrough), browser="cdp")
        direct = {"CDP": devtools, "HOME_PAGE": home, "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none"}

        async def alone() -> None:
            process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **direct})
            if await process.wait():
                raise SystemExit("the agent did not end as it should")

        async def recorded(browser: str = "") -> None:
            environment = {"CDP": browser, "HOME_PAGE": home}
            playing = with_settings(agent, env=environment)
            with tempfile.TemporaryDirectory() as run:
                await record(playing, pool.open(task(), 0), Path(run))

        async def passed_on() -> None:
            with unrecorded():
                await recorded()

        arms = {"alone": alone, "direct": partial(recorded, devtools), "passed on": passed_on, "recorded": recorded}
        for turn in range(episodes + 1):
            for name in [*arms, *arms][turn % len(arms) :][: len(arms)]:
                used = await during(arms[name])
                if turn:
                    found[name].append(used)
    parts: dict[str, Callable[[Spent], float]] = {
        "all": lambda one: one.whole,
        "browser": lambda one: one.browser,
        "all but the browser": lambda one: one.other,
    }
    compared = {
        "relay": ("passed on", "direct"),
        "passed on": ("passed on", "alone"),
        "recorded": ("recorded", "alone"),
    }
    return {
        f"process episode, 10 steps, {arm}: processor time, {name}": row(
            list(map(part, found[ours])), list(map(part, found[reference])), "s"
        )
        for arm, (ours, reference) in compared.items()
        for name, part in parts.items()
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--episodes", type=int, default=6)
    tell(asyncio.run(measure(episodes=options.parse_args().episodes)))


if __name__ == "__main__":
    main()
