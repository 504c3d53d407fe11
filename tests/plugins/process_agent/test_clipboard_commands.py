"""The clipboard is the episode's own for processes that drive the browser, too."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from harness.plugins.process_agent.cdp.clipboard_commands import grants_clipboard, uses_clipboard
from harness.plugins.process_agent.cdp.wire import Request
from harness.testing import MemoryJournal
from tests.plugins.process_agent.driven import RAW, driving, play_driven, shop_browser

pytestmark = pytest.mark.browser
KEYS = """
cdp = Cdp(); page = cdp.attach()
cdp.until(page, "document.readyState == 'complete'")
def key(name, **more):
    given = {"key": name, "code": "Key" + name.upper(), "windowsVirtualKeyCode": ord(name.upper())} | more
    for kind in ("rawKeyDown", "keyUp"): cdp.call("Input.dispatchKeyEvent", page, type=kind, modifiers=2, **given)
def pasted():
    cdp.value(page, "q.value = ''"); cdp.click(page, 50, 10); key("v")
    return cdp.value(page, "q.value")
"""
COPIES = (
    RAW
    + KEYS
    + """
cdp.value(page, "q.value = 'mine'"); cdp.click(page, 50, 10); key("a"); key("c")
own = pasted()
open(FOLDER + "/copied", "w").close()
while not os.path.exists(FOLDER + "/pasted"): time.sleep(0.02)
act("stop", answer=json.dumps([own, pasted()]))
"""
)
PASTES = (
    RAW
    + KEYS
    + """
while not os.path.exists(FOLDER + "/copied"): time.sleep(0.02)
said = [pasted(), pasted()]
cdp.value(page, "q.value = ''"); cdp.click(page, 50, 10)
cdp.call("Input.dispatchKeyEvent", page, type="rawKeyDown", key="F24", commands=["Paste"])
said.append(cdp.value(page, "q.value"))
for kind in ("mousePressed", "mouseReleased"):
    refused = cdp.call("Input.dispatchMouseEvent", page, type=kind, x=50, y=10, button="middle", clickCount=1)
said += [cdp.value(page, "q.value"), "error" in refused]
granted = cdp.call("Browser.grantPermissions", permissions=["clipboardReadWrite"])
asked = cdp.call("Runtime.evaluate", page, expression="navigator.clipboard.readText()", awaitPromise=True, userGesture=True)
said += ["error" in granted, "exceptionDetails" in asked["result"]]
open(FOLDER + "/pasted", "w").close()
act("stop", answer=json.dumps(said))
"""
)


@pytest.mark.slow
async def test_a_process_pastes_what_it_copied_itself_and_nothing_else(tmp_path: Path) -> None:
    async with shop_browser() as (_, pool):

        async def played(name: str, script: str) -> Any:
            (folder := tmp_path / name).mkdir()
            async with driving(f"FOLDER = {str(tmp_path)!r}\n{script}", folder) as agent:
                episode = await play_driven(agent, pool, MemoryJournal())
            assert episode.closed is not None
            return json.loads(episode.closed.answer)

        copied, pasted = await asyncio.gather(played("one", COPIES), played("two", PASTES))
    assert copied == ["mine", "mine"] and pasted == ["", "", "", "", True, True, True]


FLOATS = (
    RAW
    + KEYS
    + """
cdp.value(page, "q.value = 'foreign'"); cdp.click(page, 50, 10); key("a")
cdp.call("Runtime.evaluate", page, expression="document.execCommand('copy')", userGesture=True)
def pasted_by(code, modifiers):
    cdp.value(page, "q.value = ''"); cdp.click(page, 50, 10)
    cdp.call("Input.dispatchKeyEvent", page, type="rawKeyDown", windowsVirtualKeyCode=code, modifiers=modifiers)
    return cdp.value(page, "q.value")
act("stop", answer=json.dumps([pasted_by(86.0, 2), pasted_by(86, 2.0), pasted_by(45.0, 8.0)]))
"""
)


@pytest.mark.slow
async def test_a_key_whose_numbers_have_a_point_pastes_nothing_of_others(tmp_path: Path) -> None:
    """Chromium takes 2.0 for 2; what a script has copied stands for what another episode has."""
    async with shop_browser() as (_, pool), driving(FLOATS, tmp_path) as agent:
        episode = await play_driven(agent, pool, MemoryJournal())
    assert episode.closed is not None and json.loads(episode.closed.answer) == ["", "", ""]


def request(method: str, **params: Any) -> Request:
    return Request(1, method, params, "session")


@pytest.mark.parametrize(
    ("params", "does"),
    [
        ({"type": "rawKeyDown", "key": "v", "modifiers": 2}, True),
        ({"type": "keyDown", "code": "KeyX", "modifiers": 4}, True),
        ({"type": "char", "windowsVirtualKeyCode": 0x43, "modifiers": 2 | 8}, True),
        ({"type": "keyDown", "key": "Insert", "modifiers": 8}, True),
        ({"type": "keyDown", "key": "q", "commands": ["paste"]}, True),
        ({"type": "keyDown", "key": "v", "modifiers": 2.0}, True),
        ({"type": "rawKeyDown", "windowsVirtualKeyCode": 86.0, "modifiers": 2}, True),
        ({"type": "rawKeyDown", "windowsVirtualKeyCode": 45.0, "modifiers": 8.0}, True),
        ({"type": "keyUp", "key": "v", "modifiers": 2}, False),
        ({"type": "keyDown", "key": "v", "modifiers": 8}, False),
        ({"type": "keyDown", "key": "a", "modifiers": 2}, False),
        ({"type": "keyDown", "key": ["v"], "modifiers": [2]}, False),
    ],
)
def test_commands_that_may_use_the_clipboard(params: dict[str, Any], does: bool) -> None:
    assert uses_clipboard(request("Input.dispatchKeyEvent", **params)) is does


def test_the_clipboard_is_not_granted() -> None:
    assert grants_clipboard(request("Browser.grantPermissions", permissions=["geolocation", "clipboardSanitizedWrite"]))
    assert grants_clipboard(request("Browser.setPermission", permission={"name": "clipboard-read"}, setting="granted"))
    assert not grants_clipboard(request("Browser.grantPermissions", permissions=["geolocation"]))
