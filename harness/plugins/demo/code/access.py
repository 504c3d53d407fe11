"""Roles and permissions, and the decorator that passes a view its project.

A project that the visitor may not see does not exist for them: the response is the same 404 as for a wrong address.
"""

import sqlite3
from collections.abc import Callable

from starlette.responses import Response

from harness.plugins.demo.web import View, Visit

ROLES = ("Guest", "Reporter", "Developer", "Maintainer", "Owner")
"""From the least to the most; a role may do what every role before it may do."""

VISIBLE = (
    "(p.visibility = 'public' OR (p.visibility = 'internal' AND :me > 0)"
    " OR EXISTS (SELECT 1 FROM members v WHERE v.project_id = p.id AND v.user_id = :me))"
)
"""SQL condition: the visitor with the id `:me` (0 = anonymous) may see project `p`."""

ProjectView = Callable[[Visit, sqlite3.Row], Response]


def my_id(visit: Visit) -> int:
    return visit.user.id if visit.user else 0


def find_project(visit: Visit, owner: str, slug: str) -> sqlite3.Row | None:
    """The project with its number of stars and the visitor's role, or None when there is none for this visitor."""
    row: sqlite3.Row | None = visit.db.execute(
        "SELECT p.*, p.owner || '/' || p.slug AS path,"
        " (SELECT count(*) FROM stars s WHERE s.project_id = p.id) AS stars,"
        " EXISTS (SELECT 1 FROM stars s WHERE s.project_id = p.id AND s.user_id = :me) AS starred,"
        " (SELECT m.role FROM members m WHERE m.project_id = p.id AND m.user_id = :me) AS my_role"
        f" FROM projects p WHERE p.owner = :owner AND p.slug = :slug AND {VISIBLE}",
        {"owner": owner, "slug": slug, "me": my_id(visit)},
    ).fetchone()
    return row


def may(project: sqlite3.Row, role: str) -> bool:
    """Whether the visitor's role in the project is at least `role`."""
    mine = project["my_role"]
    return mine is not None and ROLES.index(mine) >= ROLES.index(role)


def forbidden(visit: Visit) -> Response:
    return visit.refuse(403, "Not allowed", "Your role in this project does not permit that.")


def in_project(view: ProjectView, role: str = "") -> View:
    """Make a view of a project view: 404 without a visible project, 403 below `role`."""

    def answer(visit: Visit) -> Response:
        project = find_project(visit, visit.params["owner"], visit.params["slug"])
        if project is None:
            return visit.missing()
        if role and not may(project, role):
            return forbidden(visit)
        return view(visit, project)

    return answer


def people_of(visit: Visit, project: sqlite3.Row) -> list[sqlite3.Row]:
    """The project's members by name, with their roles."""
    return visit.db.execute(
        "SELECT u.id, u.login, u.name, m.role, m.since FROM members m JOIN users u ON u.id = m.user_id"
        " WHERE m.project_id = ? ORDER BY u.name",
        (project["id"],),
    ).fetchall()
