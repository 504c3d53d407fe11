"""What stands in a run folder in the place of a file or a folder: no command follows, waits for, fills or empties it.

A row is a thing (a link, a FIFO, a device, a hard link, 2 TB of nothing) in a place, a command, and what it comes to.
Links lead to a folder beside the run in which nothing may change. Exit code 3 says that the run folder is in the way,
and names the thing; 0 that the command could do its work without it.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from harness.config.recorded_config import read_recorded
from harness.errors import ConfigError, TaskError, UnsafeFile
from harness.files import safe_files
from harness.files.disk import Within, write_atomic
from harness.journal.index import note, scan
from harness.journal.lock import holder_named_in
from harness.journal.log import Journal, read
from harness.journal.merge import merge
from harness.journal.site_log import SiteLog
from harness.journal.store import FILES, FOLDERS, ArtifactStore, RunFolder, check_shape, lock_token
from harness.plugins.clean.garbage import Garbage, find_garbage, remove
from harness.plugins.tracking.history import History
from harness.plugins.webarena.results_import import import_results
from harness.tasks import load
from tests.e2e.conftest import PROJECT, environment
from tests.hostile.foreign import JOURNAL, PUT, Harness, Place, commands, edited, setting, viewed, within

Row = tuple[str, str, str, int]
"""Where, what, command, exit code."""
THINGS = ("link", "dangling-link", "link-to-itself", "link-to-zeros", "fifo", "socket", "folder", "2TB")
"""What can stand in the place of a file that is read."""
NAMED = ("is a link", "is a FIFO", "is a socket", "is a folder", "is a file", "is a device", "MB", "hard links")
"""What is said of them."""


def rows(*, of: dict[str, int], things: tuple[str, ...], at: str) -> list[Any]:
    """A row for each thing and command; `of` is command to exit code."""
    return [
        pytest.param((at, thing, command, code), id=f"{at}-{thing}-{command}")
        for thing in things
        for command, code in of.items()
    ]


# The journal of task 0. Commands that show a run show the others and say what is wrong with this one.
JOURNALS = rows(
    at=JOURNAL,
    things=THINGS,
    of={"report": 0, "show": 3, "show-task": 3, "score": 3, "compare": 3, "export-csv": 3, "clean": 3, "replay": 3},
)
MORE = [
    *rows(at=JOURNAL, things=("fifo", "link"), of={"report-single-file": 0, "export-art": 3, "export-verified": 3}),
    *rows(at="run.json", things=THINGS, of={"report": 3, "show": 3, "compare": 3}),
    *rows(at="run.json", things=("fifo", "link-to-zeros"), of={"score": 3, "clean": 3, "show-task": 3}),
    *rows(at="summary.json", things=("fifo", "link-to-zeros", "2TB"), of={"report": 3, "show": 3}),
    *rows(
        at=".index.jsonl", things=("fifo", "link", "link-to-zeros", "2TB"), of={"report": 3, "show": 3, "export-csv": 3}
    ),
    *rows(at="config.yaml", things=THINGS, of={"replay": 3}),
    *rows(at=".lock", things=("link", "dangling-link", "fifo", "socket", "folder", "hard-link"), of={"clean": 3}),
    *rows(at=".lock", things=("link", "hard-link"), of={"clean-dry-run": 3}),
    *rows(at=".staging", things=("link-to-folder", "link", "file", "fifo"), of={"clean": 3, "clean-dry-run": 3}),
    *rows(at="report", things=("link-to-folder", "dangling-link", "file", "fifo"), of={"report": 3}),
    *rows(at="report/tasks", things=("link-to-folder", "file"), of={"report": 3}),
    *rows(at="report/.made.json", things=("fifo", "link-to-zeros", "2TB"), of={"report": 3}),
    *rows(at="artifacts", things=("link-to-folder", "fifo", "file"), of={"clean": 3, "clean-dry-run": 3}),
    *rows(at="artifacts/ab", things=("link-to-folder", "link", "fifo", "file"), of={"clean": 3}),
    *rows(at="private", things=("link-to-folder", "file"), of={"clean": 3}),
    *rows(at="private/checkpoints", things=("link-to-folder", "file"), of={"clean": 3}),
    *rows(at="private/checkpoints/ab", things=("link-to-folder", "file", "fifo"), of={"clean": 3}),
    *rows(at="export", things=("link-to-folder", "file", "fifo"), of={"export-csv": 3}),
    *rows(at="export", things=("link-to-folder",), of={"export-verified": 2}),
]
"""Everything else that is refused; exit code 2 where something was wrong before that was looked at."""


@pytest.mark.sample(10)
@pytest.mark.parametrize("row", [*JOURNALS, *MORE])
def test_it_is_refused_by_name(place: Place, harness: Harness, row: Row) -> None:
    at, thing, command, code = row
    PUT[thing](place.run / at, place)
    said = harness(*commands(place)[command])
    assert said.code == code, said.text
    text = said.text
    if code == 0 and command.startswith("report"):
        text = (
            place.run / "report" / "index.html" if command == "report" else place.run.parent / "one.html"
        ).read_text()
    if code != 2:
        assert at.rpartition("/")[2] in text and any(name in text for name in NAMED), text
        assert "Traceback" not in text
    is_shown = code == 0 or (command == "show" and at == JOURNAL)  # between the other episodes
    assert len(said.err.splitlines()) == (0 if is_shown else 1)


# What is replaced, or not needed, is no reason to refuse; a link goes, and what it leads to stays.
FINE = [
    *rows(at="rescored-corrected.json", things=("link", "dangling-link", "fifo"), of={"score": 3}),
    *rows(at="report/index.html", things=("link", "fifo"), of={"report": 0}),
    *rows(at="report/tasks/0.html", things=("link", "hard-link"), of={"report": 0}),
    *rows(at="export/tasks.csv", things=("link", "dangling-link", "fifo", "hard-link"), of={"export-csv": 0}),
    *rows(at="summary.json", things=("link", "dangling-link"), of={"clean": 0}),
    *rows(at="junit.xml", things=("link", "fifo", "socket"), of={"clean": 0}),
    *rows(at="report", things=("link-to-folder", "fifo", "dangling-link"), of={"clean": 0}),
    *rows(at="evil.log", things=("link", "link-to-folder", "fifo"), of={"clean-dry-run": 0}),
    *rows(at="notes", things=("link-to-folder", "fifo"), of={"report": 0, "clean": 0, "export-csv": 0}),
]


@pytest.mark.sample(10)
@pytest.mark.parametrize("row", FINE)
def test_it_is_in_nobodys_way(place: Place, harness: Harness, row: Row) -> None:
    at, thing, command, code = row
    PUT[thing](place.run / at, place)
    said = harness(*commands(place)[command])
    assert (said.code, said.err) == (code, ""), said.text  # 3 of `score`: task 2 has not ended
    if command in ("score", "report", "export-csv") and at != "notes":
        assert (place.run / at).is_file() and not (place.run / at).is_symlink(), "it was replaced"


@pytest.mark.sample(9)
@pytest.mark.parametrize("thing", ["link", "link-to-zeros", "fifo", "2TB", "folder", "socket"])
@pytest.mark.parametrize("command", ["report", "report-single-file", "show-task", "show-step", "export-art", "view"])
def test_an_artifact_that_is_none_is_missing(place: Place, harness: Harness, thing: str, command: str) -> None:
    for name in [*(place.run / "artifacts").glob("??/*")]:
        PUT[thing](name, place)
    if command == "view":
        assert "is a" in viewed(place.run)[f"/run/{place.run.name}/task/0"] or thing == "2TB"
        return
    said = harness(*commands(place)[command])
    assert said.code == (3 if command == "export-art" else 0), said.text
    assert "Traceback" not in said.text


@pytest.mark.sample(6)
@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("at", [JOURNAL, "run.json", "summary.json", ".index.jsonl"])
def test_the_viewer_says_what_is_in_the_way_and_shows_the_rest(place: Place, at: str, thing: str) -> None:
    PUT[thing](place.run / at, place)
    pages = viewed(place.run)
    base = f"/run/{place.run.name}"
    assert any(name in pages[base] for name in NAMED) and at in pages[base]
    assert "Assign issue" in pages[f"{base}/task/2"] or "Storm Lantern" in pages[f"{base}/task/2"]


# --- what a start of run.py looks at before anything else


@pytest.mark.sample(24)
@pytest.mark.parametrize("thing", ["link", "dangling-link", "fifo", "socket", "folder", "hard-link", "link-to-zeros"])
@pytest.mark.parametrize("name", FILES)
def test_a_start_refuses_its_own_files_when_they_are_none(place: Place, name: str, thing: str) -> None:
    PUT[thing](place.run / name, place)
    with within(), pytest.raises(UnsafeFile, match=f"/{name} (is a|has 2 hard links)"):
        check_shape(place.run)


@pytest.mark.parametrize("thing", ["link-to-folder", "link", "dangling-link", "file", "fifo"])
@pytest.mark.parametrize("name", [*FOLDERS, "private", "report"])
def test_a_start_refuses_its_own_folders_when_they_are_none(place: Place, name: str, thing: str) -> None:
    PUT[thing](place.run / name, place)
    with within(), pytest.raises(UnsafeFile, match=f"/{name} (is a|has 2 hard links)"):
        check_shape(place.run)


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("at", "thing"),
    [
        (".staging", "link-to-folder"),
        (".lock", "link"),
        ("run.log", "link"),
        (JOURNAL, "fifo"),
        ("report", "link-to-folder"),
    ],
)
def test_the_real_command_refuses_the_folder_at_once(place: Place, at: str, thing: str) -> None:
    PUT[thing](place.run / at, place)
    done = subprocess.run(
        [sys.executable, str(PROJECT / "run.py"), "task=smoke", f"run.root={place.run.parent}", "run.id=run"],
        capture_output=True, text=True, check=False, timeout=1200, env=environment(), cwd=place.run.parent,
    )  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    assert str(place.run / at) in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_run_folder_that_is_a_link_is_the_persons_own_choice(place: Place, harness: Harness) -> None:
    named = place.run.parent / "named"
    named.symlink_to(place.run)
    check_shape(named)
    for command in (("report", named), ("show", named), ("score", named), ("clean", named)):
        said = harness(*command)
        assert said.code in (0, 3) and said.err == "", said.text
    assert len(scan(named).entries) == 3


def test_a_folder_that_all_may_write_to_keeps_cookies_to_its_owner(place: Place) -> None:
    for folder in (place.run, place.run / "private", place.run / "private" / "checkpoints"):
        folder.chmod(0o777)
    with RunFolder.open(place.run) as run:
        digest = run.checkpoints.put(b"cookies")
        assert run.checkpoints.read(digest) == b"cookies"
    assert not (run.checkpoints.path(digest).stat().st_mode & 0o077)


# --- the parts the commands are made of, on the same things


def appended(path: Path) -> None:
    with Journal.open(path):
        pass


PARTS: dict[str, tuple[str, Callable[[Place], object]]] = {
    "journal-opened": (JOURNAL, lambda place: appended(place.run / JOURNAL)),
    "journal-read": (JOURNAL, lambda place: read(place.run / JOURNAL)),
    "lock": (".lock", lambda place: RunFolder.open(place.run).close()),
    "sites-read": ("sites.jsonl", lambda place: SiteLog(place.run).read()),
    "sites-written": ("sites.jsonl", lambda place: SiteLog(place.run).write({})),
    "settings": ("config.yaml", lambda place: read_recorded(place.run)),
    "history-read": ("history.jsonl", lambda place: [*History(place.run / "history.jsonl").rows()]),
    "history-written": ("history.jsonl", lambda place: History(place.run / "history.jsonl").append(b"{}")),
    "log": ("worker.log", lambda place: safe_files.open_append(place.run / "worker.log").close()),
    "shard-merged": (JOURNAL, lambda place: merge(place.run, _empty_run(place))),
}


def _empty_run(place: Place) -> Path:
    (place.run.parent / "all").mkdir()
    return place.run.parent / "all"


@pytest.mark.sample(20)
@pytest.mark.parametrize(
    "thing", ["link", "dangling-link", "link-to-itself", "link-to-zeros", "fifo", "socket", "folder"]
)
@pytest.mark.parametrize("part", PARTS)
def test_a_part_refuses_it(place: Place, part: str, thing: str) -> None:
    name, use = PARTS[part]
    PUT[thing](place.run / name, place)
    with within(), pytest.raises(UnsafeFile, match=name):
        use(place)


@pytest.mark.parametrize("part", ["journal-opened", "lock", "sites-written", "history-written", "log"])
def test_a_file_of_other_names_is_not_written(place: Place, part: str) -> None:
    name, use = PARTS[part]
    PUT["hard-link"](place.run / name, place)
    with within(), pytest.raises(UnsafeFile, match="hard links"):
        use(place)


@pytest.mark.parametrize("thing", ["link", "fifo", "link-to-zeros", "folder", "socket"])
def test_what_only_tells_who_holds_a_run_is_never_a_reason_to_wait(place: Place, thing: str) -> None:
    PUT[thing](place.run / ".lock", place)
    with within():
        assert holder_named_in(place.run / ".lock") == "another process"
        assert lock_token(place.run) == ""


@pytest.mark.parametrize("thing", ["link", "dangling-link", "fifo", "hard-link", "folder"])
def test_the_index_is_left_alone_where_it_is_none(place: Place, thing: str) -> None:
    PUT[thing](place.run / ".index.jsonl", place)
    before = (place.run / ".index.jsonl").lstat()[:7]  # without the times: asking where a link leads changes one
    with within():
        note(place.run / JOURNAL, read(place.run / JOURNAL), (place.run / JOURNAL).stat())
    assert (place.run / ".index.jsonl").lstat()[:7] == before


@pytest.mark.parametrize("kind", ["artifacts", "private/checkpoints"])
@pytest.mark.parametrize("thing", ["link-to-folder", "file", "fifo"])
@pytest.mark.parametrize("depth", [0, 1])
def test_nothing_is_stored_by_way_of_a_link(place: Place, kind: str, thing: str, depth: int) -> None:
    data = b"a page"
    with RunFolder.open(place.run) as run:
        store = run.artifacts if kind == "artifacts" else run.checkpoints
        at = store.path("ab" * 32).parent if depth else store.path("ab" * 32).parents[1]
        if depth:
            at = store.path(_digest(data)).parent
        PUT[thing](at, place)
        with within(), pytest.raises(UnsafeFile, match=at.name):
            store.put(data)
        with within(), pytest.raises(UnsafeFile, match=at.name):
            store.read(_digest(data))


@pytest.mark.parametrize("thing", ["link", "fifo", "socket", "hard-link"])
def test_an_artifact_takes_the_place_of_what_stands_there(place: Place, thing: str) -> None:
    with RunFolder.open(place.run) as run:
        PUT[thing](run.artifacts.path(_digest(b"a page")), place)
        with within():
            assert run.artifacts.read(run.artifacts.put(b"a page")) == b"a page"


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


# --- between the look and the use


def test_a_folder_that_becomes_a_link_after_it_was_listed_is_not_emptied(place: Place) -> None:
    orphan = ArtifactStore(place.run / "artifacts").put(b"nobody speaks of this")
    listed = [one for one in find_garbage(place.run) if one.path.name == orphan]
    assert len(listed) == 1
    (place.folder / orphan).write_bytes(b"mine")
    place.before = {}
    place.__post_init__()
    PUT["link-to-folder"](place.run / "artifacts" / orphan[:2], place)
    with within(), pytest.raises(UnsafeFile):
        remove(listed[0], place.run)


def test_a_file_above_which_everything_moved_is_not_removed(place: Place) -> None:
    found = Garbage(path=place.run / "artifacts" / "ab" / "letter.txt", size=4)
    PUT["link-to-folder"](place.run / "artifacts", place)
    with within(), pytest.raises(UnsafeFile):
        remove(found, place.run)


def test_what_was_put_where_an_unfinished_file_goes_is_not_written_through(place: Place) -> None:
    from harness.files import disk

    staging = place.run / ".staging"
    number = next(disk._serial) + 1
    for name in (f".{os.getpid()}-{number}.tmp", f".{os.getpid()}-{number + 1}.tmp"):
        PUT["link"](staging / name, place)
    write_atomic(place.run / "summary.json", b"new", within=Within(place.run, staging))
    write_atomic(place.run / "summary.json", b"newer", within=Within(place.run, staging))
    assert (place.run / "summary.json").read_bytes() == b"newer"


def test_a_folder_in_staging_is_named(place: Place) -> None:
    (place.run / ".staging" / "deep").mkdir()
    with pytest.raises(UnsafeFile, match=r"\.staging/deep is a folder"):
        RunFolder.open(place.run)


# --- what was given by name: task files, and results of WebArena's


@pytest.mark.parametrize("thing", ["fifo", "link-to-zeros", "socket", "2TB"])
@pytest.mark.parametrize("name", ["tasks.json", "tasks.jsonl", "tasks/1.json"])
def test_a_task_file_that_never_ends_is_refused(place: Place, name: str, thing: str) -> None:
    at = place.run.parent / name
    PUT[thing](at, place)
    with within(), pytest.raises(TaskError, match=str(place.run.parent)):
        load(str(at if "/" not in name else at.parent), {})


def test_a_task_file_may_be_a_link(place: Place) -> None:
    (place.run.parent / "tasks.json").symlink_to(PROJECT / "tasks" / "demo.json")
    bases = {name: f"http://{name}.localhost" for name in ("shop", "forum", "code", "office")}
    assert load(str(place.run.parent / "tasks.json"), bases)


@pytest.mark.parametrize("thing", ["link", "fifo", "link-to-zeros", "socket", "folder", "dangling-link", "2TB"])
def test_a_render_file_that_is_none_is_left_out_by_name(place: Place, thing: str) -> None:
    source = place.run.parent / "webarena"
    PUT[thing](source / "render_1.html", place)
    with within():
        found = import_results(source, place.run.parent / "imported")
    assert (found.episodes == 0 and "render_1.html is" in found.skipped[0]) or "render_1.html has" in found.skipped[0]


@pytest.mark.parametrize("thing", ["link", "fifo", "link-to-zeros", "2TB"])
@pytest.mark.parametrize("which", ["config.json", "--log"])
def test_what_lies_beside_render_files_is_refused(place: Place, which: str, thing: str) -> None:
    source = place.run.parent / "webarena"
    source.mkdir()
    (source / "render_1.html").write_text("none of WebArena's")
    logs = [source / "log"] if which == "--log" else []
    PUT[thing](logs[0] if logs else source / "config.json", place)
    if which == "--log" and thing == "link":  # a person's own
        import_results(source, place.run.parent / "imported", logs)
        return
    with within(), pytest.raises(ConfigError, match=r"log|config\.json"):
        import_results(source, place.run.parent / "imported", logs)


# --- names


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "task_id", ["../0", "a\nb", "\x1b[2J", ".hidden", "a b", "a/b", "é", "0.trial-1", "", "x" * 300]
)
@pytest.mark.parametrize(
    "command",
    [
        "report",
        "export-csv",
        "view",
        *(pytest.param(name, marks=pytest.mark.hostile) for name in ("show", "score", "clean")),
    ],
)
def test_a_journal_of_an_odd_task_is_damaged_and_named(
    place: Place, harness: Harness, task_id: str, command: str
) -> None:
    journal = place.run / JOURNAL
    odd = edited(journal.read_bytes(), setting("opened", "task.task_id", task_id))
    own = f"{task_id}.traj.jsonl"
    if "/" in task_id or len(own) > 255:
        own = JOURNAL
    journal.unlink()
    (place.run / own).write_bytes(odd)
    if command == "view":
        assert "renamed" in viewed(place.run)[f"/run/{place.run.name}"] or "not a valid journal name" in str(
            viewed(place.run)
        )
        return
    said = harness(*commands(place)[command])
    assert said.code == {"report": 0, "clean": 0}.get(command, 3), said.text
    assert not (place.run.parent / "0.traj.jsonl").exists()


REFERENCES = {
    "up": "../../../beside/own.txt",
    "absolute": "/etc/passwd",
    "newline": "a" * 64 + "\n",
    "capitals": "A" * 64,
    "arabic-digits": "\u0661" * 64,
    "short": "ab",
    "empty": "",
    "escape": "\x1b[2J" + "a" * 60,
    "nul": "\0" * 64,
    "dots": "." * 64,
    "percent": "%2e%2e%2f" * 8,
    "long": "a" * 1_000_000,
    "missing": "ab" * 32,
}


PLACES = (
    ("acted", "observation.screenshot"),
    ("acted", "checkpoint"),
    ("decided", "prompt"),
    ("closed", "evidence.html"),
    ("closed", "evidence.trace"),
    ("closed", "evidence.selected"),
    ("opened", "config_digest"),
)


def referring(journal: bytes, kind: str, path: str, reference: str) -> bytes:
    value: Any = reference
    if path.endswith("prompt"):
        value = [reference]
    if path.endswith("selected"):
        value = [{"index": 0, "url": "http://x/", "content": reference, "error": "", "last_content": reference}]
    return edited(journal, setting(kind, path, value))


@pytest.mark.sample(4)
@pytest.mark.parametrize("reference", REFERENCES)
def test_no_reference_to_an_artifact_is_a_path(place: Place, harness: Harness, reference: str) -> None:
    journal = place.run / JOURNAL
    for kind, path in PLACES:
        journal.write_bytes(referring(journal.read_bytes(), kind, path, REFERENCES[reference]))
    for command in ("report-single-file", "show-step", "score", "export-art"):
        said = harness(*commands(place)[command])
        assert said.code in (0, 2, 3) and "Traceback" not in said.text, (command, said.text)
    shown = [*viewed(place.run).values(), (place.run.parent / "one.html").read_text()]
    assert not any(">mine" in page for page in shown) and len(shown) == 6


@pytest.mark.hostile
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("at", PLACES, ids="-".join)
def test_nor_is_any_single_one(place: Place, harness: Harness, at: tuple[str, str], reference: str) -> None:
    journal = place.run / JOURNAL
    journal.write_bytes(referring(journal.read_bytes(), *at, REFERENCES[reference]))
    codes = {
        name: harness(*command).code for name, command in commands(place).items() if name not in ("plan", "replay")
    }
    assert codes["report"] == codes["show"] == codes["show-step"] == codes["export-csv"] == 0, codes
    assert set(codes.values()) <= {0, 2, 3}
