"""A project's members and their roles.

There is always an owner, and only owners make or unmake owners.
"""

import sqlite3

from starlette.responses import Response

from harness.plugins.demo.code.access import ROLES, forbidden, may, people_of
from harness.plugins.demo.web import TODAY, Visit


def show(visit: Visit, project: sqlite3.Row) -> Response:
    return _page(visit, project, "")


def invite(visit: Visit, project: sqlite3.Row) -> Response:
    login, role = visit.field("user").removeprefix("@"), visit.field("role")
    if role not in ROLES:
        return _page(visit, project, "Choose a role.")
    if role == "Owner" and not may(project, "Owner"):
        return forbidden(visit)
    user = visit.db.execute("SELECT id FROM users WHERE login = ?", (login,)).fetchone()
    if user is None:
        return _page(visit, project, f"There is no user called {login}.")
    if any(row["id"] == user["id"] for row in people_of(visit, project)):
        return _page(visit, project, f"{login} is a member already.")
    visit.db.execute("INSERT INTO members VALUES (?, ?, ?, ?)", (project["id"], user["id"], role, TODAY))
    return _back(visit, project)


def change(visit: Visit, project: sqlite3.Row) -> Response:
    return _set_role(visit, project, visit.field("role"))


def remove(visit: Visit, project: sqlite3.Row) -> Response:
    return _set_role(visit, project, "")


def member_role(visit: Visit) -> Response:
    """For evaluators: `?project=owner/slug&user=login` gives `{"role": …}`, "" for no member."""
    owner, _, slug = visit.query("project").partition("/")
    row = visit.db.execute(
        "SELECT m.role FROM members m JOIN projects p ON p.id = m.project_id JOIN users u ON u.id = m.user_id"
        " WHERE p.owner = ? AND p.slug = ? AND u.login = ?",
        (owner, slug, visit.query("user")),
    ).fetchone()
    return visit.json({"role": row["role"] if row else ""})


def _set_role(visit: Visit, project: sqlite3.Row, role: str) -> Response:
    """Give the member of the address another role, or none."""
    member = next((row for row in people_of(visit, project) if row["login"] == visit.params["login"]), None)
    if member is None:
        return visit.missing()
    if role and role not in ROLES:
        return _page(visit, project, "Choose a role.")
    if "Owner" in (role, member["role"]) and not may(project, "Owner"):
        return forbidden(visit)
    owners = sum(row["role"] == "Owner" for row in people_of(visit, project))
    if member["role"] == "Owner" and role != "Owner" and owners == 1:
        return _page(visit, project, "A project needs an owner.")
    key = (project["id"], member["id"])
    if role:
        visit.db.execute("UPDATE members SET role = ? WHERE project_id = ? AND user_id = ?", (role, *key))
    else:
        visit.db.execute("DELETE FROM members WHERE project_id = ? AND user_id = ?", key)
    return _back(visit, project)


def _back(visit: Visit, project: sqlite3.Row) -> Response:
    return visit.redirect(f"/{project['path']}/-/members")


def _page(visit: Visit, project: sqlite3.Row, problem: str) -> Response:
    return visit.page(
        "code/members.html",
        status=422 if problem else 200,
        project=project,
        members=people_of(visit, project),
        roles=ROLES,
        problem=problem,
        managing=may(project, "Maintainer"),
    )
