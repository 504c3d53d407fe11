"""Orders: the filtered table, bulk changes, one order with its status, notes, address and papers."""

import sqlite3
from collections.abc import Callable

from starlette.responses import Response

from harness.plugins.demo.office.tables import ordering, page_size, since_and_until
from harness.plugins.demo.web import TODAY, View, Visit, paginate

NEXT = {
    "pending": ("processing", "on hold", "cancelled"),
    "processing": ("shipped", "on hold", "cancelled"),
    "on hold": ("processing", "cancelled"),
    "shipped": ("complete",),
    "complete": ("refunded",),
    "cancelled": (),
    "refunded": (),
}
"""Which status an order may take from which."""

COLUMNS = {
    "number": "o.number",
    "placed": "o.placed",
    "customer": "c.name COLLATE NOCASE",
    "status": "o.status",
    "total": "total",
}
SELECT = (
    "SELECT o.*, c.name AS customer, c.email,"
    " (SELECT sum(quantity * price) FROM order_items i WHERE i.order_number = o.number) AS total"
    " FROM orders o JOIN customers c ON c.id = o.customer_id"
)

OrderView = Callable[[Visit, sqlite3.Row], Response]


def in_order(view: OrderView) -> View:
    """Hand the view the order the address names."""

    def answer(visit: Visit) -> Response:
        number = visit.number(visit.params["number"])
        row = visit.db.execute(f"{SELECT} WHERE o.number = ?", (number,)).fetchone()
        return view(visit, row) if row else visit.missing()

    return answer


def listing(visit: Visit) -> Response:
    return _table(visit)


def bulk(visit: Visit) -> Response:
    """Give the ticked orders another status; those that may not take it stay as they are."""
    status = visit.field("status")
    numbers = [visit.number(text) for text in visit.form.get("order", ())]
    if status not in NEXT or not numbers:
        return _table(visit, problem="Tick at least one order and choose a status.")
    changed = sum(_move(visit, number, status) for number in dict.fromkeys(numbers))
    left = len(set(numbers)) - changed
    return visit.redirect(f"/orders?changed={changed}&left={left}")


def printed(visit: Visit) -> Response:
    return visit.page("office/orders_print.html", orders=_matching(visit))


def show(visit: Visit, order: sqlite3.Row) -> Response:
    return _page(visit, order)


def set_status(visit: Visit, order: sqlite3.Row) -> Response:
    status = visit.field("status")
    if status not in NEXT[order["status"]]:
        return _page(visit, order, "Choose one of the next statuses.")
    _move(visit, order["number"], status)
    return _back(visit, order)


def add_note(visit: Visit, order: sqlite3.Row) -> Response:
    if text := visit.field("text"):
        _note(visit, order["number"], text[:2000], notified=visit.field("notify") == "1")
    return _back(visit, order)


def edit_form(visit: Visit, order: sqlite3.Row) -> Response:
    return visit.page("office/order_form.html", order=order, problem="")


def save(visit: Visit, order: sqlite3.Row) -> Response:
    if not visit.field("address"):
        return visit.page("office/order_form.html", status=422, order=order, problem="An order needs an address.")
    visit.db.execute(
        "UPDATE orders SET address = ?, tracking = ? WHERE number = ?",
        (visit.field("address")[:300], visit.field("tracking")[:40], order["number"]),
    )
    return _back(visit, order)


def invoice(visit: Visit, order: sqlite3.Row) -> Response:
    return visit.page("office/invoice.html", order=order, items=items_of(visit, order["number"]))


def slip(visit: Visit, order: sqlite3.Row) -> Response:
    """The packing slip, shown in an iframe."""
    return visit.page("office/slip.html", order=order, items=items_of(visit, order["number"]))


def items_of(visit: Visit, number: int) -> list[sqlite3.Row]:
    return visit.db.execute(
        "SELECT *, quantity * price AS total FROM order_items WHERE order_number = ? ORDER BY sku", (number,)
    ).fetchall()


def _matching(visit: Visit) -> list[sqlite3.Row]:
    since, until = since_and_until(visit)
    return visit.db.execute(
        f"{SELECT} WHERE (:status = '' OR o.status = :status) AND o.placed BETWEEN :since AND :until"
        " AND (instr(lower(c.name), lower(:q)) > 0 OR instr(lower(c.email), lower(:q)) > 0"
        "  OR CAST(o.number AS TEXT) = ltrim(:q, '#'))"
        f" ORDER BY {ordering(visit, COLUMNS, 'number', descending=True)}, o.number",
        {"status": visit.query("status"), "since": since, "until": until, "q": visit.query("q").strip()},
    ).fetchall()


def _table(visit: Visit, problem: str = "") -> Response:
    page = paginate(visit, _matching(visit), page_size(visit))
    return visit.page(
        "office/orders.html", status=422 if problem else 200, page=page, statuses=tuple(NEXT), problem=problem
    )


def _move(visit: Visit, number: int, status: str) -> bool:
    """Change an order's status where that is allowed, and note it."""
    row = visit.db.execute("SELECT status FROM orders WHERE number = ?", (number,)).fetchone()
    if row is None or status not in NEXT[row["status"]]:
        return False
    visit.db.execute("UPDATE orders SET status = ? WHERE number = ?", (status, number))
    _note(visit, number, f"Status changed from {row['status']} to {status}.", notified=False)
    return True


def _note(visit: Visit, number: int, text: str, *, notified: bool) -> None:
    visit.db.execute(
        "INSERT INTO order_notes (order_number, author, status, text, notified, created)"
        " SELECT number, ?, status, ?, ?, ? FROM orders WHERE number = ?",
        (visit.me.name, text, notified, TODAY, number),
    )


def _back(visit: Visit, order: sqlite3.Row) -> Response:
    return visit.redirect(f"/orders/{order['number']}")


def _page(visit: Visit, order: sqlite3.Row, problem: str = "") -> Response:
    notes = visit.db.execute(
        "SELECT * FROM order_notes WHERE order_number = ? ORDER BY id DESC", (order["number"],)
    ).fetchall()
    return visit.page(
        "office/order.html",
        status=422 if problem else 200,
        order=order,
        items=items_of(visit, order["number"]),
        notes=notes,
        nexts=NEXT[order["status"]],
        problem=problem,
    )
