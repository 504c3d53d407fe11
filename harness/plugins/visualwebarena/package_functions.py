"""The functions that a `func:` of a VisualWebArena task may call, which give what the package's give.

Calls are parsed, never evaluated. What the package looks up in a page runs in the page here, too, with the task's
selectors put into the script as the package puts them, so that an odd one finds as little as there.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.api import BenchmarkPage, CodecError, EvaluatorError, SiteAnswer, dumps, loads
from harness.api.actions import PAGE, parse_call
from harness.api.webarena_addresses import ADMIN, NEWEST_ORDER, TOKEN_PATH, post_url, reviews_path
from harness.errors import TaskError

RUN = """async (source) => {
  try {
    let value = (0, eval)(source);
    if (typeof value === "function") value = value();
    value = await value;
    return {value: value === undefined ? null : value};
  } catch (error) {
    return {thrown: String(error).slice(0, 200)};
  }
}"""
"""Runs a script of a task; a script that fails gives no `value`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a call may look at."""

    page: BenchmarkPage
    last_url: str
    """Canonical address of the agent's page."""
    shop: str
    """Canonical base URL of the shopping site; "" = the run has none."""


@dataclass(frozen=True, slots=True)
class _Function:
    parameters: tuple[str, ...]
    """Of each: `text` or `page`."""
    ask: Callable[..., Awaitable[Any]]


def check(text: str) -> tuple[_Function, list[str]]:
    """The function of a call, and its texts.

    Raises:
        TaskError: It is not a call of the list.
    """
    try:
        name, arguments = parse_call(text)
    except EvaluatorError as error:
        raise TaskError(str(error)) from error
    if (function := FUNCTIONS.get(name)) is None:
        raise TaskError(f"func:{name} is not known; the functions are {', '.join(FUNCTIONS)}")
    kinds = tuple("page" if one is PAGE else "text" for one in arguments)
    if kinds != function.parameters:
        raise TaskError(f"func:{name} takes {', '.join(function.parameters) or 'nothing'}")
    return function, [str(one) for one in arguments if one is not PAGE]


async def call(text: str, context: Scene) -> Any:
    """Answer a call such as `get_query_text(__page__, '.price')`.

    Raises:
        EvaluatorError: A site does not answer as it should.
        SiteUnavailable: It does not answer.
    """
    function, arguments = check(text)
    return await function.ask(context, *(one.replace("__last_url__", context.last_url) for one in arguments))


async def run(page: BenchmarkPage, source: str, default: Any) -> Any:
    """What a script gives; `default` where it fails."""
    found = await page.evaluate(RUN, source)
    return found["value"] if "value" in found else default


# --- shopping, over its REST interface --------------------------------------------------------------


async def _rest(context: Scene, path: str) -> Any:
    if not context.shop:
        raise EvaluatorError("the run has no site shopping, which this task asks")
    headers = {"Content-Type": "application/json"}
    asked = await context.page.fetch(context.shop + TOKEN_PATH, method="POST", headers=headers, body=dumps(dict(ADMIN)))
    headers["Authorization"] = f"Bearer {_json(asked, TOKEN_PATH)}"
    return _json(await context.page.fetch(context.shop + path, headers=headers), path)


def _json(answer: SiteAnswer, path: str) -> Any:
    if answer.status != 200:
        raise EvaluatorError(f"{path} answered {answer.status}")
    try:
        return loads(answer.body)
    except CodecError as error:
        raise EvaluatorError(f"{path} did not answer with JSON") from error


async def _latest_order_url(context: Scene) -> str:
    found = await _rest(context, NEWEST_ORDER)
    try:
        return f"{context.shop}/sales/order/view/order_id/{int(found['items'][0]['increment_id'])}/"
    except (LookupError, TypeError, ValueError) as error:
        raise EvaluatorError("the shop has no orders") from error


def _latest_review(read: Callable[[Any], str]) -> Callable[[Scene, str], Awaitable[str]]:
    async def ask(context: Scene, sku: str) -> str:
        reviews = await _rest(context, reviews_path(sku))
        try:
            return read(reviews[-1]) if reviews else ""
        except (LookupError, TypeError) as error:
            raise EvaluatorError(f"the reviews of {sku} cannot be read") from error

    return ask


# --- shopping, in a page ------------------------------------------------------------------------------

_ORDER = """(() => {
  const products = [...document.querySelector("#my-orders-table").getElementsByTagName("tbody")].map((body) =>
    [...body.getElementsByTagName("td")].reduce((found, cell) => {
      const key = cell.className.split(" ")[1];
      found[key] = cell.outerText;
      if (key === "name" && cell.querySelector("dl")) {
        const named = {}, options = [...cell.querySelector("dl").children];
        for (let at = 0; at < options.length; at += 2) named[options[at].outerText] = options[at + 1].outerText;
        found.options = named;
      }
      return found;
    }, {}));
  return products;
})()"""
_PRICE = """(() => {
  const box = "#maincontent > div.columns > div > div.product-info-main > div.product-info-price"
    + " > div.price-box.price-final_price > span > span";
  return parseFloat(document.querySelector(box).outerText.substr(1)) || 0;
})()"""
_REVIEWS = """(() => parseInt(document.querySelector("#tab-label-reviews-title").outerText.split(" ")[1]) || 0)()"""
_RATING = """(() => parseFloat(document.querySelector(".rating-result").title.replace("%", "")) || 0)()"""


