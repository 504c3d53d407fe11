"""Jobs of earlier starts, before programs that answer as those of Slurm."""

import os
import signal
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.api.processes import MARK
from harness.api.settings import ExecutorSettings
from harness.cli import configured
from harness.errors import ConfigError
from harness.evaluation.preflight import refuse_left_jobs
from harness.plugins.clusters.slurm_jobs import SlurmJobs

pytestmark = pytest.mark.skipif(
    find_spec("submitit") is None, reason="submitit is not installed: pip install 'cairn-harness[slurm]'"
)
PROGRAMS = {
    "srun": "exit 0",
    "sbatch": 'env > "$0.env"; echo Submitted batch job 42',
    "sacct": r"printf 'JobID|State|NodeList\n42_0|RUNNING|a\n42_1|RUNNING|a\n'",
}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the programs, on the path."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return programs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """For the jobs of a run."""
    (tmp_path / "run").mkdir()
    return tmp_path / "run" / "slurm"


@pytest.mark.usefixtures("programs")
def test_shards_are_not_cut_anew_while_jobs_of_others_run(folder: Path) -> None:
    settings = ExecutorSettings(kind="slurm", shards=2)
    SlurmJobs(folder, settings).submit({1: ["true"], 2: ["true"]})
    assert SlurmJobs(folder, settings).running() == (1, 2)
    with pytest.raises(ConfigError, match=r"give executor\.shards=2, or end them with scancel 42_0 42_1"):
        SlurmJobs(folder, replace(settings, shards=4))


@pytest.mark.usefixtures("programs")
def test_settings_are_not_changed_while_jobs_run(folder: Path) -> None:
    settings = ExecutorSettings(kind="slurm", shards=2)
    SlurmJobs(folder, settings, digest="a").submit({1: ["true"], 2: ["true"]})
    assert SlurmJobs(folder, replace(settings, time_min=9), digest="a").running() == (1, 2)
    with pytest.raises(ConfigError, match=r"with other settings; .* end them with scancel 42_0 42_1"):
        SlurmJobs(folder, settings, digest="b")
    (folder / "jobs.json").write_text((folder / "jobs.json").read_text().replace(',"digest":"a"', ""))
    assert SlurmJobs(folder, settings, digest="b").running() == (1, 2), "of before digests were kept"


@pytest.mark.usefixtures("programs")
def test_a_job_is_queued_again_however_often_it_runs_out_of_time(folder: Path) -> None:
    from submitit.core.job_environment import JobEnvironment, SignalHandler
    from submitit.core.utils import DelayedSubmission

    queued: list[int] = []

    class Job(JobEnvironment):
        global_rank = 0

        def _requeue(self, countdown: int) -> None:
            queued.append(countdown)

    jobs = SlurmJobs(folder, ExecutorSettings(kind="slurm", shards=1, time_min=240))
    jobs.submit({1: ["true"]})
    paths = jobs.by_shard[1].paths
    for _ in range(20):
        at_the_end = SignalHandler(Job(), paths, DelayedSubmission.load(paths.submitted_pickle))
        at_the_end._start_time -= 240 * 60
        with pytest.raises(SystemExit):
            at_the_end.checkpoint_and_try_requeue(signal.SIGUSR2)
    assert len(queued) == 20


@pytest.mark.usefixtures("programs")
def test_another_executor_waits_for_the_end_of_jobs(folder: Path) -> None:
    SlurmJobs(folder, ExecutorSettings(kind="slurm", shards=2)).submit({1: ["true"], 2: ["true"]})
    refuse_left_jobs(configured(["task=demo", "executor=slurm"]), folder.parent)
    other = configured(["task=demo", "executor=inline"])
    with pytest.raises(ConfigError, match=r"still running; .* scancel 42_0 42_1; .* delete .*jobs.json"):
        refuse_left_jobs(other, folder.parent)
    with pytest.raises(ConfigError, match="still running"):
        SlurmJobs(folder, ExecutorSettings(kind="slurm", shards=2, cluster="local"))
    for job in SlurmJobs(folder, ExecutorSettings(kind="slurm", shards=2)).by_shard.values():
        job.paths.result_pickle.touch()
    refuse_left_jobs(other, folder.parent)


@pytest.mark.usefixtures("programs")
def test_an_option_that_holds_a_secret_is_not_written_to_disk(folder: Path) -> None:
    settings = ExecutorSettings(kind="slurm", sbatch={"export": "ALL,AZURE_OPENAI_API_KEY=0f9e8d7c"})
    with pytest.raises(ConfigError, match=r"executor\.sbatch\.export: .* give it by the environment"):
        SlurmJobs(folder, settings)
    assert not folder.exists()


def test_a_job_outlives_its_start_so_it_does_not_carry_the_mark_of_the_run(
    programs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, "of-the-run")
    SlurmJobs(folder, ExecutorSettings(kind="slurm", shards=2)).submit({1: ["true"]})
    assert MARK not in (programs / "sbatch.env").read_text()
    assert os.environ[MARK] == "of-the-run", "what this start begins still carries it"
