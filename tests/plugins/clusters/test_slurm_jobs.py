"""Jobs of earlier starts, before programs that answer as those of Slurm."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.api.settings import ExecutorSettings
from harness.errors import ConfigError
from harness.plugins.clusters.slurm_jobs import SlurmJobs

pytestmark = pytest.mark.skipif(
    find_spec("submitit") is None, reason="submitit is not installed: pip install 'cairn-harness[slurm]'"
)
PROGRAMS = {
    "srun": "exit 0",
    "sbatch": "echo Submitted batch job 42",
    "sacct": r"printf 'JobID|State|NodeList\n42_0|RUNNING|a\n42_1|RUNNING|a\n'",
}


def test_shards_are_not_cut_anew_while_jobs_of_others_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, folder = tmp_path / "programs", tmp_path / "run" / "slurm"
    for path in (programs, folder.parent):
        path.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    settings = ExecutorSettings(kind="slurm", shards=2)
    SlurmJobs(folder, settings).submit({1: ["true"], 2: ["true"]})
    assert SlurmJobs(folder, settings).running() == (1, 2)
    with pytest.raises(ConfigError, match=r"give executor\.shards=2, or end them with scancel 42_0 42_1"):
        SlurmJobs(folder, replace(settings, shards=4))
