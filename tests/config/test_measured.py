"""What a setting means for a run folder is declared on its field: whether it is measured, and whether it names a folder."""

from hashlib import sha256
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from harness.cli import configured
from harness.codec import dumps, loads
from harness.config import Config, ConfigSchema, schema
from harness.config.config_validation import settings
from harness.settings.fields import unnamed

pytestmark = pytest.mark.integration
RECORDED = Path(__file__).parent / "recorded"
"""Of a run folder made before settings declared what they mean: its `config.yaml`, and the artifact of what is measured."""
RECORDED_DIGEST = "985415e0ac45c5f0f3b3775bef441d02867599a9fbbc00400fb9689d46691d1a"
NAMELESS = """
    task agent llm llm.model task.name sites executor executor.lanes executor.kind executor.silence_s executor.address
    executor.shared_fs executor.cpus executor.shards executor.cluster executor.partition executor.time_min
    executor.mem_gb executor.wait workers resume run.root run.id run.fork run.dry fail_under fail_under_of run.display run.report run.retry
    run.max_tokens run.max_cost_usd run.max_working_s resume.accept_drift task.path task.hosts task.ids task.limit task.sites
    task.suite task.members task.split
    task.plans llm.plans llm.base_url llm.api_key llm.headers judge.base_url judge.api_key judge.headers
    browser.headless journal.durability tracking tracking.base_path tracking.project tracking.name tracking.split
    tracking.every tracking.report_metrics llm.cache llm.cache_dir llm.cache_mb judge.cache judge.cache_dir judge.cache_mb
"""
"""What folders of sweeps were not named for before; their names must stay, so that the same command finds them."""


def test_an_unchanged_configuration_has_the_digest_an_old_run_folder_recorded() -> None:
    tree = OmegaConf.merge(schema(), OmegaConf.load(RECORDED / "config.yaml"))
    composed = OmegaConf.to_object(tree)
    assert isinstance(composed, ConfigSchema)
    kept = dumps(dict(sorted(Config.of(composed).measured().items())))
    assert kept == (RECORDED / "measured.json").read_bytes()
    assert sha256(kept).hexdigest() == RECORDED_DIGEST


def test_folders_of_sweeps_keep_their_names() -> None:
    assert sorted(unnamed(ConfigSchema)) == sorted(NAMELESS.split())


@pytest.mark.sample(2)
@pytest.mark.parametrize("override", ["llm.timeout_s=7", "+llm.headers.X-Any=x", "workers=3", "scoring=webarena"])
def test_how_a_run_is_executed_is_not_measured(override: str) -> None:
    assert configured([override]).measured() == configured([]).measured()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "override", ["llm.temperature=0.7", "limits.max_steps=7", "judge.model=m", "+agent.actions.x=y"]
)
def test_what_an_agent_is_shown_and_may_do_is_measured(override: str) -> None:
    assert configured([override]).measured() != configured([]).measured()


def test_what_is_measured_is_a_setting() -> None:
    known = {name for name, _ in settings(configured([]))}
    assert {name for name in configured([]).measured() if not name.startswith("agent.actions.")} <= known


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["agent=tools", "llm=openai", "llm.model=m", "judge.model=j", "task.ids=[1,2-5]", "limits.max_cost_usd=3"],
        ["agent=computer", "browser.headless=false", "executor.silence_s=20", "+sites.wiki.url=http://wiki.test:80"],
        ["agent=tool-loop", "task=miniwob", "scoring=webarena", "fail_under.cup=0.5", "actions=[a.B]"],
    ],
    ids=" ".join,
)
def test_another_process_reads_the_settings_as_they_are(overrides: list[str]) -> None:
    config = configured(overrides)
    assert Config.of_tree(loads(dumps(config.tree()))) == config


def test_a_process_of_another_version_sees_that_it_does_not_know_a_setting() -> None:
    with pytest.raises(TypeError, match="no_setting"):
        Config.of_tree({"run": {"no_setting": 1}})
    with pytest.raises(ValueError, match="nowhere"):
        Config.of_tree({"run": {"display": "nowhere"}})


def test_the_agent_that_is_told_of_an_image_gets_one() -> None:
    typed = configured(["agent=visual", "observation.type=image"])
    assert configured(["agent=visual"]).measured() == typed.measured()
    webarena = configured(["task=webarena", "task.path=tasks.json", "agent=visual"])
    assert (webarena.observation.type, webarena.action_set.value) == ("image", "cairn")
