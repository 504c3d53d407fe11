"""A command sent the short way is answered, and fails, as one sent by playwright's public `send`."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.async_api import Error

from harness.browser.driver.cdp_send import sender
from harness.browser.driver.playwright_errors import closed, first_line
from harness.browser.session.chromium import ChromiumPool
from tests.browser.conftest import Web, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("changed_inside", [False, True])
async def test_a_command_is_answered_and_fails_alike(web: Web, chromium: ChromiumPool, changed_inside: bool) -> None:
    web.page("/", "hello")
    async with visiting(chromium, web) as visit:
        cdp = visit.env._window.tabs.current.cdp
        # Another playwright may have none of the inside that the short way goes by.
        session: Any = SimpleNamespace(send=cdp.send) if changed_inside else cdp
        send = sender(session)
        page = await send("Runtime.evaluate", expression="[document.body.innerText, 7]", returnByValue=True)
        assert page["result"]["value"] == ["hello", 7]
        with pytest.raises(Error) as refused:
            await send("DOM.resolveNode", backendNodeId=987654321)
        assert first_line(refused.value).endswith("No node with given id found")
        await visit.env._window.tabs.open()
        await visit.env._window.tabs.all[0].page.close()
        with pytest.raises(Error) as gone:
            await send("Runtime.evaluate", expression="1")
        assert closed(gone.value)
