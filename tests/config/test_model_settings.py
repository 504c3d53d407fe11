"""Presets of models and judges: each is usable with a name alone; a key goes to the address it is for."""

from pathlib import Path

import pytest

from harness.choices import OnDivergence
from harness.cli import configured
from harness.config import PROJECT
from harness.errors import ConfigError
from harness.evaluation.endpoint_settings import check_key, endpoint_of_settings
from harness.settings.models import CacheSettings, JudgeSettings

pytestmark = pytest.mark.integration
KEY = "sk-of-openai-0123456789"
PRESETS = sorted(path.stem for path in (PROJECT / "configs" / "llm").glob("*.yaml"))
JUDGES = sorted(path.stem for path in (PROJECT / "configs" / "judge").glob("*.yaml"))
APIS = {"responses": "responses", "anthropic": "messages"}


@pytest.mark.sample(2)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_usable_with_the_name_of_a_model(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com")
    llm = configured([f"llm={preset}", "llm.model=m"]).llm
    assert (llm.name, llm.api, llm.model) == (preset, APIS.get(preset, "chat"), "m")
    assert llm.temperature is None or preset not in APIS, "some of their models refuse it"


@pytest.mark.sample(2)
@pytest.mark.parametrize("preset", JUDGES)
def test_a_judge_is_a_model_of_its_own(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com")
    config = configured([f"judge={preset}", "judge.model=gpt-5"])
    assert (config.judge.model, config.judge.api) == ("gpt-5", APIS.get(preset, "chat"))
    expected = (None, 8192) if preset == "anthropic" else (0.0, 768)
    assert (config.judge.temperature, config.judge.max_tokens) == expected, "as WebArena asks its own"


def test_every_preset_of_a_model_but_the_embedded_one_judges_too() -> None:
    assert {*PRESETS} - {"scripted"} == {*JUDGES} - {"default"}


def test_without_a_judges_name_there_is_none() -> None:
    assert configured([]).judge.model is None and configured(["judge=none"]).judge.model is None


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("judge.model=m", KEY),
        ("judge.base_url=https://api.openai.com/v1", KEY),
        ("judge.base_url=http://127.0.0.1:1/v1", None),
        ("judge.base_url=https://api.openai.com.evil.test/v1", None),
        ("judge.base_url=https://api.openai.com@evil.test/v1", None),
        ("judge.api=responses", KEY),
        ("judge.api=messages", None),
        ("judge=none", None),
        ("judge=ollama", None),
    ],
)
def test_openais_key_goes_to_openai_only(override: str, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert configured([override]).judge.api_key == key


@pytest.mark.parametrize(
    ("given", "fix"),
    [(None, "set ANTHROPIC_API_KEY, or judge.api_key"), (KEY, "judge.api_key='${oc.env:ANTHROPIC_API_KEY}'")],
)
def test_a_judge_at_another_maker_needs_a_key_of_its_own(
    given: str | None, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    if given is not None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", given)
    overrides = ["judge.api=messages", "judge.model=claude-sonnet-4-6"]
    with pytest.raises(ConfigError, match=r"^https://api\.anthropic\.com needs a key") as refused:
        check_key(configured(overrides).judge, "judge")
    assert str(refused.value).endswith(fix)
    if given is not None:
        check_key(configured([*overrides, "judge.api_key=${oc.env:ANTHROPIC_API_KEY}"]).judge, "judge")


def test_an_azure_resource_is_never_another_makers_address() -> None:
    judge = JudgeSettings(kind="azure", api="messages", model="m", api_key=KEY)
    with pytest.raises(ConfigError, match=r"judge\.base_url is missing"):
        endpoint_of_settings(judge, "judge", None, None)


def test_what_is_asked_of_a_judge_is_measured_and_its_defaults_are_as_before() -> None:
    before, after = (
        configured(["judge.model=m"]).measured(),
        configured(["judge.model=m", "judge.temperature=1"]).measured(),
    )
    assert {name for name in before if name.startswith("judge")} == {"judge.model"}
    assert after == before | {"judge.temperature": 1.0}
    assert configured(["judge.model=m", "judge.max_attempts=2", "judge.requests_per_minute=9"]).measured() == before
    assert "llm.api" not in configured([]).measured() and "llm.api" in configured(["llm.api=responses"]).measured()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("llm.api=soap", "llm.api=soap is unknown; choose one of chat, responses, messages"),
        ("judge.api=soap", "judge.api=soap is unknown"),
        ("judge.kind=scripted", "judge.kind=scripted is unknown; choose one of openai, azure"),
        ("judge.max_attempts=0", "judge.max_attempts=0 cannot be used"),
        ("judge.temperature=-1", "judge.temperature=-1 cannot be used"),
        ("+judge.extra_body.messages=1", "judge.extra_body.messages cannot be given"),
        ("+llm.extra_body.input=1", "llm.extra_body.input cannot be given"),
        ("judge.base_url=ftp://x", "judge.base_url='ftp://x' is not an address"),
    ],
)
def test_a_wrong_setting_is_a_sentence(override: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured([override])
    assert str(caught.value).startswith(said)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("overrides", "size"),
    [((), 2048), (("llm.cache_mb=20000",), 20000), (("llm.cache_mb=20000", "judge.cache_mb=50"), 50)],
)
def test_a_judge_has_the_size_of_the_cache_that_it_shares(overrides: tuple[str, ...], size: float) -> None:
    config = configured(["llm.cache=readwrite", *overrides])
    found = CacheSettings.of(config.judge, config.llm)
    assert found is not None and found.max_bytes == size * 1e6


@pytest.mark.parametrize("word", ["continue", "keep"])
def test_a_process_that_diverged_goes_on_by_either_word(word: str) -> None:
    """`keep` is what settings of older runs have."""
    assert configured([f"resume.on_divergence={word}"]).resume.on_divergence is OnDivergence("continue")


def test_presets_are_installed_with_the_package() -> None:
    listed = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '"configs/judge/*.yaml"' in listed and '"configs/llm/*.yaml"' in listed
