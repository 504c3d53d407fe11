"""The functions that `func:` targets of tasks on the demo sites call."""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote, urlencode, urlsplit

from harness.api.pages import FunctionContext, PageFunction, part_of


async def _shop_latest_order_url(context: FunctionContext) -> str:
    found = await context.ask("shop", "/__api__/latest_order")
    return context.site("shop").canonical + str(part_of(found, "path"))


def _shop_latest_review(part: str) -> Callable[[FunctionContext, str], Awaitable[str]]:
    async def ask(context: FunctionContext, sku: str) -> str:
        found = await context.ask("shop", f"/__api__/latest_review/{quote(sku, safe='')}")
        return str(part_of(found, part)) if found else ""

    return ask


async def _forum_post_url(context: FunctionContext, url: str) -> str:
    """The address of the post a page of the forum belongs to; any other address as it is."""
    forum = context.site("forum")
    parts = urlsplit(url).path.split("/")
    if urlsplit(url).netloc != urlsplit(forum.canonical).netloc or len(parts) < 4 or parts[1] != "b":
        return url
    found = await context.ask("forum", f"/__api__/post/{quote(parts[3], safe='')}")
    return forum.canonical + str(part_of(found, "path")) if found else url


async def _code_member_role(context: FunctionContext, user: str) -> str:
    """The role of a user in the project of the page being looked at; "" for no member."""
    project = "/".join(urlsplit(context.page.url).path.split("/")[1:3])
    found = await context.ask("code", f"/__api__/member_role?{urlencode({'project': project, 'user': user})}")
    return str(part_of(found, "role")) if found else ""


FUNCTIONS: Mapping[str, PageFunction] = {
    "shop_latest_order_url": PageFunction((), _shop_latest_order_url),
    "shop_latest_review_rating": PageFunction(("text",), _shop_latest_review("rating")),
    "shop_latest_review_author": PageFunction(("text",), _shop_latest_review("nickname")),
    "forum_post_url": PageFunction(("url",), _forum_post_url),
    "code_member_role": PageFunction(("page", "text"), _code_member_role),
}
