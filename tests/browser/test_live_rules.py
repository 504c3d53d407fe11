"""The rules of the live web: hosts, robots.txt, pace over processes, and what is a block page."""

import json
import subprocess
import sys
import tracemalloc
from asyncio import gather
from itertools import pairwise
from pathlib import Path

import pytest

from harness.browser.visit_policy import NO_VISITS, chosen
from harness.errors import ConfigError
from harness.plugins.live.blocks import PageFacts, recognise
from harness.plugins.live.gate import LiveGate
from harness.plugins.live.pace import Pace
from harness.plugins.live.robots import RobotsCache, parse
from harness.plugins.live.rules import LiveRules, covers, is_private
from tests.live_stub import Page, live_stub


@pytest.mark.parametrize(
    ("pattern", "host", "covered"),
    [
        ("a.com", "a.com", True),
        ("a.com", "www.a.com", True),
        ("a.com", "ba.com", False),
        ("a.com", "a.com.evil.org", False),
        ("*.a.com", "a.com", False),
        ("*.a.com", "x.y.a.com", True),
        ("*", "anything", True),
    ],
)
def test_a_host_is_itself_and_what_is_below_it(pattern: str, host: str, covered: bool) -> None:
    assert covers((pattern,), host) is covered


@pytest.mark.parametrize(
    ("host", "private"),
    [
        *(("localhost", True), ("a.localhost", True), ("127.0.0.1", True), ("[::1]", True), ("::1", True)),
        *(("10.1.2.3", True), ("169.254.169.254", True), ("printer.local", True), ("intranet", True), ("0x7f.1", True)),
        *(("2130706433", True), ("example.com", False), ("8.8.8.8", False), ("", True), ("fd00::1", True)),
        *(("2606:4700::1111", False), ("metadata.google.internal", True), ("127.1", True)),
    ],
)
def test_addresses_of_this_machine_and_network_are_not_the_live_web(host: str, private: bool) -> None:
    assert is_private(host) is private


def test_deny_wins_over_allow_and_private_hosts_need_to_be_allowed() -> None:
    rules = LiveRules(allow=("a.com", "localhost"), deny=("ads.a.com",))
    assert rules.refusal("https://www.a.com/x") == "" and rules.refusal("http://t.localhost:1/") == ""
    assert "denied" in rules.refusal("https://x.ads.a.com/") and "allowed hosts" in rules.refusal("https://b.com/")
    assert "this machine" in LiveRules().refusal("http://127.0.0.1:8080/") and LiveRules().refusal("http://b.com") == ""
    assert rules.resolver_rules == "MAP ads.a.com ~NOTFOUND, MAP *.ads.a.com ~NOTFOUND"


