"""The pending timers of pages, as settling.js tells of them. A page may answer anything."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error, Frame, Page

from harness.browser.reading.document_client import together
from harness.browser.tabs.tab import Tab
from harness.records import PendingTimer

_ANSWERS_WITHIN_S = 2.0
_DUE = "() => window.__cairn ? window.__cairn.due() : []"
_MOST_RECORDED = 20
"""Timers of a page that are recorded with a step."""
# A page may claim any number, and real timers are never so far away.
_MOST_MS = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTimer:
    """A timer that is still to fire and was not set again and again; times by the loop's clock."""

    page: Page
    document: int
    """How many documents the page had gone through."""
    born: float
    """When its page, or the first of the timers that set each other up to this one, set it."""
    fires: float
    every_s: float
    """0 = it fires once."""

    @property
    def left_s(self) -> float:
        return self.fires - loop_time()


async def pending_timers(tabs: tuple[Tab, ...]) -> list[PageTimer]:
    """The pending timers of all pages; a page that does not answer, or that has broken our script, has none."""
    documents = [(tab, tab.commits, frame) for tab in tabs for frame in tab.loaded_frames]
    answers = await together(*(_due(frame) for _, _, frame in documents))
    return [
        timer
        for (tab, commits, _), answer in zip(documents, answers, strict=True)
        for timer in parsed(answer, page=tab.page, document=commits)
    ]


def parsed(answer: Any, *, page: Page, document: int) -> list[PageTimer]:
    """What `due` of settling.js has answered just now."""
    now = loop_time()
    return [
        PageTimer(page=page, document=document, born=now - since / 1000, fires=now + left / 1000, every_s=every / 1000)
        for one in (answer if isinstance(answer, list) else ())
        if isinstance(one, list) and len(one) == 3 and all(map(_is_ms, one))
        for since, left, every in (one,)
    ]


def recorded(tabs: tuple[Tab, ...]) -> tuple[PendingTimer, ...]:
    """What a record tells of the timers that were pending when each tab was last observed."""
    now = loop_time()
    return tuple(
        PendingTimer(
            tab=number,
            age_ms=round(max(0.0, now - timer.born) * 1000),
            left_ms=round(max(0.0, timer.fires - now) * 1000),
            every_ms=round(timer.every_s * 1000),
        )
        for number, tab in enumerate(tabs)
        for timer in [one for one in tab.timers if one.document == tab.commits][:_MOST_RECORDED]
        if timer.every_s or timer.fires > now
    )


async def _due(frame: Frame) -> Any:
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            return await frame.evaluate(_DUE)
    return None


def _is_ms(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < _MOST_MS


def loop_time() -> float:
    """Seconds, by the clock of the running loop."""
    return asyncio.get_running_loop().time()
