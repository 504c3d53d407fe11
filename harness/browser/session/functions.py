"""The functions that a `func:` target may call: a closed list, each with typed, literal arguments.

A call is parsed, never evaluated. The argument `'__last_url__'` is replaced by the address of the tested page, and
`__page__` is the page itself. Results come from the sites over HTTP, or from the page for the one function that
WebArena defines so.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from playwright.async_api import Page

from harness.actions.literal_call import PAGE, parse
from harness.browser.network.http import HttpAnswer, fetch
from harness.browser.session.browser_session import SiteBinding
from harness.codec import dumps, loads
from harness.errors import EvaluatorError
from harness.records import Login, Site

_TOKEN_PATH = "/rest/default/V1/integration/admin/token"
_ADMIN = ("admin", "admin1234")
"""The account of every WebArena deployment, used when the back office has no login configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionContext:
    """What a call may look at."""

    lane: SiteBinding
    page: Page
    """The page being looked at."""
    last_url: str
    """Canonical address of the page under test."""

    def site(self, name: str) -> Site:
        for site in self.lane.sites:
            if site.name == name:
                return site
        raise EvaluatorError(f"there is no site {name!r}")

    async def ask(self, site: str, path: str, *, token: str = "") -> Any:
        """The JSON a site answers with; None when it says that there is no such thing."""
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        answer = await fetch(self.site(site).url + path, headers=headers)
        return None if answer.status == 404 else _json(answer, path)


@dataclass(frozen=True, slots=True)
class _Function:
    parameters: tuple[str, ...]
    """Of each: `text`, `url` or `page`."""
    ask: Callable[..., Awaitable[str]]


async def call(text: str, scene: FunctionContext) -> str:
    """Answer a call such as `shop_latest_order_url()`.

    Raises:
        EvaluatorError: It is no call of the list, or cannot be answered.
        SiteUnavailable: The site does not answer.
    """
    name, arguments = parse(text)
    function = FUNCTIONS.get(name)
    if function is None:
        raise EvaluatorError(f"there is no function {name!r}; choose one of {', '.join(FUNCTIONS)}")
    if len(arguments) != len(function.parameters):
        raise EvaluatorError(f"{name} takes {len(function.parameters)} arguments, not {len(arguments)}")
    values: list[Any] = []
    for kind, argument in zip(function.parameters, arguments, strict=True):
        if (kind == "page") is not (argument is PAGE):
            raise EvaluatorError(f"{name} takes {', '.join(function.parameters) or 'nothing'}")
        if kind != "page":
            values.append(str(argument).replace("__last_url__", scene.last_url))
    return await function.ask(scene, *values)


def _json(answer: HttpAnswer, path: str) -> Any:
    if answer.status != 200:
        raise EvaluatorError(f"{path} answered {answer.status}")
    try:
        return loads(answer.body)
    except ValueError as exc:
        raise EvaluatorError(f"{path} did not answer with JSON") from exc


# --- the embedded sites ---------------------------------------------------------------------------


async def _shop_latest_order_url(scene: FunctionContext) -> str:
    found = await scene.ask("shop", "/__api__/latest_order")
    return scene.site("shop").canonical + str(_part(found, "path"))


def _shop_latest_review(part: str) -> Callable[[FunctionContext, str], Awaitable[str]]:
    async def ask(scene: FunctionContext, sku: str) -> str:
        found = await scene.ask("shop", f"/__api__/latest_review/{quote(sku, safe='')}")
        return str(_part(found, part)) if found else ""

    return ask


async def _forum_post_url(scene: FunctionContext, url: str) -> str:
    """The address of the post a page of the forum belongs to; any other address as it is."""
    forum = scene.site("forum")
    parts = urlsplit(url).path.split("/")
    if urlsplit(url).netloc != urlsplit(forum.canonical).netloc or len(parts) < 4 or parts[1] != "b":
        return url
    found = await scene.ask("forum", f"/__api__/post/{quote(parts[3], safe='')}")
    return forum.canonical + str(_part(found, "path")) if found else url


