"""A network trace holds what the agent's pages asked of their sites: all of it, nothing else, and nothing secret."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from harness.actions import Type
from harness.browser.network.trace import WANTED, cleaned
from harness.browser.session.chromium import ChromiumPool
from harness.codec import loads
from harness.records import Episode, Eval, HtmlTarget
from tests.browser.conftest import QUICK, Asked, Visit, Web, a_task, html
from tests.browser.test_login import Members
from tests.browser.test_restoration import Memory, Shop, recorded

browser = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
TRACING = replace(QUICK, har=True)


@pytest.mark.parametrize(
    ("url", "is_wanted"),
    [
        ("http://a.test/", True),
        ("https://a.test/x.json?next=/a.css", True),
        ("http://a.test/x.css/page", True),
        ("http://a.test/x.css", False),
        ("http://a.test/x.woff2?v=1", False),
        ("http://a.test/x.js#y", False),
        ("data:text/html,x", False),
        ("blob:http://a.test/1", False),
    ],
)
def test_static_files_and_what_is_no_address_are_left_out(url: str, *, is_wanted: bool) -> None:
    assert bool(WANTED.search(url)) is is_wanted


def an_entry(**response: Any) -> dict[str, Any]:
    given = [
        ("Cookie", "sid=s3cret; _osm_directions_engine=car"),
        ("Authorization", "Bearer s3cret"),
        ("Referer", "REAL"),
    ]
    return {
        "_frameref": "x",
        "serverIPAddress": "10.0.0.1",
        "startedDateTime": "2026-11-21T12:00:00.000Z",
        "request": {
            "method": "POST",
            "url": "REAL/do",
            "headers": [{"name": name, "value": value} for name, value in given],
            "cookies": [{"name": "sid", "value": "s3cret"}, {"name": "_osm_directions_engine", "value": "car"}],
            "postData": {"mimeType": "application/json", "text": '{"at": "REAL"}'},
        },
        "response": {
            "status": 200,
            "headers": [{"name": "Set-Cookie", "value": "sid=s3cret"}, {"name": "X-CSRF-Token", "value": "s3cret"}],
            "cookies": [{"name": "sid", "value": "s3cret", "path": "/"}, {"name": "mage-messages", "value": "added"}],
            "content": {"size": 1, "mimeType": "application/json", "text": '{"home": "REAL"}'},
            **response,
        },
    }


def test_credentials_are_gone_and_addresses_are_canonical() -> None:
    found = cleaned(an_entry(), lambda text: text.replace("REAL", "http://shop.localhost"))
    assert "s3cret" not in str(found) and "10.0.0.1" not in str(found)
    request, response = found["request"], found["response"]
    assert request["url"] == "http://shop.localhost/do"
    assert request["postData"]["text"] == '{"at": "http://shop.localhost"}'
    assert {header["name"]: header["value"] for header in request["headers"]} == {
        "Authorization": "[redacted]",
        "Referer": "http://shop.localhost",
    }
    assert request["cookies"][1] == {"name": "_osm_directions_engine", "value": "car"}
    assert [cookie["value"] for cookie in response["cookies"]] == ["[redacted]", "added"]
    assert response["headers"] == [{"name": "X-CSRF-Token", "value": "[redacted]"}]
    assert response["content"]["text"] == '{"home": "http://shop.localhost"}'


@pytest.mark.parametrize(
    "content",
    [
        {"size": 9, "mimeType": "text/html", "text": "<p>secret"},
        {"size": 9, "mimeType": "application/json", "text": "c2VjcmV0", "encoding": "base64"},
        {"size": 1_000_002, "mimeType": "application/json", "text": f'"{"x" * 1_000_000}"'},
        {"size": -1, "mimeType": "x-unknown"},
    ],
)
def test_bodies_no_scorer_reads_are_left_out(content: dict[str, Any]) -> None:
    assert "text" not in cleaned(an_entry(content=content), str)["response"]["content"]


def asked(trace: bytes | None) -> list[str]:
    """Method and path of each entry, in order."""
    assert trace is not None
    entries = [entry["request"] for entry in loads(trace)["log"]["entries"]]
    return [f"{request['method']} {urlsplit(request['url']).path}" for request in entries]


def left(folder: Path) -> list[Path]:
    """Raw traces and their folders."""
    return list(folder.glob("cairn-*"))


class TestInABrowser:
    pytestmark = browser

    async def test_none_is_recorded_unless_asked_for(self, web: Web, chromium: ChromiumPool) -> None:
        web.page("/", "home")
        async with chromium.open(a_task(web), 0) as env:
            await env.restore(a_task(web), Episode())
            assert (await env.gather(a_task(web))).trace is None

    async def test_it_begins_after_the_login_and_ends_before_the_evidence(
        self, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        members = Members(web)

        async def saved(_: Asked) -> tuple[int, dict[str, str], str]:
            return 200, {"content-type": "application/json", "set-cookie": "sid=s3cret; Path=/"}, '{"count": 3}'

        web.pages["/home"] = html(
            "<link rel=stylesheet href=/look.css><a href=/next>Next</a>"
            "<form method=post action=/next><label>Note <input name=note></label><button>Send</button></form>"
            "<script>fetch('/count.json').then((answer) => answer.text())</script>"
        )
        web.pages["/count.json"] = saved
        web.page("/next", "next")
        judged = Eval(
            eval_types=("program_html",), program_html=(HtmlTarget(url="http://shop.localhost/account", locator=""),)
        )
        task = a_task(web, "/home", eval=judged, storage_state="/none/.auth/shop_state.json")
        async with web.pool(TRACING, members.site) as pool:
            async with pool.open(task, 0) as env:
                visit = Visit(env, (await env.restore(task, Episode())).view)
                await visit.act(Type(target=visit.target("textbox", "Note"), text="blue & red", enter=True))
                trace = (await env.gather(task)).trace
            assert not left(tmp_path)
        assert members.logins == 1 and any(request.path == "/account" for request in web.asked)
        assert asked(trace) == ["GET /home", "GET /count.json", "POST /next"]
        assert trace is not None and b"s3cret" not in trace and str(web.port).encode() not in trace
        _, count, post = loads(trace)["log"]["entries"]
        assert count["response"]["content"]["text"] == '{"count": 3}'
        assert post["request"]["postData"]["text"] == "note=blue+%26+red"
        assert post["request"]["url"] == "http://shop.localhost/next"
        assert post["response"]["status"] == 200

    @pytest.mark.slow
    async def test_a_replayed_episode_has_the_whole_trace(self, web: Web) -> None:
        shop, kept, task = Shop(web), Memory(), a_task(web)
        async with web.pool(TRACING, shop.site, checkpoints=kept) as pool:
            episode = await recorded(pool, web, kept)
            shop.items.clear()
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, episode, ("shop",))
                trace = (await env.gather(task)).trace
        assert restored.strategy == "replay" and trace is not None and "comment" not in loads(trace)["log"]
        assert asked(trace) == ["GET /", "POST /add", "GET /list"]

    @pytest.mark.slow
    async def test_a_trace_that_lacks_its_beginning_says_so(self, web: Web) -> None:
        shop, kept, task = Shop(web), Memory(), a_task(web)
        async with web.pool(TRACING, shop.site, checkpoints=kept) as pool:
            episode = await recorded(pool, web, kept)
            async with pool.open(task, 0) as env:
                restored = await env.restore(task, episode)
                trace = (await env.gather(task)).trace
        assert restored.strategy == "checkpoint" and trace is not None
        assert asked(trace) == ["GET /list"]
        assert loads(trace)["log"]["comment"].startswith("begins after step 4")

    @pytest.mark.slow
    async def test_an_episode_that_is_left_leaves_nothing_of_its_raw_trace(
        self, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        web.page("/", "home")
        async with web.pool(TRACING, web.site) as pool:
            async with pool.open(a_task(web), 0) as env:
                await env.restore(a_task(web), Episode())
            assert not left(tmp_path)
