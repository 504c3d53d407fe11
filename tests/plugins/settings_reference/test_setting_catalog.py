"""The reference of settings: every field is in it with words, and what it says of a setting is what Cairn does."""

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from harness.cli import configured
from harness.config import PROJECT
from harness.config.config_validation import settings
from harness.config.site_settings import SITE_KEYS
from harness.plugins.live.rules import LiveRules
from harness.plugins.settings_reference.group_files import choices, defaults
from harness.plugins.settings_reference.setting_catalog import Setting, catalog, group_words
from harness.plugins.settings_reference.setting_reference import described

pytestmark = pytest.mark.integration
FREE = {"sites.by_name", "sites.given", "sites.visits", "evaluators"}
"""What holds settings of any name; the catalog has them as `sites.NAME.…` and `evaluators.NAME.…`."""


def known() -> dict[str, Setting]:
    return {one.name: one for one in catalog()}


def test_every_field_is_in_the_catalog_once_and_has_words() -> None:
    names = [one.name for one in catalog()]
    assert len(names) == len(set(names))
    assert {name for name, _ in settings(configured([]))} - FREE <= set(names)
    assert {f"sites.NAME.{key}" for key in SITE_KEYS - {"login"}} <= set(names)
    assert [one.name for one in catalog() if len(one.words) < 10] == []
    assert [name for name, words in group_words().items() if len(words) < 10] == []


def test_words_stand_by_themselves() -> None:
    """A table is read by row: no words lean on those of the field above."""
    leaning = ("so the next", "as all below", "likewise")
    assert [one.name for one in catalog() if any(part in one.words.lower() for part in leaning)] == []


def other(value: Any, one: Setting) -> Any:
    """Another value that the setting may have."""
    if isinstance(value, Enum):
        return next(member for member in type(value) if member is not value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if one.bounds is None or one.bounds.hold(value + 1) else value / 2
    if one.choices:
        return next(word for word in one.choices if word != value)
    if one.kind == "mapping":
        return {**(value or {}), "x": "y"}
    values = {"whole number": 3, "number": 0.5, "true or false": True, "list": [*(value or ()), "x"]}
    return values.get(one.kind, f"{value}x")


def changed(group: Any, path: list[str], change: Any) -> Any:
    first, *rest = path
    value = getattr(group, first)
    return replace(group, **{first: changed(value, rest, change) if rest else change(value)})


@pytest.mark.sample(2)
@pytest.mark.parametrize("one", [one for one in catalog() if "NAME" not in one.name], ids=lambda one: one.name)
def test_what_is_said_to_be_measured_is_measured_and_nothing_else(one: Setting) -> None:
    if one.name == "task.members":
        pytest.skip("not a setting of the command line: the limits of a suite's benchmarks are measured")
    config = configured([])
    if one.name.endswith(".arguments"):  # of a class, and without one they mean nothing
        config = changed(config, [one.group, "_target_"], lambda _: "some_package.Class")
    if one.name.startswith("sites.live."):
        config = replace(config, sites=replace(config.sites, visits=LiveRules()))
    path = one.name.replace("sites.live.", "sites.visits.").split(".")
    after = changed(config, path, lambda value: other(value, one))
    assert (after.measured() != config.measured()) == one.is_measured


def test_the_default_is_that_of_a_run_and_files_of_groups_are_named() -> None:
    found = {one.name: one for one in described(choices([PROJECT / "configs"]))}
    config = configured([])
    assert found["limits.max_steps"].default == config.limits.max_steps == 30
    assert (
        found["limits.max_steps"].given_by["task=webvoyager"]
        == configured(["task=webvoyager", "task.path=x"]).limits.max_steps
    )
    assert found["llm.kind"].default == config.llm.kind == "scripted"
    assert found["llm.model"].given_by["llm=vllm"] == "???"
    assert found["agent.history"].given_by == {"agent=tools": 30}
    assert found["sites.NAME.url"].given_by["sites=webarena"][:2] == ["shopping", "shopping_admin"]
    assert found["task.arguments"].given_by["task=webarena_verified_hard"]["subset"] == "webarena-verified-hard"


def test_a_secret_of_a_file_is_not_shown_but_where_it_comes_from_is(tmp_path: Path) -> None:
    (tmp_path / "llm").mkdir()
    (tmp_path / "llm" / "mine.yaml").write_text(
        "# Mine: python run.py llm=mine\nname: mine\napi_key: swordfish-77\nheaders: {X-Any: swordfish-78}\n"
        "base_url: http://me:swordfish-79@host/v1\n"
    )
    (mine,) = (one for one in choices([PROJECT / "configs", tmp_path]) if one.said == "llm=mine")
    assert "swordfish" not in str(mine)
    assert mine.about == "Mine" and mine.values["llm.name"] == "mine"
    openai = next(one for one in choices([PROJECT / "configs"]) if one.said == "llm=openai")
    assert openai.values["llm.api_key"] == "${oc.env:OPENAI_API_KEY,null}"


def test_passwords_of_sites_are_not_among_the_defaults() -> None:
    assert not any("cobble" in str(value) for value in defaults().values())
