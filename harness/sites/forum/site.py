"""The forum's routes."""

import sqlite3

from starlette.responses import Response

from harness.sites.accounts import add_user
from harness.sites.web import Route, SiteApp, Visit, safe_next

SCHEMA = """
CREATE TABLE boards (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL);
"""


def seed(db: sqlite3.Connection) -> None:
    add_user(db, login="mara", name="mara", password="forum.pass.1")
    db.execute("INSERT INTO boards (name, title) VALUES ('gardening', 'Gardening')")


def home(visit: Visit) -> Response:
    boards = visit.db.execute("SELECT name, title FROM boards ORDER BY name").fetchall()
    return visit.page("forum/home.html", boards=boards)


def login_form(visit: Visit) -> Response:
    return visit.page("forum/login.html", problem="", next=safe_next(visit))


def login(visit: Visit) -> Response:
    if visit.sign_in(visit.field("login"), visit.field("password")):
        return visit.redirect(safe_next(visit))
    return visit.page("forum/login.html", status=422, problem="Wrong user name or password.", next=safe_next(visit))


def logout(visit: Visit) -> Response:
    visit.sign_out()
    return visit.redirect("/")


SITE = SiteApp(
    name="forum",
    title="Lanternfold",
    schema=SCHEMA,
    seed=seed,
    routes=(
        Route(path="/", view=home),
        Route(path="/login", view=login_form),
        Route(path="/login", view=login, method="POST"),
        Route(path="/logout", view=logout, method="POST"),
    ),
)
