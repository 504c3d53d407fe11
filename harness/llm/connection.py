"""A connection to an endpoint: sends bodies, and gives back whole HTTP answers.

Retries, permits, prices, bounds and errors are the same for all of them and live in `exchange`. What a body says, and
how an answer is read, is the provider's (`llm.providers`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from harness.codec import CodecError, JsonObject, dumps, loads


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkErrors:
    """The classes of errors of a provider's package; they have the same names and parts in all of them."""

    timeout: type[Exception]
    connection: type[Exception]
    status: type[Exception]
    """With `status_code`, `response` and `body`."""


class Connection(Protocol):
    """One connection to an endpoint, in one wire format; it makes one attempt, without a timeout of its own."""

    errors: SdkErrors

    async def send(self, body: JsonObject) -> Any:
        """The whole HTTP answer, its bytes read."""
        ...

    async def pass_on(self, body: bytes, headers: Mapping[str, str]) -> Any:
        """Send a body from outside: it is sent byte for byte, with these headers besides."""
        ...

    async def close(self) -> None: ...


def openai_errors() -> SdkErrors:
    """Of the package openai, which is imported only to send: reading needs no client."""
    from openai import APIConnectionError, APIStatusError, APITimeoutError

    return SdkErrors(timeout=APITimeoutError, connection=APIConnectionError, status=APIStatusError)


class HttpStatusError(Exception):
    """An answer with an error status, without a provider's package."""

    def __init__(self, response: Any, *, status_code: int | None = None, body: Any = None) -> None:
        """
        Args:
            response: What was answered.
            status_code: What an error in an answer with status 200 stands for; None = the answer's own.
            body: What the endpoint says of that error.
        """
        self.response = response
        self.status_code: int = response.status_code if status_code is None else status_code
        self.body: Any = error_body(response) if body is None else body
        super().__init__(f"HTTP {self.status_code}")


class PlainConnection:
    """Sends JSON over HTTP, for a provider that has no package."""

    def __init__(self, url: str, headers: Mapping[str, str], http_client: Any) -> None:
        """
        Args:
            url: Where requests go.
            headers: Sent with each, the key among them.
            http_client: Made by `http_client.bounded_client`; its owner closes it.
        """
        from httpx2 import HTTPError, TimeoutException

        self._url, self._headers, self._http = url, dict(headers), http_client
        self.errors = SdkErrors(timeout=TimeoutException, connection=HTTPError, status=HttpStatusError)

    async def send(self, body: JsonObject) -> Any:
        """See `Connection.send`."""
        return await self.pass_on(dumps(body), {})

    async def pass_on(self, body: bytes, headers: Mapping[str, str]) -> Any:
        """See `Connection.pass_on`."""
        # The run's headers last: a request from outside must not replace its key.
        sent = {"content-type": "application/json", **headers, **self._headers}
        response = await self._http.post(self._url, content=body, headers=sent)
        if not response.is_success:
            raise HttpStatusError(response)
        return response

    async def close(self) -> None:
        pass


def error_body(response: Any) -> Any:
    """What an endpoint says of an error, as the packages give it: the object in it, or the text."""
    try:
        tree = loads(response.content)
    except CodecError:
        return response.text.strip()
    return tree.get("error", tree) if isinstance(tree, dict) else tree
