"""Reset hooks from settings: real commands and requests, and one sentence when they do not work."""

import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from harness.browser.network.reset_request import retry_until_ok
from harness.browser.network.site_health import WaitPolicy
from harness.config.site_settings import SitesSettings, read_sites
from harness.episode.job import Job
from harness.errors import ConfigError, SiteUnavailable
from harness.evaluation.build_locks import shared_sites
from harness.evaluation.reset_hooks import build_reset_hooks, unresettable
from harness.journal.site_log import SiteInstance
from harness.records import Eval, Task
from harness.runner.dirty_sites import DirtySites
from harness.runner.scheduler import Scheduler
from harness.runner.site_locks import LockPlanner
from harness.secrets.redaction import Redactor
from harness.secrets.secret_detection import secrets_in
from tests.waiting import alive, until

pytestmark = pytest.mark.integration
BOTH = (SiteInstance("shop", "http://shop.test"), SiteInstance("forum", "http://forum.test"))


def configured(**sites: Any) -> SitesSettings:
    places = {name: {"url": f"http://{name}.test", "canonical": f"http://{name}.example"} for name in ("shop", "forum")}
    for name, more in sites.items():
        places[name] = {**places.get(name, {}), **more}
    return read_sites({"embedded": False, **places})


def a_task(*sites: str, require_reset: bool = True) -> Task:
    return Task(
        task_id="7", sites=sites, intent="x", start_urls=(), eval=Eval(eval_types=()), require_reset=require_reset
    )


@pytest.fixture
def posted() -> Iterator[tuple[str, list[str]]]:
    """A server that notes what is posted to it.

    `/503` and `/404` always answer so, `/soon` with 503 the first two times, and `/never` not before the test is over;
    `/admin` leads to a login, and `/form` back to itself.
    """
    seen: list[str] = []
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.path)
            if self.path == "/never":
                over.wait()
            asked_again = self.path == "/soon" and seen.count("/soon") > 2
            answers = {"/503": 503, "/404": 404, "/soon": 204 if asked_again else 503, "/admin": 302, "/form": 303}
            self.send_response(answers.get(self.path, 204))
            if (to := {"/admin": "/login", "/form": "/form"}.get(self.path)) is not None:
                self.send_header("location", to)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            page = b"<form><input name=secret type=password></form>"
            self.send_response(200)
            self.send_header("content-length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("reset", "together"),
    [
        ({"command": "./reset"}, []),
        ({"command": "./reset", "scope": "all"}, ["forum", "shop"]),
        ({"url": "http://reset.test/"}, ["forum", "shop"]),
        ({"url": "{url}/reset"}, []),
        ({"url": "{url}/reset", "scope": "all"}, ["forum", "shop"]),
        ({"scope": "all"}, []),
    ],
)
def test_sites_that_can_only_be_reset_together(reset: dict[str, str], together: list[str]) -> None:
    hooks = build_reset_hooks(
        configured(reset=reset, wiki={"url": "http://wiki.test", "reset_command": "./reset-wiki"})
    )
    assert sorted(hooks.together(["shop", "forum", "wiki"])) == together


async def test_one_command_for_all_runs_once_and_is_told_what_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sites = configured(reset={"command": f'echo "$CAIRN_SITES for $CAIRN_TASK" >> {log}'})
    await build_reset_hooks(sites).reset(BOTH, a_task("shop", "forum"))
    assert log.read_text() == "shop,forum for 7\n"


async def test_a_site_of_its_own_goes_before_what_is_for_all(tmp_path: Path, posted: tuple[str, list[str]]) -> None:
    base, seen = posted
    log = tmp_path / "log"
    sites = configured(reset={"command": f"echo $CAIRN_SITES >> {log}"}, shop={"reset_url": f"{base}/again"})
    await build_reset_hooks(sites).reset(BOTH, a_task("shop", "forum"))
    assert seen == ["/again"]
    assert log.read_text() == "forum\n"


