"""Which commands of a process pass the relay, and what of them is compared with a recording."""

import pytest

from harness.plugins.process_agent.cdp.command import recorded
from harness.plugins.process_agent.cdp.rules import Treatment, treatment


@pytest.mark.parametrize(
    ("method", "page", "wanted"),
    [
        ("Runtime.evaluate", True, Treatment.SCRIPT),
        ("Runtime.evaluate", False, None),
        ("Input.insertText", True, Treatment.CHANGE),
        ("DOM.getDocument", True, Treatment.PASS),
        ("DOM.getFileInfo", True, None),
        ("Audits.enable", True, Treatment.PASS),  # puppeteer opens no page without it
        ("WebMCP.enable", True, Treatment.PASS),
        ("WebMCP.invokeTool", True, None),
        ("Emulation.setDeviceMetricsOverride", True, Treatment.KEPT),
        ("Browser.close", False, None),
        ("Browser.close", True, None),
        ("Target.createTarget", False, Treatment.TARGETS),
        ("Target.exposeDevToolsProtocol", True, None),
        ("Page.*", True, None),
        ("", True, None),
    ],
)
def test_what_is_not_listed_is_refused(method: str, page: bool, wanted: Treatment | None) -> None:
    assert treatment(method, page=page) is wanted


def test_ids_times_and_fractions_say_nothing() -> None:
    def key(method: str = "Input.dispatchMouseEvent", target: str = "tab 1", **params: object) -> str:
        return recorded(method, params, target=target, canonical=lambda text: text.replace(":1", ":2")).key

    assert key(x=1.2, y=2, timestamp=5.0) == key(x=1.4, y=2.1, timestamp=6.0)
    assert key(x=1.0) != key(x=3.0) and key(x=1.0) != key(x=1.0, target="tab 2")
    assert key("Page.navigate", url="http://a:1/", frameId="A") == key("Page.navigate", url="http://a:2/", frameId="B")
    assert key("DOM.focus", nodeId=1) == key("DOM.focus", objectId="2")
    text = recorded("Input.insertText", {"text": "a\r" * 500}, target="tab 1", canonical=str).text
    assert len(text) <= 301 and "\r" not in text
