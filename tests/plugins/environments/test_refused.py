"""A server that is refused says why in one sentence, and leaves nothing behind."""

from pathlib import Path

import pytest

from tests.e2e.conftest import environment
from tests.forked import Forks

KEYLESS = ("serve", "--port=0", "task=demo", "llm=openai", "llm.model=gpt-4o", "run.id=run")


@pytest.mark.slow
def test_a_server_that_is_refused_leaves_no_run_folder(forked: Forks, tmp_path: Path) -> None:
    done = forked.run("harness", *KEYLESS, f"run.root={tmp_path}/results", cwd=tmp_path, env=environment())
    assert done.returncode == 2 and "OPENAI_API_KEY" in done.stderr
    assert list(tmp_path.glob("results/*")) == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("setting", ["run.fork=results/demo/0@2", "run.retry=failed", "run.dry=true", "trials=3"])
def test_what_only_a_run_of_its_own_plays_is_refused(setting: str, forked: Forks, tmp_path: Path) -> None:
    done = forked.run("harness", *KEYLESS, setting, f"run.root={tmp_path}/results", cwd=tmp_path, env=environment())
    assert done.returncode == 2
    assert f"{setting.partition('=')[0]} is for a run that plays its tasks by itself" in done.stderr
    assert list(tmp_path.glob("results/*")) == []


@pytest.mark.sample(1)
def test_a_part_of_the_observation_that_no_client_can_be_shown_is_refused(forked: Forks, tmp_path: Path) -> None:
    given = (*KEYLESS, "observation.type=html+marks", f"run.root={tmp_path}/results")
    done = forked.run("harness", *given, cwd=tmp_path, env=environment())
    assert done.returncode == 2
    assert "observation.type=html+marks cannot be shown to clients; choose one of accessibility_tree" in done.stderr
    assert list(tmp_path.glob("results/*")) == []


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["run.max_tokens=1000", "run.max_cost_usd=1", "run.max_working_s=60"])
def test_a_budget_of_a_whole_run_is_refused(budget: str, forked: Forks, tmp_path: Path) -> None:
    done = forked.run("harness", *KEYLESS, budget, f"run.root={tmp_path}/results", cwd=tmp_path, env=environment())
    assert done.returncode == 2
    assert f"{budget.partition('=')[0]} ends a run whose tasks are known" in done.stderr