async def test_a_command_that_fails_at_first_is_run_ever_more_slowly_until_it_works(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said: list[str] = []
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    command = f"echo busy >> {log}; echo the disk is full; test $(wc -l < {log}) -ge 3 || exit 3"
    sites = configured(reset={"command": command})
    await build_reset_hooks(
        sites, WaitPolicy(limit_s=30.0, tell=lambda note: said.append(note) if note else None, sleep=sleep)
    ).reset(BOTH, a_task("shop", "forum"))
    assert (log.read_text(), pauses) == ("busy\n" * 3, [0.5, 1.0])
    assert said == [
        "sites.reset.command for shop, forum: it ended with code 3 (the disk is full); retrying for up to 30 s"
    ]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo the disk; echo is full; exit 3", r"ended with code 3 \(is full\)"),
        ("exit 3", r"ended with code 3;"),
        ("sleep 600", r"did not finish within 0\.2 s \(sites\.reset\.timeout_s\)"),
    ],
)
async def test_a_command_that_fails_all_the_time_is_the_worlds_doing(tmp_path: Path, command: str, why: str) -> None:
    log = tmp_path / "log"
    sites = configured(reset={"timeout_s": 0.2}, shop={"reset_command": f"echo {{url}} >> {log}; {command}"})
    with pytest.raises(SiteUnavailable, match=rf"^sites\.shop\.reset_command: it (was )?{why}.* gave up after \d s$"):
        await build_reset_hooks(sites, WaitPolicy(limit_s=0.3)).reset(BOTH[:1], a_task("shop"))
    assert log.read_text() == "http://shop.test\n" * 2


async def test_a_command_that_takes_too_long_leaves_no_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sites = configured(reset={"timeout_s": 0.2}, shop={"reset_command": f"sleep 600 & echo $! >> {log}; wait"})
    with pytest.raises(SiteUnavailable):
        await build_reset_hooks(sites, WaitPolicy(limit_s=0.01)).reset(BOTH[:1], a_task("shop"))
    started = [int(line) for line in log.read_text().split()]
    assert started
    await until(lambda: not alive(started))


async def test_what_a_command_printed_is_told_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "hush-1234-hush")
    sites = configured(shop={"reset_command": "echo no access for $SHOP_TOKEN; exit 1"})
    said: list[str] = []
    with pytest.raises(SiteUnavailable) as failed:
        await build_reset_hooks(
            sites, WaitPolicy(limit_s=0.01, tell=said.append), Redactor(secrets_in(os.environ)).text
        ).reset(BOTH[:1], a_task("shop"))
    assert len(said) == 1
    for sentence in (*said, str(failed.value)):
        assert "no access for [redacted:SHOP_TOKEN]" in sentence and "hush" not in sentence


@pytest.mark.parametrize(("command", "code"), [("cd / && ./no-such-command", 127), ("true; /etc/passwd", 126)])
async def test_a_command_that_is_not_there_is_a_mistake_and_is_tried_once(
    tmp_path: Path, command: str, code: int
) -> None:
    log = tmp_path / "log"
    sites = configured(reset={"command": f"echo tried >> {log}; {command}"})
    with pytest.raises(
        ConfigError, match=rf"^sites\.reset\.command for shop: it ended with code {code} .* to continue$"
    ):
        await build_reset_hooks(sites).reset(BOTH[:1], a_task("shop"))
    assert log.read_text() == "tried\n"


@pytest.mark.parametrize("command", ["no-such-command", "./no-such-command {url}", "/etc/passwd; true", "~/nowhere&&x"])
def test_a_command_that_cannot_be_run_is_found_without_running_it(command: str) -> None:
    word = command.partition(" ")[0].rstrip("&x;")
    assert list(build_reset_hooks(configured(shop={"reset_command": command})).missing()) == [
        f"sites.shop.reset_command: there is no command {word}, or it is not executable; correct it or give its path"
    ]
    (sentence,) = build_reset_hooks(configured(reset={"command": command})).missing()
    assert sentence.startswith("sites.reset.command: ")


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "  /bin/sh -c x",
        "exit 3",
        "cd /srv && ./x",
        ": ; x",
        "if true; then x; fi",
        "A=b x",
        "$(touch y)",
        "(x)",
    ],
)
def test_what_the_shell_knows_or_nobody_can_tell_is_not_called_missing(command: str) -> None:
    assert list(build_reset_hooks(configured(reset={"command": command})).missing()) == []


