"""Where the sites of WebArena and VisualWebArena answer what evaluators ask: the shop's REST interface, forum posts.

For benchmarks that are played on the sites of WebArena.
"""

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote, urlencode, urlsplit

__all__ = ["ADMIN", "NEWEST_ORDER", "TOKEN_PATH", "post_url", "reviews_path"]

TOKEN_PATH = "/rest/default/V1/integration/admin/token"
"""Where the shop gives the token with which its REST interface is asked."""
ADMIN: Mapping[str, str] = MappingProxyType({"username": "admin", "password": "admin1234"})
"""The account of every deployment."""
# Of any customer, as WebArena's helper asks for it.
NEWEST_ORDER = "/rest/V1/orders?" + urlencode(
    {
        "searchCriteria[sortOrders][0][field]": "created_at",
        "searchCriteria[sortOrders][0][direction]": "DESC",
        "searchCriteria[pageSize]": "1",
    }
)
"""Asks the shop for its newest order."""


def reviews_path(sku: str) -> str:
    """Of the reviews of a product."""
    return f"/rest/V1/products/{quote(sku, safe='')}/reviews"


def post_url(url: str) -> str:
    """The address of the post that a page of the forum belongs to; any other address as it is."""
    parts = urlsplit(url)
    path = parts.path.split("/")
    if len(path) < 4 or path[1] != "f":
        return url
    return f"{parts.scheme}://{parts.netloc}/f/{path[2]}/{path[3]}/"