async def _ordered(context: Scene) -> list[Mapping[str, Any]]:
    found = await run(context.page, _ORDER, [])
    return found if isinstance(found, list) else []


async def _order_names(context: Scene) -> str:
    try:
        return " |OR| ".join(product["name"] for product in await _ordered(context))
    except (LookupError, TypeError):
        return ""


async def _order_quantity(context: Scene, sku: str) -> int:
    try:
        for product in await _ordered(context):
            if product["sku"].strip() in sku.split(" |OR| "):
                return int(product["qty"][7:])  # after "Ordered"
    except (LookupError, TypeError, ValueError):
        pass
    return 0


async def _order_option(context: Scene, sku: str, option: str) -> str:
    try:
        for product in await _ordered(context):
            if product["sku"].strip() == sku:
                return str(product["options"][option])
    except (LookupError, TypeError):
        pass
    return ""


async def _attributes(context: Scene, attribute: str) -> Any:
    source = f"""(() => {{
      try {{
        const wanted = '{attribute}'.toLowerCase().split(' |or| ');
        const rows = document.querySelector('#productDetails_detailBullets_sections1 > tbody').children;
        return Array.from(rows)
          .filter((row) => wanted.some((one) => row.children[0].outerText.toLowerCase().includes(one)))
          .map((row) => row.children[1].outerText).join(', ');
      }} catch (error) {{ return ''; }}
    }})()"""
    return await run(context.page, source, "")


# --- reddit, and any page -----------------------------------------------------------------------------

_COMMENTS = """(function tree(node, level) {
  const found = {
    username: node.querySelector(".fg-inherit").outerText,
    content: node.querySelector(".comment__content").outerText,
    time: new Date(node.querySelector(".comment__main > header > h1 > span > time").dateTime).getTime(),
    children: [],
  };
  if (Number.isNaN(found.time) || !node.querySelector(".vote__net-score")) throw new Error("no comment");
  node.querySelectorAll(".comment").forEach((child) => {
    if (parseInt(child.getAttribute("data-level")) === level + 1) found.children.push(tree(child, level + 1));
  });
  return found;
})(document.querySelector("#main"), 0)"""


async def _latest_comment(context: Scene, username: str) -> str:
    """The newest comment of a user; the post itself counts as one."""
    newest, content = float("-inf"), ""
    waiting = [await run(context.page, _COMMENTS, {"username": None, "children": []})]
    while waiting:
        node = waiting.pop()
        if node["username"] == username and node["time"] > newest:
            newest, content = node["time"], node["content"]
        waiting += reversed(node["children"])
    return str(content)


async def _latest_parent(context: Scene, username: str) -> str:
    """Who was answered by a user's newest comment; below own comments nothing is looked for, as in the package."""
    newest, answered = float("-inf"), ""

    def look(node: Mapping[str, Any]) -> None:
        nonlocal newest, answered
        for child in node["children"]:
            if child["username"] != username:
                look(child)
            elif child["time"] > newest:
                newest, answered = child["time"], node["username"]

    look(await run(context.page, _COMMENTS, {"children": []}))
    return answered


async def _post_url(_: Scene, url: str) -> str:
    return post_url(url)


async def _query_text(context: Scene, selector: str) -> Any:
    source = f"""(() => {{
      try {{ return document.querySelector('{selector}').textContent; }} catch (error) {{ return ''; }}
    }})()"""
    return await run(context.page, source, "")


async def _query_text_lowercase(context: Scene, selector: str) -> str:
    return str(await _query_text(context, selector)).lower()


def _number(source: str, *, whole: bool = False) -> Callable[[Scene], Awaitable[Any]]:
    """What a script gives, 0 where it fails; the package takes no fraction where it expects a whole number."""

    async def ask(context: Scene) -> Any:
        value = await run(context.page, source, 0)
        if not isinstance(value, int | float) or (whole and isinstance(value, float)):
            raise EvaluatorError(f"the page gives {value!r:.80}, which is no {'whole ' * whole}number")
        return value

    return ask


FUNCTIONS: Mapping[str, _Function] = {
    "shopping_get_latest_order_url": _Function((), _latest_order_url),
    "shopping_get_sku_latest_review_author": _Function(("text",), _latest_review(lambda one: str(one["nickname"]))),
    "shopping_get_sku_latest_review_rating": _Function(
        ("text",), _latest_review(lambda one: str(one["ratings"][0]["percent"]))
    ),
    "shopping_get_sku_latest_review_text": _Function(("text",), _latest_review(lambda one: str(one["detail"]))),
    "shopping_get_order_product_name_list": _Function(("page",), _order_names),
    "shopping_get_order_product_quantity": _Function(("page", "text"), _order_quantity),
    "shopping_get_order_product_option": _Function(("page", "text", "text"), _order_option),
    "shopping_get_product_attributes": _Function(("page", "text"), _attributes),
    "shopping_get_product_price": _Function(("page",), _number(_PRICE)),
    "shopping_get_num_reviews": _Function(("page",), _number(_REVIEWS, whole=True)),
    "shopping_get_rating_as_percentage": _Function(("page",), _number(_RATING, whole=True)),
    "reddit_get_post_url": _Function(("text",), _post_url),
    "reddit_get_latest_comment_content_by_username": _Function(("page", "text"), _latest_comment),
    "reddit_get_parent_comment_username_of_latest_comment_by_username": _Function(("page", "text"), _latest_parent),
    "get_query_text": _Function(("page", "text"), _query_text),
    "get_query_text_lowercase": _Function(("page", "text"), _query_text_lowercase),
}