async def test_an_address_that_refuses_is_a_mistake_and_is_asked_once(posted: tuple[str, list[str]]) -> None:
    base, seen = posted
    refusing = configured(shop={"reset_url": f"{base}/404"})
    with pytest.raises(ConfigError, match=r"^sites\.shop\.reset_url: .*/404 answers 404; fix it and .* to continue$"):
        await build_reset_hooks(refusing).reset(BOTH[:1], a_task("shop"))
    assert seen == ["/404"]


async def test_an_address_that_leads_to_a_login_has_reset_nothing(posted: tuple[str, list[str]]) -> None:
    base, seen = posted
    admin, form = (configured(shop={"reset_url": f"{base}/{path}"}) for path in ("admin", "form"))
    with pytest.raises(
        ConfigError, match=r"^sites\.shop\.reset_url: .*/admin leads to a login, .*/login; use an address"
    ):
        await build_reset_hooks(admin).reset(BOTH[:1], a_task("shop"))
    assert seen == ["/admin"]
    await build_reset_hooks(form).reset(BOTH[:1], a_task("shop"))  # its page may say anything


async def test_an_address_that_is_not_up_yet_is_asked_ever_more_slowly_until_it_is(
    posted: tuple[str, list[str]],
) -> None:
    base, seen = posted
    said: list[str] = []
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    sites = configured(shop={"reset_url": f"{base}/soon"})
    await build_reset_hooks(
        sites, WaitPolicy(limit_s=30.0, tell=lambda note: said.append(note) if note else None, sleep=sleep)
    ).reset(BOTH[:1], a_task("shop"))
    assert (seen, pauses) == (["/soon"] * 3, [0.5, 1.0])
    assert said == [f"sites.shop.reset_url: {base}/soon answers 503; retrying for up to 30 s"]


@pytest.mark.parametrize(
    ("path", "why"), [("/503", "answers 503"), ("/never", r"does not answer \(timed out\)"), (None, "refused")]
)
async def test_an_address_that_stays_away_is_the_worlds_doing(
    posted: tuple[str, list[str]], path: str | None, why: str
) -> None:
    base, seen = posted
    hook = "http://127.0.0.1:9/again" if path is None else base + path  # nobody listens on the discard port
    sites = configured(reset={"timeout_s": 0.2}, shop={"reset_url": hook})
    with pytest.raises(SiteUnavailable, match=f"sites.shop.reset_url: .*{why}"):
        await build_reset_hooks(sites, WaitPolicy(limit_s=0.3)).reset(BOTH[:1], a_task("shop"))
    assert path is None or seen == [path] * 2


async def test_a_hook_that_names_the_url_is_called_for_every_instance(
    tmp_path: Path, posted: tuple[str, list[str]]
) -> None:
    base, seen = posted
    log = tmp_path / "log"
    two = (SiteInstance("shop", f"{base}/a"), SiteInstance("shop", f"{base}/b"))
    per_site = {"instances": [one.url for one in two], "reset_url": "{url}/again"}
    await build_reset_hooks(configured(shop=per_site)).reset(two, a_task("shop"))
    await build_reset_hooks(configured(reset={"url": "{url}/all"})).reset(two, a_task("shop"))
    assert seen == ["/a/again", "/b/again", "/a/all", "/b/all"]
    command = f'echo "{{url}} of $CAIRN_URLS" >> {log}'
    await build_reset_hooks(configured(reset={"command": command})).reset(two, a_task("shop"))
    assert log.read_text() == "".join(f"{one.url} of {one.url}\n" for one in two)


async def test_a_command_for_all_is_told_where_they_are(tmp_path: Path) -> None:
    log = tmp_path / "log"
    await build_reset_hooks(configured(reset={"command": f"echo $CAIRN_URLS >> {log}"})).reset(
        BOTH, a_task("shop", "forum")
    )
    assert log.read_text() == "http://shop.test,http://forum.test\n"


def test_tasks_that_ask_in_vain_are_found() -> None:
    tasks = [a_task("shop"), a_task("forum"), a_task("shop", require_reset=False)]
    assert len(unresettable(configured(), tasks)) == 2
    assert len(unresettable(configured(shop={"reset_command": "true"}), tasks)) == 1
    assert unresettable(configured(reset={"command": "true"}), tasks) == []


