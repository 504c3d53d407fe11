"""Users, password hashes, sessions and their CSRF tokens, in the database of a tenant.

A password is stored only as a salted scrypt hash. A session belongs to one tenant of one site and holds only a user and
a CSRF token.
"""

import hashlib
import hmac
import secrets
import sqlite3
from dataclasses import dataclass

SCHEMA = """
CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    login TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT NOT NULL,
    password TEXT NOT NULL
);
CREATE TABLE sessions (
    token TEXT PRIMARY KEY,
    csrf TEXT NOT NULL,
    user_id INTEGER REFERENCES users(id) ON DELETE CASCADE
);
"""
"""Every site's database begins with these two tables; a site keeps more about its users in tables of its own."""

COOKIE = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: int
    login: str
    """What is typed into the login form: a user name or an e-mail address."""
    name: str
    """What is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSession:
    token: str
    csrf: str
    user: User | None


def hash_password(password: str, salt: bytes) -> str:
    """Hash with parameters chosen for a quick seed: the accounts of these sites are published anyway."""
    digest = hashlib.scrypt(password.encode(), salt=salt, n=2**8, r=8, p=1, dklen=32)
    return f"{salt.hex()}${digest.hex()}"


def add_user(db: sqlite3.Connection, *, login: str, name: str, password: str) -> int:
    """Add a user and return its id; the salt follows from the login, so that a seed is the same every time."""
    salt = hashlib.sha256(login.encode()).digest()[:16]
    row = db.execute(
        "INSERT INTO users (login, name, password) VALUES (?, ?, ?)", (login, name, hash_password(password, salt))
    )
    return int(row.lastrowid or 0)


def check_password(db: sqlite3.Connection, login: str, password: str) -> User | None:
    """The user with this login, if the password is theirs."""
    row = db.execute("SELECT id, login, name, password FROM users WHERE login = ?", (login,)).fetchone()
    if row is None:
        return None
    salt = bytes.fromhex(row["password"].partition("$")[0])
    if not hmac.compare_digest(row["password"], hash_password(password, salt)):
        return None
    return User(id=row["id"], login=row["login"], name=row["name"])


def open_session(db: sqlite3.Connection, user: User | None) -> LoginSession:
    """Begin a session; a new token at every login keeps a planted one worthless."""
    session = LoginSession(token=secrets.token_urlsafe(18), csrf=secrets.token_urlsafe(18), user=user)
    db.execute(
        "INSERT INTO sessions (token, csrf, user_id) VALUES (?, ?, ?)",
        (session.token, session.csrf, user.id if user else None),
    )
    return session


def find_session(db: sqlite3.Connection, token: str) -> LoginSession | None:
    row = db.execute(
        "SELECT s.token, s.csrf, u.id, u.login, u.name FROM sessions s LEFT JOIN users u ON u.id = s.user_id"
        " WHERE s.token = ?",
        (token,),
    ).fetchone()
    if row is None:
        return None
    user = None if row["id"] is None else User(id=row["id"], login=row["login"], name=row["name"])
    return LoginSession(token=row["token"], csrf=row["csrf"], user=user)


def close_session(db: sqlite3.Connection, token: str) -> None:
    db.execute("DELETE FROM sessions WHERE token = ?", (token,))
