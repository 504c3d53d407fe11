"""The code host: what its forms change, what its filters let through, and who is kept out."""

import re

import httpx
import pytest

from harness.plugins.demo.code.site import SITE
from harness.plugins.demo.tenants import seeded
from tests.plugins.demo.conftest import Connect, send, sign_in, text, token

TIDES = "/harbor/tide-tables"
GARDEN = "/maya/garden-log"
HOSTILE = "<script>alert(1)</script>\"'&"


@pytest.fixture
def guest(connect: Connect) -> httpx.AsyncClient:
    return connect("t1.code")


@pytest.fixture
async def maya(connect: Connect) -> httpx.AsyncClient:
    client = connect("t1.code")
    await sign_in(client)
    return client


async def titles(client: httpx.AsyncClient, path: str) -> list[str]:
    """The headings of a list of projects, issues or merge requests."""
    return re.findall(r"<li>\s*<h2><a [^>]*>([^<]*)</a>", await text(client, path))


async def role(client: httpx.AsyncClient, project: str, user: str) -> str:
    return str((await client.get(f"/__api__/member_role?project={project}&user={user}")).json()["role"])


def test_the_seed_is_the_same_every_time() -> None:
    assert "\n".join(seeded(SITE).iterdump()) == "\n".join(seeded(SITE).iterdump())


def test_nothing_in_the_seed_is_older_than_its_project() -> None:
    for table in ("issues", "merges"):
        query = f"SELECT count(*) FROM {table} x JOIN projects p ON p.id = x.project_id WHERE x.created < p.created"
        assert seeded(SITE).execute(query).fetchone()[0] == 0


async def test_explore_finds_sorts_and_pages(guest: httpx.AsyncClient) -> None:
    assert (await titles(guest, "/explore?sort=stars"))[0] == "priya / Quiet Editor"
    assert await titles(guest, "/explore?q=SEA&language=Python") == ["harbor / Tide Tables"]
    first, second = await titles(guest, "/explore"), await titles(guest, "/explore?page=2")
    assert len(first) == 6 and len(second) == 3 and not set(first) & set(second)


async def test_projects_are_seen_by_those_who_may(guest: httpx.AsyncClient, maya: httpx.AsyncClient) -> None:
    paths = (TIDES, "/harbor/buoy-firmware", "/maya/dotfiles", "/omar/payroll-notes")
    assert [(await guest.get(path)).status_code for path in paths] == [200, 404, 404, 404]
    assert [(await maya.get(path)).status_code for path in paths] == [200, 200, 200, 404]
    assert "lamp-api" not in await text(guest, "/issues?state=all&q=token")
    assert "lamp-api" in await text(maya, "/issues?state=all&q=token")
    assert "Dotfiles" not in await text(guest, "/maya")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("label=bug&label=good+first+issue", ["Command line ignores --days 0"]),
        ("label=bug&label=stations&state=all", ["Wrong constants for Dunmore East"]),
        ("label=bug&label=stations", []),
        ("state=closed&sort=title", ["Moon phases beside the table", "Wrong constants for Dunmore East"]),
        ("author=lena&sort=oldest", ["Explain chart datum in the README", "Write a page about harmonic constants"]),
        ("assignee=none&q=feet", ["Print heights in feet"]),
        ("assignee=maya", ["High water is an hour late after the clocks change"]),
        ("state=nonsense&sort=nonsense&q=leap", ["Leap second makes the table skip a row"]),
        ("q=%25", []),
    ],
)
async def test_issue_filters_combine(guest: httpx.AsyncClient, query: str, expected: list[str]) -> None:
    assert await titles(guest, f"{TIDES}/-/issues?{query}") == expected


async def test_state_links_keep_the_labels_asked_for(guest: httpx.AsyncClient) -> None:
    page = await text(guest, f"{TIDES}/-/issues?label=bug&label=stations")
    assert "?label=bug&amp;label=stations&amp;state=closed" in page


