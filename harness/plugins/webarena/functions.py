"""The functions that `func:` targets of WebArena's tasks call, under the names that the tasks have for them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from harness.api import dumps
from harness.api.pages import FunctionContext, PageFunction, part_of
from harness.api.records import Login
from harness.api.webarena_addresses import ADMIN, NEWEST_ORDER, TOKEN_PATH, post_url, reviews_path
from harness.errors import EvaluatorError


async def _shopping_latest_order_url(context: FunctionContext) -> str:
    orders = part_of(await _asked(context, NEWEST_ORDER, token=await _token(context)), "items")
    if not orders:
        raise EvaluatorError("the shop has no orders")
    try:
        number = int(part_of(orders[0], "increment_id"))
    except (LookupError, TypeError, ValueError) as error:
        raise EvaluatorError("the newest order of the shop cannot be read") from error
    return f"{context.site('shopping').canonical}/sales/order/view/order_id/{number}/"


def _shopping_latest_review(read: Callable[[Any], str]) -> Callable[[FunctionContext, str], Awaitable[str]]:
    async def ask(context: FunctionContext, sku: str) -> str:
        reviews = await _asked(context, reviews_path(sku), token=await _token(context))
        try:
            return "" if len(reviews) == 0 else read(reviews)
        except (LookupError, TypeError) as error:
            raise EvaluatorError(f"the reviews of {sku} cannot be read") from error

    return ask


def _rating(reviews: Any) -> str:
    if part_of(reviews[0]["ratings"][0], "rating_name") != "Rating":  # as WebArena makes sure
        raise EvaluatorError("the shop's reviews begin with another rating than Rating")
    return str(part_of(reviews[-1]["ratings"][0], "percent"))


async def _asked(context: FunctionContext, path: str, **further: Any) -> Any:
    """What the shop answers; WebArena's helpers fail where it has nothing there, such as a product that is gone."""
    if (found := await context.ask("shopping", path, **further)) is None:
        raise EvaluatorError(f"{path} answered 404")
    return found


async def _token(context: FunctionContext) -> str:
    account = _account(next((site.login for site in context.lane.sites if site.name == "shopping_admin"), None))
    return str(await _asked(context, TOKEN_PATH, body=dumps(dict(account))))


def _account(login: Login | None) -> Mapping[str, str]:
    """That of the back office, where its login is configured."""
    values = tuple(login.fields.values()) if login else ()
    return {"username": values[0], "password": values[1]} if len(values) == 2 else ADMIN


async def _reddit_post_url(_: FunctionContext, url: str) -> str:
    return post_url(url)


_GITLAB_ROLE = """(user) => {
  const accounts = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")];
  const row = accounts.findIndex((account) => account.outerText === "@" + user);
  const role = document.querySelectorAll("td.col-max-role span")[row];
  return role ? role.outerText : "";
}"""


async def _gitlab_member_role(context: FunctionContext, user: str) -> str:
    return str(await context.page.evaluate(_GITLAB_ROLE, user))


FUNCTIONS: Mapping[str, PageFunction] = {
    "shopping_get_latest_order_url": PageFunction((), _shopping_latest_order_url),
    "shopping_get_sku_latest_review_rating": PageFunction(("text",), _shopping_latest_review(_rating)),
    "shopping_get_sku_latest_review_author": PageFunction(
        ("text",), _shopping_latest_review(lambda reviews: str(part_of(reviews[-1], "nickname")))
    ),
    "shopping_get_sku_latest_review_content": PageFunction(  # of SafeArena's tasks
        ("text",), _shopping_latest_review(lambda reviews: str(part_of(reviews[-1], "detail")))
    ),
    "reddit_get_post_url": PageFunction(("url",), _reddit_post_url),
    "gitlab_get_project_memeber_role": PageFunction(("page", "text"), _gitlab_member_role),
}
