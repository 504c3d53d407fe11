"""Requests with bodies from outside, sent as the provider's package would send them.

The package makes the first one with its address, key and headers. Further ones are copies of it with another body,
because the package takes longer to make a request than it takes to send one.
"""

from collections.abc import Mapping
from typing import Any

from httpx2 import AsyncClient, HTTPError, Request, Response

from harness.llm.connection import SdkErrors, error_body

# An agent's process chooses the headers, and may choose others for each request.
_MOST_KINDS = 16
"""Paths with sets of headers for which a request is kept."""
_OF_ONE = (b"content-length", b"transfer-encoding", b"cookie")
"""Headers that are not copied."""
_Headers = tuple[tuple[str, str], ...]


class CopiedRequests:
    """Requests to one interface of an endpoint."""

    def __init__(self, package: Any, http: AsyncClient, path: str, errors: SdkErrors) -> None:
        """
        Args:
            package: The provider's client, which neither retries nor follows redirects.
            http: Its HTTP client.
            path: Of the interface.
            errors: The package's, which are raised in either case.
        """
        self._package = package
        self._http = http
        self._path = path
        self._errors: Any = errors
        self._made: dict[tuple[str, _Headers], Request] = {}

    async def send(self, body: bytes, headers: Mapping[str, str], *, below: str = "") -> Response:
        """See `Connection.pass_on`; `below`: a path that comes before that of the interface."""
        path = f"{below}{self._path}"
        kind = (path, tuple(sorted(headers.items())))
        if (made := self._made.get(kind)) is not None:
            return await self._copy(made, body)
        options: Any = {"headers": {"content-type": "application/json", **headers}}
        response: Response = await self._package.post(path, cast_to=Response, content=body, options=options)
        if len(self._made) < _MOST_KINDS:
            self._made[kind] = response.request
        return response

    async def _copy(self, made: Request, body: bytes) -> Response:
        headers = [(name, value) for name, value in made.headers.raw if name.lower() not in _OF_ONE]
        request = Request("POST", made.url, headers=headers, content=body)
        try:
            response = await self._http.send(request)
        except HTTPError as error:
            raise self._errors.connection(request=request) from error
        if not response.is_success:
            raise self._errors.status(f"HTTP {response.status_code}", response=response, body=error_body(response))
        return response
