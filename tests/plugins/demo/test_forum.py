"""The forum lets people write, vote and subscribe, each in their own name."""

import re

import httpx
import pytest

from tests.plugins.demo.conftest import Connect, send, sign_in, token


@pytest.fixture
async def mara(connect: Connect) -> httpx.AsyncClient:
    client = connect("t1.forum")
    await sign_in(client)
    return client


async def test_a_vote_counts_once_turns_and_is_taken_back(mara: httpx.AsyncClient) -> None:
    headers = {"X-CSRF": await token(mara, "/b/trains/44/travelling-with-a-cello")}
    before = (await mara.get("/__api__/post/44")).json()["points"]
    for way, change in (("up", 1), ("down", -1), ("down", 0), ("up", 1)):
        answer = (await mara.post(f"/b/trains/44/vote/{way}", headers=headers)).json()
        assert answer == {"points": before + change, "up": change == 1, "down": change == -1}


async def test_without_a_login_a_vote_leads_to_the_login_and_changes_nothing(connect: Connect) -> None:
    visitor = connect("t1.forum")
    before = (await visitor.get("/__api__/post/44")).json()
    answer = await visitor.post("/b/trains/44/vote/up")
    assert answer.headers["location"].startswith("/login")
    assert (await visitor.get("/__api__/post/44")).json() == before


async def test_a_post_is_published_edited_and_deleted_by_its_author_only(mara: httpx.AsyncClient) -> None:
    answer = await send(mara, "/submit", "/submit", board="repair", title="Edit", body="First words")
    path = answer.headers["location"]
    base = path.rsplit("/", 1)[0]
    assert "First words" in (await mara.get(path)).text
    await send(mara, f"{base}/edit", f"{base}/edit", body="Second words")
    assert "Second words" in (await mara.get(path)).text
    await send(mara, f"{base}/delete", path)
    assert (await mara.get(path)).status_code == 404
    strangers = "/b/trains/44"
    assert (await mara.get(f"{strangers}/edit")).status_code == 404
    assert (await send(mara, f"{strangers}/delete", "/settings")).status_code == 403


async def test_a_post_needs_a_board_and_a_title(mara: httpx.AsyncClient) -> None:
    for fields in ({"board": "", "title": "x"}, {"board": "birds", "title": " "}, {"board": "no", "title": "x"}):
        assert (await send(mara, "/submit", "/submit", body="", **fields)).status_code == 422


async def test_an_answer_stands_below_its_comment_and_must_belong_to_the_post(mara: httpx.AsyncClient) -> None:
    path = "/b/birds/5/a-waxwing-in-the-car-park"
    parent = re.search(r'name="parent" value="(\d+)"', (await mara.get(path)).text)
    assert parent
    await send(mara, "/b/birds/5/comment", path, parent=parent[1], text="Four more this morning.")
    page = (await mara.get(path)).text
    assert re.search(r'<ul class="comments">.*<ul class="comments">.*Four more this morning', page, re.S)
    elsewhere = await send(mara, "/b/birds/13/comment", path, parent=parent[1], text="Lost")
    assert elsewhere.status_code == 422


async def test_subscriptions_come_and_go(mara: httpx.AsyncClient) -> None:
    await send(mara, "/b/trains/subscribe", "/b/trains", wanted="1")
    await send(mara, "/b/gardening/subscribe", "/b/gardening", wanted="0")
    page = (await mara.get("/subscriptions")).text
    listed = page.partition('<ul id="boards">')[2].partition("</ul>")[0]
    assert re.findall(r'<a href="/b/([^"]+)"', listed) == ["trains", "repair"]


@pytest.mark.parametrize(
    "change",
    [{"login": "x"}, {"login": "quietotter"}, {"password": "short"}, {"password2": "different"}, {"rules": ""}],
    ids=["name too short", "name taken", "password too short", "passwords differ", "rules not accepted"],
)
async def test_a_registration_that_is_not_in_order_makes_no_account(connect: Connect, change: dict[str, str]) -> None:
    visitor = connect("t1.forum")
    fields = {"login": "newcomer", "password": "long-enough", "password2": "long-enough", "rules": "on", **change}
    assert (await send(visitor, "/register", "/register", **fields)).status_code == 422
    assert (await visitor.get("/u/newcomer")).status_code == 404
    assert (await visitor.get("/settings")).status_code == 303


async def test_lists_are_sorted_and_paged(mara: httpx.AsyncClient) -> None:
    first = (await mara.get("/b/trains?sort=top")).text
    points = [int(number) for number in re.findall(r'data-bind="points">(\d+)<', first)]
    assert len(points) == 6
    assert points == sorted(points, reverse=True)
    rest = (await mara.get("/b/trains?sort=top&page=2")).text
    assert len(re.findall(r'data-bind="points">', rest)) == 4


async def test_a_post_is_found_without_the_end_of_its_address_but_not_on_another_board(mara: httpx.AsyncClient) -> None:
    assert (await mara.get("/b/trains/44")).headers["location"] == "/b/trains/44/travelling-with-a-cello"
    assert (await mara.get("/b/birds/44")).status_code == 404
    assert (await mara.get("/f/birds")).headers["location"] == "/b/birds"
