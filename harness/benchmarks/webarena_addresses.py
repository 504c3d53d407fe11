"""Where the sites of WebArena and VisualWebArena answer what evaluators ask: the shop's REST interface, forum posts."""

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote, urlencode, urlsplit

TOKEN_PATH = "/rest/default/V1/integration/admin/token"
ADMIN: Mapping[str, str] = MappingProxyType({"username": "admin", "password": "admin1234"})
"""The account of every deployment."""
NEWEST_ORDER = "/rest/V1/orders?" + urlencode(
    {
        "searchCriteria[sortOrders][0][field]": "created_at",
        "searchCriteria[sortOrders][0][direction]": "DESC",
        "searchCriteria[pageSize]": "1",
    }
)


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
