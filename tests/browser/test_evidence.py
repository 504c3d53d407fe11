"""Evidence is what the evaluators will ask for, taken from the pages as they are, without disturbing the agent's."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from harness.actions import InvalidAction
from harness.browser.network.http import HttpAnswer
from harness.browser.session import functions as page_functions
from harness.browser.session.chromium import ChromiumPool
from harness.browser.session.functions import PAGE, FunctionContext, PageFunction, call, functions, parse
from harness.errors import EvaluatorError, SiteUnavailable
from harness.protocols import RawEvidence
from harness.records import Episode, Eval, HtmlTarget, Site, Task
from tests.browser.conftest import QUICK, Answer, Asked, Visit, Web, a_task, html

browser = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
JSON = {"content-type": "application/json"}


def target(url: str = "last", locator: str = "", **fields: Any) -> HtmlTarget:
    return HtmlTarget(url=url, locator=locator, must_include=("x",), **fields)


def judged_by(web: Web, *targets: HtmlTarget) -> Task:
    return a_task(web, eval=Eval(eval_types=("program_html",), program_html=targets))


async def gathered(pool: ChromiumPool, web: Web, *targets: HtmlTarget) -> RawEvidence:
    task = judged_by(web, *targets)
    async with pool.open(task, 0) as env:
        await env.restore(task, Episode())
        return await env.gather(task)


class TestInABrowser:
    pytestmark = browser

    async def test_the_final_page_is_kept_canonical(self, web: Web, chromium: ChromiumPool) -> None:
        web.pages["/"] = html(f"<a href='{web.site.url}/x'>x</a>", title=f"At {web.site.url}")
        found = await gathered(chromium, web)
        assert (found.url, found.title) == ("http://shop.localhost/", "At http://shop.localhost")
        assert 'href="http://shop.localhost/x"' in found.html and str(web.port) not in found.html

    async def test_locators_give_json_values(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "<p class=a>one</p><p class=a>two</p><input id=i type=checkbox checked>")
        found = await gathered(
            chromium,
            web,
            target(locator="document.querySelector('.a').outerText"),
            target(locator="[...document.querySelectorAll('.a')].map(p => p.outerText)"),
            target(locator="document.getElementById('i').checked"),
            target(locator="document.querySelectorAll('.a').length"),
            target(locator="document.querySelector('.b')"),
            target(locator="document.querySelector('.b').outerText"),
            target(locator="document.URL"),
            target(),
        )
        values = [selection.value for selection in found.selections]
        assert values[:7] == ["one", ["one", "two"], True, 2, None, "", "http://shop.localhost/"]
        assert '<p class="a">one</p>' in values[7]
        assert not any(selection.error for selection in found.selections)

    async def test_other_addresses_are_opened_beside_the_agents_page(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "<p>mine</p>", title="Mine")
        web.page(
            "/other",
            "<p>loading</p><script>setTimeout(()=>document.querySelector('p').textContent='other',300)</script>",
        )
        task = judged_by(web, target("http://shop.localhost/other", "document.body.innerText"), target("last"))
        async with chromium.open(task, 0) as env:
            visit = Visit(env, (await env.restore(task, Episode())).view)
            found = await env.gather(task)
            assert found.selections[0].url == "http://shop.localhost/other"
            assert found.selections[0].value == "other"
            assert "mine" in found.selections[1].value
            assert "mine" not in found.selections[1].last_value and "other" in found.selections[1].last_value
            assert (await visit.act(InvalidAction())).startswith("Tab 0 (current): Mine\n\n")

    async def test_a_later_last_target_that_would_be_the_same_says_nothing_special(
        self, web: Web, chromium: ChromiumPool
    ) -> None:
        web.page("/", "<p>same</p>")
        found = await gathered(
            chromium, web, target("http://shop.localhost/"), target(locator="document.body.innerText")
        )
        assert found.selections[1].value == "same"
        assert found.selections[1].last_value is None

    async def test_preparing_actions_run_first(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "<details><summary>more</summary>inner</details>")
        prepared = target(
            locator="document.body.innerText", prep_actions=("document.querySelector('summary').click()",)
        )
        found = await gathered(chromium, web, target(locator="document.body.innerText"), prepared)
        assert [selection.value for selection in found.selections] == ["more", "more\ninner"]

    async def test_what_cannot_be_gathered_is_an_error_and_not_a_text(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "<p>here</p>")
        found = await gathered(
            chromium,
            web,
            target("func:no_such_function()"),
            target("func:__import__('os').system('true')"),
            target("http://example.org/"),
            target(locator="[...document.querySelectorAll('p')].map(() => 'x'.repeat(11e6))"),
            target(locator="document.querySelector('p').outerText"),
        )
        errors = [selection.error for selection in found.selections]
        for error, word in zip(
            errors, ("no_such_function", "does not call a plain name", "outside", "bytes", ""), strict=True
        ):
            assert word in error and bool(error) is bool(word)

    async def test_an_address_that_is_refused_is_refused_to_each_target(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "<p>here</p>")
        here, outside = (target(url, "document.URL") for url in ("http://shop.localhost/", "http://example.org/"))
        found = await gathered(chromium, web, here, outside, outside, here)
        assert [selection.value for selection in found.selections] == [here.url, None, None, here.url]
        assert ["outside" in selection.error for selection in found.selections] == [False, True, True, False]

    @pytest.mark.slow
    async def test_a_locator_that_never_ends_is_bounded(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "<p>here</p>")
        never = target(locator="[...document.querySelectorAll('p')].map(() => { for(;;); })")
        found = await gathered(chromium, web, never)
        assert "nothing within 3 s" in found.selections[0].error

    async def test_a_site_that_is_down_is_no_evidence(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "here")
        web.page("/dead", "late", delay_s=30)
        with pytest.raises(SiteUnavailable, match="evidence"):
            await gathered(chromium, web, target("http://shop.localhost/dead"))

    async def test_functions_ask_the_embedded_sites(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "here")
        web.page("/orders/12", "<p>order 12</p>")
        web.pages["/__api__/latest_order"] = (200, JSON, '{"number": 12, "path": "/orders/12"}')
        web.pages["/__api__/latest_review/A%201"] = (200, JSON, '{"rating": 4, "nickname": "Gale"}')
        web.pages["/__api__/latest_review/B"] = (200, JSON, "{}")
        found = await gathered(
            chromium,
            web,
            target("func:shop_latest_order_url()", "document.body.innerText"),
            target(locator="func:shop_latest_review_rating('A 1')"),
            target(locator="func:shop_latest_review_author('A 1')"),
            target(locator="func:shop_latest_review_author('B')"),
            target(locator="func:code_member_role(__page__, 'x')"),
        )
        assert [selection.value for selection in found.selections[:4]] == ["order 12", "4", "Gale", ""]
        assert found.selections[0].url == "http://shop.localhost/orders/12"
        assert "no site 'code'" in found.selections[4].error

    @pytest.mark.slow
    async def test_the_forum_and_the_code_host_are_asked_about_the_page_at_hand(self, web: Web) -> None:
        sites = tuple(
            type(web.site)(
                name=name, url=f"http://t0.{name}.localhost:{web.port}", canonical=f"http://{name}.localhost"
            )
            for name in ("shop", "forum", "code")
        )
        web.page("/b/tea/7/old-name", "a post")
        web.page("/harbor/tides/-/members", "members")
        web.pages["/__api__/post/7"] = (200, JSON, '{"path": "/b/tea/7/new-name"}')
        web.page("/b/tea/7/new-name", "the post")

        async def role(asked: Asked) -> Answer:
            assert asked.query == "project=harbor%2Ftides&user=dmitri"
            return 200, JSON, '{"role": "Reporter"}'

        web.pages["/__api__/member_role"] = role
        async with web.pool(QUICK, *sites) as pool:
            task = Task(
                task_id="1",
                sites=("forum",),
                intent="",
                start_urls=("http://forum.localhost/b/tea/7/old-name",),
                eval=Eval(
                    eval_types=("program_html",),
                    program_html=(
                        target("func:forum_post_url('__last_url__')", "document.body.innerText"),
                        target(
                            "http://code.localhost/harbor/tides/-/members", "func:code_member_role(__page__, 'dmitri')"
                        ),
                    ),
                ),
            )
            async with pool.open(task, 0) as env:
                await env.restore(task, Episode())
                found = await env.gather(task)
        assert [selection.value for selection in found.selections] == ["the post", "Reporter"]

    async def test_webarenas_functions_ask_the_way_webarena_does(self, web: Web) -> None:
        base = f"http://t0.shopping.localhost:{web.port}"
        site = type(web.site)(name="shopping", url=base, canonical="http://store.test")
        rest = "/rest/V1"

        async def token(asked: Asked) -> Answer:
            assert asked.body == '{"username":"admin","password":"admin1234"}'
            return 200, JSON, '"t0k3n"'

        async def orders(asked: Asked) -> Answer:
            assert asked.headers["authorization"] == "Bearer t0k3n"
            return 200, JSON, '{"items": [{"increment_id": "000000190"}]}'

        reviews = [
            {"nickname": name, "ratings": [{"rating_name": "Rating", "percent": percent}]}
            for name, percent in (("A", 20), ("B", 80))
        ]
        web.page("/", "start")
        web.page("/sales/order/view/order_id/190/", "order")
        web.pages["/rest/default/V1/integration/admin/token"] = token
        web.pages[f"{rest}/orders"] = orders
        web.pages[f"{rest}/products/B00/reviews"] = (200, JSON, json.dumps(reviews))
        async with web.pool(QUICK, site) as pool:
            task = Task(
                task_id="1",
                sites=("shopping",),
                intent="",
                start_urls=("http://store.test/",),
                eval=Eval(
                    eval_types=("program_html",),
                    program_html=(
                        target("func:shopping_get_latest_order_url()", "document.body.innerText"),
                        target(locator="func:shopping_get_sku_latest_review_rating('B00')"),
                        target(locator="func:shopping_get_sku_latest_review_author('B00')"),
                    ),
                ),
            )
            async with pool.open(task, 0) as env:
                await env.restore(task, Episode())
                found = await env.gather(task)
        assert [selection.value for selection in found.selections] == ["order", "80", "B"]
        assert found.selections[0].url == "http://store.test/sales/order/view/order_id/190/"

    async def test_webarenas_page_functions_look_at_the_address_and_the_table(self, web: Web) -> None:
        site = type(web.site)(name="gitlab", url=web.site.url, canonical="http://git.test")
        row = (
            "<tr><td data-label=Account><span class=gl-avatar-labeled-sublabel>@{0}</span></td>"
            "<td class=col-max-role><span>{1}</span></td></tr>"
        )
        table = "<table>" + row.format("ada", "Owner") + row.format("bob", "Guest") + "</table>"
        web.page("/f/tea/12/title", f"here {table}")
        web.page("/f/tea/12/", "the post")
        async with web.pool(QUICK, site) as pool:
            task = Task(
                task_id="1",
                sites=("gitlab",),
                intent="",
                start_urls=("http://git.test/f/tea/12/title",),
                eval=Eval(
                    eval_types=("program_html",),
                    program_html=(
                        target(locator="func:gitlab_get_project_memeber_role(__page__, 'bob')"),
                        target(locator="func:gitlab_get_project_memeber_role(__page__, 'eve')"),
                        target("func:reddit_get_post_url('__last_url__')", "document.body.innerText"),
                    ),
                ),
            )
            async with pool.open(task, 0) as env:
                await env.restore(task, Episode())
                found = await env.gather(task)
        assert [selection.value for selection in found.selections] == ["Guest", "", "the post"]


def test_calls_are_read_and_never_run() -> None:
    assert parse("f()") == ("f", [])
    assert parse(" f(__page__, 'it\\'s', \"__last_url__\", 3) ") == ("f", [PAGE, "it's", "__last_url__", 3])
    for bad in (
        "f",
        "f()()",
        "a.f()",
        "f(x)",
        "f(f())",
        "f('a' + 'b')",
        "f(f'{1}')",
        "f(*[1])",
        "f(a=1)",
        "f(True)",
        "f(); g()",
        "lambda: 0",
        "f(" * 300,
        "",
    ):
        with pytest.raises(EvaluatorError):
            parse(bad)


def test_every_function_of_webarena_is_there() -> None:
    assert {
        "shopping_get_latest_order_url",
        "shopping_get_sku_latest_review_author",
        "shopping_get_sku_latest_review_rating",
        "reddit_get_post_url",
        "gitlab_get_project_memeber_role",
    } <= set(functions())


def a_shop(monkeypatch: pytest.MonkeyPatch, status: int, answer: Any) -> FunctionContext:
    """What is looked at when the shop gives its token, and answers everything else so."""

    async def fetch(url: str, **_: Any) -> HttpAnswer:
        given = (200, "t0k3n") if url.endswith("/token") else (status, answer)
        return HttpAnswer(status=given[0], url=url, body=json.dumps(given[1]).encode())

    monkeypatch.setattr(page_functions, "fetch", fetch)
    lane: Any = SimpleNamespace(sites=(Site(name="shopping", url="http://127.0.0.1:1", canonical="http://shop.test"),))
    page: Any = None
    return FunctionContext(lane=lane, page=page, last_url="http://shop.test/")


ORDER = "shopping_get_latest_order_url()"
RATING = "shopping_get_sku_latest_review_rating('B1')"
AUTHOR = "shopping_get_sku_latest_review_author('B1')"


@pytest.mark.parametrize(
    ("text", "status", "answer", "said"),
    [
        (RATING, 200, [{"nickname": "a", "ratings": []}], "the reviews of B1 cannot be read"),
        (RATING, 200, [{"nickname": "a"}], "the reviews of B1 cannot be read"),
        (RATING, 200, [{"ratings": [{"rating_name": "Price", "percent": 80}]}], "another rating than Rating"),
        (AUTHOR, 200, {"message": "no"}, "the reviews of B1 cannot be read"),
        (AUTHOR, 200, [{}], "holds no nickname"),
        (AUTHOR, 404, {"message": "no such product"}, "/rest/V1/products/B1/reviews answered 404"),
        (ORDER, 200, {"items": [{"increment_id": "2-0001"}]}, "the newest order of the shop cannot be read"),
        (ORDER, 200, {"items": None}, "the shop has no orders"),
    ],
)
async def test_an_answer_of_the_shop_that_webarena_cannot_read_is_an_error_of_the_target(
    monkeypatch: pytest.MonkeyPatch, text: str, status: int, answer: Any, said: str
) -> None:
    with pytest.raises(EvaluatorError, match=said):
        await call(text, a_shop(monkeypatch, status, answer))


async def test_a_product_without_reviews_has_empty_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    context = a_shop(monkeypatch, 200, [])
    assert (await call(RATING, context), await call(AUTHOR, context)) == ("", "")


async def test_what_a_function_of_a_package_raises_is_an_error_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: FunctionContext) -> str:
        raise KeyError("price")

    async def down(_: FunctionContext) -> str:
        raise SiteUnavailable("the shop does not answer")

    known = {"broken": PageFunction((), broken), "down": PageFunction((), down)}
    monkeypatch.setattr(page_functions, "functions", lambda: known)
    context = a_shop(monkeypatch, 200, [])
    with pytest.raises(EvaluatorError, match="function broken raised KeyError: 'price'"):
        await call("broken()", context)
    with pytest.raises(SiteUnavailable):
        await call("down()", context)
