"""What is derived goes, what is true stays."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from harness.journal.index import scan
from harness.journal.store import ArtifactStore, RunFolder
from harness.plugins.html_report.report import write_report
from harness.runs.run import Run

Command = Callable[..., subprocess.CompletedProcess[str]]


def journals(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.glob("*.traj.jsonl")}


def artifacts(run: Path) -> set[str]:
    return {path.name for path in (run / "artifacts").glob("??/*")}


def test_derived_files_and_unnamed_artifacts_go_and_the_rest_stays(harness: Command, run: Path) -> None:
    write_report(Run(run))
    (run / "summary.json").write_text("{}")
    (run / "run.log").write_text("for people")
    before, named = journals(run), artifacts(run)
    outcomes = scan(run).outcomes
    with RunFolder.open(run) as folder:
        orphan = folder.artifacts.put(b"put down, and then the power went out")
        cookies = folder.checkpoints.put(b"{}")
    done = harness("clean", str(run))
    assert (done.returncode, done.stderr) == (0, "")
    assert journals(run) == before
    assert artifacts(run) == named and orphan not in named
    assert not (run / "private" / "checkpoints" / cookies[:2] / cookies).exists()
    assert not any((run / name).exists() for name in ("report", "summary.json", ".index.jsonl"))
    assert (run / "run.json").exists() and (run / "run.log").exists()
    assert scan(run).outcomes == outcomes, "deleting derived files loses nothing"
    assert "2 unreferenced artifacts" in done.stdout


def test_what_only_a_torn_line_names_is_kept(harness: Command, run: Path) -> None:
    digest = ArtifactStore(run / "artifacts").put(b"a message of the decision that was being written")
    with (run / "2.traj.jsonl").open("ab") as journal:
        journal.write(b'{"kind":"decided","schema":1,"prompt":["' + digest.encode() + b'"')
    assert harness("clean", str(run)).returncode == 0
    assert digest in artifacts(run)


def test_a_dry_run_removes_nothing(harness: Command, run: Path) -> None:
    write_report(Run(run))
    ArtifactStore(run / "artifacts").put(b"nobody speaks of this")
    before = sorted(path for path in run.rglob("*") if path.is_file() and path.name != ".lock")
    done = harness("clean", str(run), "--dry-run")
    assert done.returncode == 0
    assert f"would remove {run / 'report'}" in done.stdout
    assert sorted(path for path in run.rglob("*") if path.is_file() and path.name != ".lock") == before


def test_logs_go_only_when_asked_for(harness: Command, run: Path) -> None:
    (run / "worker.log").write_text("for people")
    assert harness("clean", str(run), "--logs").returncode == 0
    assert not (run / "worker.log").exists()


def test_a_run_in_use_is_left_alone(harness: Command, run: Path) -> None:
    write_report(Run(run))
    with RunFolder.open(run):
        done = harness("clean", str(run))
    assert done.returncode == 2
    assert f"process {os.getpid()}" in done.stderr
    assert (run / "report").exists()


def test_what_is_no_run_folder_is_refused_before_anything_is_removed(harness: Command, run: Path) -> None:
    write_report(Run(run))
    (run.parent / "report").mkdir()
    done = harness("clean", str(run), str(run.parent))
    assert done.returncode == 2
    assert "contains no run" in done.stderr
    assert (run / "report").exists() and (run.parent / "report").exists()


def test_of_a_link_only_the_link_goes(harness: Command, run: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.txt").write_text("kept")
    (run / "report").symlink_to(elsewhere)
    assert harness("clean", str(run)).returncode == 0
    assert not (run / "report").is_symlink()
    assert (elsewhere / "kept.txt").exists()
