"""The tables of the code host, and the seed that fills them from `seeds/code_*.json`.

The seed is a function of the JSON files and `TODAY` alone. It holds no passwords except those of the demo accounts.
"""

import json
import sqlite3
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from harness.plugins.demo.accounts import add_user
from harness.plugins.demo.web import HERE, TODAY

SCHEMA = """
CREATE TABLE profiles (
    user_id INTEGER PRIMARY KEY REFERENCES users(id), email TEXT NOT NULL, title TEXT NOT NULL, location TEXT NOT NULL,
    bio TEXT NOT NULL, status TEXT NOT NULL DEFAULT '', website TEXT NOT NULL DEFAULT '',
    notify TEXT NOT NULL DEFAULT 'participating', digest INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE projects (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, slug TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
    visibility TEXT NOT NULL, language TEXT NOT NULL, topics TEXT NOT NULL, created TEXT NOT NULL, UNIQUE (owner, slug)
);
CREATE TABLE members (
    project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users(id), role TEXT NOT NULL, since TEXT NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE TABLE stars (
    project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users(id), PRIMARY KEY (project_id, user_id)
);
CREATE TABLE labels (
    id INTEGER PRIMARY KEY, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
    name TEXT NOT NULL, color TEXT NOT NULL, UNIQUE (project_id, name)
);
CREATE TABLE branches (
    project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, name TEXT NOT NULL,
    PRIMARY KEY (project_id, name)
);
CREATE TABLE files (
    project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, path TEXT NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (project_id, path)
);
CREATE TABLE issues (
    id INTEGER PRIMARY KEY, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, iid INTEGER NOT NULL,
    title TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL, author_id INTEGER NOT NULL REFERENCES users(id),
    assignee_id INTEGER REFERENCES users(id), created TEXT NOT NULL, UNIQUE (project_id, iid)
);
CREATE TABLE issue_labels (
    issue_id INTEGER NOT NULL REFERENCES issues(id) ON DELETE CASCADE,
    label_id INTEGER NOT NULL REFERENCES labels(id) ON DELETE CASCADE, PRIMARY KEY (issue_id, label_id)
);
CREATE TABLE merges (
    id INTEGER PRIMARY KEY, project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE, iid INTEGER NOT NULL,
    title TEXT NOT NULL, body TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, state TEXT NOT NULL,
    author_id INTEGER NOT NULL REFERENCES users(id), reviewer_id INTEGER REFERENCES users(id), created TEXT NOT NULL,
    UNIQUE (project_id, iid)
);
CREATE TABLE comments (
    id INTEGER PRIMARY KEY, issue_id INTEGER REFERENCES issues(id) ON DELETE CASCADE,
    merge_id INTEGER REFERENCES merges(id) ON DELETE CASCADE, author_id INTEGER NOT NULL REFERENCES users(id),
    body TEXT NOT NULL, created TEXT NOT NULL
);
CREATE TABLE todos (
    id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users(id),
    actor_id INTEGER NOT NULL REFERENCES users(id), action TEXT NOT NULL, kind TEXT NOT NULL,
    project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
    iid INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0
);
"""

SEEDS = HERE / "seeds"


def days_ago(days: int) -> str:
    return (date.fromisoformat(TODAY) - timedelta(days=days)).isoformat()


def _read(name: str) -> Any:
    return json.loads((SEEDS / f"code_{name}.json").read_bytes())


def _ages(place: int, count: int, span: int) -> list[int]:
    """Scattered ages in days, from the oldest to the newest, other ones for every project's place."""
    return sorted((4 + ((10 * place + nth) * 53) % span for nth in range(count)), reverse=True)


