"""What an attempt keeps on disk is what its files take, also after the attempt was interrupted."""

from pathlib import Path

from harness.episode.artifacts import CountedArtifacts
from harness.journal.store import ArtifactStore, RunFolder
from harness.records import Answered, Asked, Usage
from tests.scored_runs import a_task, play

BLOCK = 4096


def test_artifacts_are_counted_once_and_in_blocks(tmp_path: Path) -> None:
    counted = CountedArtifacts(ArtifactStore(tmp_path / "artifacts"))
    digest = counted.put(b"x")
    assert counted.kept == BLOCK and counted.read(digest) == b"x" and counted.size(digest) == 1
    counted.put(b"x")
    counted.stage(b"x").settle()
    assert counted.kept == BLOCK
    counted.stage(b"y" * (BLOCK + 1))
    assert counted.kept == 3 * BLOCK


def test_an_attempt_that_goes_on_counts_what_its_records_name(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path) as run:
        path = play(run, a_task("7"), None)
        counted = CountedArtifacts(run.artifacts)
        with run.journal("7") as journal:
            for number in (1, 2):
                request, said = counted.put(b"q" * 10_000 * number), counted.put(b"same")
                asked = Asked(
                    number=number, step=1, key="ab" * 32, interface="chat", model="m", request=request, at=0.0
                )
                journal.append(asked)
                usage = Usage(requests=1)
                journal.append(
                    Answered(number=number, status=200, response=said, model="m", usage=usage, elapsed_ms=1.0, at=0.0)
                )
            written = journal.written
        again = CountedArtifacts(run.artifacts)
        with run.journal("7") as journal:
            size = again.resume(journal.episode)
    assert again.kept == counted.kept == (3 + 5 + 1) * BLOCK
    assert 0 < written < size <= path.stat().st_size
