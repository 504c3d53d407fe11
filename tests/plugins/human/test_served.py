"""The page of one process, when it cannot be served."""

import asyncio

import pytest

from harness.plugins.human.desk import Desk
from harness.plugins.human.served import desk_of


def test_a_page_that_cannot_be_served_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(desk: Desk) -> None:
        raise LookupError("a file of the page is gone")

    async def asks() -> None:
        async with asyncio.timeout(300):
            await desk_of((1280, 720), legend=False, say=lambda text: None)

    monkeypatch.setattr("harness.plugins.human.app.HumanPage", broken)
    with pytest.raises(LookupError, match="a file of the page is gone"):
        asyncio.run(asks())
