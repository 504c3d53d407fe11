"""Taking part in the forum: accounts, posts, comments, votes, subscriptions, one's own profile."""

import re

from starlette.responses import Response

from harness.plugins.demo.accounts import add_user
from harness.plugins.demo.forum.pages import find_board, find_post, post, post_path
from harness.plugins.demo.forum.seed import slug_of
from harness.plugins.demo.web import TODAY, Visit, safe_next

MAX_TEXT = 8000


def login_form(visit: Visit) -> Response:
    return visit.page("forum/login.html", problem="", next=safe_next(visit))


def login(visit: Visit) -> Response:
    if visit.sign_in(visit.field("login"), visit.field("password")):
        return visit.redirect(safe_next(visit))
    return visit.page("forum/login.html", status=422, problem="Wrong user name or password.", next=safe_next(visit))


def logout(visit: Visit) -> Response:
    visit.sign_out()
    return visit.redirect("/")


def register_form(visit: Visit) -> Response:
    return visit.page("forum/register.html", problem="")


def _why_not(visit: Visit, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]{3,24}", name):
        return "A user name has 3 to 24 letters, digits or underscores."
    if len(visit.field("password")) < 8:
        return "The password must have at least 8 characters."
    if visit.field("password") != visit.field("password2"):
        return "The two passwords differ."
    if visit.field("rules") != "on":
        return "Please accept the rules."
    taken = visit.db.execute("SELECT 1 FROM users WHERE login = ?", (name,)).fetchone()
    return "This user name is taken." if taken else ""


def register(visit: Visit) -> Response:
    name = visit.field("login")
    problem = _why_not(visit, name)
    if problem:
        return visit.page("forum/register.html", status=422, problem=problem)
    user_id = add_user(visit.db, login=name, name=name, password=visit.field("password"))
    visit.db.execute("INSERT INTO profiles (user_id, bio, joined) VALUES (?, '', ?)", (user_id, TODAY))
    visit.sign_in(name, visit.field("password"))
    return visit.redirect(f"/u/{name}")


def _submission(visit: Visit, problem: str, status: int) -> Response:
    names = visit.db.execute("SELECT name, title FROM boards ORDER BY title").fetchall()
    options = [("", "Choose…"), *((row["name"], row["title"]) for row in names)]
    chosen = visit.field("board") or visit.query("board")
    return visit.page("forum/submit.html", status=status, boards=options, chosen=chosen, problem=problem)


def submit_form(visit: Visit) -> Response:
    return _submission(visit, "", 200)


def submit(visit: Visit) -> Response:
    title, body = visit.field("title")[:300], visit.field("body")[:MAX_TEXT]
    row = find_board(visit, visit.field("board"))
    if row is None or not title:
        return _submission(visit, "Please choose a board and give your post a title.", 422)
    number = visit.db.execute(
        "INSERT INTO posts (board_id, author_id, title, slug, body, score, day) VALUES (?, ?, ?, ?, ?, 1, ?)",
        (row["id"], visit.me.id, title, slug_of(title), body, TODAY),
    ).lastrowid
    return visit.redirect(f"/b/{row['name']}/{number}/{slug_of(title)}")


def comment(visit: Visit) -> Response:
    row, text = find_post(visit), visit.field("text")[:MAX_TEXT]
    if row is None:
        return visit.missing()
    parent = visit.number(visit.field("parent")) or None
    belongs = (
        parent is None
        or visit.db.execute("SELECT 1 FROM comments WHERE id = ? AND post_id = ?", (parent, row["id"])).fetchone()
    )
    if not text or not belongs:
        return post(visit, problem="A comment needs some text.", status=422)
    visit.db.execute(
        "INSERT INTO comments (post_id, parent_id, author_id, text, day) VALUES (?, ?, ?, ?, ?)",
        (row["id"], parent, visit.me.id, text, TODAY),
    )
    return visit.redirect(f"{post_path(row)}#comments")


def vote(visit: Visit) -> Response:
    """Sent by the script; the same vote a second time takes it back."""
    row, value = find_post(visit), {"up": 1, "down": -1}.get(visit.params["way"])
    if row is None or value is None:
        return visit.missing()
    visit.db.execute("DELETE FROM votes WHERE post_id = ? AND user_id = ?", (row["id"], visit.me.id))
    if row["mine"] != value:
        visit.db.execute("INSERT INTO votes VALUES (?, ?, ?)", (row["id"], visit.me.id, value))
    changed = find_post(visit)
    return visit.json({"points": changed["points"], "up": changed["mine"] == 1, "down": changed["mine"] == -1})


def delete_post(visit: Visit) -> Response:
    row = find_post(visit)
    if row is None:
        return visit.missing()
    if row["author_id"] != visit.me.id:
        return visit.refuse(403, "Not yours", "Only its author can delete a post.")
    visit.db.execute("DELETE FROM posts WHERE id = ?", (row["id"],))
    return visit.redirect(f"/b/{row['board']}")


def edit_form(visit: Visit) -> Response:
    row = find_post(visit)
    if row is None or row["author_id"] != visit.me.id:
        return visit.missing()
    return visit.page("forum/edit.html", post=row, path=post_path(row))


def edit(visit: Visit) -> Response:
    row = find_post(visit)
    if row is None or row["author_id"] != visit.me.id:
        return visit.missing()
    visit.db.execute("UPDATE posts SET body = ? WHERE id = ?", (visit.field("body")[:MAX_TEXT], row["id"]))
    return visit.redirect(post_path(row))


def subscribe(visit: Visit) -> Response:
    row = find_board(visit, visit.params["board"])
    if row is None:
        return visit.missing()
    if visit.field("wanted") == "1":
        visit.db.execute("INSERT OR IGNORE INTO subscriptions VALUES (?, ?)", (visit.me.id, row["id"]))
    else:
        visit.db.execute("DELETE FROM subscriptions WHERE user_id = ? AND board_id = ?", (visit.me.id, row["id"]))
    return visit.redirect(f"/b/{row['name']}")


def settings_form(visit: Visit) -> Response:
    row = visit.db.execute("SELECT * FROM profiles WHERE user_id = ?", (visit.me.id,)).fetchone()
    return visit.page("forum/settings.html", profile=row)


def settings(visit: Visit) -> Response:
    visit.db.execute(
        "UPDATE profiles SET bio = ?, mails = ? WHERE user_id = ?",
        (visit.field("bio")[:1000], int(visit.field("mails") == "on"), visit.me.id),
    )
    return visit.redirect("/settings?saved=1")


def subscriptions(visit: Visit) -> Response:
    found = visit.db.execute(
        "SELECT b.* FROM boards b JOIN subscriptions s ON s.board_id = b.id WHERE s.user_id = ? ORDER BY b.title",
        (visit.me.id,),
    ).fetchall()
    return visit.page("forum/subscriptions.html", boards=found)
