"""The quick way to read the driver's messages reads the same."""

import json
from types import SimpleNamespace

import pytest

from harness.browser.driver.cdp_receive import patch_json
from harness.browser.session.chromium import ChromiumPool
from tests.browser.conftest import Web, visiting


def a_driver() -> SimpleNamespace:
    return SimpleNamespace(_client=SimpleNamespace(_transport=SimpleNamespace(deserialize_message=json.loads)))


@pytest.mark.parametrize(
    "said", [r'{"id": 7, "text": "\ud83d\ude00 \u2028"}', r'{"text": "half \ud83d"}', "[1.5, null, true]"]
)
def test_a_message_is_what_it_was(said: str) -> None:
    driver = a_driver()
    patch_json(driver)
    assert driver._client._transport.deserialize_message is not json.loads
    assert driver._client._transport.deserialize_message(said.encode()) == json.loads(said)


def test_another_playwright_is_left_as_it_is() -> None:
    for driver in (
        object(),
        SimpleNamespace(_client=None),
        SimpleNamespace(_client=SimpleNamespace(_transport=object())),
    ):
        before = vars(driver).copy() if hasattr(driver, "__dict__") else None
        patch_json(driver)
        assert (vars(driver) if before is not None else None) == before


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_browser_is_heard_the_quick_way_and_half_characters_too(web: Web, chromium: ChromiumPool) -> None:
    web.page("/", "<p id=out></p><script>out.textContent = 'half \\ud83d and whole \\ud83d\\ude00'</script>")
    async with visiting(chromium, web) as visit:
        assert "and whole \U0001f600" in visit.text
    driver = chromium._current[0].driver.playwright.stop.__self__  # type: ignore[attr-defined]
    assert driver._client._transport.deserialize_message.__module__ == "harness.browser.driver.cdp_receive"
