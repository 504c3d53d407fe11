"""Jobs of a cluster are kept as pickles, and reading a pickle runs what it says: none that a run folder came with is read."""

import json
import os
import pickle
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UnsafeFile
from harness.runner.executors.slurm import Jobs, Order
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
    jobs = Jobs.__new__(Jobs)  # without a cluster there is nobody to submit to
    jobs._folder = folder
    return {shard: (known.folder, known.number) for shard, known in jobs._read().items()}


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


@pytest.mark.hostile
@pytest.mark.skipif(
    find_spec("submitit") is None, reason="submitit is not installed: pip install 'cairn-harness[slurm]'"
)
def test_a_result_that_lay_there_is_not_a_jobs(place: Place, tmp_path: Path) -> None:
    """A job of this machine is called by its process id, which can be guessed, so whoever made the folder can leave its result."""
    (place.run / "slurm").mkdir()
    mark = tmp_path / "unpickled"
    result = place.run / "slurm" / "result"
    result.write_bytes(pickle.dumps(("success", Mark(str(mark)))))
    most = int(Path("/proc/sys/kernel/pid_max").read_text())
    first = os.getpid()
    for pid in (1 + (first + ahead) % most for ahead in range(20_000)):
        os.link(result, place.run / "slurm" / f"{pid}_0_result.pkl")
    jobs = Jobs(place.run / "slurm", Order(cluster="local", time_min=5, cpus=1))
    jobs.submit({1: [sys.executable, "-c", "raise SystemExit(3)"]})
    with within(120, room=None):
        while jobs.running():
            time.sleep(0.05)
    code = jobs.code(1)
    assert not mark.exists(), "what somebody left there was run"
    assert code == 3
