"""The tables of the back office, and the seed that fills them from `seeds/office.json`.

The orders come from a seeded generator of which only `random()` is used, whose sequence is the same in every Python
version.
"""

import json
import random
import sqlite3
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

from harness.plugins.demo.accounts import add_user
from harness.plugins.demo.web import HERE, TODAY

SCHEMA = """
CREATE TABLE staff (user_id INTEGER PRIMARY KEY REFERENCES users(id), manager INTEGER NOT NULL);
CREATE TABLE products (
    id INTEGER PRIMARY KEY, sku TEXT NOT NULL UNIQUE, name TEXT NOT NULL, category TEXT NOT NULL,
    price INTEGER NOT NULL, stock INTEGER NOT NULL, enabled INTEGER NOT NULL, description TEXT NOT NULL
);
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, phone TEXT NOT NULL, city TEXT NOT NULL,
    country TEXT NOT NULL, kind TEXT NOT NULL, since TEXT NOT NULL, newsletter INTEGER NOT NULL, note TEXT NOT NULL
);
CREATE TABLE orders (
    number INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id), placed TEXT NOT NULL,
    status TEXT NOT NULL, payment TEXT NOT NULL, shipping TEXT NOT NULL, address TEXT NOT NULL,
    tracking TEXT NOT NULL DEFAULT ''
);
CREATE TABLE order_items (
    order_number INTEGER NOT NULL REFERENCES orders(number) ON DELETE CASCADE, sku TEXT NOT NULL, name TEXT NOT NULL,
    quantity INTEGER NOT NULL, price INTEGER NOT NULL, PRIMARY KEY (order_number, sku)
);
CREATE TABLE order_notes (
    id INTEGER PRIMARY KEY, order_number INTEGER NOT NULL REFERENCES orders(number) ON DELETE CASCADE,
    author TEXT NOT NULL, status TEXT NOT NULL, text TEXT NOT NULL, notified INTEGER NOT NULL, created TEXT NOT NULL
);
"""
"""Prices are in cents. An order's items keep the name and price of the day it was placed."""

KINDS = ("General", "Retailer", "Wholesale")
PAYMENTS = ("Card", "Bank transfer", "Invoice")
SHIPPINGS = ("Standard", "Express", "Pick-up")
STREETS = ("Mill Lane", "Station Road", "Harbour Street", "Chestnut Way", "Old Market", "Church Hill", "Weavers Row")
ORDERS = 120
FIRST_ORDER = 1001

T = TypeVar("T")


def seed(db: sqlite3.Connection) -> None:
    """Fill a fresh database."""
    for login, name, password, manager in (
        ("admin", "Ada Whitlock", "admin-cobble-1", 1),
        ("clerk", "Colin Reed", "clerk-cobble-2", 0),
    ):
        user = add_user(db, login=login, name=name, password=password)
        db.execute("INSERT INTO staff VALUES (?, ?)", (user, manager))
    data = json.loads((HERE / "seeds" / "office.json").read_bytes())
    chance = random.Random(20260314)
    _add_products(db, data["products"], chance)
    _add_customers(db, data["customers"], chance)
    for place in range(ORDERS):
        _add_order(db, place, chance)


def _pick(chance: random.Random, options: Sequence[T]) -> T:
    return options[int(chance.random() * len(options))]


def _ago(days: int) -> str:
    return (date.fromisoformat(TODAY) - timedelta(days=days)).isoformat()


def _add_products(db: sqlite3.Connection, products: list[tuple[str, str, str, int]], chance: random.Random) -> None:
    for sku, name, category, price in products:
        stock = int(chance.random() ** 2 * 140)
        enabled = int(chance.random() > 0.1)
        text = f"{name} from our {category.lower()} range. Packed by hand, sent within two working days."
        db.execute(
            "INSERT INTO products (sku, name, category, price, stock, enabled, description)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (sku, name, category, price, stock, enabled, text),
        )


def _add_customers(db: sqlite3.Connection, customers: list[tuple[str, str, str]], chance: random.Random) -> None:
    for place, (name, city, country) in enumerate(customers):
        email = f"{name.lower().replace(' ', '.')}@post.example"
        phone = f"+00 555 {1000 + (place * 677) % 9000}"
        since = _ago(380 + int(chance.random() * 900))
        kind = KINDS[int(chance.random() ** 2 * 3)]
        db.execute(
            "INSERT INTO customers (name, email, phone, city, country, kind, since, newsletter, note)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')",
            (name, email, phone, city, country, kind, since, int(chance.random() > 0.5)),
        )


def _add_order(db: sqlite3.Connection, place: int, chance: random.Random) -> None:
    age = ORDERS - place if place >= 90 else 31 + (90 - place) * 11 // 3 - int(chance.random() * 3)
    customer = db.execute(
        "SELECT id, city, country FROM customers WHERE id = ?", (_pick(chance, range(1, 51)),)
    ).fetchone()
    street = f"{1 + int(chance.random() * 90)} {_pick(chance, STREETS)}"
    address = f"{street}, {customer['city']}, {customer['country']}"
    status = _status(age, chance)
    number = FIRST_ORDER + place
    tracking = f"CP{80000 + place * 137}" if status in ("shipped", "complete") else ""
    db.execute(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            customer["id"],
            _ago(age),
            status,
            _pick(chance, PAYMENTS),
            _pick(chance, SHIPPINGS),
            address,
            tracking,
        ),
    )
    for _ in range(1 + int(chance.random() * 4)):
        db.execute(
            "INSERT OR IGNORE INTO order_items SELECT ?, sku, name, ?, price FROM products WHERE id = ?",
            (number, 1 + int(chance.random() ** 2 * 5), 1 + int(chance.random() * 60)),
        )


def _status(age: int, chance: random.Random) -> str:
    if age > 45:
        return _pick(chance, ("complete",) * 8 + ("cancelled", "refunded"))
    if age > 14:
        return _pick(chance, ("complete", "shipped", "shipped", "on hold", "cancelled"))
    return _pick(chance, ("pending", "pending", "processing", "on hold"))
