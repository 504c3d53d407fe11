"""Customers: the filtered table, one customer with orders, the form."""

import sqlite3

from starlette.responses import Response

from harness.plugins.demo.office.orders import SELECT
from harness.plugins.demo.office.schema import KINDS
from harness.plugins.demo.office.tables import ordering, page_size
from harness.plugins.demo.web import TODAY, Visit, paginate

COLUMNS = {
    "name": "c.name COLLATE NOCASE",
    "country": "c.country || c.city",
    "since": "since",
    "orders": "orders",
    "spent": "spent",
}
CUSTOMERS = """
SELECT c.*, count(DISTINCT o.number) AS orders, coalesce(sum(i.quantity * i.price), 0) AS spent FROM customers c
    LEFT JOIN orders o ON o.customer_id = c.id AND o.status NOT IN ('cancelled', 'refunded')
    LEFT JOIN order_items i ON i.order_number = o.number
"""
"""Cancelled and refunded orders count for nothing."""

FIELDS = ("name", "email", "phone", "city", "country", "kind", "note")


def listing(visit: Visit) -> Response:
    customers = visit.db.execute(
        f"{CUSTOMERS} WHERE (:country = '' OR country = :country) AND (:kind = '' OR kind = :kind)"
        " AND instr(lower(c.name || ' ' || email || ' ' || city), lower(:q)) > 0"
        f" GROUP BY c.id ORDER BY {ordering(visit, COLUMNS, 'name')}, c.id",
        {"country": visit.query("country"), "kind": visit.query("kind"), "q": visit.query("q").strip()},
    ).fetchall()
    rows = visit.db.execute("SELECT DISTINCT country FROM customers ORDER BY country")
    countries = [row["country"] for row in rows]
    page = paginate(visit, customers, page_size(visit))
    return visit.page("office/customers.html", page=page, countries=countries, kinds=KINDS)


def show(visit: Visit) -> Response:
    customer = _find(visit)
    if customer is None:
        return visit.missing()
    orders = visit.db.execute(f"{SELECT} WHERE o.customer_id = ? ORDER BY o.number DESC", (customer["id"],)).fetchall()
    return visit.page("office/customer.html", customer=customer, orders=orders)


def new_form(visit: Visit) -> Response:
    return _form(visit, None)


def create(visit: Visit) -> Response:
    if problem := _problem(visit, 0):
        return _form(visit, None, problem)
    row = visit.db.execute(
        f"INSERT INTO customers ({', '.join(FIELDS)}, newsletter, since) VALUES ({'?, ' * len(FIELDS)}?, ?)",
        (*_values(visit), TODAY),
    )
    return visit.redirect(f"/customers/{row.lastrowid}")


def edit_form(visit: Visit) -> Response:
    customer = _find(visit)
    return _form(visit, customer) if customer else visit.missing()


def save(visit: Visit) -> Response:
    customer = _find(visit)
    if customer is None:
        return visit.missing()
    if problem := _problem(visit, customer["id"]):
        return _form(visit, customer, problem)
    visit.db.execute(
        f"UPDATE customers SET {', '.join(f'{name} = ?' for name in FIELDS)}, newsletter = ? WHERE id = ?",
        (*_values(visit), customer["id"]),
    )
    return visit.redirect(f"/customers/{customer['id']}")


def _find(visit: Visit) -> sqlite3.Row | None:
    number = visit.number(visit.params["customer"])
    row: sqlite3.Row | None = visit.db.execute(f"{CUSTOMERS} WHERE c.id = ? GROUP BY c.id", (number,)).fetchone()
    return row


def _values(visit: Visit) -> tuple[str | int, ...]:
    return (*(visit.field(name)[:500] for name in FIELDS), int(visit.field("newsletter") == "1"))


def _problem(visit: Visit, customer: int) -> str:
    """What is wrong with the form, if anything."""
    email = visit.field("email")
    if not visit.field("name") or "@" not in email or visit.field("kind") not in KINDS:
        return "A customer needs a name, an e-mail address and a group."
    other = visit.db.execute("SELECT 1 FROM customers WHERE email = ? AND id <> ?", (email, customer)).fetchone()
    return f"Another customer already uses {email}." if other else ""


def _form(visit: Visit, customer: sqlite3.Row | None, problem: str = "") -> Response:
    return visit.page(
        "office/customer_form.html", status=422 if problem else 200, customer=customer, kinds=KINDS, problem=problem
    )
