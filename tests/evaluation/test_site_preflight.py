"""Sites are looked at before anything is paid: who is refused, who is only spoken of, and what is said."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from harness.browser.network import site_probe
from harness.browser.network.site_probe import Probed, probe
from harness.browser.network.system_proxy import SystemProxies
from harness.config.site_settings import read_sites
from harness.episode.job import Job
from harness.evaluation.preflight import tasks_on_sites
from harness.evaluation.site_preflight import SiteFindings, look_at_sites
from harness.journal.index import scan
from harness.records import Eval, Task
from tests.e2e.conftest import Start, harness_here, start_here
from tests.reports.runs import Shape, fill

__all__ = ["harness_here", "start_here"]
pytestmark = pytest.mark.integration
DIRECT = SystemProxies()


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_probe, "GRACE_S", 0.0)
    monkeypatch.setattr(site_probe, "ANSWERS_S", 0.5)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SHOP"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that nobody listens on, and nobody else is given."""
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@asynccontextmanager
async def answering(said: bytes | None, heads: list[bytes] | None = None, *, port: int = 0) -> AsyncIterator[int]:
    """A program that answers each connection so, at its first bytes; None = never."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.read(4096)
        if heads is not None:
            heads.append(head)
        if said is None:
            await reader.read()
        else:
            writer.write(said)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        served.release()

    served = asyncio.Semaphore(0)
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await served.acquire()  # every test connects


def a_task(**changes: Any) -> Task:
    given: dict[str, Any] = {"task_id": "0", "sites": ("shop",), "intent": "look", "start_urls": ("__SHOP__",)}
    return Task(**{**given, "eval": Eval(eval_types=()), **changes})


async def found(tree: Mapping[str, Any], *tasks: Task) -> SiteFindings:
    return await look_at_sites(read_sites({"embedded": False, **tree}), tasks or (a_task(),))


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", Probed(status=200)),
        (b"HTTP/1.0 302 Found\r\nLocation: /a\r\n\r\n", Probed(status=302)),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", Probed(status=502)),
        (None, Probed()),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Probed(dead="what listens there is no web server")),
        (b"", Probed(dead="the connection breaks off (no answer)")),
    ],
)
async def test_what_listens_is_told_by_the_first_line_of_its_answer(said: bytes | None, seen: Probed) -> None:
    async with answering(said) as port:
        assert await probe(f"http://shop.localhost:{port}/a?b=1", DIRECT) == seen


async def test_hosts_that_are_not_there_are_dead() -> None:
    with closed_port() as port:
        for host in ("127.0.0.1", "t0.shop.localhost", "localhost", "[::1]"):
            assert (await probe(f"http://{host}:{port}", DIRECT)).dead == "connection refused"
            assert (await probe(f"https://{host}:{port}", DIRECT)).dead == "connection refused"
    assert (await probe("http://no-such-host.invalid", DIRECT)).dead == "there is no host of this name"
    async with answering(b"220 mail\r\n" * 9) as port:
        assert (await probe(f"https://127.0.0.1:{port}", DIRECT)).dead.startswith("no TLS connection")


@pytest.mark.parametrize(
    "url", ["PASS", "http://", "http://a:99999", "http://a:x", "http://[::1", "ftp://a", "http://a:0"]
)
async def test_what_is_no_address_is_dead_at_once(url: str) -> None:
    assert (await probe(url, DIRECT)).dead.startswith("this is not an address")


async def test_a_server_that_is_just_starting_is_given_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_probe, "GRACE_S", 60.0)
    with closed_port() as port:
        looking = asyncio.create_task(probe(f"http://127.0.0.1:{port}", DIRECT))
        await asyncio.sleep(0)
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n", port=port):
        assert await looking == Probed(status=200)


@pytest.mark.parametrize(
    ("status", "seen"),
    [("200 OK", Probed(status=200)), ("503 No", Probed(dead="status 503 through the proxy 127.0.0.1"))],
)
async def test_a_host_behind_a_proxy_is_asked_through_it(status: str, seen: Probed) -> None:
    heads: list[bytes] = []
    async with answering(f"HTTP/1.1 {status}\r\n\r\n".encode(), heads) as port:
        proxies = SystemProxies({"http": urlsplit(f"http://127.0.0.1:{port}")}, lambda host: False)
        assert await probe("http://shop.test:7770/a", proxies) == seen
    assert heads[0].startswith(b"GET http://shop.test:7770/a HTTP/1.1\r\nHost: shop.test:7770\r\n")


async def test_each_dead_address_is_named_with_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n") as good:
        with closed_port() as port:
            dead = f"http://127.0.0.1:{port}"
            seen = await found({"shop": {"url": f"http://user:pass@127.0.0.1:{port}/x?y=1"}})
            assert seen.refused == (
                f"site shop cannot be reached at {dead}/x: connection refused; start it, or correct its address with"
                " sites.shop.url",
            )
            monkeypatch.setenv("SHOP", dead)
            both = {"shop": {"url": dead, "instances": [f"http://127.0.0.1:{good}", f"http://localhost:{port}"]}}
            settings = [one.rpartition("with ")[2] for one in (await found(both)).refused]
            assert settings == ["SHOP in the environment, or sites.shop.url", "sites.shop.instances"]
            assert (await found(both, a_task(sites=("forum",)))) == SiteFindings(), "no task needs it"


async def test_a_site_of_ones_own_that_is_nowhere_is_refused_where_a_task_needs_it() -> None:
    shop = {"shop": {"canonical": "http://shop.test", "url": None}}
    said = "site shop has no address; set SHOP in the environment, or sites.shop.url"
    assert (await found(shop)).refused == (said,)
    assert (await found(shop, a_task(sites=("forum",)))) == SiteFindings(), "no task needs it"


@pytest.mark.parametrize(
    ("settings", "tasks", "named"),
    [
        ({"shop": {"reset_command": "docker compose up shop"}}, {}, "sites.shop.reset_command"),
        ({"shop": {"reset_url": "http://operator.test/reset"}}, {}, "sites.shop.reset_url"),
        ({"reset": {"command": "make sites"}}, {}, "sites.reset.command"),
        ({"reset": {"url": "http://operator.test/reset"}}, {}, "sites.reset.url"),
        ({"shop": {"reset_url": "{url}/reset"}}, {}, ""),
        ({"shop": {"reset_url": "http://127.0.0.1:PORT/reset"}}, {}, ""),
        ({"shop": {"reset_command": "up", "read_only": True}}, {}, ""),
        ({"shop": {"reset_command": "up"}, "reset": {"when": "asked"}}, {}, ""),
        ({"shop": {"reset_command": "up"}, "locks": "none"}, {}, ""),
        ({"shop": {"reset_command": "up"}, "locks": "none"}, {"require_reset": True}, "sites.shop.reset_command"),
    ],
)
async def test_a_site_that_its_reset_may_start_is_not_refused(
    settings: dict[str, Any], tasks: dict[str, Any], named: str
) -> None:
    with closed_port() as port:
        tree = json.loads(json.dumps(settings).replace("PORT", str(port)))
        tree["shop"] = {"url": f"http://127.0.0.1:{port}", **tree.get("shop", {})}
        seen = await found(tree, a_task(**tasks))
    if named:
        assert seen.refused == () and seen.doubtful[0].endswith(f"; {named} may start it")
    else:
        assert len(seen.refused) == 1 and seen.doubtful == ()


@pytest.mark.parametrize(
    ("said", "words"), [(None, "shop is slow"), (b"HTTP/1.1 503 Busy\r\n\r\n", "answers with status 503")]
)
async def test_a_site_that_is_slow_or_fails_is_said_and_waited_for(said: bytes | None, words: str) -> None:
    async with answering(said) as port:
        seen = await found({"shop": {"url": f"http://127.0.0.1:{port}"}})
    assert seen.refused == () and words in seen.doubtful[0]


async def test_the_live_web_is_left_alone() -> None:
    assert await found({"live": {}}, a_task(sites=("live",))) == SiteFindings()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "another program answers on sites.port="),
        (b"HTTP/1.0 501 Unsupported\r\nContent-Length: 0\r\n\r\n", "another program answers on sites.port="),
        (b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "were started with another CAIRN_SITES_KEY"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "what listens there is no web server"),
        (b"HTTP/1.1 204 Done\r\n\r\n", ""),
        (b"HTTP/1.1 500 Busy\r\nContent-Length: 0\r\n\r\n", ""),
    ],
)
async def test_another_program_on_the_port_of_the_embedded_sites_is_told_from_them(said: bytes, words: str) -> None:
    async with answering(said) as port:
        tree = {"embedded": True, "port": port, "shop": {"canonical": "http://shop.localhost"}}
        seen = await look_at_sites(read_sites(tree), [a_task()])
    assert len(seen.refused) == bool(words) and all(words in one for one in seen.refused)


def test_jobs_that_only_lack_a_score_need_no_site(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [Shape(steps=1)])
    (became,) = scan(run).outcomes.values()
    done = {("0", 0): became}
    assert tasks_on_sites([Job(task=a_task(), trial=0)], done) == ()
    assert len(tasks_on_sites([Job(task=a_task(), trial=0, reopen_at=1)], done)) == 1
    assert len(tasks_on_sites([Job(task=a_task(), trial=0), Job(task=a_task(), trial=1)], {})) == 1


TASKS = [
    {
        **{"task_id": number, "sites": ["shop"], "start_url": "__SHOP__", "intent": "look", "require_login": False},
        "eval": {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["x"]}},
    }
    for number in range(2)
]


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[tuple[str, ...]]:
    (tmp_path / "tasks.json").write_text(json.dumps(TASKS))
    (tmp_path / "conf" / "sites").mkdir(parents=True)
    with closed_port() as port:
        (tmp_path / "conf" / "sites" / "mine.yaml").write_text(
            f"embedded: false\nshop: {{url: http://127.0.0.1:{port}}}\n"
        )
        yield f"--config-dir={tmp_path / 'conf'}", "sites=mine", f"task.path={tmp_path / 'tasks.json'}", "agent=null"


def test_a_start_and_its_resume_refuse_a_dead_site_and_leave_no_folder(
    start_here: Callable[..., Start], settings: tuple[str, ...]
) -> None:
    for _ in range(2):
        done = start_here(*settings)
        assert done.code == 2 and not done.folder.exists()
        (line,) = done.err.splitlines()
        assert line.startswith("harness run: site shop cannot be reached at http://127.0.0.1:")


@pytest.mark.slow
def test_a_dry_run_says_what_is_missing(start_here: Callable[..., Start], settings: tuple[str, ...]) -> None:
    done = start_here(*settings, "run.dry=true")
    assert done.code == 0
    assert "site shop cannot be reached at" in done.out
    assert "2 tasks may need a judge, and none is set: what only a judge can decide stays unscored" in done.out
    assert not done.folder.exists()


def test_a_plan_says_it_too(harness_here: Callable[..., Start], settings: tuple[str, ...]) -> None:
    done = harness_here("plan", *settings)
    assert "site shop cannot be reached at" in done.out and "2 tasks may need a judge" in done.out
