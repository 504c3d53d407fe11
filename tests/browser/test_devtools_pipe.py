"""What clients of the shared pipe have not read is counted for all of them together, and no longer than they are there."""

import pytest

from harness.browser.driver.devtools_pipe import Backlog
from harness.browser.session.chromium import ChromiumPool
from tests.browser.conftest import QUICK, Web, visiting
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_what_a_client_did_not_read_before_its_page_closed_is_forgotten_with_it(web: Web) -> None:
    web.page("/", "<p>here</p>")
    async with ChromiumPool(QUICK, sites=lambda _: (web.site,), shared=True) as pool, visiting(pool, web) as visit:
        window, backlog = visit.env._window, Backlog()
        assert window.lane.devtools is not None
        tab = await window.tabs.open()
        client = await window.lane.devtools.connect(tab.target, backlog)
        await client.send(1, "Page.getFrameTree", {})
        await until(lambda: backlog.size > 0)
        await tab.page.close()
        await until(lambda: not client._is_open)
        client.close()
        assert backlog.size == 0
        assert await client.receive() is None
