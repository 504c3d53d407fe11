"""Hosts of this machine in every notation that a browser takes, and names that stand for them."""

import socket
from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from harness.browser.network import outbound
from harness.browser.network.allowlist import Allowlist
from harness.browser.network.local_addresses import host_of_page, literal, why_local, why_local_name
from harness.browser.network.outbound import NotAllowed, Outbound
from harness.errors import ActionFailed
from harness.records import Site

LOCAL = """127.0.0.1 127.1 127.255.0.9 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 0 0.0.0.0 0.1.2.3 ::1 :: ::ffff:127.0.0.1
::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 2002:7f00:1:: 169.254.169.254 fe80::1 fe80::1%eth0 ::ffff:169.254.1.1 100.100.100.200
168.63.129.16 fd00:ec2::254 224.0.0.1 ff02::1 255.255.255.255 localhost a.localhost""".split()
ELSEWHERE = [
    "192.0.2.1",
    "8.8.8.8",
    "10.250.0.9",
    "172.31.255.1",
    "2001:db8::1",
    "::ffff:192.0.2.1",
    "64:ff9b::c000:201",
]
SITE = Site(name="shop", url="http://10.250.0.9:8080", canonical="http://shop.test")
OWN = Site(name="forum", url="http://localhost:8081", canonical="http://forum.test")


@pytest.mark.parametrize("host", LOCAL)
def test_a_host_of_this_machine_is_seen_in_any_notation(host: str) -> None:
    assert why_local_name(host)


@pytest.mark.parametrize("host", [*ELSEWHERE, "example.test", "localhost.example", "mylocalhost", "127.0.0.1.example"])
def test_other_hosts_are_none_of_it(host: str) -> None:
    assert why_local_name(host) == ""
    assert (address := literal(host)) is None or why_local(address) == ""


def test_the_names_and_addresses_of_this_machine_itself() -> None:
    assert why_local_name(socket.gethostname().lower())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        assert why_local(ip_address(asking.getsockname()[0]))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://LOCALHOST./x", "localhost"),
        ("http://%6cocalhost:1/", "localhost"),
        ("http://①②⑦.0.0.1/", "127.0.0.1"),
        ("http:\\\\127.0.0.1\\x", "127.0.0.1"),
        ("http://a:b@[::1]:8/", "::1"),
        ("http://[bad", ""),
    ],
)
def test_the_host_of_an_address_is_read_as_a_browser_does(url: str, host: str) -> None:
    assert host_of_page(url) == host


def test_an_agent_may_not_open_what_is_local_unless_it_is_a_site() -> None:
    guard = Allowlist((SITE, OWN), allowed="any")
    for url in ("http://localhost:9999/", "https://example.test/", "http://10.250.0.9/tiles", "http://10.0.0.7/"):
        guard.check(url, shown=url)
    for host in LOCAL:
        url = f"http://[{host}]/" if ":" in host else f"http://{host}/"
        if host != "localhost":
            with pytest.raises(ActionFailed, match=r"cannot be opened: .* only a site of the run may be there"):
                guard.check(url, shown=url)


@pytest.mark.parametrize("addresses", [("127.0.0.1",), ("192.0.2.1", "::1"), ("::ffff:169.254.169.254",)])
async def test_a_name_that_stands_for_this_machine_is_not_connected_to(
    addresses: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look_up(_: str) -> Sequence[str]:
        return addresses

    monkeypatch.setattr(outbound, "_system_addresses", look_up)
    with pytest.raises(NotAllowed, match=r"^rebound\.test stands for "):
        await Outbound().connect("rebound.test", 80, Allowlist((SITE,), allowed="any").refusal)
