"""One issue: reading, writing, commenting, closing."""

import sqlite3
from collections.abc import Callable

from starlette.responses import Response

from harness.plugins.demo.code.access import forbidden, in_project, may, my_id, people_of
from harness.plugins.demo.code.issues import labels_by_issue, project_labels
from harness.plugins.demo.web import TODAY, View, Visit

IssueView = Callable[[Visit, sqlite3.Row, sqlite3.Row], Response]


def in_issue(view: IssueView, *, editing: bool = False) -> View:
    """Hand the view the project and the issue the address names; 403 when `editing` is not for this visitor."""

    def answer(visit: Visit, project: sqlite3.Row) -> Response:
        issue = _find(visit, project)
        if issue is None:
            return visit.missing()
        if editing and not _may_edit(visit, project, issue):
            return forbidden(visit)
        return view(visit, project, issue)

    return in_project(answer)


def show(visit: Visit, project: sqlite3.Row, issue: sqlite3.Row) -> Response:
    comments = visit.db.execute(
        "SELECT c.body, c.created, u.name, u.login FROM comments c JOIN users u ON u.id = c.author_id"
        " WHERE c.issue_id = ? ORDER BY c.id",
        (issue["id"],),
    ).fetchall()
    return visit.page(
        "code/issue.html",
        project=project,
        issue=issue,
        labels=labels_by_issue(visit, [issue["id"]]).get(issue["id"], []),
        comments=comments,
        editable=_may_edit(visit, project, issue),
    )


def new_form(visit: Visit, project: sqlite3.Row) -> Response:
    return _form(visit, project, None)


def create(visit: Visit, project: sqlite3.Row) -> Response:
    if not visit.field("title"):
        return _form(visit, project, None, "An issue needs a title.")
    row = visit.db.execute(
        "INSERT INTO issues (project_id, iid, title, body, state, author_id, created)"
        " SELECT :project, coalesce(max(iid), 0) + 1, :title, :body, 'opened', :me, :today"
        " FROM issues WHERE project_id = :project",
        {"project": project["id"], "me": visit.me.id, "today": TODAY, **_texts(visit)},
    )
    issue = visit.db.execute("SELECT id, iid FROM issues WHERE id = ?", (row.lastrowid,)).fetchone()
    if may(project, "Reporter"):
        _set_details(visit, project, issue["id"])
    return _back(visit, project, issue)


def edit_form(visit: Visit, project: sqlite3.Row, issue: sqlite3.Row) -> Response:
    return _form(visit, project, issue)


def save(visit: Visit, project: sqlite3.Row, issue: sqlite3.Row) -> Response:
    if not visit.field("title"):
        return _form(visit, project, issue, "An issue needs a title.")
    visit.db.execute(
        "UPDATE issues SET title = :title, body = :body WHERE id = :id", {"id": issue["id"], **_texts(visit)}
    )
    if may(project, "Reporter"):
        _set_details(visit, project, issue["id"])
    return _back(visit, project, issue)


def comment(visit: Visit, project: sqlite3.Row, issue: sqlite3.Row) -> Response:
    if text := visit.field("body"):
        visit.db.execute(
            "INSERT INTO comments (issue_id, author_id, body, created) VALUES (?, ?, ?, ?)",
            (issue["id"], visit.me.id, text[:10_000], TODAY),
        )
    return _back(visit, project, issue)


def set_state(visit: Visit, project: sqlite3.Row, issue: sqlite3.Row) -> Response:
    """Close or reopen, as the button said."""
    state = "closed" if visit.field("state") == "closed" else "opened"
    visit.db.execute("UPDATE issues SET state = ? WHERE id = ?", (state, issue["id"]))
    return _back(visit, project, issue)


def _find(visit: Visit, project: sqlite3.Row) -> sqlite3.Row | None:
    row: sqlite3.Row | None = visit.db.execute(
        "SELECT i.*, a.name AS author, a.login AS author_login, b.name AS assignee, b.login AS assignee_login"
        " FROM issues i JOIN users a ON a.id = i.author_id LEFT JOIN users b ON b.id = i.assignee_id"
        " WHERE i.project_id = ? AND i.iid = ?",
        (project["id"], visit.number(visit.params["iid"])),
    ).fetchone()
    return row


def _back(visit: Visit, project: sqlite3.Row, issue: sqlite3.Row) -> Response:
    return visit.redirect(f"/{project['path']}/-/issues/{issue['iid']}")


def _texts(visit: Visit) -> dict[str, str]:
    return {"title": visit.field("title")[:200], "body": visit.field("body")[:20_000]}


def _may_edit(visit: Visit, project: sqlite3.Row, issue: sqlite3.Row) -> bool:
    return issue["author_id"] == my_id(visit) or may(project, "Reporter")


def _set_details(visit: Visit, project: sqlite3.Row, issue: int) -> None:
    """Assignee and labels as the form has them; an unknown name means none."""
    visit.db.execute(
        "UPDATE issues SET assignee_id = (SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id"
        " WHERE m.project_id = ? AND u.login = ?) WHERE id = ?",
        (project["id"], visit.field("assignee"), issue),
    )
    visit.db.execute("DELETE FROM issue_labels WHERE issue_id = ?", (issue,))
    for name in dict.fromkeys(visit.form.get("label", ())):
        visit.db.execute(
            "INSERT INTO issue_labels SELECT ?, id FROM labels WHERE project_id = ? AND name = ?",
            (issue, project["id"], name),
        )


def _form(visit: Visit, project: sqlite3.Row, issue: sqlite3.Row | None, problem: str = "") -> Response:
    held = labels_by_issue(visit, [issue["id"]]).get(issue["id"], []) if issue else []
    return visit.page(
        "code/issue_form.html",
        status=422 if problem else 200,
        project=project,
        issue=issue,
        problem=problem,
        labels=project_labels(visit, project),
        held=[label["name"] for label in held],
        people=people_of(visit, project),
        detailed=may(project, "Reporter"),
    )