ROBOTS = """
User-agent: other
User-agent: Cairn  # us
Disallow: /private
Allow: /private/open
Disallow: /*.pdf$
Disallow: /q*x*y

User-agent: *
Disallow: /

User-agent: cairn
Disallow: /late
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        *(("/", True), ("/private", False), ("/private/open/1", True), ("/privately", False), ("/a.pdf", False)),
        *(("/a.pdf?x", True), ("/q1x2y", False), ("/qy", True), ("/late", False), ("/robots.txt", True)),
    ],
)
def test_robots_txt_is_read_as_rfc_9309_says(path: str, allowed: bool) -> None:
    assert parse(ROBOTS, "cairn").can_fetch(f"https://a.com{path}", "cairn") is allowed


def test_without_rules_for_us_those_for_all_count() -> None:
    assert not parse(ROBOTS, "nobody").can_fetch("https://a.com/", "nobody")
    for text in ("", "nonsense\n:::", "User-agent: *\nDisallow:", "User-agent: c\nDisallow: /"):
        assert parse(text, "cairn").can_fetch("https://a.com/x", "cairn")
    wild = "Disallow: /\nUser-agent: *\nDisallow: /" + "a*" * 15
    assert not parse(wild, "cairn").can_fetch("https://a.com/" + "a" * 50, "cairn")


def test_neither_a_byte_order_mark_nor_a_comment_takes_a_rule_away() -> None:
    for text in (
        "\ufeffUser-agent: *\nDisallow: /private",
        "\ufeffUser-agent: cairn\nDisallow: /private",
        f"User-agent: *\nDisallow: /private # {'*' * 40}",
        f"User-agent: * # {'*' * 40}\nDisallow: /private",
    ):
        assert not parse(text, "cairn").can_fetch("https://a.com/private", "cairn"), text


def test_a_bomb_of_wildcards_is_no_rule() -> None:
    bomb = f"User-agent: *\nDisallow: /{'a*' * 1000}b"
    assert parse(bomb, "cairn").can_fetch(f"https://a.com/{'a' * 2000}b", "cairn")


@pytest.mark.parametrize("field", ["User-agent:", "useragent :", "USER AGENT", " user-agent "])
def test_many_agents_with_many_rules_take_little_memory(field: str) -> None:
    named = "\n".join(f"{field} a{number}" for number in range(1000))
    ruled = "\n".join(f"Disallow: /{number}" for number in range(2000))
    tracemalloc.start()
    try:
        robots = parse(f"{named}\nUser-agent: cairn\n{ruled}", "cairn")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert not robots.can_fetch("https://a.com/1999", "cairn") and robots.can_fetch("https://a.com/x", "cairn")


@pytest.mark.parametrize(
    ("status", "body", "allowed"),
    [(404, "", True), (200, "User-agent: *\nDisallow: /x", False), (503, "", False), (200, "User-agent: *", True)],
)
async def test_robots_txt_is_asked_once(status: int, body: str, allowed: bool) -> None:
    with live_stub(lambda host, path: Page(body, status) if path == "/robots.txt" else None) as web:
        cache = RobotsCache("cairn")
        for _ in range(3):
            assert (await cache.refusal(web.url("a", "/x")) == "") is allowed
        assert len(web.asked) == 1
        assert "robots.txt of a.localhost" in await cache.refusal(web.url("a", "/x")) or allowed


async def test_pages_that_are_opened_at_once_are_counted_before_robots_txt_is_there() -> None:
    rules = "User-agent: *\nDisallow: /private"
    with live_stub(lambda host, path: Page(rules) if path == "/robots.txt" else None) as web:
        gate = LiveGate(LiveRules(allow=("localhost",), pages_per_host=2))
        first = await gather(*(gate._refusal(web.url("a", "/private"), "one") for _ in range(2)))
        assert all("robots.txt" in why for why in first), "what is not opened does not count"
        assert await gate._refusal(web.url("a", "/0"), "one") == ""
        gate = LiveGate(LiveRules(allow=("localhost",), pages_per_host=1))
        forbidden, allowed = await gather(*(gate._refusal(web.url("a", path), "one") for path in ("/private", "/0")))
        assert "robots.txt" in forbidden and allowed == "", "nor while robots.txt is asked for"
        gate = LiveGate(LiveRules(allow=("localhost",), pages_per_host=2))
        whys = await gather(*(gate._refusal(web.url("a", f"/{number}"), "one") for number in range(5)))
    refused = [why for why in whys if why]  # any three: they are asked for at the same time
    assert len(refused) == 3 and all(
        "the 2 pages that may be opened on a.localhost are used up" in why for why in refused
    )


async def test_a_host_without_an_answer_is_not_opened() -> None:
    assert "robots.txt" in await RobotsCache("cairn").refusal("http://a.localhost:9/")


async def test_pages_of_one_host_keep_their_distance_and_unused_places_are_given_back(tmp_path: Path) -> None:
    now, slept = [100.0], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    pace = Pace(tmp_path, 5.0, clock=lambda: now[0], sleep=sleep)
    first = await pace.wait("a.com")
    await pace.give_back(first)
    assert (await pace.wait("a.com")).at == 100.0 and slept == []
    assert (await pace.wait("b.com")).at == 100.0, "each host has its own row"
    second = await pace.wait("a.com")
    assert second.at == 105.0 and slept == [5.0]
    third = await pace.wait("a.com")
    await pace.give_back(second)
    assert third.at == 110.0 and (await pace.wait("a.com")).at == 115.0, "a place that others queue behind stays used"


async def test_a_clock_that_is_set_back_keeps_no_host_waiting(tmp_path: Path) -> None:
    now, slept = [7300.0], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    pace = Pace(tmp_path, 5.0, clock=lambda: now[0], sleep=sleep)
    await pace.wait("a.com")
    now[0] -= 3600
    assert (await pace.wait("a.com")).at == 3705.0 and slept == [5.0]


@pytest.mark.integration
def test_processes_share_the_row(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys, json; from pathlib import Path; from harness.plugins.live.pace import Pace\n"
        "async def main():\n"
        "    pace = Pace(Path(sys.argv[1]), 0.05)\n"
        "    print(json.dumps([(await pace.wait('a.com')).at for _ in range(10)]))\n"
        "asyncio.run(main())"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) for _ in range(3)
    ]
    places = sorted(at for process in started for at in json.loads(process.communicate()[0]))
    assert len(places) == 30
    assert all(after - before > 0.0499 for before, after in pairwise(places))


BLOCKED = [
    PageFacts(url="http://a/", status=403, headers={"CF-Mitigated": "challenge"}),
    PageFacts(url="http://a/", status=200, headers={"cf-mitigated": "challenge"}),
    PageFacts(url="http://a/", status=403, title="Attention Required! | Cloudflare"),
    PageFacts(url="http://a/", status=503, ids=("cf-wrapper",)),
    PageFacts(url="http://a/", status=429, text="Error 1015 you are being rate limited"),
    PageFacts(url="http://a/", status=429, title="Too Many Requests"),
    PageFacts(url="http://a/", status=403, sources=("https://geo.captcha-delivery.com/captcha/?x",)),
    PageFacts(url="http://a/", status=403, text="You don't have permission to access this. errors.edgesuite.net"),
    PageFacts(url="http://a/", status=403, ids=("px-captcha",)),
    PageFacts(url="https://www.google.com/sorry/index?continue=x", status=429),
    PageFacts(url="http://a/", sources=("https://js.hcaptcha.com/1/api.js",), text="Verify you are human", length=40),
    PageFacts(
        url="http://a/",
        status=200,
        title="Just a moment...",
        sources=("https://a/cdn-cgi/challenge-platform/h/b/x.js",),
    ),
    PageFacts(
        url="http://a/",
        status=200,
        sources=("https://www.google.com/recaptcha/api.js",),
        text="I'm not a robot",
        length=30,
    ),
]
FREE = [
    PageFacts(url="http://a/", status=403, title="Forbidden", text="403 Forbidden"),
    PageFacts(url="http://a/", status=503, text="We are down for maintenance."),
    PageFacts(url="http://a/", status=404, text="There is no such page."),
    PageFacts(
        url="http://a/", status=200, sources=("https://www.google.com/recaptcha/api.js",), text="Welcome", length=60
    ),
    PageFacts(
        url="http://a/login",
        status=200,
        sources=("https://hcaptcha.com/1/api.js",),
        text="Log in. Verify you are human",
        length=90,
        fields=2,
    ),
    PageFacts(
        url="http://a/article", status=200, text="How 'just a moment' checks work at Cloudflare " * 40, length=1840
    ),
    PageFacts(url="http://a/", status=200, headers={"x-datadome": "protected"}, text="Shop"),
    PageFacts(url="http://a/", status=200, headers={"server": "cloudflare"}, text="Shop"),
]


@pytest.mark.parametrize("page", BLOCKED)
def test_a_page_that_keeps_visitors_out_is_recognised(page: PageFacts) -> None:
    assert recognise(page).startswith(page.url)


@pytest.mark.parametrize("page", FREE)
def test_other_pages_are_not(page: PageFacts) -> None:
    assert recognise(page) == ""


def test_what_a_page_says_of_itself_is_bounded() -> None:
    facts = PageFacts.of({"title": "x" * 9999, "length": -1, "sources": "no list", "fields": 1e99, "ids": [1]}, url="u")
    assert (len(facts.title), facts.length, facts.sources, facts.fields, facts.ids) == (300, 0, (), 0, ("1",))
    assert PageFacts.of(None, url="u") == PageFacts(url="u")


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"allows": []}, "sites.live.allows is unknown; known keys: agent, allow"),
        ({"deny": "a.com"}, "sites.live.deny must be a list of hosts"),
        ({"deny": ["http://a.com"]}, "sites.live.deny: 'http://a.com' is not a host"),
        ({"deny": ["a.com, MAP * 1.2.3.4"]}, "is not a host"),
        ({"pages_per_minute": 0}, "sites.live.pages_per_minute=0 cannot be used"),
        ({"robots": "no"}, "sites.live.robots='no' cannot be used; it is true or false"),
        ({"agent": "a b"}, "is not a product token"),
        ([], "sites.live must be a mapping"),
    ],
)
def test_a_wrong_setting_is_one_sentence(tree: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence.replace("*", r"\*")):
        LiveRules.read(tree)


def test_settings_become_rules() -> None:
    assert chosen({"live": None}) == chosen({}) == NO_VISITS
    live = {"live": {"allow": ["A.com."], "pages_per_minute": 60}}
    assert chosen(live) == LiveRules(allow=("a.com",), pages_per_minute=60.0)
