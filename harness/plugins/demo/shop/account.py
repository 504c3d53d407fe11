"""The account pages of a customer: login, orders, address; and the pages without data."""

from typing import Any

from starlette.responses import Response

from harness.plugins.demo.shop.checkout import adopt_cart, owner
from harness.plugins.demo.shop.seed import SHIPPING
from harness.plugins.demo.web import Visit, paginate, safe_next

TOPICS = (("order", "A question about an order"), ("return", "Returning something"), ("other", "Something else"))
ORDERS = (
    "SELECT o.*, SUM(l.quantity) AS pieces, SUM(l.quantity * l.price) + o.shipping_price AS total"
    " FROM orders o JOIN order_lines l ON l.order_number = o.number WHERE {where}"
    " GROUP BY o.number ORDER BY o.number DESC"
)


def login_form(visit: Visit) -> Response:
    return visit.page("shop/login.html", problem="", next=safe_next(visit, "/account"))


def login(visit: Visit) -> Response:
    guest = owner(visit)
    if visit.sign_in(visit.field("login"), visit.field("password")):
        adopt_cart(visit, guest)
        return visit.redirect(safe_next(visit, "/account"))
    values = {"problem": "Wrong e-mail address or password.", "next": safe_next(visit, "/account")}
    return visit.page("shop/login.html", status=422, **values)


def logout(visit: Visit) -> Response:
    visit.sign_out()
    return visit.redirect("/")


def account(visit: Visit, *, problem: str = "", status: int = 200) -> Response:
    customer = visit.db.execute("SELECT * FROM customers WHERE user_id = ?", (visit.me.id,)).fetchone()
    return visit.page("shop/account.html", status=status, customer=customer, problem=problem)


def change_account(visit: Visit) -> Response:
    values = [visit.field(name)[:200] for name in ("street", "city", "postcode", "phone")]
    if not all(values):
        return account(visit, problem="Please fill in every line of your address.", status=422)
    visit.db.execute(
        "UPDATE customers SET street = ?, city = ?, postcode = ?, phone = ?, newsletter = ? WHERE user_id = ?",
        (*values, int(visit.field("newsletter") == "on"), visit.me.id),
    )
    return visit.redirect("/account?saved=1")


def orders(visit: Visit) -> Response:
    status = visit.query("status")
    where, values = "o.user_id = ?", [visit.me.id, status][: 2 if status else 1]
    found = visit.db.execute(ORDERS.format(where=where + (" AND o.status = ?" if status else "")), values).fetchall()
    return visit.page("shop/orders.html", page=paginate(visit, found, 8), status_name=status)


def _own_order(visit: Visit) -> Any:
    where = "o.number = ? AND o.user_id = ?"
    return visit.db.execute(ORDERS.format(where=where), (visit.params["number"], visit.me.id)).fetchone()


def order(visit: Visit) -> Response:
    row = _own_order(visit)
    if row is None:
        return visit.missing()
    lines = visit.db.execute(
        "SELECT p.sku, p.name, l.quantity, l.price, l.quantity * l.price AS total FROM order_lines l"
        " JOIN products p ON p.id = l.product_id WHERE l.order_number = ?",
        (row["number"],),
    ).fetchall()
    label = next(label for key, label, _ in SHIPPING if key == row["shipping"])
    return visit.page("shop/order.html", order=row, lines=lines, shipping=label)


def cancel_order(visit: Visit) -> Response:
    row = _own_order(visit)
    if row is None:
        return visit.missing()
    if row["status"] != "Pending":
        return visit.refuse(409, "Too late", "Only pending orders can be cancelled.")
    visit.db.execute("UPDATE orders SET status = 'Cancelled' WHERE number = ?", (row["number"],))
    return visit.redirect(f"/orders/{row['number']}")


def latest_order(visit: Visit) -> Response:
    """For evaluators: the newest order of all customers."""
    row = visit.db.execute("SELECT number, status FROM orders ORDER BY number DESC LIMIT 1").fetchone()
    return visit.json({"number": row["number"], "status": row["status"], "path": f"/orders/{row['number']}"})


def contact_form(visit: Visit, *, problem: str = "", status: int = 200) -> Response:
    found = visit.db.execute("SELECT id FROM messages WHERE CAST(id AS TEXT) = ?", (visit.query("sent"),)).fetchone()
    sent = None if found is None else found["id"]
    return visit.page("shop/contact.html", status=status, topics=TOPICS, problem=problem, sent=sent)


def contact(visit: Visit) -> Response:
    values = [visit.field(name)[:4000] for name in ("email", "topic", "order", "text")]
    if not (values[0] and values[3] and values[1] in dict(TOPICS)):
        return contact_form(visit, problem="Please give your e-mail address, a topic and a message.", status=422)
    number = visit.db.execute(
        "INSERT INTO messages (email, topic, order_number, text) VALUES (?, ?, ?, ?)", values
    ).lastrowid
    return visit.redirect(f"/contact?sent={number}")


def calculator(visit: Visit) -> Response:
    """Shown inside a frame of the shipping page."""
    grams = visit.number(visit.query("grams"))
    price = 490 + 150 * (grams // 1000) if grams else None
    return visit.page("shop/calculator.html", grams=grams, price=price)


def terms(visit: Visit) -> Response:
    return visit.page("shop/terms.html")


def size_guide(visit: Visit) -> Response:
    return visit.page("shop/size_guide.html")


def shipping(visit: Visit) -> Response:
    return visit.page("shop/shipping.html", options=SHIPPING)


def gift_cards(visit: Visit) -> Response:
    """A page that is always broken, as real shops have one."""
    return visit.refuse(500, "Something went wrong", "Our gift card service does not answer. Please try again later.")
