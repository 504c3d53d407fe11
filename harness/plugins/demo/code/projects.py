"""Project pages: explore, overview, files, stars, new project, settings.

A file's text is shown as text: the small Markdown below knows headings, lists and fences, and the template escapes it.
"""

import re
import sqlite3
from collections.abc import Iterator

from starlette.responses import PlainTextResponse, Response

from harness.plugins.demo.code.access import VISIBLE, my_id
from harness.plugins.demo.web import TODAY, Visit, paginate

SORTS = {"name": "p.name COLLATE NOCASE", "stars": "stars DESC, p.name", "newest": "p.created DESC, p.name"}
VISIBILITIES = ("public", "internal", "private")

_FENCE, _FENCE_END = re.compile(r"^```\w*\n", re.MULTILINE), re.compile(r"^```$", re.MULTILINE)

Block = tuple[str, list[str]]
"""A kind (`h1` to h6, `list`, `code`, `text`) and its lines."""


def explore(visit: Visit) -> Response:
    """All projects the visitor may see, by words, language and order."""
    order = SORTS.get(visit.query("sort"), SORTS["name"])
    projects = visit.db.execute(
        "SELECT p.*, p.owner || '/' || p.slug AS path,"
        " (SELECT count(*) FROM stars s WHERE s.project_id = p.id) AS stars,"
        " (SELECT count(*) FROM issues i WHERE i.project_id = p.id AND i.state = 'opened') AS open_issues"
        f" FROM projects p WHERE {VISIBLE} AND (:language = '' OR p.language = :language)"
        " AND instr(lower(p.name || ' ' || p.description || ' ' || p.topics), lower(:words)) > 0"
        f" ORDER BY {order}",
        {"me": my_id(visit), "language": visit.query("language"), "words": visit.query("q").strip()},
    ).fetchall()
    languages = visit.db.execute("SELECT DISTINCT language FROM projects WHERE language <> '' ORDER BY 1").fetchall()
    names = [row["language"] for row in languages]
    return visit.page("code/explore.html", page=paginate(visit, projects, 6), languages=names)


def overview(visit: Visit, project: sqlite3.Row) -> Response:
    files = _files(visit, project)
    readme = visit.db.execute(
        "SELECT content FROM files WHERE project_id = ? AND path = 'README.md'", (project["id"],)
    ).fetchone()
    blocks = list(markdown(readme["content"])) if readme else []
    counts = {
        table: visit.db.execute(f"SELECT count(*) FROM {table} WHERE project_id = ?", (project["id"],)).fetchone()[0]
        for table in ("branches", "members", "issues", "merges")
    }
    return visit.page("code/project.html", project=project, files=files, blocks=blocks, counts=counts)


def file_view(visit: Visit, project: sqlite3.Row) -> Response:
    row = _file(visit, project)
    if row is None:
        return visit.missing()
    blocks = list(markdown(row["content"])) if row["path"].endswith(".md") else None
    lines = row["content"].splitlines()
    return visit.page("code/file.html", project=project, file=row, lines=lines, blocks=blocks)


def raw_file(visit: Visit, project: sqlite3.Row) -> Response:
    row = _file(visit, project)
    return visit.missing() if row is None else PlainTextResponse(row["content"])


def status(visit: Visit, project: sqlite3.Row) -> Response:
    """The little page that the overview shows in an iframe."""
    number = 400 + 7 * int(project["id"])
    return visit.page("code/status.html", project=project, number=number, passed=number % 3 != 0)


def graph(visit: Visit) -> Response:
    """A page that never worked; real sites have some."""
    return visit.refuse(500, "Something went wrong", "The activity graph could not be drawn. We have been told.")


def star(visit: Visit, project: sqlite3.Row) -> Response:
    """Star or unstar; answers the script behind the button."""
    key = (project["id"], visit.me.id)
    if project["starred"]:
        visit.db.execute("DELETE FROM stars WHERE project_id = ? AND user_id = ?", key)
    else:
        visit.db.execute("INSERT INTO stars VALUES (?, ?)", key)
    starred = not project["starred"]
    stars = project["stars"] + (1 if starred else -1)
    return visit.json({"starred": starred, "label": "Unstar" if starred else "Star", "stars": stars})


