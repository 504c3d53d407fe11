"""Network traces of whole runs: complete whatever was killed, and nothing raw is left."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.journal.log import read
from harness.journal.names import journals_in
from harness.journal.store import ArtifactStore
from tests.e2e.conftest import Start
from tests.e2e.test_run import decided, running
from tests.waiting import wait_until

Starter = Callable[..., Start]
pytestmark = [pytest.mark.browser, pytest.mark.slow]
RUN = ("task=smoke", "task.limit=4", "workers=1", "run.report=false", "browser.har=true")


def traces(folder: Path) -> dict[str, list[str]]:
    """Task to what its pages asked for; the order of what is asked at the same time is chance."""
    artifacts, found = ArtifactStore(folder / "artifacts"), {}
    for entry in journals_in(folder):
        episode = read(Path(entry.path))
        assert episode.opened is not None and episode.closed is not None and episode.closed.evidence.trace is not None
        log = json.loads(artifacts.read(episode.closed.evidence.trace))["log"]
        assert "comment" not in log
        asked = (
            f"{one['request']['method']} {one['request']['url']} {one['response']['status']}" for one in log["entries"]
        )
        found[episode.opened.task.task_id] = sorted(asked)
    return found


def test_a_killed_run_has_the_traces_of_an_undisturbed_one(
    start: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = start(*RUN, "run.root=undisturbed")
    assert undisturbed.code == 0, undisturbed.err
    wanted = traces(tmp_path / "undisturbed" / "run")
    assert all(len(asked) > 1 for asked in wanted.values()) and len(wanted) == 4
    assert all(
        url.startswith("http://") and ".localhost/" in url for asked in wanted.values() for url in asked[0].split()[1:2]
    )

    raw = tmp_path / "raw"
    raw.mkdir()
    monkeypatch.setenv("TMPDIR", str(raw))
    folder = tmp_path / "results" / "run"
    with running(*RUN, root=tmp_path / "results") as process:
        wait_until(lambda: decided(folder) >= 3)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    resumed = start(*RUN)
    assert resumed.code == 0, resumed.err
    assert any(result["resumed_from"] is not None for result in resumed.summary["results"])
    assert traces(folder) == wanted
    assert not list(raw.rglob("*.har"))
