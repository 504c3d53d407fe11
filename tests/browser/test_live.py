"""A real browser on stand-ins of live sites: what may be opened, how fast, and who kept the agent out."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.actions import Click, Goto, Target
from harness.browser.network import allowlist, outbound
from harness.browser.session.chromium import ChromiumPool
from harness.browser.session.environment import BrowserEnvironment
from harness.errors import SiteUnavailable
from harness.plugins.live.pace import Pace
from harness.plugins.live.rules import LiveRules
from harness.protocols import StepResult
from harness.records import Episode, Eval, LiveObservation, Refused, Task
from harness.settings.browser import BrowserSettings
from tests.live_stub import LiveStub, Page, live_stub

pytestmark = pytest.mark.browser

FAST = LiveRules(allow=("localhost",), pages_per_minute=6000)
ROBOTS = "User-agent: *\nDisallow: /secret"
CHALLENGE = Page("<div id=challenge-form>Verify you are human</div>", 403, {"cf-mitigated": "challenge"})


def answer(host: str, path: str) -> Page | None:
    links = "".join(
        f"<p><a href='{url}'>{name}</a></p>"
        for name, url in {
            "Open": "/open",
            "Secret": "/secret",
            "Popup": "/secret' target='_blank",
            "Ads": f"//ads.localhost:{_port[0]}/",
            "Moved": "/moved",
        }.items()
    )
    pages = {
        ("shop", "/"): Page(f"<h1>Shop</h1>{links}<img src='//ads.localhost:{_port[0]}/pixel'>"),
        ("shop", "/robots.txt"): Page(ROBOTS),
        ("shop", "/open"): Page("<h1>Open</h1><iframe src='/secret/frame'></iframe>"),
        ("shop", "/moved"): Page("", 302, {"location": "/secret/moved"}),
        ("ads", "/"): Page("<h1>Ads</h1>"),
        ("wall", "/"): CHALLENGE,
        ("wall", "/inside"): Page("<h1>Welcome</h1>"),
    }
    return pages.get((host, path), Page("<h1>Secret</h1>") if path.startswith("/secret") else None)


_port = [0]


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveStub]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with live_stub(answer) as stub:
        _port[0] = stub.port
        yield stub


@asynccontextmanager
async def live(rules: LiveRules, start: str) -> AsyncIterator[tuple[BrowserEnvironment, LiveObservation]]:
    settings = BrowserSettings(
        settle_timeout_s=2.0, navigation_timeout_s=5.0, width=800, height=600, allowed="any", screenshots=False
    )
    task = Task(task_id="1", sites=("live",), intent="x", start_urls=(start,), eval=Eval(eval_types=()))
    async with ChromiumPool(settings, visits=rules, sites=lambda _: ()) as pool, pool.open(task, 0) as env:
        restored = await env.restore(task, Episode())
        yield env, restored.view


def link(view: LiveObservation, name: str) -> Click:
    id, node = next((id, node) for id, node in view.nodes.items() if (node.role, node.name) == ("link", name))
    return Click(target=Target(id=id, role="link", name=name, nth=node.nth))


def notices(result: StepResult) -> str:
    return "; ".join(result.view.observation.notices)


async def test_robots_txt_holds_for_links_popups_redirects_and_typed_addresses_but_not_for_frames(
    web: LiveStub,
) -> None:
    async with live(FAST, web.url("shop")) as (env, view):
        for name in ("Secret", "Moved", "Popup"):
            result = await env.act(link(view, name))
            assert "robots.txt of shop.localhost does not allow it" in notices(result), name
            view = (await env.act(Goto(url=web.url("shop")))).view
        typed = await env.act(Goto(url=web.url("shop", "/secret?x=1")))
        assert isinstance(typed.outcome, Refused) and "robots.txt" in notices(typed)
        await env.act(Goto(url=web.url("shop", "/open")))
    assert [path for path in web.pages("shop") if path.startswith("/secret")] == ["/secret/frame"]
    assert [path for _, _, path in web.asked].count("/robots.txt") == 1


@pytest.mark.slow
async def test_robots_txt_can_be_switched_off(web: LiveStub) -> None:
    async with live(replace(FAST, robots=False), web.url("shop")) as (env, view):
        result = await env.act(link(view, "Secret"))
        assert "Secret" in result.view.observation.text
    assert "/robots.txt" not in [path for _, _, path in web.asked]


@pytest.mark.slow
async def test_nothing_is_asked_of_a_denied_host(web: LiveStub) -> None:
    async with live(replace(FAST, deny=("ads.localhost",)), web.url("shop")) as (env, view):
        result = await env.act(link(view, "Ads"))
        assert "ads.localhost is denied (sites.live.deny)" in notices(result)
    assert not [asked for asked in web.asked if asked[1] == "ads.localhost"], "not even its picture"


@pytest.mark.slow
async def test_without_a_denial_it_is_asked(web: LiveStub) -> None:
    async with live(FAST, web.url("shop")) as (env, view):
        await env.act(link(view, "Ads"))
    assert {path for _, host, path in web.asked if host == "ads.localhost"} >= {"/", "/pixel"}


async def test_only_allowed_hosts_are_opened_and_their_pages_may_use_others(
    web: LiveStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stub(_: str) -> tuple[str, ...]:
        return ("127.0.0.1",)

    kept = allowlist.why_local_name
    monkeypatch.setattr(outbound, "_system_addresses", stub)  # which stands for hosts elsewhere
    monkeypatch.setattr(allowlist, "why_local", lambda _: "")
    monkeypatch.setattr(allowlist, "why_local_name", lambda host: "" if host == "ads.localhost" else kept(host))
    async with live(replace(FAST, allow=("shop.localhost",)), web.url("shop")) as (env, view):
        result = await env.act(link(view, "Ads"))
        assert "ads.localhost is not among the allowed hosts" in notices(result)
    assert [path for _, host, path in web.asked if host == "ads.localhost"] == ["/pixel"]


@pytest.mark.slow
async def test_addresses_of_this_machine_are_not_opened_unless_allowed(web: LiveStub) -> None:
    with pytest.raises(
        SiteUnavailable, match=r"shop\.localhost is a name of this machine; only sites\.live\.allow admits it"
    ):
        async with live(replace(FAST, allow=()), web.url("shop")):
            pass
    assert web.asked == []


@pytest.mark.slow
async def test_the_pages_of_a_host_are_counted(web: LiveStub) -> None:
    async with live(replace(FAST, pages_per_host=2), web.url("shop")) as (env, view):
        await env.act(link(view, "Open"))
        spent = await env.act(Goto(url=web.url("shop")))
        assert "the 2 pages that may be opened on shop.localhost are used up" in notices(spent)
        other = await env.act(Goto(url=web.url("ads")))
        assert "Ads" in other.view.observation.text
    assert [path for path in web.pages("shop") if path != "/secret/frame"] == ["/", "/open"]


@pytest.mark.slow
async def test_pages_of_one_host_keep_their_distance(web: LiveStub, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]  # of a clock that only waiting moves: how long a page takes does not matter

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    web.clock = lambda: now[0]
    monkeypatch.setattr("harness.plugins.live.gate.Pace", partial(Pace, clock=web.clock, sleep=sleep))
    async with live(replace(FAST, pages_per_minute=1), web.url("shop")) as (env, view):
        await env.act(link(view, "Open"))
        await env.act(Goto(url=web.url("ads")))
        await env.act(Goto(url=web.url("shop")))
    opened = [
        (host.split(".")[0], path, at)
        for (_, host, path), at in zip(web.asked, web.times, strict=True)
        if path in ("/", "/open")
    ]
    assert opened == [("shop", "/", 1000), ("shop", "/open", 1060), ("ads", "/", 1060), ("shop", "/", 1120)]


@pytest.mark.slow
async def test_who_kept_the_agent_out_is_in_the_evidence(web: LiveStub) -> None:
    async with live(FAST, web.url("wall")) as (env, _):
        task = Task(task_id="1", sites=("live",), intent="x", start_urls=(web.url("wall"),), eval=Eval(eval_types=()))
        await env.act(Goto(url=web.url("shop")))
        (kept_out,) = (await env.gather(task)).blocked
        assert kept_out == f"{web.url('wall')} answered with status 403 with a page of Cloudflare (header cf-mitigated)"


@pytest.mark.slow
async def test_who_got_in_at_last_was_not_kept_out(web: LiveStub) -> None:
    async with live(FAST, web.url("wall")) as (env, _):
        task = Task(task_id="1", sites=("live",), intent="x", start_urls=(web.url("wall"),), eval=Eval(eval_types=()))
        await env.act(Goto(url=web.url("wall", "/inside")))
        assert (await env.gather(task)).blocked == ()
