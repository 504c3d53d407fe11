"""Lists of issues with their filters, and a project's labels.

The same list serves one project and the whole site; every filter is a GET parameter, `label` may be repeated.
"""

import json
import sqlite3
from typing import Any

from starlette.responses import Response

from harness.plugins.demo.code.access import VISIBLE, may, my_id, people_of
from harness.plugins.demo.web import Visit, paginate

SORTS = {
    "newest": "i.created DESC, i.id DESC",
    "oldest": "i.created, i.id",
    "title": "i.title COLLATE NOCASE, i.id",
    "comments": "comments DESC, i.id",
}
STATES = {"opened": "Open", "closed": "Closed", "all": "All"}

MATCHING = f"""
SELECT i.*, p.owner || '/' || p.slug AS path, a.name AS author, b.name AS assignee,
    (SELECT count(*) FROM comments c WHERE c.issue_id = i.id) AS comments
FROM issues i JOIN projects p ON p.id = i.project_id JOIN users a ON a.id = i.author_id
    LEFT JOIN users b ON b.id = i.assignee_id
WHERE {VISIBLE}
    AND (:project = 0 OR i.project_id = :project)
    AND (:state = 'all' OR i.state = :state)
    AND instr(lower(i.title || ' ' || i.body), lower(:q)) > 0
    AND (:author = '' OR a.login = :author)
    AND (:assignee = '' OR coalesce(b.login, 'none') = :assignee)
    AND NOT EXISTS (
        SELECT 1 FROM json_each(:labels) AS wanted WHERE wanted.value NOT IN
            (SELECT l.name FROM issue_labels x JOIN labels l ON l.id = x.label_id WHERE x.issue_id = i.id)
    )
"""
"""An issue matches when it passes every filter and has every label asked for."""


def project_list(visit: Visit, project: sqlite3.Row) -> Response:
    labels, people = project_labels(visit, project), people_of(visit, project)
    return _page(visit, _matching(visit, project["id"]), 6, project=project, labels=labels, people=people)


def all_list(visit: Visit) -> Response:
    return _page(visit, _matching(visit, 0), 15, project=None, labels=[], people=_everybody(visit))


def labels(visit: Visit, project: sqlite3.Row) -> Response:
    return _labels_page(visit, project)


def add_label(visit: Visit, project: sqlite3.Row) -> Response:
    name, color = visit.field("name")[:40], visit.field("color")
    known = visit.db.execute("SELECT 1 FROM labels WHERE project_id = ? AND name = ?", (project["id"], name)).fetchone()
    colored = len(color) == 7 and color[0] == "#" and all(digit in "0123456789abcdefABCDEF" for digit in color[1:])
    if not name or known or not colored:
        return _labels_page(visit, project, "Choose a color, and a name that no label of this project has yet.")
    visit.db.execute("INSERT INTO labels (project_id, name, color) VALUES (?, ?, ?)", (project["id"], name, color))
    return visit.redirect(f"/{project['path']}/-/labels")


def project_labels(visit: Visit, project: sqlite3.Row) -> list[sqlite3.Row]:
    """The project's labels, each with its number of open issues."""
    return visit.db.execute(
        "SELECT l.*, (SELECT count(*) FROM issue_labels x JOIN issues i ON i.id = x.issue_id"
        " WHERE x.label_id = l.id AND i.state = 'opened') AS open_issues"
        " FROM labels l WHERE l.project_id = ? ORDER BY l.name",
        (project["id"],),
    ).fetchall()


def labels_by_issue(visit: Visit, issues: list[int]) -> dict[int, list[sqlite3.Row]]:
    found: dict[int, list[sqlite3.Row]] = {}
    for row in visit.db.execute(
        "SELECT x.issue_id, l.name, l.color FROM issue_labels x JOIN labels l ON l.id = x.label_id"
        " WHERE x.issue_id IN (SELECT value FROM json_each(?)) ORDER BY l.name",
        (json.dumps(issues),),
    ):
        found.setdefault(row["issue_id"], []).append(row)
    return found


def _matching(visit: Visit, project: int) -> list[sqlite3.Row]:
    state = visit.query("state", "opened")
    values = {
        "me": my_id(visit),
        "project": project,
        "state": state if state in STATES else "opened",
        "q": visit.query("q").strip(),
        "author": visit.query("author"),
        "assignee": visit.query("assignee"),
        "labels": json.dumps(visit.request.query_params.getlist("label")),
    }
    order = SORTS.get(visit.query("sort"), SORTS["newest"])
    return visit.db.execute(f"{MATCHING} ORDER BY {order}", values).fetchall()


def _page(visit: Visit, issues: list[sqlite3.Row], size: int, **values: Any) -> Response:
    page = paginate(visit, issues, size)
    return visit.page(
        "code/issues.html",
        page=page,
        labels_of=labels_by_issue(visit, [issue["id"] for issue in page.items]),
        states=STATES,
        authors=_everybody(visit),
        wanted=visit.request.query_params.getlist("label"),
        **values,
    )


def _everybody(visit: Visit) -> list[sqlite3.Row]:
    return visit.db.execute("SELECT login, name FROM users ORDER BY name").fetchall()


def _labels_page(visit: Visit, project: sqlite3.Row, problem: str = "") -> Response:
    return visit.page(
        "code/labels.html",
        status=422 if problem else 200,
        project=project,
        labels=project_labels(visit, project),
        problem=problem,
        editable=may(project, "Maintainer"),
    )