def new_form(visit: Visit) -> Response:
    return _new_page(visit, "")


def create(visit: Visit) -> Response:
    """Make a project of the visitor's own, with a README when asked for."""
    name, visibility = visit.field("name"), visit.field("visibility")
    slug = re.sub(r"[^a-z0-9]+", "-", (visit.field("slug") or name)[:60].lower()).strip("-")
    owner = visit.me.login
    taken = visit.db.execute("SELECT 1 FROM projects WHERE owner = ? AND slug = ?", (owner, slug)).fetchone()
    if not slug or visibility not in VISIBILITIES:
        return _new_page(visit, "Give the project a name with at least one letter or digit, and choose who may see it.")
    if taken:
        return _new_page(visit, f"You already have a project at {owner}/{slug}.")
    row = visit.db.execute(
        "INSERT INTO projects (owner, slug, name, description, visibility, language, topics, created)"
        " VALUES (?, ?, ?, ?, ?, '', '', ?)",
        (owner, slug, name[:80], visit.field("description")[:400], visibility, TODAY),
    )
    visit.db.execute("INSERT INTO members VALUES (?, ?, 'Owner', ?)", (row.lastrowid, visit.me.id, TODAY))
    visit.db.execute("INSERT INTO branches VALUES (?, 'main')", (row.lastrowid,))
    if visit.field("readme"):
        text = f"# {name}\n\n{visit.field('description')}\n"
        visit.db.execute("INSERT INTO files VALUES (?, 'README.md', ?)", (row.lastrowid, text))
    return visit.redirect(f"/{owner}/{slug}")


def settings_form(visit: Visit, project: sqlite3.Row) -> Response:
    return visit.page("code/settings.html", project=project, problem="")


def save_settings(visit: Visit, project: sqlite3.Row) -> Response:
    name, visibility = visit.field("name"), visit.field("visibility")
    if not name or visibility not in VISIBILITIES:
        problem = "A project needs a name and one of the three visibilities."
        return visit.page("code/settings.html", status=422, project=project, problem=problem)
    visit.db.execute(
        "UPDATE projects SET name = ?, description = ?, topics = ?, visibility = ? WHERE id = ?",
        (name[:80], visit.field("description")[:400], visit.field("topics")[:120], visibility, project["id"]),
    )
    return visit.redirect(f"/{project['path']}")


def delete(visit: Visit, project: sqlite3.Row) -> Response:
    visit.db.execute("DELETE FROM projects WHERE id = ?", (project["id"],))
    return visit.redirect("/explore")


def _new_page(visit: Visit, problem: str) -> Response:
    return visit.page("code/project_new.html", status=422 if problem else 200, problem=problem)


def _files(visit: Visit, project: sqlite3.Row) -> list[sqlite3.Row]:
    return visit.db.execute(
        "SELECT path, length(content) AS size FROM files WHERE project_id = ? ORDER BY path", (project["id"],)
    ).fetchall()


def _file(visit: Visit, project: sqlite3.Row) -> sqlite3.Row | None:
    row: sqlite3.Row | None = visit.db.execute(
        "SELECT path, content FROM files WHERE project_id = ? AND path = ?", (project["id"], visit.params["file"])
    ).fetchone()
    return row


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Fenced blocks and the text between them; an unclosed fence is text."""
    begun = 0
    while (opening := _FENCE.search(text, begun)) and (closing := _FENCE_END.search(text, opening.end())):
        yield False, text[begun : opening.start()]
        yield True, text[opening.end() : closing.start()]
        begun = closing.end()
    yield False, text[begun:]


def markdown(text: str) -> Iterator[Block]:
    """Split Markdown into the few blocks the templates draw."""
    for is_code, piece in _pieces(text):
        if is_code:
            yield "code", [piece.rstrip("\n")]
            continue
        for paragraph in filter(None, (part.strip("\n") for part in re.split(r"\n{2,}", piece))):
            heading = re.fullmatch(r"(#{1,6}) (.+)", paragraph)
            lines = paragraph.split("\n")
            if heading:
                yield f"h{len(heading[1])}", [heading[2]]
            elif all(line.startswith("- ") for line in lines):
                yield "list", [line[2:] for line in lines]
            else:
                yield "text", lines