async def test_issues_can_be_sorted_and_paged(guest: httpx.AsyncClient) -> None:
    newest = await titles(guest, f"{TIDES}/-/issues?state=all")
    rest = await titles(guest, f"{TIDES}/-/issues?state=all&page=2")
    oldest = await titles(guest, f"{TIDES}/-/issues?state=all&sort=oldest")
    assert len(newest) == 6 and len(rest) == 3
    assert oldest == list(reversed(newest + rest))[:6]
    assert (await titles(guest, f"{TIDES}/-/issues?sort=comments"))[0] == "Print heights in feet"


async def test_a_new_issue_takes_the_next_number_with_labels_and_assignee(maya: httpx.AsyncClient) -> None:
    form = {"title": HOSTILE, "body": HOSTILE, "assignee": "ines", "label": ["bug", "enhancement", "no such label"]}
    secret = await token(maya, f"{GARDEN}/-/issues/new")
    answer = await maya.post(f"{GARDEN}/-/issues", data={"csrf": secret, **form})
    assert answer.headers["location"] == f"{GARDEN}/-/issues/8"
    page = await text(maya, f"{GARDEN}/-/issues/8")
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert '<dd id="assignee">Ines Carvalho</dd>' in page
    assert re.findall(r'class="label"[^>]*>([^<]+)', page) == ["bug", "enhancement"]
    for path in (f"{GARDEN}/-/issues", "/issues", "/activity"):
        assert "<script>alert" not in await text(maya, path)


async def test_an_issue_without_title_is_refused(maya: httpx.AsyncClient) -> None:
    answer = await send(maya, f"{GARDEN}/-/issues", f"{GARDEN}/-/issues/new", title="  ", body="x")
    assert answer.status_code == 422 and "needs a title" in answer.text


async def test_an_issue_is_edited_commented_closed_and_reopened(maya: httpx.AsyncClient) -> None:
    issue = f"{GARDEN}/-/issues/4"
    await send(maya, f"{issue}/edit", f"{issue}/edit", title="More beds?", body="", assignee="", label="bug")
    await send(maya, f"{issue}/comment", issue, body="Five at most.")
    await send(maya, f"{issue}/state", issue, state="closed")
    page = await text(maya, issue)
    assert "<h1>More beds?</h1>" in page and "Five at most." in page and "Comments (2)" in page
    assert '<dd id="assignee">Nobody</dd>' in page and '<dd id="state">Closed</dd>' in page
    await send(maya, f"{issue}/state", issue, state="opened")
    assert '<dd id="state">Open</dd>' in await text(maya, issue)


async def test_roles_limit_what_a_member_may_do(connect: Connect) -> None:
    dmitri = connect("t1.code")
    await send(dmitri, "/login", "/login", login="dmitri", password="dmitri-learn-3")
    issue = f"{TIDES}/-/issues/1"
    assert "Edit issue" not in await text(dmitri, issue)
    assert (await dmitri.get(f"{issue}/edit")).status_code == 403
    assert (await send(dmitri, f"{issue}/state", issue, state="closed")).status_code == 403
    assert (await send(dmitri, f"{TIDES}/-/members", issue, user="ruth", role="Guest")).status_code == 403
    assert (await send(dmitri, f"{TIDES}/-/members/dmitri/role", issue, role="Owner")).status_code == 403
    assert (await send(dmitri, f"{issue}/comment", issue, body="Me too.")).status_code == 303
    assert "Edit issue" in await text(dmitri, f"{TIDES}/-/issues/5"), "authors edit their own issues"


async def test_members_are_invited_changed_and_removed(maya: httpx.AsyncClient) -> None:
    members = f"{GARDEN}/-/members"
    await send(maya, members, members, user="@aiko", role="Reporter")
    assert await role(maya, "maya/garden-log", "aiko") == "Reporter"
    assert '<td class="role">Reporter</td>' in await text(maya, members)
    await send(maya, f"{members}/aiko/role", members, role="Developer")
    assert await role(maya, "maya/garden-log", "aiko") == "Developer"
    await send(maya, f"{members}/aiko/remove", members)
    assert await role(maya, "maya/garden-log", "aiko") == ""


@pytest.mark.parametrize(
    ("user", "role", "why"),
    [("nobody", "Guest", "no user called nobody"), ("dmitri", "Guest", "a member already"), ("aiko", "King", "a role")],
)
async def test_bad_invitations_are_refused(maya: httpx.AsyncClient, user: str, role: str, why: str) -> None:
    answer = await send(maya, f"{GARDEN}/-/members", f"{GARDEN}/-/members", user=user, role=role)
    assert answer.status_code == 422 and why in answer.text


