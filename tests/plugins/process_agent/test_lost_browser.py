"""The browser is gone while a process drives it: what the process does without one is not recorded as its decision."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import BrowserCrashed
from harness.testing import MemoryJournal
from tests.browser.chromium_processes import kill_browser, kill_network_service
from tests.plugins.process_agent.driven import RAW, bought, driving, play_driven, shop_browser
from tests.plugins.process_agent.processes import Model

pytestmark = [pytest.mark.browser, pytest.mark.integration]

BUYS = (
    RAW
    + """
cdp = Cdp(); page = cdp.attach()
cdp.click(page, 50, 90)
cdp.until(page, "document.title == 'Bought' && document.readyState == 'complete'")
while not url().endswith("/buy"): time.sleep(0.02)
said = [ask("bought")]
try:
    said.append(cdp.value(page, "document.title"))
except Exception:
    said.append("without a browser")
"""
)
ENDINGS = {
    "it stops": "act('stop', answer=' '.join(said))",
    "it asks": "said.append(str(ask('what now? ' + ' '.join(said)))); act('stop', answer=' '.join(said))",
    "it clicks": "cdp.click(page, 50, 10); act('stop', answer=' '.join(said))",
    "it exits": "print(json.dumps({'answer': ' '.join(said)}))",
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kill", [kill_browser, kill_network_service], ids=["browser", "network"])
async def test_what_is_done_without_a_browser_is_no_decision(
    tmp_path: Path, kill: Callable[[], None], ending: str
) -> None:
    def strike(_: bytes) -> None:
        if not struck:
            struck.append(True)
            kill()

    struck: list[bool] = []
    journal, model = MemoryJournal(), Model(look=strike)
    script = BUYS + ENDINGS[ending]
    async with shop_browser() as (web, pool):
        async with driving(script, tmp_path, model=model) as agent:
            with pytest.raises(BrowserCrashed):
                await play_driven(agent, pool, journal)
        assert journal.episode.closed is None and len(journal.episode.steps) == 1
        assert journal.episode.pending is None or ending == "it clicks"
        assert len(model.seen) == len(journal.episode.answered) == 1
        web.asked.clear()  # the site was reset
        async with driving(script, tmp_path, model=model) as agent:
            episode = await play_driven(agent, pool, journal)
        assert len(bought(web)) == 1
    assert episode.closed is not None and episode.diverged == ()
    wanted = {"it asks": "r1 Bought r2"}.get(ending, "r1 Bought")
    assert episode.closed.answer == wanted
    assert [one.strategy for one in episode.resumed] == ["replay"]


EMPTY_TAB = (
    RAW
    + """
cdp = Cdp(); page = cdp.attach()
cdp.call("Target.createTarget", url="about:blank")
said = [ask("an empty tab")]
cdp.call("Page.bringToFront", page)
cdp.click(page, 50, 90)
cdp.until(page, "document.title == 'Bought' && document.readyState == 'complete'")
while not url().endswith("/buy"): time.sleep(0.02)
said.append(ask("bought"))
act("stop", answer=" ".join(said))
"""
)


@pytest.mark.slow
async def test_an_empty_tab_does_not_cost_the_attempt(tmp_path: Path) -> None:
    def strike(request: bytes) -> None:
        if b"bought" in request and not struck:
            struck.append(True)
            kill_browser()

    struck: list[bool] = []
    journal, model = MemoryJournal(), Model(look=strike)
    async with shop_browser() as (web, pool):
        async with driving(EMPTY_TAB, tmp_path, model=model) as agent:
            with pytest.raises(BrowserCrashed):
                await play_driven(agent, pool, journal)
        assert journal.episode.steps[0].acted.observation.url == "about:blank"
        web.asked.clear()  # the site was reset
        async with driving(EMPTY_TAB, tmp_path, model=model) as agent:
            episode = await play_driven(agent, pool, journal)
        assert len(bought(web)) == 1
    assert episode.closed is not None and episode.closed.answer == "r1 r2"
    assert episode.attempt == 1 and len(model.seen) == 2, "no answered request is paid for twice"
