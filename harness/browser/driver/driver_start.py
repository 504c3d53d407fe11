"""Starts playwright's driver, a process of Node.js between this one and the browsers.

A worker begins one before it knows its run: the driver needs no settings, and takes a third of a second to start.
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from playwright.async_api import Error, Playwright, async_playwright

from harness.browser.driver.cdp_receive import patch_json
from harness.browser.driver.child_environment import driver_environment

_begun: "list[asyncio.Task[Playwright]]" = []
"""At most one, which nobody has taken yet."""


def begin_driver() -> None:
    """Start the driver that `start_driver` gives next, without waiting for it."""
    task = asyncio.create_task(_start())
    # Nobody may wait for it, and the loop would log its error.
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    _begun.append(task)


async def end_driver() -> None:
    """End the driver that was begun and that nobody has taken."""
    for task in _begun:
        with suppress(Error):
            await (await task).stop()


async def start_driver() -> Playwright:
    """A driver of one's own.

    Raises:
        playwright.async_api.Error: It does not start.
    """
    return await (_begun.pop() if _begun else _start())


async def _start() -> Playwright:
    _keep_compiled()
    driver = async_playwright()
    with driver_environment():
        playwright = await driver.start()
    patch_json(driver)
    return playwright


def _keep_compiled() -> None:
    """Let playwright's driver keep its code compiled: it starts with a third less work, in every worker.

    Not in a world-writable folder, because the files in it are executed; without a writable folder Chromium starts as
    usual.
    """
    # This saves a fifth of a second for each worker.
    with suppress(RuntimeError):  # a user without a home
        os.environ.setdefault("NODE_COMPILE_CACHE", str(Path("~/.cache/cairn/driver").expanduser()))