async def test_ownership_is_neither_lost_nor_taken(maya: httpx.AsyncClient) -> None:
    own, other = f"{GARDEN}/-/members", f"{TIDES}/-/members"
    assert (await send(maya, f"{own}/maya/remove", own)).status_code == 422
    assert (await send(maya, f"{own}/maya/role", own, role="Guest")).status_code == 422
    assert (await send(maya, f"{other}/maya/role", other, role="Owner")).status_code == 403
    assert (await send(maya, f"{other}/omar/remove", other)).status_code == 403
    assert (await send(maya, other, other, user="ruth", role="Owner")).status_code == 403
    assert await role(maya, "harbor/tide-tables", "omar") == "Owner"


async def test_merge_requests_are_opened_merged_and_closed(maya: httpx.AsyncClient) -> None:
    listing = f"{GARDEN}/-/merge_requests"
    form = {"title": "Old diaries", "body": "", "reviewer": "ines"}
    same = await send(maya, listing, f"{listing}/new", source="main", target="main", **form)
    assert same.status_code == 422
    answer = await send(maya, listing, f"{listing}/new", source="csv-import", target="main", **form)
    assert answer.headers["location"] == f"{listing}/4"
    assert '<dd id="reviewer">Ines Carvalho</dd>' in await text(maya, f"{listing}/4")
    await send(maya, f"{listing}/4/state", f"{listing}/4", state="merged")
    assert '<dd id="state">Merged</dd>' in await text(maya, f"{listing}/4")
    assert (await send(maya, f"{listing}/4/state", f"{listing}/4", state="closed")).status_code == 409
    await send(maya, f"{listing}/1/comment", f"{listing}/1", body="Thank you.")
    await send(maya, f"{listing}/1/state", f"{listing}/1", state="closed")
    assert await titles(maya, f"{listing}?state=closed") == ["Warn the evening before a frost"]
    assert "Old diaries" in await titles(maya, f"{listing}?state=merged")


async def test_a_developer_may_not_merge(maya: httpx.AsyncClient) -> None:
    merge = "/harbor/chart-viewer/-/merge_requests/2"
    assert ">Merge<" not in await text(maya, merge)
    assert (await send(maya, f"{merge}/state", merge, state="merged")).status_code == 403


async def test_a_star_is_set_and_taken_back_by_script(maya: httpx.AsyncClient) -> None:
    secret = {"x-csrf": await token(maya, "/")}
    first = await maya.post("/meadow/pollen-map/-/star", headers=secret)
    second = await maya.post("/meadow/pollen-map/-/star", headers=secret)
    assert first.json() == {"starred": True, "label": "Unstar", "stars": 3}
    assert second.json() == {"starred": False, "label": "Star", "stars": 2}


async def test_projects_are_made_changed_and_deleted(maya: httpx.AsyncClient) -> None:
    form = {"name": "Sauna Planner", "slug": "", "description": "Who, when, how hot", "visibility": "private"}
    answer = await send(maya, "/projects/new", "/projects/new", readme="1", **form)
    project = answer.headers["location"]
    assert project == "/maya/sauna-planner"
    assert "README.md" in await text(maya, project)
    assert (await send(maya, "/projects/new", "/projects/new", **form)).status_code == 422
    settings = f"{project}/-/settings"
    await send(maya, settings, settings, name="Sauna", description="", topics="heat", visibility="public")
    assert "<h1>Sauna</h1>" in await text(maya, project)
    assert (await send(maya, f"{project}/-/delete", settings)).headers["location"] == "/explore"
    assert (await maya.get(project)).status_code == 404


async def test_labels_are_added_once(maya: httpx.AsyncClient) -> None:
    labels = f"{GARDEN}/-/labels"
    assert (await send(maya, labels, labels, name="pests", color="#1f6f5c")).status_code == 303
    assert (await send(maya, labels, labels, name="pests", color="#1f6f5c")).status_code == 422
    assert (await send(maya, labels, labels, name="red", color="red;x")).status_code == 422
    assert (await text(maya, labels)).count(">pests<") == 1


