"""From settings to shared sites: where they are, whose an address is, and which settings make no sense."""

from typing import Any

import pytest

from harness.config.deployment import Deployment
from harness.config.site_settings import SitesSettings, read_sites
from harness.errors import ConfigError
from harness.evaluation.build_locks import shared_sites

A_SHOP = {"canonical": "http://onestop.example", "url": "http://10.0.0.1:7770/"}


def configured(*, embedded: bool = False, **sites: Any) -> SitesSettings:
    return read_sites({"embedded": embedded, **sites})


def test_the_address_and_the_instances_together_are_the_instances() -> None:
    more = ["http://10.0.0.2:7770", "http://10.0.0.1:7770"]
    sites = configured(shop={**A_SHOP, "instances": more}, map={"canonical": "http://map.example", "url": None})
    assert sites.instances == {"shop": ("http://10.0.0.1:7770", "http://10.0.0.2:7770")}
    deployment = Deployment(sites, None)
    assert [site.url for site in deployment.sites(3)] == ["http://10.0.0.1:7770"]
    assert [site.url for site in deployment.everywhere(3)] == list(sites.instances["shop"])


@pytest.mark.parametrize(
    ("tree", "shown"),
    [
        ({"url": "http://10.0.0.1:7770/"}, "http://10.0.0.1:7770"),
        ({"url": "http://10.0.0.1:7770/admin", "canonical": None}, "http://10.0.0.1:7770/admin"),
        ({"instances": ["http://10.0.0.2:7770/", "http://10.0.0.3:7770"]}, "http://10.0.0.2:7770"),
        ({"url": "http://10.0.0.1:7770", "instances": ["http://10.0.0.2:7770"]}, "http://10.0.0.1:7770"),
        ({"url": "http://10.0.0.1:7770", "canonical": "http://shop.example/"}, "http://shop.example"),
    ],
)
def test_a_site_without_a_canonical_address_is_shown_at_its_own(tree: dict[str, Any], shown: str) -> None:
    sites = configured(shop=tree)
    assert sites.canonical_bases == {"shop": shown}
    assert {site.canonical for site in Deployment(sites, None).everywhere(0)} == {shown}
    shared = shared_sites(sites, ())
    assert shared.site_of(f"{shown}/cart") == "shop"


@pytest.mark.parametrize("tree", [{}, {"url": None, "canonical": None}, {"instances": []}])
def test_a_site_without_any_address_is_refused_by_name(tree: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"sites\.shop has no address: set sites\.shop\.url"):
        configured(shop=tree)


def test_a_site_of_ones_own_beside_the_embedded_ones_is_where_its_url_says() -> None:
    sites = configured(embedded=True, shop={"canonical": "http://shop.localhost"}, mine={"url": "http://10.0.0.1:9"})
    assert [site.url for site in Deployment(sites, 80).sites(2)] == [
        "http://t2.shop.localhost:80",
        "http://10.0.0.1:9",
    ]
    assert list(shared_sites(sites, ()).instances) == ["shop"], "what every lane has its own of, and is reset"


def test_of_the_embedded_sites_every_lane_has_its_own() -> None:
    shop = {"canonical": A_SHOP["canonical"]}
    shared = shared_sites(configured(embedded=True, shop=shop), ())
    assert [shared.at("shop", lane) for lane in (0, 7)] == [
        ("http://t0.shop.localhost",),
        ("http://t7.shop.localhost",),
    ]
    with pytest.raises(ConfigError, match=r"sites\.shop\.instances is only for your own sites"):
        configured(embedded=True, shop={**shop, "instances": ["http://a.test"]})
    with pytest.raises(ConfigError, match=r"sites\.shop\.url is only for your own sites; set sites\.embedded=false"):
        configured(embedded=True, shop=A_SHOP)


@pytest.mark.parametrize("key", ["canonical", "url"])
@pytest.mark.parametrize("address", ["onestop.example", "ftp://onestop.example", "http://", "http://[::1"])
def test_an_address_that_no_browser_opens_is_named_with_its_setting(key: str, address: str) -> None:
    with pytest.raises(ConfigError, match=rf"^sites\.shop\.{key} must be an address with http:// or https://"):
        configured(shop={**A_SHOP, key: address})


def test_two_sites_are_not_shown_at_one_address() -> None:
    with pytest.raises(
        ConfigError, match=r"sites\.shop and sites\.shop2 are shown at the same address, http://onestop"
    ):
        configured(shop=A_SHOP, shop2={"url": "http://10.0.0.9", "canonical": "http://onestop.example/"})


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://onestop.example/cart", "shop"),
        ("http://10.0.0.2:7770/cart?x=1", "shop"),
        ("http://10.0.0.3:7770/", None),
        ("http://luma.example/admin/sales", "office"),
        ("http://luma.example/administrator", "front"),
        ("http://luma.example/rest/V1", "front"),
        ("http://10.0.0.9/rest/V1", "office"),
        ("http://elsewhere.example/", None),
    ],
)
def test_an_address_is_of_the_site_that_is_served_there(url: str, site: str | None) -> None:
    sites = configured(
        shop={**A_SHOP, "instances": ["http://10.0.0.2:7770"]},
        office={"canonical": "http://luma.example/admin", "url": "http://10.0.0.9/admin"},
        front={"canonical": "http://luma.example", "url": "http://10.0.0.8"},
    )
    shared = shared_sites(sites, ())
    assert shared is not None
    assert shared.site_of(url) == site


def test_settings_of_sharing_are_read() -> None:
    shared = shared_sites(
        configured(locks="none", shop=A_SHOP, wiki={"url": "http://wiki.test", "read_only": True}), ()
    )
    assert shared is not None
    assert (shared.lenient, shared.read_only) == (True, {"wiki"})


@pytest.mark.parametrize(
    ("sites", "word"),
    [
        ({"locks": "some"}, "sites.locks='some'"),
        ({"leases": "some"}, "sites.locks='some'"),
        ({"shop": {**A_SHOP, "read_only": "yes"}}, "sites.shop.read_only"),
    ],
)
def test_wrong_settings_are_named(sites: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        configured(**{"shop": A_SHOP, **sites})
