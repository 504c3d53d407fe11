"""Reading the forum: front page, boards, posts with their comments, people, search."""

from typing import Any

from starlette.responses import Response

from harness.plugins.demo.web import Visit, paginate

PAGE_SIZE = 12
SORTS: dict[str, tuple[str, str]] = {
    "new": ("Newest", "p.id DESC"),
    "top": ("Most votes", "points DESC, p.id"),
    "comments": ("Most comments", "comments DESC, p.id"),
    "old": ("Oldest", "p.id"),
}
POSTS = (
    "SELECT p.*, b.name AS board, b.title AS board_title, u.name AS author,"
    " p.score + COALESCE((SELECT SUM(value) FROM votes v WHERE v.post_id = p.id), 0) AS points,"
    " COALESCE((SELECT value FROM votes v WHERE v.post_id = p.id AND v.user_id = :me), 0) AS mine,"
    " (SELECT COUNT(*) FROM comments c WHERE c.post_id = p.id) AS comments"
    " FROM posts p JOIN boards b ON b.id = p.board_id JOIN users u ON u.id = p.author_id"
    " WHERE {where} ORDER BY {order}"
)


def posts(visit: Visit, *, where: str = "1", sort: str = "new", **values: object) -> list[Any]:
    """Posts with their points (the visitor's own vote counted), number of comments, board and author."""
    order = SORTS.get(sort, SORTS["new"])[1]
    me = visit.user.id if visit.user else 0
    return visit.db.execute(POSTS.format(where=where, order=order), {"me": me, **values}).fetchall()


def find_post(visit: Visit) -> Any:
    """The post the address names (number and board must agree), or None."""
    found = posts(visit, where="p.id = :id AND b.name = :board", id=visit.params["id"], board=visit.params["board"])
    return found[0] if found else None


def find_board(visit: Visit, name: str) -> Any:
    return visit.db.execute("SELECT * FROM boards WHERE name = ?", (name,)).fetchone()


def post_path(post: Any) -> str:
    return f"/b/{post['board']}/{post['id']}/{post['slug']}"


def _sorted_list(visit: Visit, **extra: Any) -> dict[str, Any]:
    sort = visit.query("sort", "new")
    return {"sort": sort, "sorts": [(key, label) for key, (label, _) in SORTS.items()], **extra}


def home(visit: Visit) -> Response:
    page = paginate(visit, posts(visit, sort=visit.query("sort", "new")), PAGE_SIZE)
    return visit.page("forum/home.html", **_sorted_list(visit, page=page))


def boards(visit: Visit) -> Response:
    found = visit.db.execute(
        "SELECT b.*, (SELECT COUNT(*) FROM posts p WHERE p.board_id = b.id) AS posts,"
        " (SELECT COUNT(*) FROM subscriptions s WHERE s.board_id = b.id) AS subscribers,"
        " (SELECT COUNT(*) FROM subscriptions s WHERE s.board_id = b.id AND s.user_id = ?) AS subscribed"
        " FROM boards b ORDER BY b.title",
        (visit.user.id if visit.user else 0,),
    ).fetchall()
    return visit.page("forum/boards.html", boards=found)


def board(visit: Visit) -> Response:
    row = find_board(visit, visit.params["board"])
    if row is None:
        return visit.missing()
    found = posts(visit, where="p.board_id = :board", sort=visit.query("sort", "new"), board=row["id"])
    subscribed = visit.user is not None and bool(
        visit.db.execute(
            "SELECT 1 FROM subscriptions WHERE user_id = ? AND board_id = ?", (visit.user.id, row["id"])
        ).fetchone()
    )
    extra = _sorted_list(visit, page=paginate(visit, found, 6), board=row, subscribed=subscribed)
    return visit.page("forum/board.html", **extra)


def short_post(visit: Visit) -> Response:
    """`/b/birds/12` without the readable end leads to the whole address."""
    row = find_post(visit)
    return visit.redirect(post_path(row), 301) if row else visit.missing()


def post(visit: Visit, *, problem: str = "", status: int = 200) -> Response:
    row = find_post(visit)
    if row is None:
        return visit.missing()
    comments = visit.db.execute(
        "SELECT c.*, u.name AS author FROM comments c JOIN users u ON u.id = c.author_id WHERE post_id = ? ORDER BY id",
        (row["id"],),
    ).fetchall()
    children: dict[int, list[Any]] = {}
    for comment in comments:
        children.setdefault(comment["parent_id"] or 0, []).append(comment)
    values = {"post": row, "children": children, "problem": problem, "path": post_path(row)}
    return visit.page("forum/post.html", status=status, **values)


def person(visit: Visit) -> Response:
    row = visit.db.execute(
        "SELECT u.id, u.name, p.bio, p.joined FROM users u JOIN profiles p ON p.user_id = u.id WHERE u.name = ?",
        (visit.params["name"],),
    ).fetchone()
    if row is None:
        return visit.missing()
    comments = visit.db.execute(
        "SELECT c.id, c.text, c.day, p.id AS post_id, p.title, p.slug, b.name AS board FROM comments c"
        " JOIN posts p ON p.id = c.post_id JOIN boards b ON b.id = p.board_id WHERE c.author_id = ? ORDER BY c.id DESC",
        (row["id"],),
    ).fetchall()
    written = posts(visit, where="p.author_id = :author", author=row["id"])
    return visit.page("forum/person.html", person=row, posts=written, comments=paginate(visit, comments, 10))


def search(visit: Visit) -> Response:
    words = visit.query("q").strip()
    pattern = "%" + words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    where = "(p.title LIKE :like ESCAPE '\\' OR p.body LIKE :like ESCAPE '\\')"
    found = posts(visit, where=where, sort=visit.query("sort", "new"), like=pattern) if words else []
    return visit.page("forum/search.html", **_sorted_list(visit, page=paginate(visit, found, PAGE_SIZE), words=words))


def rules(visit: Visit) -> Response:
    return visit.page("forum/rules.html")


def old_address(visit: Visit) -> Response:
    """`/f/…` was the form of addresses before the boards had their own."""
    return visit.redirect(f"/b/{visit.params['board']}", 301)


def post_address(visit: Visit) -> Response:
    """For evaluators: the address of a post, by its number."""
    found = posts(visit, where="p.id = :id", id=visit.params["id"])
    if not found:
        return visit.json({}, 404)
    return visit.json({"path": post_path(found[0]), "points": found[0]["points"], "comments": found[0]["comments"]})


def latest_post(visit: Visit) -> Response:
    """For evaluators: the newest post."""
    newest = posts(visit)[0]
    return visit.json({"path": post_path(newest), "title": newest["title"], "author": newest["author"]})
