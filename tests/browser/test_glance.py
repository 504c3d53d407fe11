"""A look at the browser that is not an observation: for a person who watches."""

import asyncio

import pytest

from harness.actions import Click
from harness.api.agent_kinds import WatchableEnvironment
from harness.browser.session.chromium import ChromiumPool
from harness.records import Done
from tests.browser.conftest import Web, visiting

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
JPEG = b"\xff\xd8"


async def test_a_glance_is_the_page_as_it_is_now(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<button onclick=\"document.body.style.background='#063'\">Green</button>")
    async with visiting(chromium, web) as visit:
        assert isinstance(visit.env, WatchableEnvironment)
        white = await visit.env.glance()
        assert white is not None and white.startswith(JPEG) and await visit.env.glance() == white
        action = Click(target=visit.target("button", "Green"))
        done, *_ = await asyncio.gather(visit.env.act(action), *(visit.env.glance() for _ in range(5)))
        assert done.outcome == Done()
        green = await visit.env.glance()
        assert green is not None and green != white
    assert await visit.env.glance() is None, "there is no page any more"


async def test_a_field_for_a_password_is_known_when_it_has_the_focus(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<input aria-label=Name autofocus><input aria-label=Secret type=password>")
    async with visiting(chromium, web) as visit:
        assert not await visit.env.is_at_password()
        await visit.env.act(Click(target=visit.target("textbox", "Secret")))
        assert await visit.env.is_at_password()
    assert not await visit.env.is_at_password()
