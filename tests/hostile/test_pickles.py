"""Jobs of a cluster are kept as pickles, and reading a pickle runs what it says: none that a run folder came with is
read.
"""

import json
import os
import pickle
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UnsafeFile
from harness.plugins.clusters.slurm_jobs import SlurmJobs, _read
from harness.settings.executor import ExecutorSettings
from tests.hostile.foreign import PUT, Place, within

WANTED = "0123456789abcdef"
KNOWN: dict[str, tuple[Any, dict[int, tuple[str, str]]]] = {
    "as-we-write-it": ({"1": {"folder": WANTED, "number": "77_0"}}, {1: (WANTED, "77_0")}),
    "path": ({"1": {"folder": "../../beside", "number": "77"}}, {}),
    "absolute": ({"1": {"folder": "/tmp", "number": "77"}}, {}),
    "no-folder": ({"1": "77"}, {}),
    "switch": ({"1": {"folder": WANTED, "number": "--help"}}, {}),
    "command": ({"1": {"folder": WANTED, "number": "77; touch /tmp/evil"}}, {}),
    "shard-odd": ({"one": {"folder": WANTED, "number": "77"}}, {}),
    "shard-huge": ({"9" * 5000: {"folder": WANTED, "number": "77"}}, {}),
    "number-huge": ({"1": {"folder": WANTED, "number": "7" * 5000}}, {}),
    "list": ([1], {}),
    "null": (None, {}),
    "text": ("jobs", {}),
}


def reading(folder: Path) -> dict[int, tuple[str, str]]:
    return {shard: (known.folder, known.number) for shard, known in _read(folder).items()}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_told_of_jobs_names_no_place_and_no_option(place: Place, name: str) -> None:
    told, found = KNOWN[name]
    (place.run / "slurm").mkdir()
    (place.run / "slurm" / "jobs.json").write_text(json.dumps(told))
    assert reading(place.run / "slurm") == found


@pytest.mark.parametrize("thing", ["link", "fifo", "link-to-zeros", "folder", "2TB"])
def test_nor_is_it_waited_for(place: Place, thing: str) -> None:
    PUT[thing](place.run / "slurm" / "jobs.json", place)
    with within(), pytest.raises(UnsafeFile, match=r"jobs\.json"):
        reading(place.run / "slurm")


@pytest.mark.parametrize("thing", ["link-to-folder", "file", "fifo"])
def test_nor_followed(place: Place, thing: str) -> None:
    PUT[thing](place.run / "slurm" / WANTED, place)
    (place.run / "slurm" / "jobs.json").write_text(json.dumps(KNOWN["as-we-write-it"][0]))
    with within(), pytest.raises(UnsafeFile, match=WANTED):
        reading(place.run / "slurm")


class Mark:
    """Leaves a file when it is unpickled."""

    def __init__(self, at: str) -> None:
        self.at = at

    def __reduce__(self) -> Any:
        return os.mkdir, (self.at,)


SLURM = {
    "srun": "exit 0",
    "sbatch": "echo Submitted batch job 4242",
    "sacct": "printf 'JobID|State|NodeList\\n4242|COMPLETED|node\\n'",
}


@pytest.mark.hostile
@pytest.mark.skipif(
    find_spec("submitit") is None, reason="submitit is not installed: pip install 'cairn-harness[slurm]'"
)
def test_a_result_that_lay_there_is_not_a_jobs(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs have the next numbers of their cluster, so whoever made the folder can leave results for them."""
    for name, does in SLURM.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (place.run / "slurm").mkdir()
    mark = tmp_path / "unpickled"
    (place.run / "slurm" / "4242_0_result.pkl").write_bytes(pickle.dumps(("success", Mark(str(mark)))))
    jobs = SlurmJobs(place.run / "slurm", ExecutorSettings(cluster="slurm", time_min=5))
    jobs.submit({1: [sys.executable, "-c", "pass"]})
    with within(room=None):
        assert jobs.running() == ()
        code = jobs.code(1)
    assert not mark.exists(), "what somebody left there was run"
    assert code is None, "a job without a result did not get so far"
    assert reading(place.run / "slurm")[1][1] == "4242"
