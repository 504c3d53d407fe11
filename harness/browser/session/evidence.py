"""Collects from the live pages everything that the evaluators of a task need; afterwards no browser is needed.

The agent's own page is never navigated: other addresses are opened in new tabs. It is read first and then cut off from
the network, so that no request of it comes between what is gathered of its sites. Locators are script that runs in the
page, as in WebArena; nothing of a task is evaluated outside of it. What cannot be gathered is an error of that one
target, and so is damage that a locator does to its page. A site that does not answer is `SiteUnavailable`, so that the
episode stays pending. Where WebArena would score what it got nevertheless (a page with status 500, a locator that is no
script or closes its page), both the value and the error are kept.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from playwright.async_api import Error

from harness.actions.truncate import cut
from harness.browser import text_limits
from harness.browser.driver.playwright_errors import closed, first_line, gone, page_left
from harness.browser.network.trace import Trace
from harness.browser.session import login
from harness.browser.session.browser_session import BrowserSession
from harness.browser.session.functions import FunctionContext, call
from harness.browser.session.page_values import LARGEST, MOST_ITEMS, bounded
from harness.browser.tabs.tab import Tab
from harness.codec import dumps
from harness.errors import ActionFailed, EvaluatorError, SiteUnavailable
from harness.protocols import RawEvidence, TargetValue
from harness.records import HtmlTarget, Task
from harness.trees import each_text

_SELECT = bounded("(0, eval)(argument)")
"""What a locator gives, as page.evaluate would, in an array."""
_FUNC = "func:"
_BROKEN = 500
"""Statuses from here on are the server's own failures."""


async def gather(
    window: BrowserSession,
    task: Task,
    *,
    trace: Trace | None = None,
    cuts_off: bool = True,
) -> RawEvidence:
    """See `Environment.gather`.

    Args:
        trace: It ends here, before anything is asked for that the agent did not ask for.
        cuts_off: Cut off the agent's tabs before other addresses are opened.
    """
    mine = await window.settler.settle()
    # Before other addresses are opened, which are not traffic of the agent.
    har = None if trace is None else await trace.end(window.lane.addresses)
    shown = window.lane.addresses.to_canonical
    url, title, html = map(shown, (mine.url, *await mine.source()))
    url, title, html = text_limits.truncate_url(url), cut(title, text_limits.MAX_TITLE_CHARS), cut(html, LARGEST)
    targets = (*task.eval.program_html, *task.probes)
    gatherer = _Gatherer(window, mine)
    await gatherer.read_mine(targets)
    if any(target.url != "last" for target in targets):
        if cuts_off:
            await window.cut_off_tabs()
        with window.traffic.unrecorded():
            await login.ensure(window, login.wanted(task, window.lane.sites), aside=True)
    selections = [await gatherer.select(index, target) for index, target in enumerate(targets)]
    await gatherer.close()
    return RawEvidence(url=url, title=title, html=html, selections=tuple(selections), trace=har)


