"""A setting that nobody reads is refused with the nearest one; what is free by design stays free."""

from pathlib import Path

import pytest

from harness.cli import configured
from harness.config import PROJECT
from harness.errors import ConfigError

pytestmark = pytest.mark.integration

MISSPELT = {
    "+worker=3": "worker is not a setting; did you mean workers;",
    "+max_steps=5": "max_steps is not a setting; did you mean limits.max_steps;",
    "+limits.max_step=5": "limits.max_step is not a setting; did you mean limits.max_steps;",
    "+browser.heedless=false": "browser.heedless is not a setting; did you mean browser.headless;",
    "++browser.heedless=false": "browser.heedless is not a setting; did you mean browser.headless;",
    "+brwser.headless=false": "brwser.headless is not a setting; did you mean browser.headless;",
    "+task.shards={a: 1}": "task.shards.a is not a setting; did you mean task.shard;",
    "+experiment=x": "experiment is not a setting; --help says more",
    "+sites.mysite.ulr=http://a": (
        "sites.mysite.ulr is not a setting; did you mean sites.mysite.url; a site has canonical, "
    ),
    "+sites.shop.login.feilds.a=1": (
        "sites.shop.login.feilds is not a setting; did you mean sites.shop.login.fields; a login has"
    ),
    "+sites.lock=none": "sites.lock is not a setting; did you mean sites.locks; a site is a mapping, not 'none'",
    "+sites.rest.command=x": "sites.rest: no such site; did you mean sites.reset",
    "++sites.shop.login=nora": "sites.shop.login must be a mapping, not 'nora'",
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("override", MISSPELT)
def test_a_misspelt_addition_is_refused_with_the_nearest_setting(override: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured([override])
    assert str(caught.value).startswith(MISSPELT[override])
    assert "\n" not in str(caught.value)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "override",
    [
        "+sites.mysite.url=http://127.0.0.1:9",
        "+sites.shop.effects_url=http://a.test",
        "+sites.shop.login.fields.anything=x",
        "+sites.shop.login.headers.X-Any=x",
        "+sites.reset.command=./restore",
        "+sites.reset.timeout_s=3",
        "+executor.sbatch.account=me",
        "+agent.actions.mine=x",
        "++workers=2",
        "+tracking.report_metrics=[{_target_: a.B, anything: 1}]",
        "+llm.faults=[{do: slow, anything: 1}]",
    ],
)
def test_what_is_free_by_design_can_be_added(override: str) -> None:
    configured([override])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "choice",
    [
        f"{group.name}={file.stem}"
        for group in sorted((PROJECT / "configs").iterdir())
        if group.is_dir()
        for file in sorted(group.glob("*.yaml"))
    ],
)
def test_every_shipped_choice_passes(choice: str, tmp_path: Path) -> None:
    given = ["llm.model=m"] if choice.startswith("llm=") else []
    given += ["agent.arguments.plan=x"] if choice == "agent=plan" else []
    suite = tmp_path / "mix.yaml"  # read with the settings, unlike a task file
    suite.write_text("benchmarks:\n  demo: {weight: 2}\n")
    configured([choice, *given, f"run.root={tmp_path}", f"task.path={suite if choice == 'task=suite' else 'x'}"])
