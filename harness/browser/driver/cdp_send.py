"""Sends CDP commands at little more than the cost of the message.

For every call Playwright inspects the stack, validates the parameters, and searches the answer for its own objects,
which CDP answers never contain. A step makes a dozen calls. Without this overhead a call takes half the time, and an
answer of a thousand accessibility nodes a third less. If Playwright's internals have changed, its public `send` is
used.
Why: docs/decisions/browser.md#commands-to-chromium-bypass-playwrights-public-send
"""

from collections.abc import Awaitable
from functools import cache
from inspect import signature
from typing import Any, Protocol, TypedDict

from playwright.async_api import CDPSession

from harness.codec import JsonObject


class RemoteObject(TypedDict, total=False):
    """A value of a page's script, as CDP's `Runtime` domain describes it."""

    type: str
    value: Any
    """The value itself, if it was asked for."""
    objectId: str
    """Its handle, if it is an object that stays in the page."""
    deepSerializedValue: Any
    """`{type, value}` as in WebDriver BiDi, if it was asked for."""


class Send(Protocol):
    """Sends one command; gives its result, raises `playwright.async_api.Error`."""

    def __call__(self, method: str, /, **parameters: Any) -> Awaitable[JsonObject]: ...


def sender(cdp: CDPSession) -> Send:
    """How to send commands of this session."""
    session: Any = getattr(cdp, "_impl_obj", None)
    connection: Any = getattr(session, "_connection", None)
    if not _is_known(connection.__class__):

        async def send(method: str, /, **parameters: Any) -> JsonObject:
            return await cdp.send(method, parameters)

        return send

    async def send_at_once(method: str, /, **parameters: Any) -> JsonObject:
        # No limit of the driver, as in the public `send`: its clock also counts while this process is frozen.
        answer = await connection.send_message_to_server(
            session, "send", {"method": method, "params": parameters}, {"internal": True, "timeout": 0}
        )
        result: JsonObject = answer["result"]
        return result

    return send_at_once


@cache
def _is_known(kind: Any) -> bool:
    inner = getattr(kind, "send_message_to_server", None)
    return inner is not None and [*signature(inner).parameters] == ["self", "object", "method", "params", "options"]