async def test_todos_are_done_one_by_one_and_all_at_once(maya: httpx.AsyncClient) -> None:
    todos = "/dashboard/todos"
    assert "6 open to-dos" in await text(maya, "/")
    await send(maya, f"{todos}/4/done", todos)
    assert "Limit requests per token" in await text(maya, f"{todos}?state=done")
    await send(maya, f"{todos}/7/done", todos)
    assert "5 open to-dos" in await text(maya, "/"), "the seventh belongs to somebody else"
    await send(maya, f"{todos}/done", todos)
    assert "Nothing to do" in await text(maya, todos)


async def test_the_profile_shows_what_was_saved(maya: httpx.AsyncClient) -> None:
    form = {"name": "Maya L.", "status": HOSTILE, "location": "Turku", "notify": "none", "digest": "1"}
    page = (await send(maya, "/settings/profile", "/settings/profile", **form)).text
    assert 'value="none" checked' in page and 'name="digest" value="1" checked' in page
    profile = await text(maya, "/maya")
    assert (
        "<h1>Maya L.</h1>" in profile and '<dd id="location">Turku</dd>' in profile and "<script>alert" not in profile
    )


async def test_files_are_shown_as_text_and_raw(guest: httpx.AsyncClient) -> None:
    page = await text(guest, f"{TIDES}/-/files/README.md")
    assert "<h4>Whitby</h4>" in page and "<li>`--days N` prints N days" in page and len(page) > 9000
    assert "<code>import argparse</code>" in await text(guest, f"{TIDES}/-/files/tides/cli.py")
    raw = await guest.get(f"{TIDES}/-/raw/LICENSE")
    assert raw.headers["content-type"].startswith("text/plain") and raw.text.startswith("Mozilla")
    assert (await guest.get(f"{TIDES}/-/files/../../etc/passwd")).status_code == 404


async def test_the_activity_feed_comes_in_pieces(guest: httpx.AsyncClient) -> None:
    first, second = await text(guest, "/activity"), await text(guest, "/activity?page=2")
    assert first.count("<li>") == 10 and 'data-more="/activity?page=2"' in first and first != second


@pytest.mark.parametrize(
    "path",
    [f"{TIDES}/-/issues/{'9' * 40}", f"{TIDES}/-/merge_requests/x", "/nobody", "/harbor/nothing", f"{TIDES}/-/x"],
)
async def test_wrong_addresses_are_answered_with_404(guest: httpx.AsyncClient, path: str) -> None:
    answer = await guest.get(path)
    assert answer.status_code == 404 and "Page not found" in answer.text


async def test_visitors_are_sent_to_the_login_and_back(guest: httpx.AsyncClient) -> None:
    assert (await guest.get("/")).headers["location"] == "/explore"
    page = f"{TIDES}/-/issues/new"
    login = (await guest.get(page)).headers["location"]
    assert login == f"/login?next={page}"
    there = await send(guest, "/login", login, next=page, login="maya", password="maya-tide-41")
    assert there.headers["location"] == page
    assert (await guest.get("/search?q=tide")).headers["location"] == "/explore?q=tide"


async def test_forms_without_token_or_login_change_nothing(guest: httpx.AsyncClient, maya: httpx.AsyncClient) -> None:
    issue = f"{GARDEN}/-/issues/4"
    assert (await maya.post(f"{issue}/state", data={"state": "closed"})).status_code == 403
    answer = await send(guest, f"{issue}/state", "/login", state="closed")
    assert answer.headers["location"].startswith("/login")
    assert '<dd id="state">Open</dd>' in await text(maya, issue)


async def test_a_reset_restores_the_seed(maya: httpx.AsyncClient) -> None:
    issue = f"{GARDEN}/-/issues/4"
    await send(maya, f"{issue}/state", issue, state="closed")
    await send(maya, f"{GARDEN}/-/members", f"{GARDEN}/-/members", user="aiko", role="Guest")
    assert (await maya.post("/__reset__")).status_code == 204
    assert '<dd id="state">Open</dd>' in await text(maya, issue)
    assert await role(maya, "maya/garden-log", "aiko") == ""
