"""Forms, sessions and redirects stand up to visitors who do not play by the rules."""

from harness.plugins.demo.web import money
from tests.plugins.demo.conftest import Connect, send, sign_in, token

HOSTILE = "<script>alert('x')</script>\"&{{ 7*7 }}"


async def test_a_form_without_the_token_of_its_own_session_changes_nothing(connect: Connect) -> None:
    client, stranger = connect("t1.forum"), connect("t1.forum")
    await sign_in(client)
    foreign = await token(stranger, "/login")
    for fields in ({}, {"csrf": ""}, {"csrf": foreign}):
        data = {"board": "birds", "title": "Forged", "body": "", **fields}
        assert (await client.post("/submit", data=data)).status_code == 403
    assert "Forged" not in (await client.get("/")).text


async def test_text_from_visitors_is_shown_as_text(connect: Connect) -> None:
    client = connect("t1.forum")
    await sign_in(client)
    answer = await send(client, "/submit", "/submit", board="birds", title=HOSTILE, body=HOSTILE)
    page = (await client.get(answer.headers["location"])).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert "{{ 7*7 }}" in page
    found = (await client.get("/search", params={"q": HOSTILE})).text
    assert "<script>alert" not in found
    assert "1 post found" in found


async def test_search_words_are_not_patterns_and_not_sql(connect: Connect) -> None:
    client = connect("t1.shop")
    for words in ("%", "_", "' OR 1=1 --", "\\"):
        assert "0 products found" in (await client.get("/search", params={"q": words})).text


async def test_odd_numbers_in_an_address_do_no_harm(connect: Connect) -> None:
    client = connect("t1.shop")
    for page in ("-1", "0", "99999999999999999999", "½", "x"):
        assert (await client.get("/category/desk", params={"page": page, "sort": "; DROP"})).status_code == 200
    await sign_in(client)
    assert (await client.get("/orders/99999999999999999999")).status_code == 404
    assert (await client.get("/catalog/product/view/id/99999999999999999999")).status_code == 404


async def test_after_a_login_the_visitor_comes_back_but_never_to_another_host(connect: Connect) -> None:
    client = connect("t1.shop")
    asked = await client.get("/orders?status=Pending")
    assert asked.headers["location"] == "/login?next=/orders%3Fstatus%3DPending"
    data = {"login": "nora.field@example.com", "password": "thimble.42"}
    for wanted, reached in (("/orders?status=Pending", "/orders?status=Pending"), ("//evil.test/", "/account")):
        visitor = connect("t1.shop")
        answer = await send(visitor, "/login", "/login", next=wanted, **data)
        assert answer.headers["location"] == reached


async def test_a_login_needs_the_right_password_and_brings_a_new_session(connect: Connect) -> None:
    client = connect("t1.shop")
    wrong = await send(client, "/login", "/login", login="nora.field@example.com", password="no")
    assert wrong.status_code == 422
    planted = client.cookies["session"]
    await sign_in(client)
    assert client.cookies["session"] != planted


async def test_the_session_cookie_is_kept_from_scripts_and_other_sites(connect: Connect) -> None:
    answer = await connect("t1.shop").get("/login")
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=lax" in answer.headers["set-cookie"].lower()


async def test_logging_out_ends_the_session_for_good(connect: Connect) -> None:
    client = connect("t1.forum")
    await sign_in(client)
    old = client.cookies["session"]
    await send(client, "/logout", "/settings")
    assert (await client.get("/settings")).status_code == 303
    client.cookies.set("session", old)
    assert (await client.get("/settings")).status_code == 303


async def test_a_body_that_is_too_large_is_refused(connect: Connect) -> None:
    client = connect("t1.shop")
    assert (await client.post("/contact", content=b"x" * 300_000)).status_code == 413


def test_money_is_written_with_thousands_and_cents() -> None:
    assert money(5) == "$0.05"
    assert money(1234567) == "$12,345.67"
