"""The shipped configuration knows the sites as they are."""

from pathlib import Path

import yaml

from harness.plugins.demo.registry import SITES

CONFIG = Path(__file__).parents[3] / "configs" / "sites" / "embedded.yaml"


def test_the_configured_logins_are_those_of_the_seeded_users() -> None:
    config = yaml.safe_load(CONFIG.read_text())
    assert set(config) - {"embedded", "port"} == {site.name for site in SITES}
    for site in SITES:
        base = f"http://{site.name}.localhost"
        assert site.account
        assert config[site.name] == {
            "canonical": base,
            "safe_get": True,
            "login": {
                "url": base + site.login_path,
                "fields": {"#login": site.account[0], "#password": site.account[1]},
                "submit": "button=Log in",
                "probe_url": base + site.probe_path,
            },
        }
