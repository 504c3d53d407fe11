"""Looking at pages as a person would: a real Chromium, axe-core, and pictures kept for whoever wants to see them."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright

from harness.browser.driver.executable import find

HERE = Path(__file__).parent
PICTURES = HERE.parent / "build" / "pictures"
FLAGS = ["--disable-background-networking", "--no-first-run", "--disable-component-update", "--disable-sync"]


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find(), args=flags)
        try:
            yield browser
        finally:
            await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_browser() -> AsyncIterator[Browser]:
    """One browser for all tests of a worker."""
    async with chromium() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session")
async def browser(shared_browser: Browser) -> AsyncIterator[Browser]:
    """The shared browser; pages that the test opened are closed after it."""
    yield shared_browser
    for context in shared_browser.contexts:
        await context.close()


async def keep_picture(page: Page, name: str) -> None:
    """A screenshot for the artefacts of a CI job."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=PICTURES / f"{name}.png")


async def serious_violations(page: Page) -> list[str]:
    """What axe-core finds serious or critical, each in a sentence."""
    await page.evaluate(axe())
    found: list[dict[str, Any]] = await page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{violation['id']}: {violation['help']} ({node['target']}: {node['any'][0]['message'] if node['any'] else ''})"
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


@cache
def axe() -> str:
    """The source of axe-core, which `make test` installs."""
    path = HERE / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        pytest.skip("axe-core is missing: `make test` installs it where npm is there")
    return path.read_text("utf-8")


async def fits(page: Page) -> bool:
    """Whether nothing is wider than the window."""
    return bool(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
