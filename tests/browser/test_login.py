"""Being logged in is probed, reached by the site's recipe, and its failure is said plainly."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.browser.session import login
from harness.browser.session.chromium import ChromiumPool
from harness.codec import dumps
from harness.errors import ConfigError, SiteUnavailable, TaskError
from harness.records import Episode, Eval, HtmlTarget, Login, Site
from tests.browser.conftest import QUICK, Answer, Asked, Visit, Web, a_task, html

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
RECIPE = Login(
    url="http://shop.localhost/login",
    fields={"label=Email": "mara@example.test", "#password": "s3cret"},
    submit="button=Sign in",
    probe_url="http://shop.localhost/account",
)


class Members:
    """A site that knows its visitors by a cookie."""

    def __init__(self, web: Web, *, recipe: Login = RECIPE) -> None:
        self.web = web
        self.valid = "1"
        self.logins = 0
        web.pages.update({"/": self.home, "/login": self.form, "/session": self.enter, "/account": self.account})
        self.site = replace(web.site, login=recipe)

    def pool(self) -> ChromiumPool:
        return self.web.pool(QUICK, self.site)

    def _known(self, asked: Asked) -> bool:
        return f"session={self.valid}" in asked.headers.get("cookie", "")

    async def home(self, asked: Asked) -> Answer:
        return html(f"<p>{'member' if self._known(asked) else 'guest'}</p>")

    async def form(self, _: Asked) -> Answer:
        return html(
            "<form method=post action=/session><label>Email <input name=email></label>"
            "<input id=password type=password name=password><button>Sign in</button></form>"
        )

    async def enter(self, asked: Asked) -> Answer:
        self.logins += 1
        right = asked.body == "email=mara%40example.test&password=s3cret"
        cookie = {"set-cookie": f"session={self.valid}; Path=/"} if right else {}
        return 303, {"location": "/" if right else "/login", **cookie}, ""

    async def account(self, asked: Asked) -> Answer:
        if asked.headers.get("x-shop-auto-login") == "mara@example.test:s3cret":
            self.logins += 1
            return html("your account", headers={"set-cookie": f"session={self.valid}; Path=/; HttpOnly"})
        return html("your account") if self._known(asked) else (302, {"location": "/login"}, "")


async def test_a_task_with_a_storage_state_name_begins_logged_in_and_on_its_start_page(web: Web) -> None:
    members = Members(web)
    async with members.pool() as pool:
        task = a_task(web, storage_state="/none/.auth/shop_state.json")
        async with pool.open(task, 0) as env:
            visit = Visit(env, (await env.restore(task, Episode())).view)
            assert "'member'" in visit.text
            assert visit.text.startswith("Tab 0 (current): Page\n\n")
            assert members.logins == 1
            assert visit.landed is None


async def test_anonymous_tasks_are_not_logged_in(web: Web) -> None:
    members = Members(web)
    async with members.pool() as pool:
        task = a_task(web, require_login=True)
        async with pool.open(task, 0) as env:
            assert "'guest'" in (await env.restore(task, Episode())).view.observation.text


@pytest.mark.slow
async def test_a_storage_state_file_is_used_and_refreshed_only_when_it_has_expired(web: Web, tmp_path: Path) -> None:
    members = Members(web)
    cookie = {"name": "session", "value": "1", "domain": "t0.shop.localhost", "path": "/", "expires": -1}
    state = tmp_path / "shop_state.json"
    state.write_bytes(
        dumps({"cookies": [{**cookie, "httpOnly": False, "secure": False, "sameSite": "Lax"}], "origins": []})
    )
    task = a_task(web, storage_state=str(state))
    async with members.pool() as pool:
        async with pool.open(task, 0) as env:
            assert "'member'" in (await env.restore(task, Episode())).view.observation.text
        assert members.logins == 0
        members.valid = "2"
        async with pool.open(task, 0) as env:
            assert "'member'" in (await env.restore(task, Episode())).view.observation.text
        assert members.logins == 1


async def test_a_login_is_made_once_per_lane_as_long_as_the_probe_finds_it_valid(web: Web) -> None:
    members = Members(web)
    task = a_task(web, storage_state="shop_state.json")
    async with members.pool() as pool:
        for lane, valid, logins in ((0, "1", 1), (0, "1", 1), (1, "1", 2), (0, "2", 3), (0, "2", 3)):
            members.valid = valid
            async with pool.open(task, lane) as env:
                assert "'member'" in (await env.restore(task, Episode())).view.observation.text
            assert members.logins == logins


async def test_a_visitor_who_was_logged_out_is_logged_in_again_before_evidence_is_gathered(web: Web) -> None:
    members = Members(web)
    target = HtmlTarget(url="http://shop.localhost/account", locator="document.body.innerText", must_include=("x",))
    task = a_task(web, storage_state="shop_state.json", eval=Eval(eval_types=("program_html",), program_html=(target,)))
    async with members.pool() as pool, pool.open(task, 0) as env:
        await env.restore(task, Episode())
        members.valid = "2"
        gathered = await env.gather(task)
        assert gathered.selections[0].value == "your account"
        assert members.logins == 2


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (replace(RECIPE, fields={"label=Email": "mara@example.test", "#password": "wrong"}), "the login failed"),
        (replace(RECIPE, fields={"label=Nothing like it": "x"}), "does not match sites"),
        (replace(RECIPE, probe_text="Welcome"), "the login failed"),
    ],
)
async def test_a_login_that_does_not_take_names_its_site(web: Web, recipe: Login, words: str) -> None:
    members = Members(web, recipe=recipe)
    async with members.pool() as pool:
        task = a_task(web, storage_state="shop_state.json")
        async with pool.open(task, 0) as env:
            with pytest.raises(SiteUnavailable, match=f"shop: .*{words}"):
                await env.restore(task, Episode())


BY_HEADER = Login(headers={"X-Shop-Auto-Login": "mara@example.test:s3cret"}, probe_url="http://shop.localhost/account")


async def test_a_header_logs_in_and_is_sent_by_no_page_of_the_episode(web: Web) -> None:
    members = Members(web, recipe=BY_HEADER)
    async with members.pool() as pool:
        task = a_task(web, storage_state="shop_state.json")
        for valid, logins in (("1", 1), ("1", 1), ("2", 2)):
            members.valid = valid
            async with pool.open(task, 0) as env:
                assert "'member'" in (await env.restore(task, Episode())).view.observation.text
            assert members.logins == logins
    sent = [asked.path for asked in web.asked if "x-shop-auto-login" in asked.headers]
    assert sent == ["/account", "/account"]


async def test_a_header_that_the_site_does_not_take_is_named_without_its_value(web: Web) -> None:
    members = Members(web, recipe=replace(BY_HEADER, headers={"X-Shop-Auto-Login": "mara@example.test:wrong"}))
    async with members.pool() as pool:
        task = a_task(web, storage_state="shop_state.json")
        async with pool.open(task, 0) as env:
            with pytest.raises(SiteUnavailable, match=r"shop: X-Shop-Auto-Login was sent to .*, but the login") as told:
                await env.restore(task, Episode())
    assert "wrong" not in str(told.value)


async def test_a_broken_storage_state_file_is_named(web: Web, tmp_path: Path) -> None:
    state = tmp_path / "shop_state.json"
    state.write_text("{")
    async with Members(web).pool() as pool:
        task = a_task(web, storage_state=str(state))
        async with pool.open(task, 0) as env:
            with pytest.raises(TaskError, match=r"shop_state\.json"):
                await env.restore(task, Episode())


async def test_the_file_name_says_which_sites() -> None:
    code = Site(name="code", url="http://c.test", canonical="http://c.test", login=RECIPE)
    forum = replace(code, name="forum")
    bare = replace(code, name="wiki", login=None)
    task = a_task(Web(), storage_state="./.auth/code.forum_state.json")
    assert [site.name for site in login.wanted(task, (forum, bare, code))] == ["code", "forum"]
    assert login.wanted(a_task(Web()), (code,)) == ()
    with pytest.raises(ConfigError, match=r"wiki.*sites\.wiki\.login"):
        login.wanted(a_task(Web(), storage_state="wiki_state.json"), (bare, code))
    with pytest.raises(ConfigError, match=r"gone\.json does not exist, and its name says no site"):
        login.wanted(a_task(Web(), storage_state="gone.json"), (code,))
