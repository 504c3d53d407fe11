"""Tenants by host name: `t3.shop.localhost` is tenant `t3` of the site `shop`, with a database of its own.

A tenant's database is a copy of the seeded master, made at the first visit and at every reset. The log of writes is
separate and survives resets, so that a test can prove that no effect happened twice. Logins of seeded users also
survive a reset: it restores the content of a site, not the sessions. Tenants share nothing. If the sites have a folder,
their state survives the process (not the machine): a server that is restarted after a crash continues with it.
"""

import json
import re
import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from harness.api.http_server import KEY_HEADER
from harness.plugins.demo.accounts import COOKIE, SCHEMA, find_session
from harness.plugins.demo.web import HERE, Form, SiteApp, SiteRoute, Visit

HOST = re.compile(r"(?:([a-z0-9]{1,16})\.)?([a-z][a-z0-9]*)\.localhost(?::\d+)?")
SAFE = ("GET", "HEAD", "OPTIONS")
UNLOGGED = ("csrf", "password", "password2", "old_password")
MAX_BODY = 256 * 1024
_SEEDED = 1
"""SQLite's user_version of a database that holds a seed; an empty one has 0."""


def _connect(path: Path | None = None) -> sqlite3.Connection:
    db = sqlite3.connect(path or ":memory:", check_same_thread=False)
    db.row_factory = sqlite3.Row
    if path is not None:  # its transactions must survive a killed process, which the page cache does without a sync
        for pragma in ("locking_mode = EXCLUSIVE", "synchronous = OFF", "journal_mode = TRUNCATE"):
            db.execute(f"PRAGMA {pragma}")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def seeded(site: SiteApp) -> sqlite3.Connection:
    """A fresh database of this site as its seed wants it."""
    db = _connect()
    with db:
        db.executescript(SCHEMA + site.schema)
        site.seed(db)
        db.execute(f"PRAGMA user_version = {_SEEDED}")
    return db


@dataclass(slots=True)
class Tenant:
    """One tenant's copy of one site."""

    db: sqlite3.Connection
    writes: list[dict[str, Any]] = field(default_factory=list)
    """Every non-safe request so far, in order."""
    kept: Path | None = None
    """Where `writes` are kept, too, one line of JSON each."""

    @classmethod
    def open(cls, path: Path, master: sqlite3.Connection) -> "Tenant":
        """As an earlier process left it in the database at `path`, or new."""
        kept = path.with_suffix(".jsonl")
        with ExitStack() as undo:
            # Closed where the disk is full: its lock would keep later requests from opening it.
            db = undo.enter_context(closing(_connect(path)))
            tenant = cls(db, kept=kept)
            if db.execute("PRAGMA user_version").fetchone()[0] != _SEEDED:
                master.backup(db)
            with kept.open("a+b") as file:
                file.seek(0)
                whole, _, _ = file.read().rpartition(b"\n")
                tenant.writes.extend(map(json.loads, whole.splitlines()))
                file.truncate(len(whole) + bool(whole))  # what a killed process was writing
            undo.pop_all()
        return tenant

    def log(self, request: Request, form: Form, status: int) -> None:
        fields = {name: values for name, values in form.items() if name not in UNLOGGED}
        entry = {"method": request.method, "path": request.url.path, "form": fields, "status": status}
        self.writes.append({"seq": len(self.writes) + 1, **entry})
        if self.kept is not None:
            with self.kept.open("ab") as file:
                file.write(json.dumps(self.writes[-1]).encode() + b"\n")

    def restore(self, master: sqlite3.Connection) -> None:
        """Copy the master over, then put back the sessions of users it knows."""
        logins = self.db.execute("SELECT token, csrf, user_id FROM sessions WHERE user_id IS NOT NULL").fetchall()
        master.backup(self.db)
        with self.db:
            for row in logins:
                self.db.execute(
                    "INSERT INTO sessions SELECT ?, ?, id FROM users WHERE id = ?",
                    (row["token"], row["csrf"], row["user_id"]),
                )


class _Site:
    """A site with its compiled routes, its master database and its tenants."""

    def __init__(self, app: SiteApp, state: Path | None) -> None:
        self.app = app
        self._state = state
        self.routes = [(compile_path(route.path), route) for route in app.routes]
        self.master = seeded(app)
        self.tenants: dict[str, Tenant] = {}

    def tenant(self, name: str) -> Tenant:
        if name not in self.tenants and self._state is not None:
            self.tenants[name] = Tenant.open(self._state / f"{self.app.name}-{name}.db", self.master)
        elif name not in self.tenants:
            self.tenants[name] = Tenant(_connect())
            self.master.backup(self.tenants[name].db)
        return self.tenants[name]

    def find(self, method: str, path: str) -> tuple[SiteRoute, dict[str, Any]] | None:
        for (pattern, _, convertors), route in self.routes:
            match = pattern.fullmatch(path)
            if match and method == route.method:
                params = {name: convertors[name].convert(text) for name, text in match.groupdict().items()}
                # SQLite's integers end here, and no row has such a number.
                fits = all(not isinstance(value, int) or value < 2**63 for value in params.values())
                return (route, params) if fits else None
        return None


