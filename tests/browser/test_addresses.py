"""The two names of an address never leak into longer ones."""

from urllib.parse import quote

import pytest

from harness.browser.network import site_health
from harness.browser.network.addresses import Addresses, SiteFinder
from harness.browser.network.allowlist import Allowlist
from harness.errors import SiteUnavailable
from harness.records import Site

SHOP = Site(name="shop", url="http://t3.shop.localhost:41873", canonical="http://shop.localhost")
ADMIN = Site(name="shopping_admin", url="http://box:7780/admin", canonical="http://luma.com/admin")
STORE = Site(name="shopping", url="http://box:7780", canonical="http://store.com")


@pytest.mark.parametrize(
    ("real", "canonical"),
    [
        ("http://t3.shop.localhost:41873", "http://shop.localhost"),
        ("http://t3.shop.localhost:41873/cart?a=1#x", "http://shop.localhost/cart?a=1#x"),
        ("https://t3.shop.localhost:41873/cart", "http://shop.localhost/cart"),
        ("HTTP://T3.Shop.Localhost:41873/Cart", "http://shop.localhost/Cart"),
        ("see http://t3.shop.localhost:41873.", "see http://shop.localhost."),
        ("'http://t3.shop.localhost:41873'", "'http://shop.localhost'"),
        ("//t3.shop.localhost:41873/a", "//shop.localhost/a"),
        ("?next=http%3A%2F%2Ft3.shop.localhost%3A41873%2Fcart", "?next=http%3A%2F%2Fshop.localhost%2Fcart"),
        ("host t3.shop.localhost:41873 here", "host shop.localhost here"),
        ("blob:http://t3.shop.localhost:41873/5f1c", "blob:http://shop.localhost/5f1c"),
    ],
)
def test_real_addresses_are_shown_canonical(real: str, canonical: str) -> None:
    assert Addresses((SHOP,)).to_canonical(real) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "http://t3.shop.localhost:418730/",
        "http://t3.shop.localhost:41873.evil.org/",
        "http://xt3.shop.localhost:41873/",
        "http://t3.shop.localhost:41873@evil.org/",
        "http://t3.shop.localhost/",
        "http://evil.org/http-t3.shop.localhost:41873",
    ],
)
def test_longer_addresses_are_left_alone(text: str) -> None:
    assert Addresses((SHOP,)).to_canonical(text) == text


def test_the_longest_site_wins_and_a_longer_path_segment_is_another_site() -> None:
    addresses = Addresses((STORE, ADMIN))
    assert addresses.to_canonical("http://box:7780/admin/x") == "http://luma.com/admin/x"
    assert addresses.to_canonical("http://box:7780/administrator") == "http://store.com/administrator"
    assert addresses.to_real("http://luma.com/admin?x=1") == "http://box:7780/admin?x=1"
    assert addresses.to_real("http://luma.com/administrator") == "http://luma.com/administrator"


def test_canonical_addresses_are_made_real_in_either_scheme_and_only_at_the_start() -> None:
    addresses = Addresses((SHOP,))
    assert addresses.to_real("https://shop.localhost/a") == "http://t3.shop.localhost:41873/a"
    assert addresses.to_real("http://shop.localhost") == "http://t3.shop.localhost:41873"
    assert addresses.to_real("http://shop.localhost:81/") == "http://shop.localhost:81/"
    assert addresses.to_real("http://x.org/?u=http://shop.localhost/") == "http://x.org/?u=http://shop.localhost/"


def test_cookie_domains_follow_their_site() -> None:
    addresses = Addresses((SHOP,))
    assert addresses.host_to_canonical(".t3.shop.localhost") == ".shop.localhost"
    assert addresses.host_to_real("shop.localhost") == "t3.shop.localhost"
    assert addresses.host_to_real("other.org") == "other.org"


def test_a_deployment_at_its_canonical_address_needs_no_mapping() -> None:
    same = Addresses((Site(name="wiki", url="http://wiki.org", canonical="http://wiki.org/"),))
    assert same.to_canonical("http://wiki.org/a") == "http://wiki.org/a"
    assert same.to_real("http://wiki.org/a") == "http://wiki.org/a"


@pytest.mark.parametrize("url", ["http://box:80", "http://box:80/", "http://box", "https://box:443", "https://box"])
@pytest.mark.parametrize("asked", ["http://box/a", "http://box:80/a", "https://box/a", "https://box:443/a"])
def test_a_port_that_browsers_leave_out_makes_no_difference(url: str, asked: str) -> None:
    site = Site(name="shop", url=url, canonical="http://shop.localhost")
    addresses = Addresses((site,))
    assert addresses.to_canonical(f"see {asked}.") == "see http://shop.localhost/a."
    assert addresses.to_canonical(f"?u={quote(asked, safe='')}") == "?u=http%3A%2F%2Fshop.localhost%2Fa"
    assert SiteFinder([("shop", url)])(asked) == "shop"
    assert Allowlist((site,), allowed="sites").reaches(asked)
    assert addresses.to_canonical("http://box:443/a http://box:8080/a") == "http://box:443/a http://box:8080/a"


def test_a_canonical_address_may_be_written_with_the_port_that_browsers_leave_out() -> None:
    for canonical in ("http://shop.localhost:80", "http://shop.localhost"):
        addresses = Addresses((Site(name="shop", url="http://box:7780", canonical=canonical),))
        for asked in ("http://shop.localhost/a", "http://shop.localhost:80/a", "https://shop.localhost:443/a"):
            assert addresses.to_real(asked) == "http://box:7780/a"
        assert addresses.to_canonical("http://box:7780/a") == "http://shop.localhost/a"


async def test_a_site_whose_port_browsers_leave_out_is_seen_to_be_gone() -> None:
    site = Site(name="shop", url="http://shop.localhost:80", canonical="http://shop.localhost")
    with pytest.raises(SiteUnavailable, match="accepted no connection"):
        await site_health.check([], [site], timeout_s=1.0, refused=["http://shop.localhost/a"])


@pytest.mark.parametrize("text", ["http://t3.ſhop.localhost:41873/", "T3.ſHOP.localhost:41873"])
def test_a_letter_no_host_has_makes_no_address(text: str) -> None:
    assert Addresses((SHOP,)).to_canonical(text) == text


def test_an_address_of_numbers_is_found_however_it_is_written() -> None:
    addresses = Addresses((Site(name="shop", url="http://[::1]:8080", canonical="http://shop.localhost"),))
    assert addresses.to_canonical("see HTTP://[::1]:8080/a") == "see http://shop.localhost/a"
    assert addresses.to_canonical("?to=http%3A%2F%2F%5B%3A%3A1%5D%3A8080%2Fa") == (
        "?to=http%3A%2F%2Fshop.localhost%2Fa"
    )
