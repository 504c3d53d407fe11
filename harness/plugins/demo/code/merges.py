"""Merge requests: list, one of them, its comments, and merging.

A merge moves no files here: what is recorded is the state and who may set it.
"""

import sqlite3
from collections.abc import Callable

from starlette.responses import Response

from harness.plugins.demo.code.access import forbidden, in_project, may, my_id, people_of
from harness.plugins.demo.web import TODAY, View, Visit, paginate

STATES = {"opened": "Open", "merged": "Merged", "closed": "Closed", "all": "All"}

MergeView = Callable[[Visit, sqlite3.Row, sqlite3.Row], Response]


def in_merge(view: MergeView) -> View:
    """Hand the view the project and the merge request the address names."""

    def answer(visit: Visit, project: sqlite3.Row) -> Response:
        rows = _select(visit, project, " AND m.iid = :iid", iid=visit.number(visit.params["iid"]))
        return view(visit, project, rows[0]) if rows else visit.missing()

    return in_project(answer)


def listing(visit: Visit, project: sqlite3.Row) -> Response:
    state = visit.query("state") if visit.query("state") in STATES else "opened"
    merges = _select(visit, project, " AND (:state = 'all' OR m.state = :state) ORDER BY m.iid DESC", state=state)
    page = paginate(visit, merges, 10)
    return visit.page("code/merges.html", project=project, page=page, states=STATES, state=state)


def show(visit: Visit, project: sqlite3.Row, merge: sqlite3.Row) -> Response:
    comments = visit.db.execute(
        "SELECT c.body, c.created, u.name, u.login FROM comments c JOIN users u ON u.id = c.author_id"
        " WHERE c.merge_id = ? ORDER BY c.id",
        (merge["id"],),
    ).fetchall()
    return visit.page(
        "code/merge.html",
        project=project,
        merge=merge,
        comments=comments,
        may_merge=may(project, "Maintainer"),
        may_close=_may_close(visit, project, merge),
    )


def new_form(visit: Visit, project: sqlite3.Row) -> Response:
    return _form(visit, project, "")


def create(visit: Visit, project: sqlite3.Row) -> Response:
    source, target = visit.field("source"), visit.field("target")
    branches = _branches(visit, project)
    if not visit.field("title"):
        return _form(visit, project, "A merge request needs a title.")
    if source == target or source not in branches or target not in branches:
        return _form(visit, project, "Choose two different branches of this project.")
    values = {"project": project["id"], "me": visit.me.id, "today": TODAY, "source": source, "target": target}
    row = visit.db.execute(
        "INSERT INTO merges (project_id, iid, title, body, source, target, state, author_id, reviewer_id, created)"
        " SELECT :project, coalesce(max(iid), 0) + 1, :title, :body, :source, :target, 'opened', :me,"
        "  (SELECT x.user_id FROM members x JOIN users u ON u.id = x.user_id"
        "   WHERE x.project_id = :project AND u.login = :reviewer), :today"
        " FROM merges WHERE project_id = :project",
        {
            **values,
            "title": visit.field("title")[:200],
            "body": visit.field("body")[:20_000],
            "reviewer": visit.field("reviewer"),
        },
    )
    merge = visit.db.execute("SELECT iid FROM merges WHERE id = ?", (row.lastrowid,)).fetchone()
    return _back(visit, project, merge)


def comment(visit: Visit, project: sqlite3.Row, merge: sqlite3.Row) -> Response:
    if text := visit.field("body"):
        visit.db.execute(
            "INSERT INTO comments (merge_id, author_id, body, created) VALUES (?, ?, ?, ?)",
            (merge["id"], visit.me.id, text[:10_000], TODAY),
        )
    return _back(visit, project, merge)


def set_state(visit: Visit, project: sqlite3.Row, merge: sqlite3.Row) -> Response:
    """Merge, close or reopen, as the button said; what is merged stays merged."""
    state = visit.field("state")
    allowed = may(project, "Maintainer") if state == "merged" else _may_close(visit, project, merge)
    if not allowed:
        return forbidden(visit)
    legal = {"opened": ("merged", "closed"), "closed": ("opened",)}
    if state not in legal.get(merge["state"], ()):
        return visit.refuse(409, "Not possible", "The merge request is no longer in the state you saw.")
    visit.db.execute("UPDATE merges SET state = ? WHERE id = ?", (state, merge["id"]))
    return _back(visit, project, merge)


def _select(visit: Visit, project: sqlite3.Row, condition: str, **values: object) -> list[sqlite3.Row]:
    return visit.db.execute(
        "SELECT m.*, a.name AS author, a.login AS author_login, b.name AS reviewer, b.login AS reviewer_login,"
        " (SELECT count(*) FROM comments c WHERE c.merge_id = m.id) AS comments"
        " FROM merges m JOIN users a ON a.id = m.author_id LEFT JOIN users b ON b.id = m.reviewer_id"
        f" WHERE m.project_id = :project{condition}",
        {"project": project["id"], **values},
    ).fetchall()


def _may_close(visit: Visit, project: sqlite3.Row, merge: sqlite3.Row) -> bool:
    return merge["author_id"] == my_id(visit) or may(project, "Developer")


def _branches(visit: Visit, project: sqlite3.Row) -> list[str]:
    rows = visit.db.execute("SELECT name FROM branches WHERE project_id = ? ORDER BY rowid", (project["id"],))
    return [row["name"] for row in rows]


def _back(visit: Visit, project: sqlite3.Row, merge: sqlite3.Row) -> Response:
    return visit.redirect(f"/{project['path']}/-/merge_requests/{merge['iid']}")


def _form(visit: Visit, project: sqlite3.Row, problem: str) -> Response:
    return visit.page(
        "code/merge_form.html",
        status=422 if problem else 200,
        project=project,
        branches=_branches(visit, project),
        people=people_of(visit, project),
        problem=problem,
    )
