"""The tables of the shop and their initial content, always the same."""

import random
import sqlite3

from harness.plugins.demo.accounts import add_user
from harness.plugins.demo.shop.goods import CARES, CATEGORIES, GOODS, NICKNAMES, OPENINGS, OPINIONS

SCHEMA = """
CREATE TABLE customers (
    user_id INTEGER PRIMARY KEY REFERENCES users(id),
    street TEXT NOT NULL, city TEXT NOT NULL, postcode TEXT NOT NULL, phone TEXT NOT NULL,
    newsletter INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE categories (slug TEXT PRIMARY KEY, name TEXT NOT NULL, intro TEXT NOT NULL, position INTEGER NOT NULL);
CREATE TABLE products (
    id INTEGER PRIMARY KEY, sku TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    category TEXT NOT NULL REFERENCES categories(slug), price INTEGER NOT NULL,
    material TEXT NOT NULL, stock INTEGER NOT NULL, opening TEXT NOT NULL, care TEXT NOT NULL
);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES products(id), rating INTEGER NOT NULL,
    nickname TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, day TEXT NOT NULL
);
CREATE TABLE carts (
    owner TEXT NOT NULL, product_id INTEGER NOT NULL REFERENCES products(id), quantity INTEGER NOT NULL,
    PRIMARY KEY (owner, product_id)
);
CREATE TABLE wishes (
    user_id INTEGER NOT NULL REFERENCES users(id), product_id INTEGER NOT NULL REFERENCES products(id),
    PRIMARY KEY (user_id, product_id)
);
CREATE TABLE orders (
    number INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users(id), day TEXT NOT NULL,
    status TEXT NOT NULL, shipping TEXT NOT NULL, shipping_price INTEGER NOT NULL, address TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT ''
);
CREATE TABLE order_lines (
    order_number INTEGER NOT NULL REFERENCES orders(number), product_id INTEGER NOT NULL REFERENCES products(id),
    quantity INTEGER NOT NULL, price INTEGER NOT NULL
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, email TEXT NOT NULL, topic TEXT NOT NULL, order_number TEXT NOT NULL, text TEXT NOT NULL
);
"""

ACCOUNT = ("nora.field@example.com", "thimble.42")
"""The customer the demo tasks act as."""

CUSTOMERS = (
    (*ACCOUNT, "Nora Field", "14 Mill Lane", "Ashbourne", "DE6 1AB", "+44 1335 555 010"),
    ("owen.park@example.com", "granite.17", "Owen Park", "3 Quay Street", "Falmouth", "TR11 3LH", "+44 1326 555 020"),
    (
        "lucia.brandt@example.com",
        "meadow.88",
        "Lucia Brandt",
        "77 Upper Road",
        "Hexham",
        "NE46 2DT",
        "+44 1434 555 030",
    ),
)

SHIPPING: tuple[tuple[str, str, int], ...] = (
    ("standard", "Standard, 3 to 5 days", 490),
    ("express", "Express, next day", 1290),
    ("pickup", "Pick up in the shop", 0),
)
"""Key, label, price in cents."""


def seed(db: sqlite3.Connection) -> None:
    """Fill a fresh shop."""
    chance = random.Random(20260314)
    _seed_catalogue(db, chance)
    for email, password, name, *address in CUSTOMERS:
        user_id = add_user(db, login=email, name=name, password=password)
        db.execute(
            "INSERT INTO customers (user_id, street, city, postcode, phone) VALUES (?, ?, ?, ?, ?)",
            (user_id, *address),
        )
    _seed_reviews(db, chance)
    _seed_orders(db, chance)
    db.executemany("INSERT INTO wishes VALUES (1, ?)", [(13,), (46,)])


def _seed_catalogue(db: sqlite3.Connection, chance: random.Random) -> None:
    db.executemany(
        "INSERT INTO categories VALUES (?, ?, ?, ?)",
        [(slug, name, intro, position) for position, (slug, name, intro) in enumerate(CATEGORIES)],
    )
    db.executemany(
        "INSERT INTO products (sku, name, category, price, material, stock, opening, care)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(*goods, chance.choice(OPENINGS), chance.choice(CARES)) for goods in GOODS],
    )


def _seed_reviews(db: sqlite3.Connection, chance: random.Random) -> None:
    for product_id in range(1, len(GOODS) + 1):
        names = chance.sample(NICKNAMES, chance.randint(0, 12))
        for place, nickname in enumerate(names):
            rating, title, text = chance.choice(OPINIONS)
            day = f"2025-{1 + place % 12:02d}-{chance.randint(1, 28):02d}"
            db.execute(
                "INSERT INTO reviews (product_id, rating, nickname, title, text, day) VALUES (?, ?, ?, ?, ?, ?)",
                (product_id, rating, nickname, title, text, day),
            )


def _seed_orders(db: sqlite3.Connection, chance: random.Random) -> None:
    for place in range(36):
        number = 1001 + place
        user_id = 1 if place % 3 != 2 else chance.choice((2, 3))
        status = (
            "Pending" if place >= 33 else chance.choice(("Delivered", "Delivered", "Delivered", "Cancelled", "Shipped"))
        )
        key, _, price = chance.choice(SHIPPING)
        month, day = 1 + place // 3, 2 + 8 * (place % 3)
        _, _, name, *address = CUSTOMERS[user_id - 1]
        db.execute(
            "INSERT INTO orders (number, user_id, day, status, shipping, shipping_price, address)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, user_id, f"2025-{month:02d}-{day:02d}", status, key, price, ", ".join([name, *address[:3]])),
        )
        for product_id in chance.sample(range(1, len(GOODS) + 1), chance.randint(1, 4)):
            db.execute(
                "INSERT INTO order_lines VALUES (?, ?, ?, ?)",
                (number, product_id, chance.randint(1, 3), GOODS[product_id - 1][3]),
            )
