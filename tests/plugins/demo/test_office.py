"""The back office: filters, sort orders and sums are right, forms change what they say, nobody gets in without
login.
"""

import re

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plugins.demo.office.site import SITE
from harness.plugins.demo.office.tables import cents
from harness.plugins.demo.tenants import seeded
from harness.plugins.demo.web import money
from tests.plugins.demo.conftest import Connect, send, sign_in, text, token

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


@pytest.fixture
async def admin(connect: Connect) -> httpx.AsyncClient:
    client = connect("t1.office")
    await sign_in(client)
    return client


async def column(client: httpx.AsyncClient, path: str, nth: int) -> list[str]:
    """One column of the page's first table, without markup."""
    table = re.search(r"<tbody>(.*?)</tbody>", await text(client, path), re.DOTALL)
    assert table
    rows = re.findall(r"<tr.*?</tr>", table[1], re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
    return [re.sub(r"<[^>]+>", "", row[nth]).strip() for row in cells if len(row) > nth]


def dollars(value: str) -> float:
    return float(value.replace("$", "").replace(",", ""))


def test_the_seed_is_the_same_every_time_and_of_the_promised_size() -> None:
    db = seeded(SITE)
    assert "\n".join(db.iterdump()) == "\n".join(seeded(SITE).iterdump())
    counts = [
        db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("orders", "products", "customers")
    ]
    assert counts == [120, 60, 50]
    assert db.execute("SELECT count(*) FROM order_items").fetchone()[0] > 120


async def test_every_page_asks_for_a_login(connect: Connect) -> None:
    stranger = connect("t1.office")
    for route in SITE.routes:
        if route.path not in ("/login", "/logout") and route.method == "GET":
            path = re.sub(r"\{\w+\}", "1", route.path)
            assert (await stranger.get(path)).headers["location"].startswith("/login?next="), path


@pytest.mark.sample(3)
@pytest.mark.parametrize("sort", ["number", "placed", "customer", "status", "total"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
async def test_orders_sort_by_every_column(admin: httpx.AsyncClient, sort: str, direction: str) -> None:
    nth = ["number", "placed", "customer", "status", "total"].index(sort) + 1
    shown = await column(admin, f"/orders?sort={sort}&dir={direction}&size=100", nth)
    values = [dollars(value) for value in shown] if sort == "total" else [value.lower() for value in shown]
    assert len(values) == 100 and values == sorted(values, reverse=direction == "desc")


async def test_orders_are_filtered_by_status_dates_and_words(admin: httpx.AsyncClient) -> None:
    assert set(await column(admin, "/orders?status=on+hold", 4)) == {"on hold"}
    placed = await column(admin, "/orders?from=2026-01-01&to=2026-01-31", 2)
    assert placed and all(day.startswith("2026-01") for day in placed)
    assert await column(admin, "/orders?q=%231118", 1) == ["#1118"]
    assert set(await column(admin, "/orders?q=GLORIA", 3)) == {"Gloria Pinto"}
    assert await column(admin, "/orders?q=gloria&status=pending&from=2026-03-01", 1) == ["#1113"]
    assert len(await column(admin, "/orders?from=yesterday", 1)) == 20, "a date that is none is not a limit"
    assert await column(admin, "/orders?q=%25", 1) == []


async def test_pages_hold_all_orders_once_and_links_keep_the_filter(admin: httpx.AsyncClient) -> None:
    pages = [await column(admin, f"/orders?sort=number&page={page}&size=50", 1) for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [50, 50, 20]
    assert [*pages[0], *pages[1], *pages[2]] == [f"#{number}" for number in range(1001, 1121)]
    assert await column(admin, "/orders?sort=number&page=99&size=50", 1) == pages[2]
    page = await text(admin, "/orders?status=complete&sort=total&page=2")
    assert "/orders?status=complete&amp;sort=total&amp;page=3" in page
    assert "/orders?status=complete&amp;sort=total&amp;dir=desc" in page


async def test_bulk_changes_only_what_may_change(admin: httpx.AsyncClient) -> None:
    form = {"csrf": await token(admin, "/orders"), "status": "processing", "order": ["1111", "1112", "1050", "7"]}
    answer = await admin.post("/orders", data=form)
    assert answer.headers["location"] == "/orders?changed=2&left=2"
    for number, status in (("1111", "processing"), ("1112", "processing"), ("1050", "complete")):
        assert f'<dd id="order-status">{status}</dd>' in await text(admin, f"/orders/{number}")
    assert "Status changed from pending to processing." in await text(admin, "/orders/1111")
    assert (await send(admin, "/orders", "/orders", status="processing")).status_code == 422


async def test_an_order_goes_only_to_a_next_status(admin: httpx.AsyncClient) -> None:
    order = "/orders/1118"
    assert (await send(admin, f"{order}/status", order, status="complete")).status_code == 422
    assert (await send(admin, f"{order}/status", order, status="processing")).status_code == 303
    assert '<dd id="order-status">processing</dd>' in await text(admin, order)
    assert "1118" in "".join(await column(admin, "/orders?status=processing", 1))


async def test_notes_address_and_tracking_are_saved_and_escaped(admin: httpx.AsyncClient) -> None:
    order = "/orders/1119"
    await send(admin, f"{order}/notes", order, text=HOSTILE, notify="1")
    await send(admin, f"{order}/edit", f"{order}/edit", address=HOSTILE, tracking="CP1")
    page = await text(admin, order)
    assert "<img" not in page and "&lt;img src=x" in page and "customer notified" in page
    assert '<dd id="tracking">CP1</dd>' in page
    for path in (f"{order}/invoice", f"{order}/slip", "/orders/print"):
        assert "<img" not in await text(admin, path), path
    assert (await send(admin, f"{order}/edit", f"{order}/edit", address=" ")).status_code == 422


async def test_totals_agree_between_order_invoice_list_and_print_view(admin: httpx.AsyncClient) -> None:
    parts = [dollars(value) for value in await column(admin, "/orders/1118", 4)]
    total = money(round(sum(parts) * 100))
    assert f'id="total">{total}<' in await text(admin, "/orders/1118")
    assert f'id="total">{total}<' in await text(admin, "/orders/1118/invoice")
    assert await column(admin, "/orders?q=1118", 5) == [total]
    printed = await column(admin, "/orders/print", 7)
    assert len(printed) == 120
    assert money(round(sum(map(dollars, printed)) * 100)) in await text(admin, "/orders/print")


async def test_products_are_filtered_and_sorted(admin: httpx.AsyncClient) -> None:
    assert len(await column(admin, "/products?category=Bath&size=50", 1)) == 12
    assert set(await column(admin, "/products?enabled=no", 6)) == {"Disabled"}
    low = [int(value) for value in await column(admin, "/products?below=10&sort=stock&dir=desc", 5)]
    assert low == sorted(low, reverse=True) and max(low) < 10
    assert await column(admin, "/products?q=gar-101", 2) == ["Copper Watering Can"]
    prices = [dollars(value) for value in await column(admin, "/products?sort=price&size=100", 4)]
    assert prices == sorted(prices) and len(prices) == 60


async def test_ticked_products_are_disabled_and_deleted(admin: httpx.AsyncClient) -> None:
    form = {"csrf": await token(admin, "/products"), "product": ["1", "2", "999"]}
    answer = await admin.post("/products", data={**form, "action": "disable"})
    assert answer.headers["location"] == "/products?changed=2"
    assert {"Oak Chopping Board", "Linen Apron"} <= set(await column(admin, "/products?enabled=no", 2))
    await admin.post("/products", data={**form, "action": "delete"})
    assert (await admin.get("/products/1")).status_code == 404
    assert (await admin.post("/products", data={**form, "action": "DROP TABLE products"})).status_code == 422


PRODUCT = {
    "name": "Oil Lamp",
    "category": "Living",
    "price": "1,049.5",
    "stock": "7",
    "enabled": "0",
    "description": "",
}


async def test_a_product_is_made_and_edited(admin: httpx.AsyncClient) -> None:
    answer = await send(admin, "/products/new", "/products/new", sku="liv-900", **PRODUCT)
    product = answer.headers["location"].partition("?")[0]
    assert await column(admin, "/products?q=LIV-900", 4) == ["$1,049.50"]
    assert await column(admin, "/products?q=LIV-900", 6) == ["Disabled"]
    await send(admin, product, product, **{**PRODUCT, "price": "9", "enabled": "1"})
    page = await text(admin, product)
    assert 'name="price" type="text" value="9.00"' in page and 'name="enabled" value="1" checked' in page
    await send(admin, f"{product}/delete", product)
    assert (await admin.get(product)).status_code == 404


@pytest.mark.parametrize(
    "wrong", [{"price": "-1"}, {"price": "cheap"}, {"stock": "1.5"}, {"stock": ""}, {"name": ""}, {"category": "Toys"}]
)
async def test_a_wrong_product_form_changes_nothing(admin: httpx.AsyncClient, wrong: dict[str, str]) -> None:
    answer = await send(admin, "/products/13", "/products/13", **{**PRODUCT, **wrong})
    assert answer.status_code == 422 and 'role="alert"' in answer.text
    assert await column(admin, "/products?q=GAR-101", 4) == ["$52.00"]


async def test_a_sku_is_used_once(admin: httpx.AsyncClient) -> None:
    answer = await send(admin, "/products/new", "/products/new", sku="gar-101", **PRODUCT)
    assert answer.status_code == 422 and "no other product" in answer.text


async def test_customers_are_filtered_sorted_and_edited(admin: httpx.AsyncClient) -> None:
    assert (await column(admin, "/customers?sort=spent&dir=desc", 0))[0] == "Yusuf Demir"
    spent = [dollars(value) for value in await column(admin, "/customers?sort=spent&size=50", 6)]
    assert spent == sorted(spent) and len(spent) == 50
    assert set(await column(admin, "/customers?country=France&kind=General", 3)) == {"General"}
    form = {"name": HOSTILE, "email": "gloria@post.example", "city": "Braga", "country": "Portugal", "note": "VIP"}
    await send(admin, "/customers/7/edit", "/customers/7/edit", kind="Retailer", phone="1", newsletter="1", **form)
    page = await text(admin, "/customers/7")
    assert '<dd id="kind">Retailer</dd>' in page and '<dd id="newsletter">Yes</dd>' in page and "<img" not in page
    assert "<img" not in await text(admin, "/customers") + await text(admin, "/orders?q=gloria")


async def test_a_customer_needs_an_address_of_their_own(admin: httpx.AsyncClient) -> None:
    form = {"name": "Gloria", "kind": "General", "email": "yusuf.demir@post.example"}
    answer = await send(admin, "/customers/new", "/customers/new", **form)
    assert answer.status_code == 422 and "already uses" in answer.text
    answer = await send(admin, "/customers/new", "/customers/new", **{**form, "email": "g@post.example"})
    assert answer.headers["location"] == "/customers/51"


@pytest.mark.parametrize("period", ["day", "month", "quarter", "year"])
async def test_every_period_of_the_sales_report_adds_up_to_the_same(admin: httpx.AsyncClient, period: str) -> None:
    path = f"/reports/sales?from=2025-10-01&to=2025-12-31&period={period}"
    total = sum(dollars(value) for value in await column(admin, path, 3))
    assert money(round(total * 100)) == "$2,097.40"
    assert 'id="revenue">$2,097.40<' in await text(admin, path)


async def test_the_sales_report_counts_lost_orders_only_when_asked(admin: httpx.AsyncClient) -> None:
    path = "/reports/sales?from=2025-01-01&to=2026-12-31&period=year"
    kept = sum(map(int, await column(admin, path, 1)))
    assert sum(map(int, await column(admin, f"{path}&all=1", 1))) == 120 > kept
    assert "Choose the dates" in await text(admin, "/reports/sales")
    assert await column(admin, "/reports/sales?from=2030-01-01&period=month", 0) == ["No orders in this time."]


async def test_a_cancelled_order_leaves_the_report(admin: httpx.AsyncClient) -> None:
    path = "/reports/sales?from=2026-03-11&to=2026-03-11&period=day"
    assert await column(admin, path, 3) == ["$532.00"]
    await send(admin, "/orders/1118/status", "/orders/1118", status="cancelled")
    assert await column(admin, path, 0) == ["No orders in this time."]


async def test_bestsellers_are_ranked(admin: httpx.AsyncClient) -> None:
    sold = [int(value) for value in await column(admin, "/reports/bestsellers?limit=60", 3)]
    assert sold == sorted(sold, reverse=True)
    assert await column(admin, "/reports/bestsellers?limit=1", 1) == ["Copper Watering Can"]
    assert "Copper Watering Can: 30 sold" in await text(admin, "/top-five")


async def test_the_forecast_is_broken_and_unknown_pages_are_missing(admin: httpx.AsyncClient) -> None:
    assert (await admin.get("/reports/forecast")).status_code == 500
    for path in ("/orders/1", "/orders/x", f"/orders/{'9' * 50}", "/customers/0", "/products/x", "/nothing"):
        assert (await admin.get(path)).status_code == 404, path


async def test_a_clerk_sees_everything_and_changes_nothing(connect: Connect) -> None:
    clerk = connect("t1.office")
    await send(clerk, "/login", "/login", login="clerk", password="clerk-cobble-2")
    for route in SITE.routes:
        if route.method == "POST" and route.path not in ("/login", "/logout"):
            path = re.sub(r"\{\w+\}", "1", route.path)
            assert (await send(clerk, path, "/products")).status_code == 403, path
    assert '<dd id="order-status">on hold</dd>' in await text(clerk, "/orders/1118")


async def test_forms_need_their_token(admin: httpx.AsyncClient) -> None:
    assert (await admin.post("/orders/1118/status", data={"status": "processing"})).status_code == 403
    assert '<dd id="order-status">on hold</dd>' in await text(admin, "/orders/1118")


async def test_a_reset_restores_the_seed(admin: httpx.AsyncClient) -> None:
    await send(admin, "/orders/1118/status", "/orders/1118", status="processing")
    await send(admin, "/products/13/delete", "/products/13")
    assert (await admin.post("/__reset__")).status_code == 204
    assert '<dd id="order-status">on hold</dd>' in await text(admin, "/orders/1118")
    assert await column(admin, "/products?q=GAR-101", 4) == ["$52.00"]


@given(st.integers(min_value=0, max_value=999_999_999))
def test_a_price_reads_back_as_it_was_printed(amount: int) -> None:
    assert cents(money(amount)) == amount


@given(st.text(max_size=12))
def test_no_text_makes_a_price_that_is_none(text: str) -> None:
    value = cents(text)
    assert value is None or (value >= 0 and any(sign.isdigit() for sign in text))
