"""Products: the filtered table, bulk changes, the form."""

import sqlite3
from typing import Any

from starlette.responses import Response

from harness.plugins.demo.office.tables import cents, ordering, page_size
from harness.plugins.demo.web import Visit, paginate

COLUMNS = {
    "sku": "sku",
    "name": "name COLLATE NOCASE",
    "category": "category",
    "price": "price",
    "stock": "stock",
    "enabled": "enabled",
}
ACTIONS = {
    "enable": "UPDATE products SET enabled = 1 WHERE id = ?",
    "disable": "UPDATE products SET enabled = 0 WHERE id = ?",
    "delete": "DELETE FROM products WHERE id = ?",
}
CATEGORIES = ("Bath", "Garden", "Kitchen", "Living", "Stationery")
EMPTY = {"id": None, "sku": "", "name": "", "category": "Bath", "price": 0, "stock": 0, "enabled": 1, "description": ""}


def listing(visit: Visit) -> Response:
    return _table(visit)


def bulk(visit: Visit) -> Response:
    """Do one thing to the ticked products."""
    statement = ACTIONS.get(visit.field("action"))
    numbers = {visit.number(text) for text in visit.form.get("product", ())}
    if statement is None or not numbers:
        return _table(visit, "Tick at least one product and choose an action.")
    changed = sum(visit.db.execute(statement, (number,)).rowcount for number in numbers)
    return visit.redirect(f"/products?changed={changed}")


def new_form(visit: Visit) -> Response:
    return _form(visit, EMPTY)


def create(visit: Visit) -> Response:
    values, problem = _read(visit)
    sku = visit.field("sku").upper()[:20]
    if not sku or visit.db.execute("SELECT 1 FROM products WHERE sku = ?", (sku,)).fetchone():
        problem = problem or "Give the product a SKU that no other product has."
    if problem:
        return _form(visit, {**EMPTY, **values, "sku": sku}, problem)
    row = visit.db.execute(
        "INSERT INTO products (sku, name, category, price, stock, enabled, description)"
        " VALUES (:sku, :name, :category, :price, :stock, :enabled, :description)",
        {"sku": sku, **values},
    )
    return visit.redirect(f"/products/{row.lastrowid}?saved=1")


def edit_form(visit: Visit) -> Response:
    product = _find(visit)
    return _form(visit, product) if product else visit.missing()


def save(visit: Visit) -> Response:
    product = _find(visit)
    if product is None:
        return visit.missing()
    values, problem = _read(visit)
    if problem:
        return _form(visit, {**product, **values}, problem)
    visit.db.execute(
        "UPDATE products SET name = :name, category = :category, price = :price, stock = :stock, enabled = :enabled,"
        " description = :description WHERE id = :id",
        {"id": product["id"], **values},
    )
    return visit.redirect(f"/products/{product['id']}?saved=1")


def delete(visit: Visit) -> Response:
    product = _find(visit)
    if product is None:
        return visit.missing()
    visit.db.execute(ACTIONS["delete"], (product["id"],))
    return visit.redirect("/products?changed=1")


def _find(visit: Visit) -> dict[str, Any] | None:
    number = visit.number(visit.params["product"])
    row: sqlite3.Row | None = visit.db.execute("SELECT * FROM products WHERE id = ?", (number,)).fetchone()
    return dict(row) if row else None


def _read(visit: Visit) -> tuple[dict[str, Any], str]:
    """What the form says, and what is wrong with it."""
    price, stock = cents(visit.field("price")), visit.number(visit.field("stock"), -1)
    values = {
        "name": visit.field("name")[:100],
        "category": visit.field("category"),
        "price": price or 0,
        "stock": max(0, stock),
        "enabled": int(visit.field("enabled") == "1"),
        "description": visit.field("description")[:5000],
    }
    if not values["name"] or values["category"] not in CATEGORIES:
        return values, "A product needs a name and a category."
    if price is None or stock < 0:
        return values, "Write the price like 12.50 and the stock as a whole number."
    return values, ""


def _form(visit: Visit, product: dict[str, Any], problem: str = "") -> Response:
    return visit.page(
        "office/product_form.html",
        status=422 if problem else 200,
        product=product,
        categories=CATEGORIES,
        problem=problem,
    )


def _table(visit: Visit, problem: str = "") -> Response:
    products = visit.db.execute(
        "SELECT * FROM products WHERE (:category = '' OR category = :category)"
        " AND (:enabled = '' OR enabled = (:enabled = 'yes')) AND (:below = 0 OR stock < :below)"
        " AND instr(lower(name || ' ' || sku), lower(:q)) > 0"
        f" ORDER BY {ordering(visit, COLUMNS, 'sku')}, id",
        {
            "category": visit.query("category"),
            "enabled": visit.query("enabled"),
            "below": visit.number(visit.query("below")),
            "q": visit.query("q").strip(),
        },
    ).fetchall()
    page = paginate(visit, products, page_size(visit))
    return visit.page(
        "office/products.html", status=422 if problem else 200, page=page, categories=CATEGORIES, problem=problem
    )
