"""The dashboard and the reports: sums over orders, never stored."""

import sqlite3

from starlette.responses import Response

from harness.plugins.demo.office.orders import SELECT
from harness.plugins.demo.office.tables import since_and_until
from harness.plugins.demo.web import TODAY, Visit

PERIODS = {
    "day": "o.placed",
    "month": "substr(o.placed, 1, 7)",
    "quarter": "substr(o.placed, 1, 4) || '-Q' || ((substr(o.placed, 6, 2) + 2) / 3)",
    "year": "substr(o.placed, 1, 4)",
}
SALES = """
SELECT {period} AS period, count(DISTINCT o.number) AS orders, sum(i.quantity) AS items,
    sum(i.quantity * i.price) AS revenue
FROM orders o JOIN order_items i ON i.order_number = o.number
WHERE o.placed BETWEEN :since AND :until AND (:all OR o.status NOT IN ('cancelled', 'refunded'))
"""
BESTSELLERS = """
SELECT i.sku, i.name, sum(i.quantity) AS sold, sum(i.quantity * i.price) AS revenue
FROM orders o JOIN order_items i ON i.order_number = o.number
WHERE o.placed BETWEEN :since AND :until AND o.status NOT IN ('cancelled', 'refunded')
GROUP BY i.sku, i.name ORDER BY sold DESC, revenue DESC, i.sku LIMIT :limit
"""


def dashboard(visit: Visit) -> Response:
    waiting = visit.db.execute(
        "SELECT status, count(*) AS orders FROM orders WHERE status IN ('pending', 'processing', 'on hold')"
        " GROUP BY status ORDER BY status"
    ).fetchall()
    latest = visit.db.execute(f"{SELECT} ORDER BY o.number DESC LIMIT 5").fetchall()
    low = visit.db.execute(
        "SELECT id, name, stock FROM products WHERE enabled = 1 AND stock < 5 ORDER BY stock, name"
    ).fetchall()
    sales = visit.db.execute(SALES.format(period="''"), {"since": TODAY[:7], "until": TODAY, "all": 0}).fetchone()
    return visit.page("office/dashboard.html", waiting=waiting, latest=latest, low=low, sales=sales)


def top_five(visit: Visit) -> Response:
    """The dashboard's bestsellers, as HTML for the page's script."""
    return visit.page("office/top_five.html", products=_bestsellers(visit, 5))


def sales(visit: Visit) -> Response:
    """The sales report; the table comes with the form's answer only."""
    since, until = since_and_until(visit)
    period = visit.query("period") if visit.query("period") in PERIODS else "month"
    values = {"since": since, "until": until, "all": int(visit.query("all") == "1")}
    report = SALES.format(period=PERIODS[period])
    rows: list[sqlite3.Row] = []
    if visit.query("period"):
        rows = visit.db.execute(f"{report} GROUP BY 1 ORDER BY 1", values).fetchall()
    totals = {name: sum(row[name] for row in rows) for name in ("orders", "items", "revenue")}
    return visit.page("office/sales.html", rows=rows, totals=totals, periods=tuple(PERIODS), period=period)


def bestsellers(visit: Visit) -> Response:
    limit = min(max(1, visit.number(visit.query("limit"), 10)), 60)
    return visit.page("office/bestsellers.html", products=_bestsellers(visit, limit), limit=limit)


def forecast(visit: Visit) -> Response:
    """A report that never worked; real back offices have some."""
    return visit.refuse(500, "Something went wrong", "The forecast could not be calculated. Please try again later.")


def _bestsellers(visit: Visit, limit: int) -> list[sqlite3.Row]:
    since, until = since_and_until(visit)
    return visit.db.execute(BESTSELLERS, {"since": since, "until": until, "limit": limit}).fetchall()
