"""The tables of the forum and their initial content, always the same."""

import random
import re
import sqlite3

from harness.plugins.demo.accounts import add_user
from harness.plugins.demo.forum.talk import BOARDS, BODIES, PEOPLE, POSTS, REMARKS

SCHEMA = """
CREATE TABLE profiles (
    user_id INTEGER PRIMARY KEY REFERENCES users(id), bio TEXT NOT NULL, joined TEXT NOT NULL,
    mails INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE boards (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, description TEXT NOT NULL
);
CREATE TABLE posts (
    id INTEGER PRIMARY KEY, board_id INTEGER NOT NULL REFERENCES boards(id),
    author_id INTEGER NOT NULL REFERENCES users(id), title TEXT NOT NULL, slug TEXT NOT NULL, body TEXT NOT NULL,
    score INTEGER NOT NULL, day TEXT NOT NULL
);
CREATE TABLE comments (
    id INTEGER PRIMARY KEY, post_id INTEGER NOT NULL REFERENCES posts(id) ON DELETE CASCADE,
    parent_id INTEGER REFERENCES comments(id), author_id INTEGER NOT NULL REFERENCES users(id),
    text TEXT NOT NULL, day TEXT NOT NULL
);
CREATE INDEX comments_by_post ON comments (post_id);
CREATE TABLE votes (
    post_id INTEGER NOT NULL REFERENCES posts(id) ON DELETE CASCADE, user_id INTEGER NOT NULL REFERENCES users(id),
    value INTEGER NOT NULL, PRIMARY KEY (post_id, user_id)
);
CREATE TABLE subscriptions (
    user_id INTEGER NOT NULL REFERENCES users(id), board_id INTEGER NOT NULL REFERENCES boards(id),
    PRIMARY KEY (user_id, board_id)
);
"""

ACCOUNT = ("mara_lindqvist", "lantern.42")
"""The user the demo tasks act as."""


def slug_of(title: str) -> str:
    """The readable end of a post's address."""
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]
    return slug if slug not in ("", "edit") else f"post-{slug}".strip("-")


def seed(db: sqlite3.Connection) -> None:
    """Fill a fresh forum."""
    chance = random.Random(8731)
    for place, (name, bio) in enumerate(PEOPLE):
        password = ACCOUNT[1] if name == ACCOUNT[0] else f"{name}.pass"
        user_id = add_user(db, login=name, name=name, password=password)
        joined = f"20{18 + place % 7}-{1 + place % 12:02d}-{3 + place:02d}"
        db.execute("INSERT INTO profiles (user_id, bio, joined) VALUES (?, ?, ?)", (user_id, bio, joined))
    db.executemany("INSERT INTO boards (name, title, description) VALUES (?, ?, ?)", BOARDS)
    _seed_posts(db, chance)
    db.executemany("INSERT INTO subscriptions VALUES (?, ?)", [(1, 1), (1, 2), (2, 1), (3, 5)])


def _seed_posts(db: sqlite3.Connection, chance: random.Random) -> None:
    """Boards take turns, so that the newest posts come from everywhere; scores are all different."""
    titles = [(place, board, title) for board in POSTS for place, title in enumerate(POSTS[board])]
    numbers = {name: number for number, (name, _, _) in enumerate(BOARDS, start=1)}
    scores = chance.sample(range(3, 420), len(titles))
    for order, (_, board, title) in enumerate(sorted(titles, key=lambda entry: entry[0])):
        day = f"2026-{1 + order // 36:02d}-{1 + (order % 36) * 27 // 36:02d}"
        author = chance.randint(1, len(PEOPLE))
        body = "\n\n".join(chance.sample(BODIES, chance.randint(1, 3)))
        post_id = db.execute(
            "INSERT INTO posts (board_id, author_id, title, slug, body, score, day) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (numbers[board], author, title, slug_of(title), body, scores[order], day),
        ).lastrowid
        _seed_comments(db, chance, post_id=int(post_id or 0), day=day)


def _seed_comments(db: sqlite3.Connection, chance: random.Random, *, post_id: int, day: str) -> None:
    known: list[int] = []
    for _ in range(chance.choice((0, 1, 2, 3, 3, 4, 5, 6, 8, 14))):
        parent = chance.choice(known) if known and chance.random() < 0.45 else None
        row = db.execute(
            "INSERT INTO comments (post_id, parent_id, author_id, text, day) VALUES (?, ?, ?, ?, ?)",
            (post_id, parent, chance.randint(1, len(PEOPLE)), chance.choice(REMARKS), day),
        )
        known.append(int(row.lastrowid or 0))
