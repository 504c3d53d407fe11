"""`harness bundle` and `harness verify`: a run in one file, and what can be wrong with such a file."""

import errno
import io
import os
import random
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import zstandard

from harness.choices import Durability
from harness.cli import configured
from harness.codec import dumps, loads, plain, seal
from harness.errors import ConfigError, StorageError
from harness.evaluation import run_description
from harness.evaluation.config_drift import keep_settings
from harness.evaluation.run_description import describe_run
from harness.files import safe_files
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.bundles.archive import BundleDamaged, opened, write_archive
from harness.plugins.bundles.manifest import MANIFEST
from harness.plugins.bundles.run_bundle import unpack
from harness.plugins.bundles.verification import AS_RECORDED
from harness.reports.summary import Invocation, as_json, summarize
from harness.runs import Run
from harness.runs.intervals import wilson
from harness.secrets.secret_detection import secrets_in
from tests.e2e.conftest import environment
from tests.scored_runs import FUZZY, MUST, a_task, play, scored

COOKIE = b'{"cookies": [{"name": "session", "value": "a-cookie-of-a-login"}]}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run whose scores are what its evidence gives: passed, failed, judged, and one episode that has not ended."""
    with RunFolder.open(tmp_path / "demo", durability=Durability.none) as run:
        play(run, a_task("1", reference_answers=MUST), "12 of them", scored("corrected", 1.0))
        play(run, a_task("2", reference_answers=MUST), "none", scored("corrected", 0.0), scored("webarena", 0.0))
        play(run, a_task("3", reference_answers=FUZZY), "a dozen", scored("corrected", 1.0, "Same.\n\ncorrect"))
        play(run, a_task("4", reference_answers=MUST), None)
        run.checkpoints.put(COOKIE)
        run.write("run.json", dumps({"tasks": list("1234"), "trials": 1, "made": run.artifacts.put(b"named")}))
        run.artifacts.put(b"nobody names it")
        run.write("summary.json", dumps(summary(1.0, 0.0, 1.0, None)))
    return tmp_path / "demo"


def summary(*scores: float | None) -> dict[str, object]:
    results = [{"task_id": str(at), "trial": 0, "score": score} for at, score in enumerate(scores, start=1)]
    return {
        "scoring": "corrected",
        "passed": scores.count(1.0),
        "failed": scores.count(0.0),
        "unscored": scores.count(None),
        "success_rate": scores.count(1.0) / len(scores),
        "results": results,
    }


@pytest.fixture
def bundle(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["bundle", str(folder)]) == 0
    capsys.readouterr()
    return folder.with_name("demo.cairn")


def members(bundle: Path) -> dict[str, bytes]:
    with opened(bundle) as found:
        return dict(found)


