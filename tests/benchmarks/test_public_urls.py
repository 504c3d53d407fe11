"""WebArena's unbounded URL mapping, as it is."""

from harness.plugins.webarena.public_urls import to_deployed, to_public

DEPLOYED = {"reddit": "http://forum.test:9999", "gitlab": "http://git.test:8023", "shopping": ""}


def test_deployed_addresses_are_shown_under_public_names() -> None:
    assert to_public("http://forum.test:9999/f/x", DEPLOYED) == "http://reddit.com/f/x"


def test_both_schemes_lead_back_everywhere_in_a_text() -> None:
    assert (
        to_deployed("stop [see https://reddit.com/a and http://gitlab.com]", DEPLOYED)
        == "stop [see http://forum.test:9999/a and http://git.test:8023]"
    )


def test_there_is_no_boundary_and_unset_sites_are_left_alone() -> None:
    assert to_deployed("http://gitlab.community", DEPLOYED) == "http://git.test:8023munity"
    assert to_deployed("http://onestopmarket.com", DEPLOYED) == "http://onestopmarket.com"


def test_equal_addresses_collapse_to_the_last_name() -> None:
    shared = {"reddit": "http://one.test", "gitlab": "http://one.test"}
    assert to_public("http://one.test/a", shared) == "http://gitlab.com/a"
