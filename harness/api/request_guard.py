"""Who may look: this machine, by its own name, with the token.

The token comes once in the address and then lives in a cookie that is bound to a random path, which prefixes all pages.

Only some addresses take forms. A form of another site is refused by what browsers say of where it came from, and by
a key that only pages of ours contain.

For plug-ins that serve pages to a person on this machine.
"""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["RequestGuard", "is_key", "key_of_forms"]

_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_COOKIE = "cairn-view"


class RequestGuard:
    """Lets through what may be answered.

    Args:
        app: Who answers.
        token: What visitors must know; None = nothing.
        forms: Is found in paths that take forms (POST).
        printed_by: Who has printed the address with the token, as refusals say it.
    """

    def __init__(self, app: ASGIApp, token: str | None, *, forms: re.Pattern[str], printed_by: str) -> None:
        self._app = app
        self._forms = forms
        self._printed_by = printed_by
        self._token = token
        self._place = place_of(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        await (refusal or self._app)({**scope, "root_path": self._place}, receive, send)

    def _is_form(self, scope: Scope) -> bool:
        return scope["method"] == "POST" and self._forms.search(scope["path"]) is not None

    def _refusal(self, scope: Scope) -> Response | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        # A page on the internet can make a browser ask us under a name of its own (DNS rebinding).
        host = headers.get(b"host", "")
        if _without_port(host) not in _HOSTS:
            return _plain(400, "this server answers only for 127.0.0.1 and localhost")
        if scope["method"] not in ("GET", "HEAD"):
            if not self._is_form(scope):
                return _plain(405, "this address is read-only")
            # Clients that do not send it are left to the key of the form.
            if headers.get(b"sec-fetch-site", "same-origin") != "same-origin":
                return _plain(
                    403, f"this form came from another site; open the address that {self._printed_by} printed"
                )
        return self._without_token(scope, headers)

    def _without_token(self, scope: Scope, headers: Mapping[bytes, str]) -> Response | None:
        # Other users of this machine can ask, too.
        if self._token is None:
            return None
        # With the port, as a browser sends cookies to every port of a host: viewers would take each other's.
        cookie = f"{_COOKIE}-{scope['server'][1]}"
        # A path that nobody else knows: a server of another user at another port would be sent the cookie.
        within = f"{self._place}/"
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if any(name == "token" and _same(value, self._token) for name, value in query):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = within + quote(scope["path"].removeprefix(within).lstrip("/\\"))
            response = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            response.set_cookie(cookie, self._token, path=within, httponly=True, samesite="strict")
            return response
        given = _cookies(headers.get(b"cookie", ""), cookie)
        if scope["path"].startswith(within) and any(_same(value, self._token) for value in given):
            return None
        return _plain(403, f"open the address that {self._printed_by} printed; it contains a token")


def key_of_forms() -> str:
    """A value that no other site knows; for one server."""
    return token_urlsafe(24)


def is_key(given: str, wanted: str) -> bool:
    """Whether a form has it; takes as long for any other value."""
    return _same(given, wanted)


def place_of(token: str | None) -> str:
    """The prefix of the path of every page; the token cannot be computed from it."""
    return "" if token is None else f"/{sha256(b'place of ' + token.encode()).hexdigest()[:24]}"


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdecimal() else host.lower()


def _cookies(header: str, name: str) -> Iterator[str]:
    """All values of one name: servers at other ports of this host may have set cookies of any name and form."""
    for pair in header.split(";"):
        found, _, value = pair.partition("=")
        if found.strip() == name:
            yield value.strip()


def _same(given: str, wanted: str) -> bool:
    return compare_digest(given.encode(), wanted.encode())


def _plain(status: int, sentence: str) -> Response:
    return PlainTextResponse(f"{sentence}\n", status, headers={"X-Content-Type-Options": "nosniff"})
