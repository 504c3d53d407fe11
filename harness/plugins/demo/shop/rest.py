"""The REST interface of the shop: the three endpoints of Magento that WebArena's evaluators use, with the same answers.

With the administrator's token, orders and reviews can be read; nothing can be changed here. Ratings are per cent of
five stars, and the increment id of an order is its number.
"""

from hmac import compare_digest
from typing import Any

from starlette.responses import Response

from harness.api import loads
from harness.plugins.demo.web import SiteRoute, Visit

ADMINS = (["admin", "admin1234"], ["admin", "admin-cobble-1"])
"""WebArena's published administrator, and that of the back office next door."""
_TOKEN = "thimble-and-oak-integration"


def token(visit: Visit) -> Response:
    try:
        asked = loads(visit.body)
    except ValueError:
        asked = None
    given = [asked.get(key) for key in ("username", "password")] if isinstance(asked, dict) else []
    if given not in ADMINS:
        return visit.json({"message": "The account sign-in was incorrect."}, 401)
    return visit.json(_TOKEN)


def orders(visit: Visit) -> Response:
    """Orders by `searchCriteria[sortOrders][0][field]` (`created_at`) and `[direction]`, a page of `[pageSize]`."""
    if (refusal := _refusal(visit)) is not None:
        return refusal
    descending = visit.query("searchCriteria[sortOrders][0][direction]").upper() == "DESC"
    # Several orders of one day were placed in the order of their numbers.
    rows = visit.db.execute(f"SELECT * FROM orders ORDER BY number {'DESC' if descending else 'ASC'}").fetchall()
    size = visit.number(visit.query("searchCriteria[pageSize]"), len(rows))
    items = [_order(row) for row in rows[:size]]
    return visit.json({"items": items, "total_count": len(rows)})


def reviews(visit: Visit) -> Response:
    """The reviews of a product, the oldest first."""
    if (refusal := _refusal(visit)) is not None:
        return refusal
    product = visit.db.execute("SELECT id FROM products WHERE sku = ?", (visit.params["sku"],)).fetchone()
    if product is None:
        return visit.json({"message": "The product that was requested doesn't exist."}, 404)
    rows = visit.db.execute("SELECT * FROM reviews WHERE product_id = ? ORDER BY id", (product["id"],)).fetchall()
    return visit.json([_review(row) for row in rows])


def old_order(visit: Visit) -> Response:
    """Where such shops show an order."""
    return visit.redirect(f"/orders/{visit.params['number']}", 301)


def _refusal(visit: Visit) -> Response | None:
    shown = visit.request.headers.get("authorization", "")
    if compare_digest(shown.encode(), f"Bearer {_TOKEN}".encode()):
        return None
    return visit.json({"message": "The consumer isn't authorized to access this resource."}, 401)


def _order(row: Any) -> dict[str, Any]:
    return {
        "entity_id": row["number"],
        "increment_id": f"{row['number']:09d}",
        "created_at": f"{row['day']} 12:00:00",
        "status": row["status"].lower(),
    }


def _review(row: Any) -> dict[str, Any]:
    rating = {"rating_name": "Rating", "percent": row["rating"] * 20, "value": row["rating"]}
    return {
        "id": row["id"],
        "title": row["title"],
        "detail": row["text"],
        "nickname": row["nickname"],
        "ratings": [rating],
        "created_at": f"{row['day']} 12:00:00",
    }


ROUTES = (
    SiteRoute(path="/rest/default/V1/integration/admin/token", view=token, method="POST", api=True),
    SiteRoute(path="/rest/V1/orders", view=orders),
    SiteRoute(path="/rest/V1/products/{sku}/reviews", view=reviews),
    SiteRoute(path="/sales/order/view/order_id/{number:int}/", view=old_order, login=True),
)