def seed(db: sqlite3.Connection) -> None:
    """Fill a fresh database."""
    people = _read("people")
    seeder = _Seeder(db, {person["username"]: _add_person(db, person) for person in people["users"]})
    readmes = _read("readmes")
    projects = {spec["path"]: seeder.add_project(spec, readmes[spec["path"]]) for spec in _read("projects")}
    for place, (path, issues) in enumerate(_read("issues").items()):
        for iid, (issue, age) in enumerate(zip(issues, _ages(place, len(issues), 240), strict=True), start=1):
            seeder.add_issue((projects[path], iid), issue, age=age)
    for place, (path, merges) in enumerate(_read("merge_requests").items()):
        for iid, (merge, age) in enumerate(zip(merges, _ages(place, len(merges), 60), strict=True), start=1):
            seeder.add_merge((projects[path], iid), merge, age=age)
    for user, actor, action, path, kind, iid in people["todos"]:
        db.execute(
            "INSERT INTO todos (user_id, actor_id, action, kind, project_id, iid) VALUES (?, ?, ?, ?, ?, ?)",
            (seeder.users[user], seeder.users[actor], action, kind, projects[path], iid),
        )


def _add_person(db: sqlite3.Connection, person: dict[str, str]) -> int:
    number = add_user(db, login=person["username"], name=person["name"], password=person["password"])
    db.execute(
        "INSERT INTO profiles (user_id, email, title, location, bio) VALUES (?, ?, ?, ?, ?)",
        (number, person["email"], person["title"], person["location"], person["bio"]),
    )
    return number


@dataclass(frozen=True, slots=True)
class _Seeder:
    db: sqlite3.Connection
    users: dict[str, int]
    """Ids by user name."""

    def add_project(self, spec: dict[str, Any], readme: str) -> int:
        owner, slug = spec["path"].split("/")
        keys = ("name", "description", "visibility", "language", "topics")
        row = self.db.execute(
            "INSERT INTO projects (owner, slug, name, description, visibility, language, topics, created)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (owner, slug, *(spec[key] for key in keys), days_ago(spec["ago"])),
        )
        project = int(row.lastrowid or 0)
        for place, (login, role) in enumerate(spec["members"].items()):
            since = days_ago(spec["ago"] - 17 * place)
            self.db.execute("INSERT INTO members VALUES (?, ?, ?, ?)", (project, self.users[login], role, since))
        self._fill("stars", [(project, self.users[login]) for login in spec["stars"]])
        self._fill("branches", [(project, name) for name in spec["branches"]])
        self._fill("files", [(project, *file) for file in {**spec["files"], "README.md": readme}.items()])
        self._fill("labels (project_id, name, color)", [(project, *label) for label in spec["labels"].items()])
        return project

    def add_issue(self, place: tuple[int, int], spec: list[Any], *, age: int) -> None:
        """`place` is the project's id and the number within it."""
        title, labels, author, assignee, state, body, comments = spec
        row = self.db.execute(
            "INSERT INTO issues (project_id, iid, title, body, state, author_id, assignee_id, created)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, title, body, state, self.users[author], self.users.get(assignee), days_ago(age)),
        )
        for name in labels.split(","):
            self.db.execute(
                "INSERT INTO issue_labels SELECT ?, id FROM labels WHERE project_id = ? AND name = ?",
                (row.lastrowid, place[0], name),
            )
        for nth, (who, text) in enumerate(comments, start=1):
            self._add_comment(who, text, age - nth, issue_id=row.lastrowid)

    def add_merge(self, place: tuple[int, int], spec: list[Any], *, age: int) -> None:
        title, source, author, reviewer, state, body, comments = spec
        row = self.db.execute(
            "INSERT INTO merges (project_id, iid, title, body, source, target, state, author_id, reviewer_id, created)"
            " VALUES (?, ?, ?, ?, ?, 'main', ?, ?, ?, ?)",
            (*place, title, body, source, state, self.users[author], self.users.get(reviewer), days_ago(age)),
        )
        for nth, (who, text) in enumerate(comments, start=1):
            self._add_comment(who, text, age - nth, merge_id=row.lastrowid)

    def _add_comment(
        self, who: str, text: str, age: int, *, issue_id: int | None = None, merge_id: int | None = None
    ) -> None:
        self.db.execute(
            "INSERT INTO comments (issue_id, merge_id, author_id, body, created) VALUES (?, ?, ?, ?, ?)",
            (issue_id, merge_id, self.users[who], text, days_ago(max(0, age))),
        )

    def _fill(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        for row in rows:
            self.db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
