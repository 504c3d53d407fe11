"""Pages about people: login, dashboard, todos, activity, profiles and their settings."""

import sqlite3

from starlette.responses import Response

from harness.plugins.demo.code.access import VISIBLE, my_id
from harness.plugins.demo.web import Visit, paginate, safe_next

NOTIFY = {"all": "All activity", "participating": "Only what I take part in", "none": "Nothing"}
TEXTS = ("title", "location", "bio", "status", "website", "email")

ACTIVITY = f"""
SELECT e.*, u.name, p.name AS project, p.owner || '/' || p.slug AS path FROM (
    SELECT created, author_id, project_id, 'opened issue' AS what, title, '/-/issues/' || iid AS place FROM issues
    UNION ALL
    SELECT created, author_id, project_id, 'opened merge request', title, '/-/merge_requests/' || iid FROM merges
    UNION ALL
    SELECT c.created, c.author_id, i.project_id, 'commented on issue', i.title, '/-/issues/' || i.iid
        FROM comments c JOIN issues i ON i.id = c.issue_id
    UNION ALL
    SELECT c.created, c.author_id, m.project_id, 'commented on merge request', m.title, '/-/merge_requests/' || m.iid
        FROM comments c JOIN merges m ON m.id = c.merge_id
) e JOIN users u ON u.id = e.author_id JOIN projects p ON p.id = e.project_id
WHERE {VISIBLE} AND (:author = 0 OR e.author_id = :author)
ORDER BY e.created DESC, e.place, e.what
"""


def home(visit: Visit) -> Response:
    """The dashboard of a user; visitors are led to what there is to see."""
    if visit.user is None:
        return visit.redirect("/explore")
    projects = visit.db.execute(
        "SELECT p.name, p.description, p.visibility, p.owner || '/' || p.slug AS path, m.role"
        " FROM projects p JOIN members m ON m.project_id = p.id WHERE m.user_id = ? ORDER BY p.name",
        (visit.me.id,),
    ).fetchall()
    starred = visit.db.execute(
        "SELECT p.name, p.owner || '/' || p.slug AS path FROM projects p JOIN stars s ON s.project_id = p.id"
        f" WHERE s.user_id = :me AND {VISIBLE} ORDER BY p.name",
        {"me": visit.me.id},
    ).fetchall()
    return visit.page("code/dashboard.html", projects=projects, starred=starred, todos=len(_todos(visit, done=0)))


def activity(visit: Visit) -> Response:
    """A piece of the activity feed, as HTML for a page's script."""
    author = visit.number(visit.query("author"))
    rows = visit.db.execute(ACTIVITY, {"me": my_id(visit), "author": author}).fetchall()
    return visit.page("code/activity.html", page=paginate(visit, rows, 10), author=author)


def todos(visit: Visit) -> Response:
    done = int(visit.query("state") == "done")
    return visit.page("code/todos.html", todos=_todos(visit, done=done), done=done)


def finish_todo(visit: Visit) -> Response:
    key = (visit.number(visit.params["todo"]), visit.me.id)
    visit.db.execute("UPDATE todos SET done = 1 WHERE id = ? AND user_id = ?", key)
    return visit.redirect("/dashboard/todos")


def finish_todos(visit: Visit) -> Response:
    visit.db.execute("UPDATE todos SET done = 1 WHERE user_id = ?", (visit.me.id,))
    return visit.redirect("/dashboard/todos")


def login_form(visit: Visit) -> Response:
    return visit.page("code/login.html", problem="", next=safe_next(visit))


def login(visit: Visit) -> Response:
    if visit.sign_in(visit.field("login"), visit.field("password")):
        return visit.redirect(safe_next(visit))
    return visit.page("code/login.html", status=422, problem="Wrong user name or password.", next=safe_next(visit))


def logout(visit: Visit) -> Response:
    visit.sign_out()
    return visit.redirect("/explore")


def owner(visit: Visit) -> Response:
    """The page of a user, or of a group of projects."""
    name = visit.params["owner"]
    projects = visit.db.execute(
        "SELECT p.name, p.description, p.visibility, p.owner || '/' || p.slug AS path FROM projects p"
        f" WHERE p.owner = :owner AND {VISIBLE} ORDER BY p.name",
        {"owner": name, "me": my_id(visit)},
    ).fetchall()
    profile = _profile(visit, name)
    if profile is None and not projects:
        return visit.missing()
    return visit.page("code/owner.html", name=name, profile=profile, projects=projects)


def settings_form(visit: Visit) -> Response:
    return visit.page("code/profile_form.html", profile=_profile(visit, visit.me.login), notify=NOTIFY, saved=False)


def save_settings(visit: Visit) -> Response:
    notify = visit.field("notify") if visit.field("notify") in NOTIFY else "participating"
    digest = int(visit.field("digest") == "1")
    name = visit.field("name")[:80] or visit.me.name
    visit.db.execute("UPDATE users SET name = ? WHERE id = ?", (name, visit.me.id))
    visit.db.execute(
        f"UPDATE profiles SET {', '.join(f'{text} = ?' for text in TEXTS)}, notify = ?, digest = ? WHERE user_id = ?",
        (*(visit.field(text)[:300] for text in TEXTS), notify, digest, visit.me.id),
    )
    return visit.page("code/profile_form.html", profile=_profile(visit, visit.me.login), notify=NOTIFY, saved=True)


def guide(visit: Visit) -> Response:
    return visit.page("code/help.html")


def search(visit: Visit) -> Response:
    """The old address of the search, which links elsewhere still use."""
    return visit.redirect(f"/explore?{visit.request.url.query}", 301)


def _profile(visit: Visit, login: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = visit.db.execute(
        "SELECT u.id, u.login, u.name, p.* FROM users u JOIN profiles p ON p.user_id = u.id WHERE u.login = ?", (login,)
    ).fetchone()
    return row


def _todos(visit: Visit, *, done: int) -> list[sqlite3.Row]:
    return visit.db.execute(
        "SELECT t.id, t.action, u.name, p.name AS project, coalesce(i.title, m.title) AS title,"
        " '/' || p.owner || '/' || p.slug || CASE t.kind WHEN 'issue' THEN '/-/issues/' ELSE '/-/merge_requests/' END"
        "  || t.iid AS path"
        " FROM todos t JOIN users u ON u.id = t.actor_id JOIN projects p ON p.id = t.project_id"
        " LEFT JOIN issues i ON t.kind = 'issue' AND i.project_id = t.project_id AND i.iid = t.iid"
        " LEFT JOIN merges m ON t.kind = 'merge_request' AND m.project_id = t.project_id AND m.iid = t.iid"
        " WHERE t.user_id = ? AND t.done = ? ORDER BY t.id",
        (visit.me.id, done),
    ).fetchall()
