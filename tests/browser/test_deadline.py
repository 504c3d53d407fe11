"""What is running ends when something it relies on dies, however often that is said."""

import asyncio

import pytest

from harness.browser.driver.playwright_errors import Deadline
from harness.errors import BrowserCrashed


async def test_a_second_death_is_harmless_while_the_first_one_ends_what_runs() -> None:
    watch = Deadline()
    with pytest.raises(BrowserCrashed) as caught:
        async with watch.guard("looking", limit_s=60):
            watch.crash("http://a.test/")
            try:
                await asyncio.Event().wait()
            finally:
                # Chromium says it once for each tab, and then that it is gone itself.
                watch.crash("http://b.test/")
                watch.abort("the browser is gone", whole=True)
    assert "http://a.test/" in str(caught.value) and caught.value.whole
