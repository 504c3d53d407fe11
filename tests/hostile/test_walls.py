"""Walls of what serves on this machine: embedded sites, viewer. Real servers, requests as browsers and others send
them.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psutil
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from harness.api.request_guard import place_of
from harness.browser.network.site_health import WaitPolicy
from harness.embedded_server import KEY_HEADER, KEY_VARIABLE, start_servers
from harness.errors import ConfigError
from harness.evaluation.reset_hooks import EmbeddedResetHooks
from harness.journal.site_log import SiteInstance
from harness.loopback_server import serving
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import SitesApp
from harness.plugins.html_report.viewer.app import Viewer
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher
from harness.records import Eval, Task
from tests.e2e.conftest import command, environment
from tests.reports.runs import assorted, fill

in_session = pytest.mark.asyncio(loop_scope="session")

KEY = "k3y-of-this-start"
TASK = Task(task_id="0", sites=("shop",), intent="", start_urls=(), eval=Eval(eval_types=()))


SHOP = [site for site in SITES if site.name == "shop"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def port() -> AsyncIterator[int]:
    async with serving(SitesApp(SHOP, key=KEY)) as number:
        yield number


async def reset_at(port: int, headers: dict[str, str], *, host: str = "t0.shop", method: str = "POST") -> int:
    async with httpx.AsyncClient(verify=False) as client:  # reading certificates takes 25 ms
        sent = {"host": f"{host}.localhost:{port}", **headers}
        answer = await client.request(method, f"http://127.0.0.1:{port}/__reset__", headers=sent)
        return answer.status_code


RESETS: dict[str, tuple[dict[str, str], int]] = {
    "who started it": ({KEY_HEADER: KEY}, 204),
    "no key": ({}, 403),
    "an empty key": ({KEY_HEADER: ""}, 403),
    "another key": ({KEY_HEADER: "guess"}, 403),
    "half the key": ({KEY_HEADER: KEY[:-1]}, 403),
    "more than the key": ({KEY_HEADER: KEY + " x"}, 403),
    "the key elsewhere": ({"authorization": f"Bearer {KEY}", "cookie": f"{KEY_HEADER}={KEY}"}, 403),
    "a page elsewhere": ({"origin": "http://evil.example"}, 403),
    "a page elsewhere that knows the key": ({"origin": "http://evil.example", KEY_HEADER: KEY}, 403),
    "a page of the site itself": ({"origin": "http://t0.shop.localhost", KEY_HEADER: KEY}, 403),
    "a page without an origin": ({"origin": "null", KEY_HEADER: KEY}, 403),
    "no-cors of another site": ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", KEY_HEADER: KEY}, 403),
    "a form of the same site": ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", KEY_HEADER: KEY}, 403),
    "typed by hand": ({"sec-fetch-site": "none", KEY_HEADER: KEY}, 403),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize(("headers", "status"), RESETS.values(), ids=RESETS)
@in_session
async def test_a_site_is_reset_by_who_started_it_and_by_no_page(
    port: int, headers: dict[str, str], status: int
) -> None:
    assert await reset_at(port, headers) == status


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "HEAD"])
@in_session
async def test_only_a_post_resets(port: int, method: str) -> None:
    assert await reset_at(port, {KEY_HEADER: KEY}, method=method) in (404, 405, 303)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "localhost", "shop.localhost.evil.example", "t0.bank.localhost", "t0.shop.local", ""],
)
@in_session
async def test_a_name_that_is_no_site_is_no_site(port: int, host: str) -> None:
    """As after a name was bound to this machine by somebody else (DNS rebinding)."""
    async with httpx.AsyncClient(verify=False) as client:  # reading certificates takes 25 ms
        answer = await client.post(f"http://127.0.0.1:{port}/__reset__", headers={"host": host, KEY_HEADER: KEY})
    assert answer.status_code == 404 and answer.text.startswith("No such site")


@in_session
async def test_without_a_key_a_program_may_reset_and_a_page_may_not() -> None:
    async with serving(SitesApp(SHOP)) as number:
        assert await reset_at(number, {}) == 204
        assert await reset_at(number, {"origin": f"http://t0.shop.localhost:{number}"}) == 403
        assert await reset_at(number, {KEY_HEADER: "some"}) == 403


@in_session
async def test_each_start_has_a_key_of_its_own_which_no_process_list_shows(tmp_path: Path) -> None:
    resets, other = EmbeddedResetHooks(WaitPolicy(limit_s=0)), EmbeddedResetHooks(WaitPolicy(limit_s=0))
    assert len(resets.key) >= 32 and resets.key != other.key
    async with start_servers(
        "harness.plugins.demo", log=tmp_path / "log", variables={KEY_VARIABLE: resets.key}
    ) as number:
        resets.port = other.port = number
        wanted = (SiteInstance("shop", "http://t0.shop.localhost"),)
        await resets.reset(wanted, TASK)
        with pytest.raises(ConfigError, match="were started with another CAIRN_SITES_KEY"):
            await other.reset(wanted, TASK)
        lines = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]
    assert any("harness.plugins.demo" in line for line in lines) and not any(resets.key in line for line in lines)


ATTEMPTS = {
    "fetch": "url => fetch(url, {method: 'POST'}).catch(() => 0).then(() => 0)",
    "fetch without cors": "url => fetch(url, {method: 'POST', mode: 'no-cors'}).then(() => 0)",
    "beacon": "url => void navigator.sendBeacon(url)",
    "form": (
        "url => { const f = document.createElement('form'); f.method = 'POST'; f.action = url; document.body.append(f);"
        " f.submit(); }"
    ),
}


@pytest.mark.hostile
@pytest.mark.parametrize("keyed", [True, False], ids=["with a key", "without"])
@pytest.mark.parametrize("whose", ["t0.shop", "t0.forum"])
@pytest.mark.parametrize("script", ATTEMPTS.values(), ids=ATTEMPTS)
@in_session
async def test_no_page_of_a_real_browser_resets(browser: Browser, script: str, whose: str, keyed: bool) -> None:
    async with (
        serving(SitesApp(SITES, key=KEY if keyed else "")) as number,
        httpx.AsyncClient(verify=False) as client,  # reading certificates takes 25 ms
    ):
        page = await browser.new_page()
        await page.goto(f"http://{whose}.localhost:{number}/")
        target = f"http://t0.shop.localhost:{number}/__reset__"
        over = asyncio.Event()
        for end in (
            "requestfinished",
            "requestfailed",
        ):  # where a page may not read the answer it has failed for the page
            page.context.on(end, lambda asked: over.set() if asked.url == target else None)  # type: ignore[call-overload]
        await page.evaluate(script, target)
        async with asyncio.timeout(300):
            await over.wait()
        here = {"host": f"t0.shop.localhost:{number}"}
        log = (await client.get(f"http://127.0.0.1:{number}/__writes__", headers=here)).json()
    assert {(one["path"], one["status"]) for one in log} == {("/__reset__", 403)}


# --- the viewer -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that tests only read."""
    folder = tmp_path_factory.mktemp("results")
    fill(folder / "demo", assorted(2, steps=1), screenshots=False)
    return folder