class _Gatherer:
    def __init__(self, window: BrowserSession, mine: Tab) -> None:
        self._window = window
        self._mine = mine
        self._other: Tab | None = None
        """The tab of the last target that was not `last`: where WebArena's own page would be."""
        self._fresh_at = ""
        """The address that tab was opened at, while nothing was done to it since."""
        self._status: int | None = None
        """What the server said to that address."""
        self._doubt = ""
        """Why the value of the target at hand should not be trusted."""
        self._of_mine: dict[int, _Found] = {}
        """What targets select from the agent's page, by their index."""

    async def read_mine(self, targets: Sequence[HtmlTarget]) -> None:
        """Let the targets of the agent's page select, in their order."""
        for index, target in enumerate(targets):
            if target.url == "last":
                self._of_mine[index] = await self._found(index, target)

    async def select(self, index: int, target: HtmlTarget) -> TargetValue:
        mine = self._of_mine.get(index)
        if mine is None:
            return (await self._found(index, target)).value
        if self._other is None or not mine.is_there:
            return mine.value
        try:
            theirs = await self._value(self._other, target)
        except EvaluatorError as exc:
            return TargetValue(index=index, url=mine.value.url, error=str(exc))
        return replace(mine.value, last_value=None if theirs == mine.value.value else theirs)

    async def _found(self, index: int, target: HtmlTarget) -> "_Found":
        url, self._doubt = "", ""
        try:
            tab = await self._tab(target)
            url = self._shown(tab)
            value = await self._value(tab, target)
            return _Found(TargetValue(index=index, url=url, value=value, error=self._doubt), is_there=True)
        except EvaluatorError as exc:
            return _Found(TargetValue(index=index, url=url, error=str(exc)), is_there=False)

    async def close(self) -> None:
        """Leave only what the agent had open."""
        if self._other is not None and not self._other.page.is_closed():
            await self._window.tabs.close(self._other)
        self._other = None
        await self._focus_mine()

    async def _focus_mine(self) -> bool:
        """Make the agent's page current; False = it is not there any more."""
        try:
            if not (is_gone := self._mine.page.is_closed()):
                await self._window.tabs.focus(self._mine)
        except Error as exc:
            if not (is_gone := closed(exc)):
                raise
        return not is_gone

    async def _tab(self, target: HtmlTarget) -> Tab:
        """The tab to look at, settled and current."""
        if target.url == "last":
            if not await self._focus_mine():
                raise EvaluatorError("the agent's page closed while evidence was gathered")
            return self._mine
        url = target.url
        if url.startswith(_FUNC):
            url = await call(url.removeprefix(_FUNC), self._scene(self._mine))
        if self._other is not None and url == self._fresh_at:
            await self._window.tabs.focus(self._other)
            self._suspect_status(url)
            return self._other
        await self.close()
        self._other = await self._window.tabs.open()
        self._fresh_at = ""  # the tab stays blank if the address is refused
        real = self._window.lane.addresses.to_real(url)
        try:
            self._window.lane.guard.check(real, shown=url)
        except ActionFailed as exc:
            raise EvaluatorError(str(exc)) from exc
        try:
            self._status = await self._window.actor.goto(url)
        except ActionFailed as exc:
            raise SiteUnavailable(f"gathering evidence: {exc}") from exc
        self._other = await self._window.settler.settle()
        self._fresh_at = url
        self._suspect_status(url)
        return self._other

    def _suspect_status(self, url: str) -> None:
        if self._status is not None and self._status >= _BROKEN:
            self._doubt = f"{url} answered {self._status}"

    async def _value(self, tab: Tab, target: HtmlTarget) -> Any:
        locator = target.locator
        if locator.startswith(_FUNC):
            return await call(locator.removeprefix(_FUNC), self._scene(tab))
        limit_s = self._window.settings.action_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                value = await self._read(tab, target)
            size = len(dumps(value))
        except TimeoutError as exc:
            raise EvaluatorError(f"{locator or 'the page'} returned nothing within {limit_s:g} s") from exc
        except (TypeError, ValueError, OverflowError, RecursionError) as exc:  # also playwright's
            raise EvaluatorError(f"{locator} returned a value that is not JSON") from exc
        if size > LARGEST:
            raise EvaluatorError(f"{locator or 'the page'} returned {size} bytes; the limit is {LARGEST}")
        return value

    async def _read(self, tab: Tab, target: HtmlTarget) -> Any:
        shown = self._window.lane.addresses.to_canonical
        if not target.locator.strip():
            _, html = await tab.source()
            return shown(html)
        try:
            for action in target.prep_actions:
                self._fresh_at = ""
                await tab.page.evaluate(f"() => {action}")
        except Error:
            pass  # as in WebArena: the first that fails ends the preparation, and the locator decides
        try:
            found = await tab.page.evaluate(_SELECT, f"() => {target.locator}")
        except Error as exc:
            if gone(exc) and not closed(exc):
                raise
            if page_left(exc):
                self._doubt = f"the page closed while {target.locator[:200]} was evaluated"
            elif "SyntaxError" in exc.message:
                self._doubt = f"{target.locator[:200]} is not JavaScript: {first_line(exc)}"
            return ""  # as in WebArena: what a locator cannot find is an empty text, so the target fails
        if found == "":
            raise EvaluatorError(f"{target.locator[:200]} returned more than {LARGEST} bytes or {MOST_ITEMS} values")
        if not isinstance(found, list):
            self._doubt = f"the page breaks the script that evaluates {target.locator[:200]}"
            return ""
        return each_text(found[0], shown)

    def _scene(self, tab: Tab) -> FunctionContext:
        return FunctionContext(lane=self._window.lane, page=tab.page, last_url=self._shown(self._mine))

    def _shown(self, tab: Tab) -> str:
        return self._window.lane.addresses.to_canonical(tab.url)


class _Found(NamedTuple):
    value: TargetValue
    is_there: bool
    """False: there is only the reason why nothing was selected."""
