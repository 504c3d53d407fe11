"""The framework of the demo sites: a `SiteApp` with routes, and a `Visit` per request.

A view is a function from a Visit to a response. It runs on the event loop, because its database is in memory and its
work is short. The framework commits when it returns and rolls back when it raises. The CSRF token of every form is
checked before the view runs, and every template escapes.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from harness.api.templates import template_environment
from harness.plugins.demo.accounts import COOKIE, LoginSession, User, check_password, close_session, open_session

TODAY = "2026-03-14"
"""The one date on which everything happens: no page shows the wall clock."""

HERE = Path(__file__).parent
Form = Mapping[str, Sequence[str]]


def money(cents: int) -> str:
    """`123456` to `$1,234.56`."""
    return f"${cents // 100:,}.{cents % 100:02d}"


def _environment() -> jinja2.Environment:
    environment = template_environment(HERE / "templates")
    environment.filters["money"] = money
    return environment


ENVIRONMENT = _environment()


@dataclass(slots=True, kw_only=True)
class Visit:
    """One request, as a view sees it."""

    request: Request
    site: "SiteApp"
    db: sqlite3.Connection
    """The tenant's database; rows are `sqlite3.Row`."""
    params: Mapping[str, Any]
    """What the route's path captured."""
    form: Form
    """Fields of the urlencoded body, blank values kept; {} for GET."""
    session: LoginSession | None
    body: bytes = b""
    """Of the request, as it came."""
    fresh: bool = False
    """The session was opened or changed during this request, so the cookie must be sent."""

    @property
    def user(self) -> User | None:
        return self.session.user if self.session else None

    @property
    def me(self) -> User:
        """The user, in a view whose route asks for a login."""
        assert self.user is not None, "the route of this view must say login=True"
        return self.user

    @property
    def path(self) -> str:
        return self.request.url.path

    def query(self, name: str, default: str = "") -> str:
        return str(self.request.query_params.get(name, default))

    def field(self, name: str, default: str = "") -> str:
        """The last value of a form field, blanks around it cut off."""
        values = self.form.get(name)
        return values[-1].strip() if values else default

    def number(self, text: str, default: int = 0) -> int:
        """An integer out of untrusted text; anything else, or more than nine digits, is the default."""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default

    def sign_in(self, login: str, password: str) -> bool:
        """Check the password and replace the session by one of this user."""
        user = check_password(self.db, login, password)
        if user is not None:
            self._replace_session(user)
        return user is not None

    def sign_out(self) -> None:
        self._replace_session(None)

    def ensure_session(self) -> LoginSession:
        """The visitor's session, opened now if there is none: forms and guest carts hang on it."""
        if self.session is None:
            self.session = open_session(self.db, None)
            self.fresh = True
        return self.session

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Render `templates/<template>`; it sees `visit`, `site`, `user`, `today` and `values`."""
        context = {"visit": self, "site": self.site, "user": self.user, "today": TODAY, **values}
        return HTMLResponse(ENVIRONMENT.get_template(template).render(context), status_code=status)

    def redirect(self, path: str, status: int = 303) -> Response:
        """Send the browser to a path of this site; 303 after a form, 301 for an address that has moved."""
        return RedirectResponse(path if path.startswith("/") and not path.startswith("//") else "/", status)

    def json(self, value: Any, status: int = 200) -> Response:
        return JSONResponse(value, status)

    def refuse(self, status: int, title: str, text: str) -> Response:
        """An error page: 403, 404, 500 and the like."""
        return self.page("error.html", status=status, title=title, text=text, status_code=status)

    def missing(self) -> Response:
        return self.refuse(404, "Page not found", "There is no page at this address. It may have moved.")

    def csrf(self) -> Markup:
        """The hidden field every POST form holds; scripts send the same token as header `X-CSRF`."""
        return Markup('<input type="hidden" name="csrf" value="{}">').format(self.ensure_session().csrf)

    def url_with(self, **changes: object) -> str:
        """This page's address with query parameters changed; None takes one out. For pagers and sort links."""
        kept = [(key, value) for key, value in self.request.query_params.multi_items() if key not in changes]
        text = urlencode([*kept, *((key, str(value)) for key, value in changes.items() if value is not None)])
        return f"{self.path}?{text}" if text else self.path

    def elsewhere(self, site: str) -> str:
        """Base address of another embedded site of the same tenant, without a trailing slash."""
        return f"http://{self.request.headers['host'].replace(self.site.name, site, 1)}"

    def _replace_session(self, user: User | None) -> None:
        if self.session is not None:
            close_session(self.db, self.session.token)
        self.session = open_session(self.db, user)
        self.fresh = True

    def finish(self, response: Response) -> Response:
        """Add the headers every page has, and the session cookie when it is new."""
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "SAMEORIGIN"
        if self.fresh and self.session is not None:
            response.set_cookie(COOKIE, self.session.token, httponly=True, samesite="lax")
        return response


View = Callable[[Visit], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRoute:
    """One address: `path` in Starlette's syntax (`/product/{sku}`, `/order/{number:int}`)."""

    path: str
    view: View
    method: str = "GET"
    api: bool = False
    """For programs: no form was shown before, so none is asked for its CSRF token."""
    login: bool = False
    """Visitors without a login are sent to the site's `login_path`, and back afterwards (`?next=`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteApp:
    """A site: data and views."""

    name: str
    """Its host label: `shop` is `shop.localhost`. Also the folder of its templates."""
    title: str
    schema: str
    """SQL of the site's own tables; `users` and `sessions` are already there."""
    seed: Callable[[sqlite3.Connection], None]
    """Fills a fresh database; the same bytes every time."""
    routes: Sequence[SiteRoute] = field(default_factory=tuple)
    login_path: str = "/login"
    """Its form has the fields `#login` and `#password` and the button "Log in"."""
    account: tuple[str, str] | None = None
    """Login and password of the seeded user that tasks act as; published, so no secret."""
    probe_path: str = "/"
    """A page only a logged-in visitor can stay on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a longer list; `templates/parts.html` draws its pager."""

    items: Sequence[Any]
    number: int
    count: int
    total: int
    first: int
    """1-based position of the first item among all."""


def paginate(visit: Visit, items: Sequence[Any], size: int) -> Page:
    """The page of `items` that `?page=` asks for, clamped to what there is."""
    count = max(1, -(-len(items) // size))
    number = min(max(1, visit.number(visit.query("page"), 1)), count)
    start = (number - 1) * size
    return Page(items=items[start : start + size], number=number, count=count, total=len(items), first=start + 1)


def safe_next(visit: Visit, default: str = "/") -> str:
    """Where to go after a login: only ever a path of this site."""
    wanted = visit.field("next") or visit.query("next")
    return wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else default