class SitesApp:
    """The ASGI application: finds tenant and site by host name, then lets the site's view answer."""

    def __init__(self, sites: Iterable[SiteApp], state: Path | None = None, *, key: str = "") -> None:
        """Nothing is served yet.

        Args:
            sites: The sites.
            state: Folder to keep what tenants do in, and to find it again; None = it ends with the process.
            key: What who resets a tenant must know; "" = nothing.
        """
        self._key = key
        if state is not None:
            state.mkdir(parents=True, exist_ok=True)
        self._state = state
        self._sites = {site.name: _Site(site, state) for site in sites}

    def forget(self) -> None:
        """Delete what was kept, and the folder if nothing else is in it."""
        if self._state is None:
            return
        for name in self._sites:
            for path in self._state.glob(f"{name}-*"):
                path.unlink(missing_ok=True)
        with suppress(OSError):
            self._state.rmdir()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "the sites are served without lifespan and websockets"
        request = Request(scope, receive)
        response = await self._respond(request)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        host = HOST.fullmatch(request.headers.get("host", "").lower())
        site = self._sites.get(host[2]) if host else None
        if host is None or site is None:
            known = ", ".join(f"{name}.localhost" for name in self._sites)
            return PlainTextResponse(f"No such site. There are: {known}\n", 404)
        tenant = site.tenant(host[1] or "t0")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                return PlainTextResponse("The request is too large.\n", 413)
        is_json = request.headers.get("content-type", "").startswith("application/json")
        form = {} if is_json else parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=None)
        response = (
            self._control(request, site, tenant)
            or _asset(request)
            or _visit(request, site, tenant=tenant, form=form, body=body)
        )
        if request.method not in SAFE:
            tenant.log(request, form, response.status_code)
        return response

    def _control(self, request: Request, site: _Site, tenant: Tenant) -> Response | None:
        """The two addresses that tests and the harness use; no site has pages there, and no page may reset one."""
        if request.url.path == "/__reset__" and request.method == "POST":
            given = request.headers.get(KEY_HEADER, "")
            if _is_of_a_page(request) or not compare_digest(given.encode(), self._key.encode()):
                return PlainTextResponse("Only the process that started the server may reset it.\n", 403)
            tenant.restore(site.master)
            return Response(status_code=204)
        if request.url.path == "/__writes__" and request.method == "GET":
            return JSONResponse(tenant.writes)
        return None


def _is_of_a_page(request: Request) -> bool:
    """Whether a browser sent it for a page: these headers no page can leave out, and no program sends."""
    return any(name == "origin" or name.startswith("sec-fetch-") for name in request.headers)


def _asset(request: Request) -> Response | None:
    match = re.fullmatch(r"/static/([a-z]+\.(?:css|js|svg))", request.url.path)
    path = HERE / "static" / match[1] if match else None
    if path is None or request.method not in SAFE or not path.is_file():
        return None
    return FileResponse(path, headers={"Cache-Control": "max-age=600"})


def _visit(request: Request, site: _Site, *, tenant: Tenant, form: Form, body: bytes) -> Response:
    method = "GET" if request.method == "HEAD" else request.method
    found = site.find(method, request.url.path)
    session = find_session(tenant.db, request.cookies.get(COOKIE, ""))
    params = found[1] if found else {}
    visit = Visit(request=request, site=site.app, db=tenant.db, params=params, form=form, session=session, body=body)
    with tenant.db:
        return visit.finish(_answer(visit, found[0] if found else None))


def _answer(visit: Visit, route: SiteRoute | None) -> Response:
    if route is None:
        return visit.missing()
    if route.login and visit.user is None:
        here = visit.url_with() if route.method in SAFE else "/"
        return visit.redirect(f"{visit.site.login_path}?next={quote(here)}")
    if route.method not in SAFE and not route.api and not _is_genuine(visit):
        return visit.refuse(403, "Form expired", "This form is too old or came from elsewhere. Go back and try again.")
    return route.view(visit)


def _is_genuine(visit: Visit) -> bool:
    """Whether a form came from a page of this session (a script sends the token as a header)."""
    sent = visit.field("csrf") or visit.request.headers.get("x-csrf", "")
    return visit.session is not None and compare_digest(sent.encode(), visit.session.csrf.encode())
