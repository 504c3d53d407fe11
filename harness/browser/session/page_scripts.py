"""Scripts of plug-ins in the pages of an episode. They follow from the task and the seed, both of which the journal
holds, so that a resume runs the same ones; without a key of a task that asks for them there are none.
"""

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error

from harness.actions.truncate import cut
from harness.api import PageScript
from harness.browser.driver.playwright_errors import first_line, gone, page_left
from harness.browser.session.browser_session import BrowserSession
from harness.errors import HarnessError, PluginFailed, plugin_boundary, said_by
from harness.records import Opened, Task
from harness.registry import Registry

PAGE_SCRIPTS = Registry(group="cairn.page_scripts", noun="key of a task")
"""Key of a task to a function of the task and the seed of the attempt, which gives its scripts: a sequence of
`PageScript`. It is asked for tasks that have the key."""
_SHOWN = 200
_RUN = """((number, source, sites, addresses) => {
    if (window !== window.top) return "";
    const here = location.href;
    if (!Object.values(sites).some((base) => here === base || here.startsWith(base + "/"))) return "";
    const ran = (window[Symbol.for("cairn.scripts")] ??= new Set());
    if (ran.has(number)) return "";
    ran.add(number);
    try { source(sites, addresses); return ""; } catch (error) { return String(error); }
})"""
"""The window survives the document only where its first, empty one is replaced, which is of no site."""
_LIFT = """((number, lift) => {
    if (!window[Symbol.for("cairn.scripts")]?.has(number)) return "";
    try { lift(); return ""; } catch (error) { return String(error); }
})"""


class PageScripts:
    """The scripts of one window. Its calls are cheap without any."""

    def __init__(self, window: BrowserSession, task: Task, scripts: Sequence[PageScript]) -> None:
        self.step = -1
        """That has begun; below 0 = none."""
        self._window = window
        self._scripts = scripts
        self._begun = 0
        """The first so many have begun."""
        self._landed = 0
        """The first so many ran in documents that were open when they began."""
        self._disposals = AsyncExitStack()
        addresses = [(site.canonical.rstrip("/"), site.url.rstrip("/")) for site in window.lane.sites]
        self._sites = f"{json.dumps(_bases(window, task))}, {json.dumps(addresses)}"

    @classmethod
    def of(cls, window: BrowserSession, task: Task, opened: Opened | None) -> "PageScripts":
        """Raises: PluginFailed: A plug-in does not say which."""
        scripts: list[PageScript] = made_for(task, opened, PAGE_SCRIPTS, "page scripts")
        return cls(window, task, sorted(scripts, key=lambda one: one.from_step))

    async def begin(self, step: int) -> None:
        """The action of a step is about to be performed: the documents that it opens have the scripts."""
        is_first, self.step = self.step < 0, step
        while self._begun < len(self._scripts) and self._scripts[self._begun].from_step <= step:
            # A route could plant more, but every request would wait for the harness, and the cache would be off.
            adding = self._window.context.add_init_script(script=self._call(self._begun))
            await self._disposals.enter_async_context(await adding)
            self._begun += 1
        if is_first:
            self._landed = self._begun  # no document is open yet

    async def land(self) -> None:
        """The action was performed: documents that were open before it get the scripts.

        Raises:
            PluginFailed: A script raises.
        """
        # Not before the action, which was decided upon a page without them.
        for number in range(self._landed, self._begun):
            await self._everywhere(self._call(number))
        self._landed = self._begun

    async def lift(self) -> None:
        """End them: documents that are opened from here on have none, and those that are open as little as can be.

        Raises:
            PluginFailed: A script raises.
        """
        await self._disposals.aclose()
        for number, script in enumerate(self._scripts[: self._begun]):
            if script.lift:
                await self._everywhere(f"{_LIFT}({number}, {script.lift})")
        self._landed = self._begun = len(self._scripts)

    def _call(self, number: int) -> str:
        return f"{_RUN}({number}, {self._scripts[number].source}, {self._sites})"

    async def _everywhere(self, expression: str) -> None:
        for tab in self._window.tabs.all:
            try:
                await tab.attach()
                raised: Any = await tab.evaluate(expression)
            except Error as error:
                if page_left(error):
                    continue  # the document that it goes to has the script already
                if gone(error):
                    raise
                raise PluginFailed(f"a page script cannot be run: {first_line(error)}") from error
            if raised:
                raise PluginFailed(f"a page script raised {cut(' '.join(str(raised).split()), _SHOWN)}")


def _bases(window: BrowserSession, task: Task) -> dict[str, str]:
    """Of the task's sites; of start pages on none of them, as of live sites, their host has the name of the site."""
    bases = {site.name: site.url.rstrip("/") for site in window.lane.sites if site.name in task.sites}
    for url in map(window.lane.addresses.to_real, task.start_urls):
        try:
            parts = urlsplit(url)
        except ValueError:  # it cannot be opened either, and that is what is said of it
            continue
        if parts.netloc and not any(url == base or url.startswith(f"{base}/") for base in bases.values()):
            bases[parts.netloc] = f"{parts.scheme}://{parts.netloc}"
    return bases


def made_for(task: Task, opened: Opened | None, registry: Registry, what: str) -> list[Any]:
    """What the plug-ins of a registry make of a task that has their keys.

    Raises:
        PluginFailed: A plug-in raises.
    """
    seed = 0 if opened is None else opened.seed
    made: list[Any] = []
    for key in registry.names():
        if key in task.metadata:
            make = registry.find(key)
            with plugin_boundary(partial(_failed, what, key), passes=(HarnessError,)):
                made += make(task, seed)
    return made


def _failed(what: str, key: str, error: BaseException) -> PluginFailed:
    said = cut(" ".join(said_by(error).split()), _SHOWN)
    return PluginFailed(f"cannot make the {what} of a task's {key}: {type(error).__name__}: {said}")
