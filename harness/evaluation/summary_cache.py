"""The cached summary of a finished run, so that a start without pending tasks can print it immediately.

Invariant: the cache is valid only while its key is unchanged: the settings, the code of Cairn, size and time of the
task and plan files and of every journal, and the reports. It can be deleted. It is invalidated before anything runs,
and only the holder of the run lock uses it.
Why: docs/decisions/journal.md#the-summary-of-a-finished-run-is-cached
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from harness import __version__
from harness.choices import Durability
from harness.codec import dumps
from harness.config.config_tree import build_redactor
from harness.files import safe_files
from harness.files.side_file import SideFile
from harness.journal.names import JOURNAL_SUFFIX
from harness.journal.store import RunFolder
from harness.reports.github import reads_annotations, wants_summary
from harness.reports.summary import Invocation, Summary
from harness.secrets.config_secrets import redacted_settings
from harness.settings.fields import Tree

NAME = ".concluded.json"
_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = f"{_PACKAGE.name}."
_LEFT = ("summary.md", "junit.xml", "report/index.html")
_INVOCATION = b'"invocation":'
"""The last field of `summary.json`; no text in it can hold these bytes, as a quote within a text is escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedSummary:
    grounds: str
    """Digest of what it was drawn from."""
    written: str
    """sha256 of `summary.json` up to its invocation."""
    summary: Summary
    """Without results, and without what only reports show."""


def save_summary(run: RunFolder, summary: Summary, *, settings: Tree) -> None:
    """Write the cache, when no job is pending and every report is written.

    Not of a benchmark: which tasks its code gives is not known without running it.
    """
    if _are_of_code(settings["task"]):
        return
    kept = CachedSummary(
        grounds=_grounds(settings, run.path),
        written=sha256(_head(run.path)).hexdigest(),
        summary=replace(summary, results=(), statistics=replace(summary.statistics, templates=(), causes=())),
    )
    run.write(NAME, dumps(kept) + b"\n")


def invalidate_summary(run: RunFolder) -> None:
    """Call this before the first task runs."""
    (run.path / NAME).unlink(missing_ok=True)


def load_summary(folder: Path, *, settings: Tree, begun: float) -> Summary | None:
    """The summary of the run in `folder`, without its results; None without a valid cache.

    `summary.json` then says that this start did nothing, and how long it took since `begun` (by `time.monotonic`).
    """
    # These have work to do although no task is pending.
    wants_more = settings["run"]["retry"] or settings["run"]["dry"] or settings["tracking"]["kind"] != "none"
    wants_ci_files = reads_annotations(os.environ) or wants_summary(os.environ)
    if _are_of_code(settings["task"]) or wants_more or wants_ci_files or safe_files.status(folder / NAME) is None:
        return None
    durability = Durability(settings["journal"]["durability"])
    with RunFolder.open(folder, durability=durability, redactor=build_redactor(settings)) as run:
        try:
            kept = SideFile(NAME, CachedSummary).find(folder)
            head, grounds = _head(folder), _grounds(settings, folder)
        except OSError:
            return None
        if kept is None or (kept.written, kept.grounds) != (sha256(head).hexdigest(), grounds):
            return None
        now = Invocation(wall_s=round(time.monotonic() - begun, 3))
        run.write("summary.json", head + dumps(now) + b"}\n")
    return replace(kept.summary, invocation=now)


def _are_of_code(task: Tree) -> bool:
    """Whether the tasks, or those of a benchmark of the suite, may change without their files and Cairn's code."""
    if members := task.get("members"):
        return any(map(_are_of_code, members.values()))
    target = task["_target_"]
    return task["path"] is None or not (target is None or target.startswith(_SHIPPED))


def _head(folder: Path) -> bytes:
    """`summary.json` up to its invocation."""
    head, mark, _ = safe_files.read(folder / "summary.json", most=safe_files.MAX_SIDE_FILE_BYTES).rpartition(
        _INVOCATION
    )
    return head + mark


def _grounds(settings: Tree, folder: Path) -> str:
    parts = [
        dumps({"version": __version__, "settings": redacted_settings(settings)}).decode(),
        # The code of a checkout changes without its version.
        *sorted(_states(_PACKAGE, ".py", deep=True)),
        *(state for path in _inputs(settings) for state in _states(path)),
        *sorted(_states(folder, JOURNAL_SUFFIX)),
        *(state for name in _LEFT for state in _states(folder / name)),
    ]
    return sha256("\n".join(parts).encode()).hexdigest()


def _inputs(settings: Tree) -> list[Path]:
    """The task file and the plan file, of each benchmark of a suite too."""
    members = [settings["task"], *settings["task"]["members"].values(), settings["llm"]]
    return sorted(Path(path) for one in members for key in ("path", "plans") if (path := one.get(key)) is not None)


def _states(path: Path, suffix: str = "", *, deep: bool = False) -> Iterator[str]:
    """Name, size and time of a file, or of all files of that suffix in a folder; of a missing one the name."""
    try:
        with os.scandir(path) as found:
            for entry in found:
                if deep and entry.is_dir():
                    yield from _states(Path(entry.path), suffix, deep=True)
                elif entry.name.endswith(suffix):
                    yield _state(entry.name, entry.stat())
    except NotADirectoryError:
        yield _state(path.name, path.stat())
    except FileNotFoundError:
        yield path.name


def _state(name: str, status: os.stat_result) -> str:
    return f"{name} {status.st_size} {status.st_mtime_ns}"
