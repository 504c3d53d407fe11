"""Performs one action on the current tab, with the events that a person's mouse and keyboard would cause.

It does not wait for the consequences: see `settling`. An action that cannot be done raises `ActionFailed` with a
sentence for the agent, and leaves the page unchanged.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from typing import Any, Literal

from playwright.async_api import Error, Page
from playwright.async_api import TimeoutError as DriverTimeout

from harness.actions import Action, Target
from harness.actions.browser_controls import Button
from harness.actions.key_names import cairn_keys
from harness.actions.truncate import cut
from harness.browser.acting.clipboard import Clipboard, is_clipboard_key
from harness.browser.acting.code import call
from harness.browser.acting.element import WIDGETS, Element
from harness.browser.acting.uploads import upload_path
from harness.browser.driver.playwright_errors import first_line, net_error, page_left
from harness.browser.network.addresses import Addresses, as_address
from harness.browser.network.allowlist import FAILED_BY_PROXY, AddressRefused, Allowlist
from harness.browser.page_settings import PageSettings
from harness.browser.reading.seen_element import ElementReader
from harness.browser.rendering.observer import RenderedPage
from harness.browser.tabs.tabs import Tabs
from harness.choices import ObservationDialect
from harness.errors import ActionFailed
from harness.records import ScriptedUser

_TYPED = 200
"""Characters that are typed key by key; what is longer is inserted at once, as a paste would."""
# A typed character takes 5 ms of processor time, and a text that is inserted at once 10 ms.
_FEW = 3
"""Characters that are sooner typed than it is asked who would notice."""
_MODIFIERS = ("Alt", "Control", "Meta", "Shift")
_REPEATS_AFTER_S = 0.05
"""How soon a key that is held is pressed again, as keyboards do."""
_RELEASES_WITHIN_S = 1.0
_MOST_NAME = 80
"""Characters of the name of what covers an element."""
_NEW_TAB = "Meta" if sys.platform == "darwin" else "Control"
"""Held while a link is clicked: opens it in another tab."""
_WAITS_S = 5.0
"""How long `wait` watches a page that does not change."""
_CHOOSES_WITHIN_S = 2.0
"""How soon after a click a page opens its file dialog."""
_WAITED = """(limit) => new Promise((resolve) => {
  const done = () => { observer.disconnect(); clearTimeout(timer); resolve(); };
  const observer = new MutationObserver(done);
  const timer = setTimeout(done, limit);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})"""
_SCROLL = files("harness.browser.acting").joinpath("scroll.js").read_text(encoding="utf-8")


class ActionExecutor:
    """Performs actions in one context; implements `BrowserControls`."""

    def __init__(
        self, tabs: Tabs, addresses: Addresses, *, guard: Allowlist, pages: PageSettings, clipboard: Clipboard
    ) -> None:
        self._tabs = tabs
        self._clipboard = clipboard
        self._addresses = addresses
        self._guard = guard
        self._settings = pages.browser
        self._as_webarena = pages.observation.dialect is ObservationDialect.webarena
        # Not by the action set alone: WebArena's ids with cairn's observation would behave like neither.
        self._appends = pages.appends or not self._as_webarena
        self._elements = ElementReader()
        self._body: RenderedPage | None = None
        self.user: ScriptedUser | None = None
        """Whom the task has to be asked."""
        self.selectors: tuple[str, ...] = ()
        """Those of the task; `matched` are those of them that fit an element of the last action."""
        self.matched: tuple[str, ...] | None = None

    async def perform(
        self, action: Action, body: RenderedPage | None, *, unblock: Callable[[], Awaitable[None]]
    ) -> bool:
        """Do it.

        Args:
            body: What the decision was made upon; None = nothing was seen yet.
            unblock: Ends what keeps the page from taking input, a script that runs on for instance.
        Returns:
            Whether all of its input was given to the page.
        Raises:
            ActionFailed: It cannot be done.
        """
        self._body = body
        # Just before the action, as the page that follows may not hold the element any more.
        self.matched = await self._matched(action) if self.selectors and action.targets else None
        if action.navigates:
            try:
                await action.perform(self)
            except AddressRefused as exc:
                self._guard.report(str(exc))
                raise
            return True
        seconds = self._settings.action_timeout_s
        performing = asyncio.create_task(action.perform(self))
        try:
            await asyncio.wait([performing], timeout=seconds)
            if not performing.done():
                self._tabs.notice(f"the page did not react to the action within {seconds:g} s")
                # Not cut off here: what was typed in half would be another action than the one that was decided.
                await unblock()
                await asyncio.wait([performing], timeout=seconds)
            if performing.done():
                performing.result()
            return performing.done()
        except Error as exc:
            if not page_left(exc):
                # a page that closed itself, or went elsewhere, has reacted; settling sees what became of it
                raise
            return True
        finally:
            while not performing.done():  # it may wait for keys to be released, by a page that does not answer
                performing.cancel()
                await asyncio.wait([performing], timeout=_RELEASES_WITHIN_S)

    async def plain_link(self, target: Target, body: RenderedPage) -> str:
        """See `Element.plain_link`; "" also when the element is not there."""
        self._body = body
        try:
            return await self._element(target).plain_link()
        except ActionFailed:
            return ""

    async def goto(self, url: str) -> int | None:
        """Open a canonical address in the current tab, as far as the server's answer; gives its status, if there is
        one.
        """
        written = as_address(url)
        real = self._addresses.to_real(written)
        self._guard.check(real, shown=written)
        tab = self._tabs.current
        seconds = self._settings.navigation_timeout_s
        try:
            async with asyncio.timeout(seconds):
                # Settling waits for the rest. The time is ours, because the driver's clock also counts while this
                # process is frozen.
                answer = await tab.page.goto(real, wait_until="commit", timeout=0)
            return answer.status if answer is not None else None
        except TimeoutError as exc:
            await tab.cdp.send("Page.stopLoading")  # or the page goes there later, in the middle of another step
            tab.give_up_moving()
            raise ActionFailed(f"{written}: no answer within {seconds:g} s") from exc
        except Error as exc:
            name = net_error(exc)
            if name in FAILED_BY_PROXY and (why := self._guard.why_blocked(real)):
                raise AddressRefused(f"{written} cannot be opened: {why}") from exc
            if name is not None:
                raise ActionFailed(f"{written} could not be opened: {self._guard.net_error(name, real)}") from exc
            # A notice tells of a download, and settling follows the other navigation: neither is a failure.
            if "Download is starting" in exc.message or "interrupted by another navigation" in exc.message:
                return None
            if "invalid URL" in exc.message:
                raise ActionFailed(f"{written} is not a valid address") from exc
            raise

    async def travel(self, by: Literal[-1, 1]) -> None:
        tab = self._tabs.current
        history = await tab.cdp.send("Page.getNavigationHistory")
        index = history["currentIndex"] + by
        entries = history["entries"]
        # The empty page that every tab begins with is none that an agent has seen.
        blank_start = index == 0 and entries[0]["url"] == "about:blank"
        if not 0 <= index < len(entries) or blank_start:
            raise ActionFailed(f"there is no {'earlier' if by < 0 else 'later'} page in this tab")
        tab.expect_move(entries[index]["url"])
        await tab.cdp.send("Page.navigateToHistoryEntry", {"entryId": entries[index]["id"]})

    async def ask_user(self, question: str) -> None:
        if self.user is None:
            raise ActionFailed("this task has no user to ask")
        # Chosen by the question alone, so that a replay hears the same.
        self._tabs.notice(f"the user answers: {self.user.answer_to(question).says}")

    async def open_tab(self) -> None:
        await self._tabs.open()

    async def focus_tab(self, index: int) -> None:
        tabs = self._tabs.all
        if not 0 <= index < len(tabs):
            raise ActionFailed(f"there is no tab {index}; the last one is {len(tabs) - 1}")
        await self._tabs.focus(tabs[index])

    async def close_tab(self) -> None:
        await self._tabs.close_current()

    async def click(self, target: Target) -> None:
        await self._click(self._element(target))

    async def hover(self, target: Target) -> None:
        await self._page.mouse.move(*await self._aim(self._element(target)))

    async def double_click(self, target: Target) -> None:
        await self._page.mouse.dblclick(*await self._aim(self._element(target)))

    async def drag(self, target: Target, onto: Target) -> None:
        element, over, mouse = self._element(target), self._element(onto), self._page.mouse
        await self._aim(over)  # refused here, nothing is pressed yet
        await mouse.move(*await self._aim(element))
        async with self._pressed():
            # Again: the page may have made room for what is dragged, or have scrolled to it.
            end = over.point(await self._locate(over))
            # Pages hear of a drag over them (dragover) from the second move on.
            await mouse.move(*end, steps=5)

    async def select(self, target: Target, option: str) -> None:
        await self._choose(self._element(target), option, typed=False)

    async def check(self, target: Target, checked: bool) -> None:
        element = self._element(target)
        if await element.is_checked() is not checked:
            await self._click(element, selected=checked)
            if await element.is_checked() is not checked:
                raise ActionFailed(f"element [{target.id}] stays {'un' * checked}checked")

    async def upload(self, target: Target, file: str) -> None:
        path, element = upload_path(file, self._settings.uploads), self._element(target)
        if await element.give(path):
            return
        # Pages hide the field itself, and open its dialog with a label or a button.
        limit_s = min(_CHOOSES_WITHIN_S, self._settings.action_timeout_s / 2)
        try:
            async with self._page.expect_file_chooser(timeout=limit_s * 1000) as dialog:
                await self._click(element)
            await (await dialog.value).set_files(path)
        except DriverTimeout as exc:
            raise ActionFailed(f"element [{target.id}] does not accept a file: a click on it opens no dialog") from exc
        except Error as exc:
            if page_left(exc):
                raise
            raise ActionFailed(f"the file dialog of element [{target.id}] refuses the file: {first_line(exc)}") from exc

    async def click_at(
        self,
        x: float,
        y: float,
        *,
        button: Button = "left",
        times: int = 1,
        holding: str = "",
    ) -> None:
        # Blink's own setting against pasting by this button is overwritten by the preferences of each page.
        if button == "middle":  # it would paste what any page of the browser has selected last, see `clipboard`
            button, holding = "left", "+".join(filter(None, (_NEW_TAB, holding)))
        async with self._held(holding):
            await self._page.mouse.click(*self._px(x, y), button=button, click_count=times)

    async def hover_at(self, x: float, y: float) -> None:
        await self._page.mouse.move(*self._px(x, y))

    async def drag_along(self, path: Sequence[tuple[float, float]], *, holding: str = "") -> None:
        mouse = self._page.mouse
        await mouse.move(*self._px(*path[0]))
        async with self._held(holding), self._pressed():
            for x, y in path[1:]:
                await mouse.move(*self._px(x, y), steps=5)

    async def scroll_at(self, x: float, y: float, *, right: float, down: float, holding: str = "") -> None:
        await self._page.mouse.move(*self._px(x, y))
        async with self._held(holding):
            await self._page.mouse.wheel(*self._px(right, down))

    @asynccontextmanager
    async def _held(self, keys: str) -> AsyncIterator[None]:
        """Hold these keys in the block; they are released whatever happens."""
        names = [key for key in _pressable(keys).split("+") if key]
        if unknown := [key for key in names if key not in _MODIFIERS]:
            raise ActionFailed(f"{unknown[0]} cannot be held; hold one of {', '.join(_MODIFIERS)}")
        for key in names:
            await self._page.keyboard.down(key)
        try:
            yield
        finally:
            for key in names:
                await self._page.keyboard.up(key)

    @asynccontextmanager
    async def _pressed(self) -> AsyncIterator[None]:
        """Hold the mouse button in the block; it is released whatever happens."""
        mouse = self._page.mouse
        try:
            await mouse.down()
            yield
        finally:
            await mouse.up()

    def _px(self, x: float, y: float) -> tuple[float, float]:
        width, height = self._settings.viewport
        return x * width, y * height

    async def scroll(self, direction: Literal["up", "down"]) -> None:
        # WebArena scrolls the document only, also when it is held still.
        sign = 1 if direction == "down" else -1
        within = "false" if self._as_webarena else "true"
        left = await self.evaluate(f"({_SCROLL})([{sign}, {within}])")
        if left is None or self._as_webarena:
            return
        if not left:
            return self._tabs.notice(f"nothing in view scrolls further {direction}")
        x, y, height = left
        await self._page.mouse.move(x, y)
        await self._page.mouse.wheel(0, sign * height)

    async def wait(self) -> None:
        # Half of the time of an action, when a page would be said not to react.
        limit_ms = min(_WAITS_S, self._settings.action_timeout_s / 2) * 1000
        await self.evaluate(f"({_WAITED})({limit_ms})")

    async def call(self, verb: str, code: str, text: str) -> None:
        if self._as_webarena:
            text = self._addresses.to_real_text(text)  # as in `_write`
        as_on_page, limit_s = self._addresses.to_real_text, self._settings.action_timeout_s
        await call(self._page, verb, code, text, limit_s=limit_s, as_on_page=as_on_page)

    async def evaluate(self, script: str) -> Any:
        return await self._tabs.current.evaluate_aside(script)

    @property
    def _page(self) -> Page:
        return self._tabs.current.page

    async def _matched(self, action: Action) -> tuple[str, ...] | None:
        """See `Acted.matched`; a page that does not answer, or an element that is not there, says nothing."""
        try:
            async with asyncio.timeout(self._settings.action_timeout_s):
                found = [await self._element(target).matched(self.selectors) for target in action.targets]
        except (ActionFailed, Error, TimeoutError):
            return None
        return tuple(one for one in self.selectors if any(one in fitting for fitting in found))

    def _element(self, target: Target) -> Element:
        if self._body is None or (shown := self._body.elements.get(target.id)) is None:
            raise ActionFailed(f"there is no element [{target.id}] in the current observation; use an id listed there")
        return Element(shown.document, shown.backend, id=target.id)

    async def _click(self, element: Element, *, selected: bool = True) -> None:
        found = await self._locate(element)
        # The options of a closed list have no box, so the mouse cannot hit them.
        if found["option"] and not found["picker"]:
            return await element.pick(selected=selected)
        if found["option"] and found["locked"]:
            raise ActionFailed(f"element [{element.id}] is {found['locked']}")
        await self._page.mouse.click(*await self._point(element, found))

    async def _choose(self, element: Element, option: str, *, typed: bool) -> None:
        if await element.choose(option, typed=typed):
            return
        await self._click(element)  # closes it
        if not await element.choose(option, typed=typed):
            raise ActionFailed(f"element [{element.id}] stays open, and nothing was chosen")

    async def _locate(self, element: Element) -> Mapping[str, Any]:
        return await element.locate(surely=not self._as_webarena)

    async def _aim(self, element: Element) -> tuple[float, float]:
        return await self._point(element, await self._locate(element))

    async def _point(self, element: Element, found: Mapping[str, Any]) -> tuple[float, float]:
        """Where the mouse meets an element that was located.

        Raises:
            ActionFailed: Nowhere. WebArena presses whatever is there.
        """
        point = element.point(found)
        if found["met"] or self._as_webarena:
            return point
        if not found["covered"]:
            raise ActionFailed(f"element [{element.id}] is cut off on the page, or lets the mouse through")
        seen = await self._elements.read(self._tabs.current, point)
        if seen is None or seen.kind == "iframe":  # what lies in a frame of another process is not read
            raise ActionFailed(f"element [{element.id}] is covered by another element")
        name = f" {cut(seen.name, _MOST_NAME)!r}" if seen.name else ""
        raise ActionFailed(f"element [{element.id}] is covered by {seen.role or seen.kind}{name}")

    async def type(self, target: Target, text: str, *, enter: bool, clear: bool) -> None:
        element = self._element(target)
        found = await self._locate(element)
        if found["list"]:
            return await self._choose(element, text, typed=True)
        page = self._page
        self._check_takes_text(target, found)
        if found["type"] in WIDGETS:
            await element.fill(text, type=found["type"])
        else:
            # Enter would submit the form in the middle of the text, and browsers drop pasted line breaks without a
            # word.
            if "\n" in text and found["tag"] == "input" and not self._as_webarena:
                raise ActionFailed(f"element [{target.id}] is a field of one line; give the text without line breaks")
            if found["unseen"] and not self._as_webarena:  # a person clicks on what the editor draws, or presses Tab
                await element.focus()
            else:
                await page.mouse.click(*await self._point(element, found))
            if clear:
                await page.keyboard.press("ControlOrMeta+a")
                if not text:
                    await page.keyboard.press("Delete")
            elif (found["filled"] or found["unseen"]) and self._appends:
                # A click puts the caret into the middle of the field, where a long text would be split.
                await page.keyboard.press("End" if found["tag"] == "input" else "ControlOrMeta+End")
            simple = found["takesText"] and len(text) > _FEW and text.isprintable()
            # Asked after the click: a field may hand the focus on, and keys then go elsewhere.
            at_once = simple and not await element.hears_typing()
            if "\n" in text and not self._as_webarena:
                await self._write_lines(text)
            else:
                await self._write(text, at_once=at_once)
        if enter:
            await page.keyboard.press("Enter")

    def _check_takes_text(self, target: Target, found: Mapping[str, Any]) -> None:
        if found["type"] == "file":
            raise ActionFailed(f"element [{target.id}] is a file field; use upload instead")
        # In WebArena, keys are pressed all the same; but nothing there sets a value that a person could not set.
        if found["locked"] and (found["type"] in WIDGETS or not self._as_webarena):
            raise ActionFailed(f"element [{target.id}] is {found['locked']} and takes no text")

    async def _write_lines(self, text: str) -> None:
        """Into a field of several lines: line breaks are put in, as Enter may send what is written so far."""
        typed = 0
        for number, line in enumerate(text.replace("\r\n", "\n").split("\n")):
            if number:
                await self._page.keyboard.insert_text("\n")
            await self._write(line, at_once=typed >= _TYPED)
            typed += len(line)

    async def write(self, text: str) -> None:
        await self._write(text, at_once=False)

    async def _write(self, text: str, *, at_once: bool) -> None:
        if self._as_webarena:
            text = self._addresses.to_real_text(text)  # WebArena maps whatever an action says, what is typed included
        keyboard = self._page.keyboard
        by_keys = 0 if at_once else _TYPED
        if typed := text[:by_keys]:
            await keyboard.type(typed)
        if rest := text[by_keys:]:
            await keyboard.insert_text(rest)

    async def press(self, keys: str) -> None:
        pressed = self._pressable(keys)
        with _known_keys(keys):
            async with self._clipboard.during(pressed):
                await self._page.keyboard.press(pressed)

    async def hold(self, keys: str, *, seconds: float) -> None:
        keyboard, down = self._page.keyboard, list[str]()
        names = [key for key in self._pressable(keys).split("+") if key] or ["+"]
        # Half of the time of an action, when a page would be said not to react.
        limit_s = min(seconds, self._settings.action_timeout_s / 2)
        if is_clipboard_key(_pressable(keys)):  # nobody waits for the clipboard longer than for one press
            return await self.press(keys)
        try:
            with _known_keys(keys):
                for key in names:
                    await keyboard.down(key)
                    down.append(key)
            until = asyncio.get_running_loop().time() + limit_s
            while (left_s := until - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(min(left_s, _REPEATS_AFTER_S))
                await keyboard.down(names[-1])
        finally:
            for key in reversed(down):
                await keyboard.up(key)

    def _pressable(self, keys: str) -> str:
        *held, last = _pressable(keys).split("+")
        # No keyboard sends a capital letter without Shift; WebArena does.
        if not self._as_webarena and "Shift" not in held and not {"Control", "Meta", "Alt"}.isdisjoint(held):
            last = last.lower() if len(last) == 1 else last
        return "+".join((*held, last))


@contextmanager
def _known_keys(keys: str) -> Iterator[None]:
    try:
        yield
    except Error as exc:
        if "Unknown key" in exc.message:
            raise ActionFailed(f"{first_line(exc)} in press [{keys}]") from exc
        raise


def _pressable(key_comb: str) -> str:
    """Playwright's spelling; `Meta` is `Control` except on a Mac, as in WebArena."""
    keys = cairn_keys(key_comb)
    return keys if sys.platform == "darwin" else keys.replace("Meta", "Control")
