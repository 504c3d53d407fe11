"""The shop's interface for programs answers as Magento's does, to whoever shows the token."""

import httpx
import pytest

from tests.plugins.demo.conftest import Connect, send, sign_in

TOKEN = "/rest/default/V1/integration/admin/token"


@pytest.fixture
async def admin(connect: Connect) -> httpx.AsyncClient:
    client = connect("t1.shop")
    answer = await client.post(TOKEN, json={"username": "admin", "password": "admin1234"})
    client.headers["authorization"] = f"Bearer {answer.json()}"
    return client


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"username": "admin", "password": "guess"}'])
async def test_a_wrong_account_gets_no_token(connect: Connect, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    assert (await connect("t1.shop").post(TOKEN, content=body, headers=headers)).status_code == 401


@pytest.mark.parametrize("path", ["/rest/V1/orders", "/rest/V1/products/KIT-101/reviews"])
async def test_nothing_is_told_without_the_token(connect: Connect, path: str) -> None:
    assert (await connect("t1.shop").get(path)).status_code == 401


async def test_the_newest_order_is_told(admin: httpx.AsyncClient) -> None:
    criteria = {
        "searchCriteria[sortOrders][0][field]": "created_at",
        "searchCriteria[sortOrders][0][direction]": "DESC",
        "searchCriteria[pageSize]": "1",
    }
    found = (await admin.get("/rest/V1/orders", params=criteria)).json()
    assert [item["increment_id"] for item in found["items"]] == ["000001036"]
    assert found["total_count"] == 36


async def test_reviews_are_told_the_newest_last(admin: httpx.AsyncClient) -> None:
    await sign_in(admin)
    fields = {"rating": "2", "nickname": "Nora F", "title": "Wobbles", "text": "One leg is short."}
    await send(admin, "/product/DES-503/reviews", "/product/DES-503", **fields)
    newest = (await admin.get("/rest/V1/products/DES-503/reviews")).json()[-1]
    assert newest["nickname"] == "Nora F"
    assert newest["ratings"] == [{"rating_name": "Rating", "percent": 40, "value": 2}]
    assert (await admin.get("/rest/V1/products/NO/reviews")).status_code == 404