@pytest.mark.parametrize(
    ("sites", "word"),
    [
        ({"reset": {"comand": "x"}}, "comand"),
        ({"reset": {"timeout_s": "soon"}}, "timeout_s"),
        ({"reset": {"command": 7}}, "sites.reset.command"),
        ({"reset": {"url": "shop.test/again"}}, "sites.reset.url must be an address with http"),
        ({"shop": {"reset_url": "/again"}}, "sites.shop.reset_url must be an address with http"),
        ({"shop": {"reset_command": ["x"]}}, "sites.shop.reset_command"),
        ({"reset": {"when": "never"}}, "sites.reset.when='never'"),
        (
            {"shop": {"reset_url": "http://x/again", "instances": ["http://b.test"]}},
            "must contain {url}: .* 2 instances",
        ),
        ({"shop": {"instances": "http://b.test"}}, "sites.shop.instances must be a list"),
        ({"shop": {"instances": ["b.test"]}}, r"sites.shop.instances\[0\] must be an address"),
    ],
)
def test_wrong_settings_are_named(sites: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        build_reset_hooks(configured(**sites))


NAMED = {"shop": {"reset_command": "true"}}


@pytest.mark.parametrize(
    ("sites", "covered"),
    [
        ({"reset": {"command": "true"}}, {"shop", "unknown", ""}),
        ({"reset": {"url": "http://x.test/reset"}}, {"shop", "unknown", ""}),
        ({"reset": {"command": "reset {url}"}}, {"shop"}),
        (NAMED, {"shop"}),
        ({}, set()),
    ],
)
def test_a_hook_for_all_is_for_tasks_on_sites_without_settings_too(sites: dict[str, Any], covered: set[str]) -> None:
    read = configured(**sites)
    found = build_reset_hooks(read)
    assert {site for site in ("shop", "unknown", "") if found.covers(site)} == covered
    tasks = [a_task("shop"), a_task("unknown"), a_task()]
    assert unresettable(read, tasks) == ["7"] * (3 - len(covered))
    assert {site for site in ("unknown", "") if site in shared_sites(read, tasks).instances} == covered - {"shop"}


async def test_a_task_on_a_site_without_settings_finds_it_reset(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sites = configured(reset={"command": f'echo "$CAIRN_SITES at $CAIRN_URLS" >> {log}'})
    task = a_task("elsewhere", require_reset=False)
    hooks, shared = build_reset_hooks(sites), shared_sites(sites, [task])
    able = [site for site in shared.instances if hooks.covers(site)]
    upkeep = DirtySites(hooks.reset, able)
    async with Scheduler([Job(task=task)], LockPlanner(shared, (), lambda *_: None), upkeep) as schedule:
        job = await schedule.take(0)
    assert job is not None and job.clean == ("elsewhere",)
    assert log.read_text() == "elsewhere at elsewhere\n"


@pytest.mark.parametrize(
    ("reset", "together"),
    [
        ({"url": "http://x.test/reset"}, {"shop", "forum"}),
        ({"url": "{url}/reset"}, set()),
        ({"command": "true"}, set()),
    ],
)
def test_an_address_that_cannot_be_told_which_sites_are_meant_resets_them_all(
    reset: dict[str, Any], together: set[str]
) -> None:
    sites = configured(reset=reset)
    assert shared_sites(sites, ()).together == together
    assert "shop" not in shared_sites(configured(reset=reset, **NAMED), ()).together


async def test_the_time_that_is_left_is_told_at_once_and_every_half_a_minute() -> None:
    clock, said = [100.0], list[str]()

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    patience = WaitPolicy(limit_s=70.0, tell=said.append, sleep=sleep, monotonic=lambda: clock[0])

    async def attempt() -> str | None:
        return "it answers 503" if clock[0] < 165.0 else None

    await retry_until_ok(attempt, hook="reset", patience=patience)
    *told, ended = said
    left = [float(one.removeprefix("reset: it answers 503; retrying for up to ").removesuffix(" s")) for one in told]
    assert left[0] == 70.0 and len(left) == 3 and ended == ""
    assert all(earlier - later >= 30.0 for earlier, later in pairwise(left)), left
