"""Whether an action reached a site that went down: not by the name of the error, but by what was written to a
connection.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest
import pytest_asyncio

from harness.actions import Click
from harness.browser.network.sending import SendingWatch
from harness.browser.session.chromium import ChromiumPool
from harness.errors import BrowserCrashed, InfraError, SiteUnavailable
from harness.records import Episode, Failed
from harness.testing import MemoryJournal
from tests.browser.conftest import QUICK, Visit, Web, a_task
from tests.journal.episodes import acted, decided, doubt, failed, folded, opened, resumed

browser = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
PAGE = (
    b"<form method=post action=/order><button>Order</button></form><a href=/next>Next</a>"
    b"<button onclick=\"fetch('/order', {method: 'POST'}).finally(() => location = '/next')\">Fetch</button>"
)


@dataclass
class Fragile:
    """A site that keeps its connections, and goes down when it is told to: all at once, or when it has read an order."""

    port: int = 0
    read: list[str] = field(default_factory=list)
    dies_of_an_order: bool = False
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def begin(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def end(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                method = head.partition(" ")[0]
                length = next(
                    (line.partition(":")[2] for line in head.lower().split("\r\n") if "content-length" in line), 0
                )
                await reader.readexactly(int(length))
                self.read.append(method)
                if method == "POST" and self.dies_of_an_order:
                    return self.end()
                top = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(PAGE)}\r\n\r\n"
                writer.write(top.encode() + PAGE)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


@pytest_asyncio.fixture(loop_scope="session")
async def fragile() -> AsyncIterator[Fragile]:
    site = Fragile()
    await site.begin()
    yield site
    site.end()


async def broken(web: Web, site: Fragile, role: str, name: str, *, clean: tuple[str, ...] = ()) -> InfraError:
    """What a click on a site that goes down comes to; the site is up again when it has been waited for."""
    own = replace(web.site, url=f"http://t0.shop.localhost:{site.port}")
    task = a_task(web)
    async with web.pool(replace(QUICK, navigation_timeout_s=3.0), own) as pool, pool.open(task, 0) as env:
        visit = Visit(env, (await env.restore(task, Episode(), clean)).view)
        click = Click(target=visit.target(role, name))
        if not site.dies_of_an_order:
            site.end()
        with pytest.raises(SiteUnavailable) as raised:
            await env.act(click)
        return raised.value


class TestInABrowser:
    pytestmark = browser

    @pytest.mark.sample(1)
    @pytest.mark.parametrize(("role", "name"), [("button", "Order"), ("link", "Next"), ("button", "Fetch")])
    async def test_an_action_whose_requests_found_no_connection_was_not_sent(
        self, web: Web, fragile: Fragile, role: str, name: str
    ) -> None:
        assert (await broken(web, fragile, role, name)).unsent
        assert "POST" not in fragile.read

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["Order", "Fetch"])
    async def test_one_that_the_site_has_read_was_sent_although_the_connection_was_refused(
        self, web: Web, fragile: Fragile, name: str
    ) -> None:
        """Chromium repeats a request on a new connection; that the new one is refused says nothing of the old one."""
        fragile.dies_of_an_order = True
        assert not (await broken(web, fragile, "button", name)).unsent
        assert "POST" in fragile.read

    async def test_a_change_that_found_no_connection_is_a_failure_also_if_the_site_answers_again(
        self, web: Web, fragile: Fragile
    ) -> None:
        """The page does not show it: it would be lost without a word."""
        own = replace(web.site, url=f"http://t0.shop.localhost:{fragile.port}")
        task = a_task(web)
        async with web.pool(QUICK, own) as pool, pool.open(task, 0) as env:
            visit = Visit(env, (await env.restore(task, Episode())).view)
            page = env._window.tabs.current.page
            back = asyncio.Event()

            async def again() -> None:
                await page.wait_for_event("requestfailed", lambda request: request.method == "POST")
                await fragile.begin()
                back.set()

            fragile.end()
            async with asyncio.TaskGroup() as group:
                group.create_task(again())
                with pytest.raises(SiteUnavailable, match="accepted no connection"):
                    await visit.act(Click(target=visit.target("button", "Fetch")))
            assert back.is_set()

    async def test_what_a_page_could_not_send_after_the_last_step_is_a_failure(
        self, web: Web, fragile: Fragile
    ) -> None:
        own = replace(web.site, url=f"http://t0.shop.localhost:{fragile.port}")
        task = a_task(web)
        async with web.pool(QUICK, own) as pool, pool.open(task, 0) as env:
            await env.restore(task, Episode())
            page = env._window.tabs.current.page
            fragile.end()
            async with page.expect_event("requestfailed"):
                await page.evaluate("fetch('/order', {method: 'POST'}).catch(() => 0)")
            await fragile.begin()
            with pytest.raises(SiteUnavailable, match="accepted no connection"):
                await env.gather(task)

    @pytest.mark.slow
    async def test_on_a_site_that_is_reset_before_the_next_try_it_is_not_asked(
        self, web: Web, fragile: Fragile
    ) -> None:
        assert not (await broken(web, fragile, "button", "Order", clean=("shop",))).unsent

    async def test_an_action_that_was_not_begun_because_the_browser_was_gone_was_not_sent(self, web: Web) -> None:
        web.page("/", "<button>Order</button>")
        task = a_task(web)
        async with ChromiumPool(QUICK, sites=lambda _: (web.site,)) as pool:
            async with pool.open(task, 0) as env:
                visit = Visit(env, (await env.restore(task, Episode())).view)
                click = Click(target=visit.target("button", "Order"))
                await pool._current[0].browser.close()
                with pytest.raises(BrowserCrashed) as raised:
                    await env.act(click)
                assert raised.value.unsent


# --- the proof, event by event ---------------------------------------------------------------------

REFUSED = "net::ERR_CONNECTION_REFUSED"


def begun(id: str, url: str = "http://a.test/", **more: object) -> tuple[str, dict[str, object]]:
    return "_begun", {"requestId": id, "request": {"url": url}, **more}


def gone(id: str, error: str = REFUSED) -> tuple[str, dict[str, object]]:
    return "_failed", {"requestId": id, "errorText": error}


WRITTEN = ("_wrote", {"requestId": "1"})


@pytest.mark.parametrize(
    ("events", "requests", "nothing"),
    [
        ([begun("1"), gone("1")], 1, True),
        ([begun("1"), gone("1", "net::ERR_NAME_NOT_RESOLVED")], 1, True),
        ([begun("1"), gone("1"), begun("2"), gone("2", "net::ERR_ADDRESS_UNREACHABLE")], 2, True),
        ([begun("1"), gone("1"), begun("2", "data:text/plain,x")], 1, True),
        ([], 0, False),
        ([begun("1")], 1, False),
        ([begun("1"), gone("1")], 2, False),
        ([begun("1"), gone("1"), begun("2")], 2, False),
        ([begun("1"), WRITTEN, gone("1")], 1, False),
        ([WRITTEN, begun("1"), gone("1")], 1, False),
        ([begun("1"), begun("1", redirectResponse={}), gone("1")], 1, False),
        ([begun("1"), gone("1"), ("_spoke", {})], 1, False),
        *(
            ([begun("1"), gone("1", f"net::ERR_{error}")], 1, False)
            for error in (
                "CONNECTION_RESET",
                "EMPTY_RESPONSE",
                "TIMED_OUT",
                "CONNECTION_TIMED_OUT",
                "ABORTED",
                "FAILED",
            )
        ),
    ],
)
def test_nothing_was_sent_if_every_request_is_known_to_have_found_no_connection(
    *, events: list[tuple[str, dict[str, object]]], requests: int, nothing: bool
) -> None:
    watch = SendingWatch()
    for name, event in [begun("0"), ("_wrote", {"requestId": "0"})]:
        getattr(watch, name)(event)
    watch.action_begins()
    for name, event in events:
        getattr(watch, name)(event)
    assert watch.sent_nothing(requests) is nothing


# --- what the journal makes of it ------------------------------------------------------------------

UNSENT: Failed = replace(failed(), unsent=True)
BEGINNING = (opened(), acted(0), decided(1))


@pytest.mark.parametrize(
    ("then", "in_doubt"),
    [
        ((), True),
        ((UNSENT,), False),
        ((UNSENT, replace(failed(), boundary="restore")), False),
        ((UNSENT, replace(failed(), boundary="worker")), False),
        ((UNSENT, resumed(0)), True),
        ((UNSENT, resumed(0), UNSENT), False),
        ((failed(),), True),
        ((doubt(1), UNSENT, acted(1), decided(2)), True),
    ],
)
def test_an_unsent_action_is_in_no_doubt_until_it_may_be_performed_again(
    *, then: tuple[Failed, ...], in_doubt: bool
) -> None:
    journal = MemoryJournal((*BEGINNING, *then))
    assert journal.episode.is_in_doubt is in_doubt
    assert folded((*BEGINNING, *then)).is_in_doubt is in_doubt