async def _code_member_role(scene: FunctionContext, user: str) -> str:
    """The role of a user in the project of the page being looked at; "" for no member."""
    project = "/".join(urlsplit(scene.page.url).path.split("/")[1:3])
    found = await scene.ask("code", f"/__api__/member_role?{urlencode({'project': project, 'user': user})}")
    return str(_part(found, "role")) if found else ""


# --- WebArena's -----------------------------------------------------------------------------------


async def _shopping_latest_order_url(scene: FunctionContext) -> str:
    newest = {
        "searchCriteria[sortOrders][0][field]": "created_at",
        "searchCriteria[sortOrders][0][direction]": "DESC",
        "searchCriteria[pageSize]": "1",
    }
    found = await scene.ask("shopping", f"/rest/V1/orders?{urlencode(newest)}", token=await _token(scene))
    orders = _part(found, "items")
    if not orders:
        raise EvaluatorError("the shop has no orders")
    number = int(_part(orders[0], "increment_id"))
    return f"{scene.site('shopping').canonical}/sales/order/view/order_id/{number}/"


def _shopping_latest_review(read: Callable[[Any], str]) -> Callable[[FunctionContext, str], Awaitable[str]]:
    async def ask(scene: FunctionContext, sku: str) -> str:
        path = f"/rest/V1/products/{quote(sku, safe='')}/reviews"
        reviews = await scene.ask("shopping", path, token=await _token(scene))
        return read(reviews[-1]) if reviews else ""

    return ask


async def _token(scene: FunctionContext) -> str:
    account = _account(next((site.login for site in scene.lane.sites if site.name == "shopping_admin"), None))
    body = dumps({"username": account[0], "password": account[1]})
    headers = {"Content-Type": "application/json"}
    answer = await fetch(scene.site("shopping").url + _TOKEN_PATH, method="POST", headers=headers, body=body)
    return str(_json(answer, _TOKEN_PATH))


def _account(login: Login | None) -> tuple[str, str]:
    values = tuple(login.fields.values()) if login else ()
    return (values[0], values[1]) if len(values) == 2 else _ADMIN


async def _reddit_post_url(_: FunctionContext, url: str) -> str:
    parts = urlsplit(url)
    path = parts.path.split("/")
    if len(path) < 4 or path[1] != "f":
        return url
    return f"{parts.scheme}://{parts.netloc}/f/{path[2]}/{path[3]}/"


_GITLAB_ROLE = """(user) => {
  const accounts = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")];
  const row = accounts.findIndex((account) => account.outerText === "@" + user);
  const role = document.querySelectorAll("td.col-max-role span")[row];
  return role ? role.outerText : "";
}"""


async def _gitlab_member_role(scene: FunctionContext, user: str) -> str:
    return str(await scene.page.evaluate(_GITLAB_ROLE, user))


def _part(found: Any, key: str) -> Any:
    if not isinstance(found, Mapping) or key not in found:
        raise EvaluatorError(f"the site's answer holds no {key}")
    return found[key]


FUNCTIONS: Mapping[str, _Function] = {
    "shop_latest_order_url": _Function((), _shop_latest_order_url),
    "shop_latest_review_rating": _Function(("text",), _shop_latest_review("rating")),
    "shop_latest_review_author": _Function(("text",), _shop_latest_review("nickname")),
    "forum_post_url": _Function(("url",), _forum_post_url),
    "code_member_role": _Function(("page", "text"), _code_member_role),
    "shopping_get_latest_order_url": _Function((), _shopping_latest_order_url),
    "shopping_get_sku_latest_review_rating": _Function(
        ("text",), _shopping_latest_review(lambda review: str(_part(review["ratings"][0], "percent")))
    ),
    "shopping_get_sku_latest_review_author": _Function(
        ("text",), _shopping_latest_review(lambda review: str(_part(review, "nickname")))
    ),
    "reddit_get_post_url": _Function(("url",), _reddit_post_url),
    "gitlab_get_project_memeber_role": _Function(("page", "text"), _gitlab_member_role),
}
