"""The shop keeps its books: carts, orders, wishes, reviews."""

import re

import httpx
import pytest

from tests.plugins.demo.conftest import Connect, send, sign_in

ADDRESS = {"name": "Ada Field", "street": "9 Orchard Row", "city": "Bakewell", "postcode": "DE45 1AA"}


@pytest.fixture
async def nora(connect: Connect) -> httpx.AsyncClient:
    client = connect("t1.shop")
    await sign_in(client)
    return client


async def put(client: httpx.AsyncClient, sku: str, quantity: int) -> httpx.Response:
    return await send(client, f"/cart/{sku}", f"/product/{sku}", quantity=str(quantity))


async def test_an_order_holds_what_was_in_the_cart_and_empties_it(nora: httpx.AsyncClient) -> None:
    await put(nora, "OUT-606", 3)
    placed = await send(nora, "/checkout", "/checkout", shipping="express", note="Ring twice", **ADDRESS)
    assert placed.headers["location"] == "/orders/1037?placed=1"
    page = (await nora.get("/orders/1037")).text
    assert '<strong id="total">$50.40</strong>' in page
    assert "Ada Field, 9 Orchard Row, Bakewell, DE45 1AA" in page
    assert "Ring twice" in page
    assert "Your cart is empty" in (await nora.get("/cart")).text
    latest = (await nora.get("/__api__/latest_order")).json()
    assert latest == {"number": 1037, "status": "Pending", "path": "/orders/1037"}


@pytest.mark.parametrize("missing", ["street", "shipping"])
async def test_an_order_needs_an_address_and_a_way_of_shipping(nora: httpx.AsyncClient, missing: str) -> None:
    await put(nora, "OUT-606", 1)
    fields = {**ADDRESS, "shipping": "express", missing: ""}
    refused = await send(nora, "/checkout", "/checkout", **fields)
    assert refused.status_code == 422
    assert 'role="alert"' in refused.text
    assert (await nora.get("/orders/1037")).status_code == 404


async def test_a_line_can_be_changed_removed_and_not_grow_beyond_the_limit(nora: httpx.AsyncClient) -> None:
    for _ in range(2):
        await put(nora, "KIT-101", 15)
    assert 'value="20"' in (await nora.get("/cart")).text
    await send(nora, "/cart/KIT-101/change", "/cart", quantity="2")
    assert '<strong id="subtotal">$69.00</strong>' in (await nora.get("/cart")).text
    await send(nora, "/cart/KIT-101/change", "/cart", remove="1")
    assert "Your cart is empty" in (await nora.get("/cart")).text


async def test_what_a_guest_collected_is_there_after_the_login(connect: Connect) -> None:
    guest = connect("t1.shop")
    await put(guest, "DES-501", 2)
    await sign_in(guest)
    assert "Ledger Notebook A5" in (await guest.get("/cart")).text


async def test_what_is_sold_out_cannot_be_bought(nora: httpx.AsyncClient) -> None:
    assert (await put(nora, "OUT-609", 1)).status_code == 409


async def test_only_own_pending_orders_can_be_cancelled(nora: httpx.AsyncClient) -> None:
    assert (await send(nora, "/orders/1034/cancel", "/orders/1034")).status_code == 303
    assert '<dd id="status">Cancelled</dd>' in (await nora.get("/orders/1034")).text
    assert (await send(nora, "/orders/1032/cancel", "/account")).status_code == 409
    assert (await nora.get("/orders/1036")).status_code == 404
    assert (await send(nora, "/orders/1036/cancel", "/account")).status_code == 404


async def test_a_review_comes_first_and_counts(nora: httpx.AsyncClient) -> None:
    review = {"rating": "2", "nickname": "Nora F", "title": "Wobbles", "text": "One leg is short."}
    await send(nora, "/product/DES-503/reviews", "/product/DES-503", **review)
    assert "4 reviews" in (await nora.get("/product/DES-503")).text
    first = re.search(r"<h3>(.*?)</h3>", (await nora.get("/product/DES-503/reviews")).text)
    assert first and first[1] == "Wobbles"
    latest = (await nora.get("/__api__/latest_review/DES-503")).json()
    assert latest == {"rating": 2, "nickname": "Nora F", "title": "Wobbles"}
    unrated = await send(nora, "/product/DES-503/reviews", "/product/DES-503", **{**review, "rating": "6"})
    assert unrated.status_code == 422


async def test_reviews_come_in_pieces_until_there_are_no_more(nora: httpx.AsyncClient) -> None:
    seen, path = [], "/product/OUT-603/reviews?from=0"
    while path:
        piece = (await nora.get(path)).text
        seen += re.findall(r'aria-label="Review by ([^"]+)"', piece)
        following = re.search(r'data-more="([^"]+)"', piece)
        path = following[1] if following else ""
    assert len(seen) == 11
    assert seen[-1] == "Gale"


async def test_search_filters_and_sorts(nora: httpx.AsyncClient) -> None:
    filters = {"category": "garden", "min": "20", "max": "40", "stock": "1", "sort": "price_down"}
    page = (await nora.get("/search", params=filters)).text
    assert re.findall(r'<h3><a href="/product/([^"]+)"', page) == ["GAR-402", "GAR-410", "GAR-409", "GAR-401"]


async def test_old_addresses_lead_to_the_new_ones(nora: httpx.AsyncClient) -> None:
    for old, new in (
        ("/catalog/product/view/id/34", "/product/GAR-401"),
        ("/shop/desk", "/category/desk"),
        ("/index.html", "/"),
    ):
        answer = await nora.get(old)
        assert (answer.status_code, answer.headers["location"]) == (301, new)


async def test_only_a_message_that_was_sent_is_confirmed(nora: httpx.AsyncClient) -> None:
    assert "has the number" not in (await nora.get("/contact?sent=1")).text
    sent = await send(nora, "/contact", "/contact", email="a@example.com", topic="return", order="", text="A lamp.")
    assert sent.headers["location"] == "/contact?sent=1"
    assert "Your message has the number 1" in (await nora.get("/contact?sent=1")).text
    assert "has the number" not in (await nora.get("/contact?sent=2")).text
