"""Browsing the shop: front page, categories, search, products and their reviews."""

from typing import Any

from starlette.responses import Response

from harness.plugins.demo.web import TODAY, Visit, paginate

PAGE_SIZE = 12
REVIEWS_SIZE = 4
RATINGS = ((5, "5 stars"), (4, "4 stars"), (3, "3 stars"), (2, "2 stars"), (1, "1 star"))
SORTS: dict[str, tuple[str, str]] = {
    "featured": ("Featured", "p.id"),
    "price_up": ("Price: low to high", "p.price, p.id"),
    "price_down": ("Price: high to low", "p.price DESC, p.id"),
    "name": ("Name", "p.name"),
    "rating": ("Best rated", "rating DESC, p.id"),
}
PRODUCTS = (
    "SELECT p.*, c.name AS category_name, COUNT(r.id) AS reviews, COALESCE(ROUND(AVG(r.rating), 1), 0) AS rating"
    " FROM products p JOIN categories c ON c.slug = p.category LEFT JOIN reviews r ON r.product_id = p.id"
    " WHERE {where} GROUP BY p.id ORDER BY {order}"
)


def products(visit: Visit, *, where: str = "1", values: tuple[object, ...] = (), sort: str = "featured") -> list[Any]:
    """Products with their category's name, number of reviews and mean rating."""
    order = SORTS.get(sort, SORTS["featured"])[1]
    return visit.db.execute(PRODUCTS.format(where=where, order=order), values).fetchall()


def find_product(visit: Visit) -> Any:
    """The product the address names, or None."""
    found = products(visit, where="p.sku = ?", values=(visit.params["sku"],))
    return found[0] if found else None


def sort_options() -> list[tuple[str, str]]:
    return [(key, label) for key, (label, _) in SORTS.items()]


def home(visit: Visit) -> Response:
    featured = products(visit, where="p.id % 9 = 3")
    return visit.page("shop/home.html", categories=categories(visit), featured=featured)


def categories(visit: Visit) -> list[Any]:
    return visit.db.execute("SELECT slug, name, intro FROM categories ORDER BY position").fetchall()


def category(visit: Visit) -> Response:
    row = visit.db.execute("SELECT * FROM categories WHERE slug = ?", (visit.params["slug"],)).fetchone()
    if row is None:
        return visit.missing()
    sort = visit.query("sort", "featured")
    page = paginate(visit, products(visit, where="p.category = ?", values=(row["slug"],), sort=sort), 6)
    return visit.page("shop/category.html", category=row, page=page, sort=sort, sorts=sort_options())


def everything(visit: Visit) -> Response:
    return visit.page("shop/all.html", products=products(visit, sort="name"))


def search(visit: Visit) -> Response:
    words, sort, slug = visit.query("q").strip(), visit.query("sort", "featured"), visit.query("category")
    lowest, highest = visit.number(visit.query("min")), visit.number(visit.query("max"), 10**7)
    pattern = "%" + words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    where = "(p.name LIKE ? ESCAPE '\\' OR p.material LIKE ? ESCAPE '\\') AND p.price BETWEEN ? AND ?"
    values: tuple[object, ...] = (pattern, pattern, lowest * 100, highest * 100)
    if slug:
        where, values = where + " AND p.category = ?", (*values, slug)
    if visit.query("stock"):
        where += " AND p.stock > 0"
    page = paginate(visit, products(visit, where=where, values=values, sort=sort), PAGE_SIZE)
    names = [("", "All categories"), *((row["slug"], row["name"]) for row in categories(visit))]
    return visit.page("shop/search.html", page=page, words=words, sort=sort, sorts=sort_options(), categories=names)


def product(visit: Visit, *, problem: str = "", status: int = 200) -> Response:
    row = find_product(visit)
    if row is None:
        return visit.missing()
    return visit.page("shop/product.html", status=status, product=row, problem=problem, ratings=RATINGS)


def reviews(visit: Visit) -> Response:
    """A piece of HTML for the script: some reviews and, if there are more, the button that loads them."""
    row = find_product(visit)
    if row is None:
        return visit.missing()
    start = visit.number(visit.query("from"))
    found = visit.db.execute(
        "SELECT * FROM reviews WHERE product_id = ? ORDER BY day DESC, id DESC LIMIT ? OFFSET ?",
        (row["id"], REVIEWS_SIZE, start),
    ).fetchall()
    following = start + REVIEWS_SIZE if start + REVIEWS_SIZE < row["reviews"] else 0
    return visit.page("shop/reviews.html", product=row, reviews=found, following=following)


def add_review(visit: Visit) -> Response:
    row = find_product(visit)
    if row is None:
        return visit.missing()
    rating = visit.number(visit.field("rating"))
    nickname, title, text = (visit.field(name)[:2000] for name in ("nickname", "title", "text"))
    if not (1 <= rating <= 5 and nickname and title and text):
        return product(visit, problem="Please choose a rating and fill in every field of your review.", status=422)
    visit.db.execute(
        "INSERT INTO reviews (product_id, rating, nickname, title, text, day) VALUES (?, ?, ?, ?, ?, ?)",
        (row["id"], rating, nickname, title, text, TODAY),
    )
    return visit.redirect(f"/product/{row['sku']}?reviewed=1#reviews-panel")


def latest_review(visit: Visit) -> Response:
    """For evaluators: the newest review of a product, `{}` when there is none."""
    row = visit.db.execute(
        "SELECT r.rating, r.nickname, r.title FROM reviews r JOIN products p ON p.id = r.product_id"
        " WHERE p.sku = ? ORDER BY r.id DESC LIMIT 1",
        (visit.params["sku"],),
    ).fetchone()
    return visit.json(dict(row) if row else {})


def old_product(visit: Visit) -> Response:
    """Addresses of the shop before last: `/catalog/product/view/id/7`."""
    row = visit.db.execute("SELECT sku FROM products WHERE id = ?", (visit.params["id"],)).fetchone()
    return visit.redirect(f"/product/{row['sku']}", 301) if row else visit.missing()


def old_category(visit: Visit) -> Response:
    return visit.redirect(f"/category/{visit.params['slug']}", 301)