TOKEN = "s3cret-token"
PLACE = place_of(TOKEN)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def viewer(results: Path) -> AsyncIterator[int]:
    async with serving(Viewer(ResultsWatcher(results)).app(TOKEN)) as number:
        yield number


async def asked(number: int, path: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(verify=False) as client:  # reading certificates takes 25 ms
        return await client.get(f"http://127.0.0.1:{number}{path}", headers=headers)


@in_session
async def test_the_cookie_goes_to_no_other_port_and_is_named_after_its_own(viewer: int) -> None:
    first = await asked(viewer, f"/?token={TOKEN}")
    assert (first.status_code, first.headers["location"]) == (303, f"{PLACE}/")
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(f"cairn-view-{viewer}={TOKEN};") and f"Path={PLACE}/" in cookie
    assert len(PLACE) >= 20 and TOKEN not in PLACE and place_of("another") != PLACE


@pytest.mark.parametrize(
    "path", ["/", "/run/demo", "/news", "/x", f"{PLACE[:-1]}/", f"{PLACE}x/", PLACE, f"/x{PLACE}/", f"//{PLACE}/"]
)
@in_session
async def test_outside_of_its_path_the_cookie_opens_nothing(viewer: int, path: str) -> None:
    answer = await asked(viewer, path, cookie=f"cairn-view-{viewer}={TOKEN}")
    assert answer.status_code == 403


COOKIES = {
    "none": "",
    "of another viewer": "cairn-view-1={token}",
    "without its port": "cairn-view={token}",
    "wrong": "cairn-view-{port}=guess",
    "empty": "cairn-view-{port}=",
    "half": "cairn-view-{port}=s3cret",
    "broken": 'cairn-view-{port}="',
    "long": "cairn-view-{port}=" + "x" * 20_000,
    "two": "cairn-view-{port}=guess; cairn-view-{port}=guess",
}


@pytest.mark.parametrize(
    "others", ["test; {0}", "{0}; test", "{0}; a[b]=c", '{0}; a="', "{1}=guess; {0}", "{0}; {1}=guess"]
)
@in_session
async def test_cookies_of_servers_at_other_ports_are_in_nobodys_way(viewer: int, others: str) -> None:
    name = f"cairn-view-{viewer}"
    answer = await asked(viewer, f"{PLACE}/", cookie=others.format(f"{name}={TOKEN}", name))
    assert answer.status_code == 200


@pytest.mark.parametrize("cookie", COOKIES.values(), ids=COOKIES)
@in_session
async def test_another_cookie_opens_nothing(viewer: int, cookie: str) -> None:
    answer = await asked(viewer, f"{PLACE}/", cookie=cookie.format(port=viewer, token=TOKEN))
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0", "[::]", "127.1", "localhost.", "a@localhost"]
)
@in_session
async def test_another_name_of_this_machine_is_refused(viewer: int, host: str) -> None:
    answer = await asked(viewer, f"{PLACE}/", host=f"{host}:{viewer}", cookie=f"cairn-view-{viewer}={TOKEN}")
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        f"/?token={TOKEN}",
        f"//evil.example/?token={TOKEN}",
        f"/\\evil.example?token={TOKEN}",
        f"{PLACE}/run/demo?token={TOKEN}",
        f"/%0d%0aset-cookie:a=b?token={TOKEN}",
    ],
)
@in_session
async def test_the_token_leads_only_to_its_own_path(viewer: int, path: str) -> None:
    answer = await asked(viewer, path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{PLACE}/") and TOKEN not in answer.headers["location"]
    assert "\r" not in answer.headers["location"] and len(answer.headers.get_list("set-cookie")) == 1


@in_session
async def test_every_link_of_a_page_stays_under_the_path(viewer: int) -> None:
    import re

    cookie = f"cairn-view-{viewer}={TOKEN}"
    for path in ("/", "/run/demo", "/run/demo/task/0", "/run/nope"):
        page = await asked(viewer, f"{PLACE}{path}", cookie=cookie)
        links = re.findall(r'(?:href|src|data-events)="(/[^"]*)"', page.text)
        assert links and all(link.startswith(f"{PLACE}/") for link in links), links


@pytest.mark.hostile
@in_session
async def test_a_real_browser_gives_the_cookie_to_no_other_port(browser: Browser, viewer: int) -> None:
    seen: list[str] = []

    async def other(scope: dict[str, object], receive: object, send: object) -> None:
        headers = dict(scope["headers"])  # type: ignore[call-overload]
        seen.append(headers.get(b"cookie", b"").decode())
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b"<title>other</title>"})  # type: ignore[operator]

    async with serving(other) as number:
        page = await browser.new_page()
        await page.goto(f"http://127.0.0.1:{viewer}/?token={TOKEN}")
        assert await page.title() and page.url == f"http://127.0.0.1:{viewer}{PLACE}/"
        await page.goto(f"http://127.0.0.1:{viewer}{PLACE}/run/demo")
        assert "demo" in await page.inner_text("main")
        await page.goto(f"http://127.0.0.1:{number}/")
        await page.goto(f"http://127.0.0.1:{number}/run/demo")
    assert seen and not any(TOKEN in cookie for cookie in seen)


@pytest.mark.hostile
def test_a_run_resets_its_own_sites_with_its_own_key(tmp_path: Path) -> None:
    line = command("task.limit=2", "workers=1", "run.report=false", root=tmp_path)
    done = subprocess.run(
        line, capture_output=True, text=True, check=False, timeout=1200, env=environment(), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
