"""`sites=from:FILE`: the settings of sites that another program writes."""

import json
from pathlib import Path

import pytest

from harness.cli import configured
from harness.errors import ConfigError

SHOP = {
    "url": "http://127.0.0.1:1",
    "instances": ["http://127.0.0.1:2"],
    "reset_command": "./reset {url}",
    "version": "v1",
}


def test_the_sites_of_a_file_are_those_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "sites.json"
    path.write_text(json.dumps({"defaults": ["embedded", "_self_"], "embedded": False, "shop": SHOP}))
    config = configured([f"sites=from:{path}", "+sites.shop.read_only=true"])
    shop = config.sites.by_name["shop"]
    assert not config.sites.embedded
    assert shop.instances == ("http://127.0.0.1:1", "http://127.0.0.1:2")
    assert (shop.canonical, shop.version, shop.read_only) == ("http://shop.localhost", "v1", True)
    assert shop.login is not None, "of the choice that the file begins with"
    path.write_text(json.dumps({"embedded": False, "shop": {**SHOP, "version": "v2"}}))
    assert configured([f"sites=from:{path}"]).sites.by_name["shop"].version == "v2"


def test_an_account_of_the_environment_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_LOGIN", "emma:sesame-4711")
    path = tmp_path / "sites.json"
    login = {"probe_url": "http://127.0.0.1:1/account", "headers": {"X-Login": "${oc.env:SHOP_LOGIN}"}}
    path.write_text(json.dumps({"embedded": False, "shop": {**SHOP, "login": login}}))
    login_of = configured([f"sites=from:{path}"]).sites.by_name["shop"].login
    assert login_of is not None and dict(login_of.headers) == {"X-Login": "emma:sesame-4711"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "it cannot be read: no such file or directory; `harness sites up` writes it"),
        ("{", "it is not valid JSON or YAML"),
        ("[]", "no site in it has an address"),
        ('{"embedded": false}', "no site in it has an address"),
        ('{"shop": {"url": "http://a", "urll": "x"}}', "sites.shop.urll"),
        ('{"defaults": ["nowhere"], "shop": {"url": "http://a"}}', "nowhere"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "sites.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        configured([f"sites=from:{path}"])
    assert said in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_a_choice_without_a_file_says_what_to_give() -> None:
    with pytest.raises(ConfigError, match=r"names no file; give the sites\.json"):
        configured(["sites=from:"])