def forged(bundle: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The same bundle with other content, and with hashes and manifest that agree with it."""
    files = members(bundle)
    manifest = loads(files.pop(MANIFEST))
    change(files)
    manifest["files"] = {name: {"size": len(one), "sha256": sha256(one).hexdigest()} for name, one in files.items()}
    return written(bundle, {MANIFEST: dumps(manifest), **files})


def written(bundle: Path, files: dict[str, bytes]) -> Path:
    with bundle.open("wb") as file:
        write_archive(file, files.items())
    return bundle


def test_a_bundle_has_what_the_run_names_and_nothing_else(folder: Path, bundle: Path, tmp_path: Path) -> None:
    files = members(bundle)
    journals = [f"{number}.traj.jsonl" for number in range(1, 5)]
    named = sha256(b"named").hexdigest()
    assert list(files) == [MANIFEST, *sorted([*journals, f"artifacts/{named[:2]}/{named}", "run.json", "summary.json"])]
    assert all(content == (folder / name).read_bytes() for name, content in files.items() if name != MANIFEST)
    assert not any(b"a-cookie-of-a-login" in content for content in files.values())
    (tmp_path / "into").mkdir()
    assert unpack(bundle, tmp_path / "into").run == "demo"
    assert (tmp_path / "into" / "1.traj.jsonl").read_bytes() == (folder / "1.traj.jsonl").read_bytes()


def test_the_same_run_makes_the_same_bytes(folder: Path, bundle: Path, tmp_path: Path) -> None:
    assert main(["bundle", str(folder), "--to", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again").read_bytes() == bundle.read_bytes()


@pytest.mark.slow
@pytest.mark.integration
def test_what_a_killed_call_left_is_removed_by_the_next_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunFolder.open(folder, durability=Durability.none) as run:
        run.write(
            "run.json", dumps({"tasks": ["1"], "trials": 1, "made": run.artifacts.put(random.randbytes(12 << 20))})
        )
    line = [sys.executable, "-m", "harness.main", "bundle", str(folder)]
    with subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL) as process:
        while not (left := [*folder.parent.glob(".*.tmp")]):
            assert process.poll() is None, "it ended before it could be killed"
        process.kill()
    assert [*folder.parent.iterdir()] != [folder] and not folder.with_name("demo.cairn").exists()
    assert main(["bundle", str(folder)]) == 0
    bundle = folder.with_name("demo.cairn")
    assert sorted(folder.parent.iterdir()) == [folder, bundle] and left
    assert f"sha256 {sha256(bundle.read_bytes()).hexdigest()}" in capsys.readouterr().out


def test_a_run_that_was_last_started_with_fewer_tasks_is_said_to_differ(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", str(folder)]) == 0
    assert capsys.readouterr().err == ""
    (folder / "run.json").write_bytes(dumps({"tasks": ["1", "4"], "trials": 1}))
    assert main(["bundle", str(folder)]) == 0
    said = capsys.readouterr().err
    assert "does not name the task of 2.traj.jsonl and of 1 more, so" in said and "with all its tasks" in said
    assert main(["verify", str(folder.with_name("demo.cairn"))]) == 1


def test_a_run_without_what_a_verification_needs_is_not_bundled(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = folder.with_name("demo.cairn")
    with RunFolder.open(folder, durability=Durability.none) as run:
        pages = [run.artifacts.put(page) for page in (b"<p>1</p>", b"<p>2</p>")]
        for number, page in enumerate(pages, start=5):
            play(run, a_task(str(number), reference_answers=MUST), "12", scored("corrected", 1.0), html=page)
    files = [folder / "artifacts" / page[:2] / page for page in pages]
    files[0].unlink()
    assert main(["bundle", str(folder)]) == 3 and not bundle.exists()
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{files[0]} is missing or damaged, so that" in said
    files[1].write_bytes(b"<p>3</p>")
    assert main(["bundle", str(folder)]) == 3 and not bundle.exists()
    assert f"{files[0]} is missing or damaged, and so are 1 more (2 in all)" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["run.json", "summary.json"])
def test_a_run_with_a_damaged_description_is_not_bundled(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-2])
    assert main(["bundle", str(folder)]) == 3
    assert f"{folder / name} is damaged; " in capsys.readouterr().err
    assert not folder.with_name("demo.cairn").exists()


def test_a_run_without_a_description_is_not_bundled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.json").unlink()
    assert main(["bundle", str(folder)]) == 3 and not folder.with_name("demo.cairn").exists()
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{folder / 'run.json'} is missing, " in said and "start the run again" in said


@pytest.mark.parametrize("content", [b"", b"hello\n", b"a text that is longer than a trailer\n" * 9])
def test_a_file_that_is_no_bundle_is_one_that_does_not_hold(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "y.cairn").write_bytes(content)
    assert main(["verify", str(tmp_path / "y.cairn")]) == 1
    assert "y.cairn is not a bundle; give a file that `harness bundle` wrote" in capsys.readouterr().err


@pytest.mark.parametrize("name", [".staging", ".lock"])
def test_a_run_on_a_read_only_file_system_is_bundled_and_looked_through(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new folder cannot be made there, and where it is there, the lock cannot be opened to write."""
    call = "open_folder" if name == ".staging" else "open_regular"
    before = getattr(safe_files, call)

    def refused(path: Path, *given: Any, **more: Any) -> Any:
        if path == folder / name:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return before(path, *given, **more)

    monkeypatch.setattr(safe_files, call, refused)
    assert main(["bundle", str(folder), "--to", str(tmp_path / "to.cairn")]) == 0
    assert main(["clean", str(folder), "--dry-run"]) == 0
    capsys.readouterr()
    assert main(["clean", str(folder)]) == 2 and "the file system is read-only" in capsys.readouterr().err


def test_other_programs_read_it(bundle: Path) -> None:
    with bundle.open("rb") as file:
        unpacked = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as archive:
        assert archive.getnames() == list(members(bundle))


def test_every_score_is_recomputed(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digest = sha256(bundle.read_bytes()).hexdigest()
    assert main(["verify", str(bundle), "--sha256", digest]) == 0
    out = capsys.readouterr().out
    assert f"sha256 {digest}" in out
    assert "corrected: 3 scores recomputed from the evidence, of 4 episodes" in out
    assert "webarena: 1 score recomputed from the evidence, of 4 episodes" in out
    assert main(["verify", str(bundle), "--sha256", digest[::-1]]) == 1


def test_verifying_needs_neither_browser_nor_model(bundle: Path) -> None:
    program = (
        "import sys; from harness.main import main; code = main(sys.argv[1:]);"
        "print({'playwright', 'openai'} & set(sys.modules), code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "verify", str(bundle)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.stdout.splitlines()[-1] == "set() 0", done.stderr


def test_each_changed_byte_is_found(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, draw = bundle.read_bytes(), random.Random(7)
    places = [*draw.sample(range(len(content)), 94), 0, 4, len(content) - 1, len(content) - 33, len(content) - 40]
    for at in places:
        changed = bytearray(content)
        changed[at] ^= 1 << draw.randrange(8)
        (tmp_path / "changed").write_bytes(changed)
        assert main(["verify", str(tmp_path / "changed")]) == 1, at
        assert str(tmp_path / "changed") in capsys.readouterr().err
    for length in (0, 3, 39, len(content) // 2, len(content) - 1):
        (tmp_path / "cut").write_bytes(content[:length])
        assert main(["verify", str(tmp_path / "cut")]) == 1, length


def test_a_score_that_does_not_follow_from_the_evidence_is_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunFolder.open(folder) as run, run.journal("2") as journal:
        journal.append(scored("corrected", 1.0))
    assert main(["bundle", str(folder)]) == 0
    assert main(["verify", str(folder.with_name("demo.cairn"))]) == 1
    out = capsys.readouterr().out
    assert "differs: 2.traj.jsonl: corrected: scored 1, but its evidence gives 0" in out


@pytest.mark.parametrize("reason", ["DONE", "MAX_STEPS"])
def test_an_answer_of_an_episode_that_the_agent_did_not_end_is_found(
    folder: Path, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    """The agent stopped with `none`; the line that closes it says that something else ended it, with a right answer."""
    path = folder / "2.traj.jsonl"
    sealed, crc = list[bytes](), 0
    for line in path.read_bytes().splitlines():
        tree = loads(line)
        del tree["crc"]
        if tree["kind"] == "closed":
            tree |= {"reason": reason, "answer": "12 of them"}
        if tree["kind"] == "scored":
            tree = loads(dumps(scored(tree["dialect"], 1.0))) | {"kind": "scored", "schema": tree["schema"]}
        one, crc = seal(dumps(tree)[:-1], crc)
        sealed.append(one)
    path.write_bytes(b"".join(sealed))
    (folder / "summary.json").unlink()
    assert main(["bundle", str(folder)]) == 0
    assert main(["verify", str(folder.with_name("demo.cairn"))]) == 1
    out = capsys.readouterr().out
    assert "differs: 2.traj.jsonl: its answer is '12 of them', but the agent did not end the episode" in out
    assert main(["show", str(folder.with_name("demo.cairn"))]) == 0
    assert "2 passed, 0 failed, 2 unscored of 4 tasks" in capsys.readouterr().out


def test_a_manifest_or_a_summary_that_says_otherwise_is_found(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    better = dumps(summary(1.0, 1.0, 1.0, None))
    assert main(["verify", str(forged(bundle, lambda files: files.update({"summary.json": better})))]) == 1
    assert "summary.json: task 2, trial 0: score: 1.0, not 0.0" in capsys.readouterr().out
    totals = dumps({**summary(1.0, 0.0, 1.0, None), "success_rate": 0.9})
    assert main(["verify", str(forged(bundle, lambda files: files.update({"summary.json": totals})))]) == 1
    assert "summary.json: success_rate: 0.9, not 0.5" in capsys.readouterr().out
    files = members(bundle)
    manifest = loads(files[MANIFEST])
    manifest["scores"][0]["value"] = 0.5
    assert main(["verify", str(written(bundle, {**files, MANIFEST: dumps(manifest)}))]) == 1
    assert "the manifest says 0.5, the journal 1" in capsys.readouterr().out
    del files["2.traj.jsonl"]
    assert main(["verify", str(forged(written(bundle, files), lambda files: None))]) == 1
    assert "task 2, trial 0 has a score but no journal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("drifts", "code"), [([("a", "b")], 0), ([], 1), ([("b", "a"), ("x", "b")], 1)], ids=["accepted", "none", "others"]
)
def test_a_run_that_went_on_with_an_accepted_other_model_is_verified(
    folder: Path, drifts: Sequence[tuple[str, str]], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its journals name the settings with which each attempt began, `run.json` those of the latest start."""
    one = a_task("1", reference_answers=MUST)
    with RunFolder.open(folder.with_name("other"), durability=Durability.none) as run:
        kept = {name: run.artifacts.put(dumps({"llm.model": name})) for name in "ab"} | {"x": "0" * 64}
        play(run, one, "12 of them", scored("corrected", 1.0), config_digest=kept["a"])
        about = {"tasks": ["1"], "trials": 1, "model": "b", "config_digest": kept["b"]}
        run.write("run.json", dumps(about))
        lines = [dumps({"at": 0.0, "from": kept[before], "to": kept[now], "changed": {}}) for before, now in drifts]
        run.write("drift.jsonl", b"".join(line + b"\n" for line in lines))
    assert main(["bundle", str(folder.with_name("other"))]) == 0
    capsys.readouterr()
    assert main(["verify", str(folder.with_name("other.cairn"))]) == code
    assert ("run.json: model: 'b', but the settings of its journals have a" in capsys.readouterr().out) == bool(code)


def test_a_run_that_was_served_has_the_trials_of_its_journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients decide what is played, also until a kill: a task may have three trials, and another one none."""
    monkeypatch.setattr(run_description, "environment", lambda _: {})
    tasks, config = [a_task(number, reference_answers=MUST) for number in "12"], configured(["task=demo"])
    with RunFolder.open(tmp_path / "served", durability=Durability.none) as run:
        settings = keep_settings(run, config.measured())
        describe_run(config, run, tasks, config_digest=settings, is_begun=False, accepted=None, is_open=True)
        for trial in range(3):
            play(run, tasks[0], "12 of them", scored("corrected", 1.0), config_digest=settings, trial=trial)
    assert main(["bundle", str(tmp_path / "served")]) == main(["verify", str(tmp_path / "served.cairn")]) == 0
    found = Run(tmp_path / "served")
    assert [(one.task_id, one.trial) for one in found.results] == [("1", at) for at in range(3)]


def test_a_journal_that_was_changed_and_hashed_again_is_found(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(files: dict[str, bytes]) -> None:
        files["2.traj.jsonl"] = files["2.traj.jsonl"].replace(b"none", b"12 !")

    assert main(["verify", str(forged(bundle, change))]) == 1
    assert "differs: 2.traj.jsonl:3: the checksum does not match" in capsys.readouterr().out


HOSTILE = {
    "a way out": ("../outside", "is not a file of a run"),
    "an absolute path": ("/tmp/outside", "is not a file of a run"),
    "a private file": ("private/checkpoints/aa/" + "a" * 64, "is not a file of a run"),
    "an artifact under another name": ("artifacts/aa/" + "a" * 64, "does not have the content that its name says"),
}


@pytest.mark.parametrize(("name", "why"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_refused(bundle: Path, name: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(forged(bundle, lambda files: files.update({name: b"x"})))]) == 1
    assert why in capsys.readouterr().err


def _twice(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    yield from files.items()
    yield "run.json", files["run.json"]


def _unnamed(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    yield from files.items()
    yield "drift.jsonl", b"{}\n"


def _without_a_file(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    yield from ((name, content) for name, content in files.items() if name != "run.json")


def _manifest_last(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    yield from reversed(list(files.items()))


def _no_manifest(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    yield from {**files, MANIFEST: b"[]"}.items()


def _another_format(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    yield from {**files, MANIFEST: dumps({**loads(files[MANIFEST]), "format": 9})}.items()


@pytest.mark.parametrize("order", [_twice, _unnamed, _without_a_file, _manifest_last, _no_manifest, _another_format])
def test_another_composition_is_refused(
    bundle: Path, order: Callable[[dict[str, bytes]], Iterator[tuple[str, bytes]]], tmp_path: Path
) -> None:
    files = members(bundle)
    with bundle.open("wb") as file:
        write_archive(file, order(files))
    with pytest.raises((BundleDamaged, ConfigError)):
        unpack(bundle, tmp_path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_links_and_special_files_are_refused(bundle: Path, kind: bytes, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(packed, closefd=False) as stream:
        with tarfile.open(fileobj=stream, mode="w|") as archive:
            member = tarfile.TarInfo("run.json")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    frame = packed.getvalue()
    bundle.write_bytes(frame + b"\x50\x2a\x4d\x18\x20\0\0\0" + sha256(frame).digest())
    with pytest.raises(BundleDamaged, match="not a regular file"):
        unpack(bundle, tmp_path)
    assert list(tmp_path.glob("run.json")) == []


def _extended(content: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, len(content)
    return header.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % 512)


def _pax(**about: str) -> bytes:
    lines = [f" {key.replace('_', '.')}={value}\n" for key, value in about.items()]
    return b"".join(f"{len(line) + len(str(len(line) + 3))}{line}".encode() for line in lines)


HEADERS = {
    "digits that are searched again and again": _extended(b"1" * 900_000),
    "a long name": _extended(b"n" * 20_000, tarfile.GNUTYPE_LONGNAME),
    "a long link": _extended(b"n" * 20_000, tarfile.GNUTYPE_LONGLINK),
    "a long global header": _extended(b"2" * 20_000, tarfile.XGLTYPE),
    "a sparse map that is none": _extended(_pax(GNU_sparse_map="a,b", GNU_sparse_size="9")),
    "a sparse size that is none": _extended(_pax(GNU_sparse_size="zz")),
    "many headers, one in the other": _extended(b"n\0", tarfile.GNUTYPE_LONGNAME) * 3000,
    "many PAX headers, one in the other": _extended(_pax(path="n")) * 3000,
    "a sparse file": _extended(b"", tarfile.GNUTYPE_SPARSE),
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_hostile_header_is_one_sentence(
    bundle: Path, header: bytes, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    frame = zstandard.ZstdCompressor().compress(header + tarfile.TarInfo("run.json").tobuf() + bytes(1024))
    bundle.write_bytes(frame + b"\x50\x2a\x4d\x18\x20\0\0\0" + sha256(frame).digest())
    for command in (["verify", str(bundle)], ["show", str(bundle)], ["compare", str(bundle), str(bundle)]):
        assert main(command) in (1, 3)
        said = capsys.readouterr()
        assert len(said.err.splitlines()) == 1 and str(bundle) in said.err and "internal error" not in said.err


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_unpacks_to_more_than_any_is_refused(bundle: Path, kind: bytes, tmp_path: Path) -> None:
    packed = io.BytesIO()
    header = tarfile.TarInfo("run.json")
    header.type, header.size = kind, 1 << 28
    with zstandard.ZstdCompressor().stream_writer(packed, closefd=False) as stream:
        stream.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(header.size >> 20):
            stream.write(bytes(1 << 20))
    frame = packed.getvalue()
    bundle.write_bytes(frame + b"\x50\x2a\x4d\x18\x20\0\0\0" + sha256(frame).digest())
    assert bundle.stat().st_size < 100_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BundleDamaged, match="a header in it has"):
        unpack(bundle, tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


def test_what_the_disk_does_not_hold_is_not_unpacked(bundle: Path, tmp_path: Path) -> None:
    files = members(bundle)
    manifest = loads(files[MANIFEST])
    for about in manifest["files"].values():
        about["size"] = 1 << 60
    with pytest.raises(StorageError, match="make room"):
        unpack(written(bundle, {**files, MANIFEST: dumps(manifest)}), tmp_path)
    assert list(tmp_path.glob("*.jsonl")) == []


def test_a_secret_in_a_file_stops_the_bundle(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    (folder / "config.yaml").write_text("note: correct-horse-battery\n")
    assert main(["bundle", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "config.yaml contains a secret" in said
    assert "correct-horse" not in said
    assert not folder.with_name("demo.cairn").exists()
    (folder / "config.yaml").write_text("note: '[redacted:SOME_API_KEY]'\n")
    assert main(["bundle", str(folder)]) == 0


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "no text has the form of a credential; settings and environment hold no key or password to look for"),
        (
            {"ONE_API_KEY": "correct-horse-battery"},
            "neither the key or password in settings and environment, nor text that",
        ),
        (
            {"ONE_API_KEY": "correct-horse-battery", "TWO_API_KEY": "staple-lantern-77"},
            "neither any of the 2 keys and passwords in settings and environment, nor text that has the form of",
        ),
    ],
)
def test_it_says_what_was_looked_for(
    folder: Path,
    variables: dict[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in secrets_in(os.environ):
        monkeypatch.delenv(name.partition("[")[0], raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["bundle", str(folder)]) == 0
    assert f"no secret found: {said}" in capsys.readouterr().out


def test_an_active_run_is_not_bundled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunFolder.open(folder):
        assert main(["bundle", str(folder)]) == 2
    assert str(folder) in capsys.readouterr().err
    assert not folder.with_name("demo.cairn").exists()


def test_a_link_in_the_run_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("{}")
    (folder / "drift.jsonl").symlink_to(tmp_path / "elsewhere")
    assert main(["bundle", str(folder)]) == 3
    assert not folder.with_name("demo.cairn").exists()


def test_a_bundle_is_shown_reported_and_compared_like_a_run(
    folder: Path, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(folder)]) == 0
    of_folder = capsys.readouterr().out
    assert main(["show", str(bundle)]) == 0
    assert capsys.readouterr().out == f"{of_folder}{AS_RECORDED}\n"
    assert main(["compare", str(folder), str(bundle), "--json"]) == 0
    assert loads(capsys.readouterr().out)[0]["gained"] == []
    assert main(["report", str(bundle)]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page == bundle.with_name("demo.html")
    assert "12 of them" in page.read_text() and AS_RECORDED in page.read_text()


@pytest.mark.parametrize("arguments", [["bundle", "absent"], ["verify", "absent"], ["report", "absent"]])
def test_what_is_absent_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("harness: absent") and said.count("\n") == 1


@pytest.mark.parametrize("command", [("show",), ("report",), ("compare", ".")])
def test_a_bundle_that_is_not_there_is_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    missing = tmp_path / "first.cairn"
    assert main([command[0], str(missing), *command[1:]]) == 2
    assert capsys.readouterr().err == (
        f"harness: {missing} does not exist; give the folder of a run, like results/NAME, or a bundle (NAME.cairn)\n"
    )


def test_a_suite_of_a_version_before_is_verified_by_the_intervals_that_it_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It made the intervals over tasks, also of tasks that share an intent template, and did not name trials."""

    def verified(name: str, change: Callable[[Any], None]) -> int:
        with RunFolder.open(tmp_path / name, durability=Durability.none) as run:
            for number in range(4):
                one = replace(a_task(f"a.{number}", reference_answers=MUST), intent_template_id="7")
                play(run, one, "12 of them", scored("corrected", 1.0))
            run.write("run.json", dumps({"tasks": [f"a.{n}" for n in range(4)], "benchmarks": {"a": 1.0}}))
        results = Run(tmp_path / name, scoring="corrected").results
        tree = plain(as_json(summarize("run", results, "corrected", Invocation(), weights={"a": 1.0})))
        change(tree["suite"])
        (tmp_path / name / "summary.json").write_bytes(dumps(tree))
        assert main(["bundle", str(tmp_path / name)]) == 0
        return main(["verify", str(tmp_path / f"{name}.cairn")])

    def as_before(suite: Any) -> None:
        del suite["benchmarks"][0]["is_even"]
        suite["benchmarks"][0]["rate"]["low"] = suite["mean"]["low"] = wilson(4, 4).low

    def narrower(suite: Any) -> None:
        as_before(suite)
        suite["benchmarks"][0]["rate"]["low"] = 0.9

    assert verified("now", lambda suite: None) == 0
    assert verified("before", as_before) == 0
    assert verified("forged", lambda suite: suite["benchmarks"][0]["rate"].update(low=0.51)) == 1
    assert verified("narrower", narrower) == 1
    assert verified("worse", lambda suite: (as_before(suite), suite["benchmarks"][0].update(passed=3))) == 1
    assert "suite: benchmarks: passed: 3, not 4" in capsys.readouterr().out
