"""One browser and one wild site for all rows that ask for nothing of their own."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from harness.browser.session.chromium import ChromiumPool
from tests.hostile.pages.wild import QUICK, SLOW, Wild, wild_site


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def site() -> AsyncIterator[Wild]:
    async with wild_site() as wild:
        yield wild


@pytest.fixture
def wild(site: Wild) -> Wild:
    site.pages.clear()
    return site


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def patient(site: Wild) -> AsyncIterator[ChromiumPool]:
    """For rows that take long: nearly as patient as by default."""
    async with ChromiumPool(SLOW, sites=lambda _: (site.site,)) as pool:
        yield pool


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium(site: Wild) -> AsyncIterator[ChromiumPool]:
    async with ChromiumPool(QUICK, sites=lambda _: (site.site,)) as pool:
        yield pool
