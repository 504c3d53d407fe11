"""From the cart to an order: guests have carts too, an order needs a login."""

from typing import Any

from starlette.responses import Response

from harness.plugins.demo.shop.catalogue import find_product, products
from harness.plugins.demo.shop.seed import SHIPPING
from harness.plugins.demo.web import TODAY, Visit

MAX_QUANTITY = 20
ADDRESS = ("name", "street", "city", "postcode")


def owner(visit: Visit) -> str:
    """Whose cart: the user's, else the session's."""
    return f"user:{visit.user.id}" if visit.user else f"guest:{visit.ensure_session().token}"


def lines(visit: Visit) -> list[Any]:
    return visit.db.execute(
        "SELECT p.*, c.quantity, c.quantity * p.price AS total FROM carts c JOIN products p ON p.id = c.product_id"
        " WHERE c.owner = ? ORDER BY c.rowid",
        (owner(visit) if visit.session else "",),
    ).fetchall()


def cart(visit: Visit) -> Response:
    content = lines(visit)
    return visit.page("shop/cart.html", lines=content, subtotal=sum(line["total"] for line in content))


def add_to_cart(visit: Visit) -> Response:
    row = find_product(visit)
    if row is None:
        return visit.missing()
    quantity = min(max(1, visit.number(visit.field("quantity"), 1)), MAX_QUANTITY)
    if row["stock"] == 0:
        return visit.refuse(409, "Sold out", f"{row['name']} is sold out at the moment.")
    visit.db.execute(
        "INSERT INTO carts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET quantity = min(quantity + excluded.quantity, ?)",
        (owner(visit), row["id"], quantity, MAX_QUANTITY),
    )
    return visit.redirect("/cart")


def change_cart(visit: Visit) -> Response:
    """Set a line's quantity; 0, or the button Remove, takes it out."""
    row = find_product(visit)
    if row is None:
        return visit.missing()
    quantity = 0 if visit.field("remove") else min(visit.number(visit.field("quantity"), 1), MAX_QUANTITY)
    if quantity == 0:
        visit.db.execute("DELETE FROM carts WHERE owner = ? AND product_id = ?", (owner(visit), row["id"]))
    else:
        visit.db.execute(
            "UPDATE carts SET quantity = ? WHERE owner = ? AND product_id = ?", (quantity, owner(visit), row["id"])
        )
    return visit.redirect("/cart")


def adopt_cart(visit: Visit, guest: str) -> None:
    """After a login, what the guest had collected joins the user's cart."""
    for line in visit.db.execute("SELECT product_id, quantity FROM carts WHERE owner = ?", (guest,)).fetchall():
        visit.db.execute(
            "INSERT INTO carts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET quantity = excluded.quantity",
            (owner(visit), line["product_id"], line["quantity"]),
        )
    visit.db.execute("DELETE FROM carts WHERE owner = ?", (guest,))


def checkout(visit: Visit, *, problem: str = "", status: int = 200) -> Response:
    content = lines(visit)
    if not content:
        return visit.redirect("/cart")
    known = visit.db.execute("SELECT * FROM customers WHERE user_id = ?", (visit.me.id,)).fetchone()
    address = {"name": visit.me.name, "street": known["street"], "city": known["city"], "postcode": known["postcode"]}
    if visit.form:
        address = {name: visit.field(name) for name in ADDRESS}
    subtotal = sum(line["total"] for line in content)
    values = {"lines": content, "subtotal": subtotal, "address": address, "shipping": SHIPPING, "problem": problem}
    return visit.page("shop/checkout.html", status=status, **values)


def place_order(visit: Visit) -> Response:
    content = lines(visit)
    chosen = next((entry for entry in SHIPPING if entry[0] == visit.field("shipping")), None)
    address = [visit.field(name) for name in ADDRESS]
    if not content:
        return visit.redirect("/cart")
    if chosen is None or not all(address):
        return checkout(visit, problem="Please fill in the address and choose a way of shipping.", status=422)
    number = visit.db.execute(
        "INSERT INTO orders (user_id, day, status, shipping, shipping_price, address, note)"
        " VALUES (?, ?, 'Pending', ?, ?, ?, ?)",
        (visit.me.id, TODAY, chosen[0], chosen[2], ", ".join(address), visit.field("note")[:1000]),
    ).lastrowid
    for line in content:
        visit.db.execute(
            "INSERT INTO order_lines VALUES (?, ?, ?, ?)", (number, line["id"], line["quantity"], line["price"])
        )
    visit.db.execute("DELETE FROM carts WHERE owner = ?", (owner(visit),))
    return visit.redirect(f"/orders/{number}?placed=1")


def wishlist(visit: Visit) -> Response:
    found = products(visit, where="p.id IN (SELECT product_id FROM wishes WHERE user_id = ?)", values=(visit.me.id,))
    return visit.page("shop/wishlist.html", products=found)


def add_wish(visit: Visit) -> Response:
    row = find_product(visit)
    if row is None:
        return visit.missing()
    visit.db.execute("INSERT OR IGNORE INTO wishes VALUES (?, ?)", (visit.me.id, row["id"]))
    return visit.redirect("/wishlist")


def remove_wish(visit: Visit) -> Response:
    row = find_product(visit)
    if row is None:
        return visit.missing()
    visit.db.execute("DELETE FROM wishes WHERE user_id = ? AND product_id = ?", (visit.me.id, row["id"]))
    return visit.redirect("/wishlist")
