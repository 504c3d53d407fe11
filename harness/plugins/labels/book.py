"""Labels of people on the episodes of a run: `labels.jsonl`, which only grows.

A line is what one author said of one episode at one time. Of each author the latest word on each field counts, in the
order of the lines; an empty value takes a word back. A label belongs to the attempt that its author looked at: once the
episode is played again, it does not count.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import ConfigError
from harness.runs import Episode, Run, one_line
from harness.runs.results import Result
from harness.runs.side_log import append, read

NAME = "labels.jsonl"
_YES_OR_NO = ("yes", "no", "unsure")
UNSURE = "unsure"
NOTE = "note"
FIELDS: Mapping[str, tuple[str, ...]] = {
    "success": _YES_OR_NO,
    "side_effect": _YES_OR_NO,
    "optimality": ("1", "2", "3", "4"),
    "looping": _YES_OR_NO,
    "class": ("harness", "environment", "model"),
}
"""Field to its values; there is a `note`, too, of any text."""
MACHINES = ("score", "judge", "verified", "rule")
"""Who says something of an episode without being a person; no author has such a name."""
_LONGEST_AUTHOR, _LONGEST_NOTE = 80, 2000
_MOST_TRIALS = 1_000_000
_LATEST = 253_402_300_800
"""The year 10000, in seconds since the epoch."""
_Key = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What one author said of one episode at one time."""

    task_id: str
    trial: int
    attempt: int
    """Of the episode, as it was then."""
    author: str
    at: float
    """Seconds since the epoch."""
    values: Mapping[str, str]
    """Field to value; "" = the author's word on it is taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelBook:
    """The labels of a run."""

    history: Mapping[_Key, tuple[Label, ...]]
    """By task and trial, in the order in which they were given."""
    torn: str
    """The sentence about a last line that is not whole; "" = it is."""
    damaged: tuple[str, ...]
    """A sentence for each other line that does not count."""

    def latest(self, task_id: str, trial: int, attempt: int) -> Mapping[str, Mapping[str, str]]:
        """Author to what they say of this attempt: field to value, what was taken back left out."""
        found: dict[str, dict[str, str]] = {}
        for label in self.history.get((task_id, trial), ()):
            if label.attempt == attempt:
                found.setdefault(label.author, {}).update(label.values)
        said = {author: {name: value for name, value in values.items() if value} for author, values in found.items()}
        return {author: values for author, values in said.items() if values}

    def stale(self, results: Iterable[Result]) -> int:
        """How many labels are of an earlier attempt than the newest."""
        attempts = {(one.task_id, one.trial): one.attempts for one in results}
        return sum(one.attempt != attempts.get(key, one.attempt) for key, of in self.history.items() for one in of)


def read_labels(run: Run) -> LabelBook:
    """The labels of a run.

    Raises:
        UnsafeFile: The file is a link, a FIFO or a device.
        StorageError: It cannot be read.
    """
    found = read(run.folder, NAME)
    history: dict[_Key, list[Label]] = {}
    strange = 0
    for entry in found.entries:
        if (label := _label(entry)) is None:
            strange += 1
        else:
            history.setdefault((label.task_id, label.trial), []).append(label)
    are = (
        "1 line is of another version, and does" if strange == 1 else f"{strange} lines are of another version, and do"
    )
    said = (f"{run.folder / NAME}: {are} not count; read the run with that version",)
    return LabelBook(
        history={key: tuple(labels) for key, labels in history.items()},
        torn=found.torn,
        damaged=(*found.damaged, *(said if strange else ())),
    )


def add_label(
    run: Run, episode: Episode, author: str, values: Mapping[str, str], *, clock: Callable[[], float] = time.time
) -> Label:
    """Say something of an episode; it is on disk when this returns.

    Args:
        run: Its run.
        episode: What was looked at.
        author: A name, see `author_of`.
        values: See `values_of`.
        clock: Gives seconds since the epoch.

    Raises:
        UnsafeFile: The file is a link, a FIFO or a device.
        StorageError: The disk refuses; nothing was written.
    """
    label = Label(
        task_id=episode.task_id,
        trial=episode.trial,
        attempt=episode.attempt,
        author=author,
        at=clock(),
        values=values,
    )
    append(run.folder, NAME, {name: getattr(label, name) for name in Label.__slots__})
    return label


def author_of(text: str) -> str:
    """The name of an author, as it was typed.

    Raises:
        ConfigError: It is none.
    """
    name = text.strip()
    if not name or len(name) > _LONGEST_AUTHOR or one_line(name) != name:
        raise ConfigError(
            f"--author {one_line(text)[:80]!r} is not a name; give one line of 1 to {_LONGEST_AUTHOR} characters"
        )
    if name in MACHINES:
        raise ConfigError(f"--author {name}: {', '.join(MACHINES)} are not names of people; give another")
    return name


def values_of(texts: Sequence[str]) -> Mapping[str, str]:
    """What is said, as it was typed: `success=yes`, `note=…`; `success=` takes it back.

    Raises:
        ConfigError: There is no such field or value, or one is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or (name not in FIELDS and name != NOTE):
            shown = one_line(text)[:80]
            raise ConfigError(
                f"{shown!r} is not a label; give FIELD=VALUE, where FIELD is {', '.join((*FIELDS, NOTE))}"
            )
        if name in found:
            raise ConfigError(f"{name} is given twice; give it once")
        found[name] = _note(value) if name == NOTE else _value(name, value)
    return found


def _value(name: str, value: str) -> str:
    if value and value not in FIELDS[name]:
        raise ConfigError(
            f"{name}={one_line(value)[:80]}: give one of {', '.join(FIELDS[name])}, or {name}= to take it back"
        )
    return value


def _note(value: str) -> str:
    if len(value) > _LONGEST_NOTE:
        raise ConfigError(f"note has {len(value)} characters; give at most {_LONGEST_NOTE}")
    return value.encode("utf-8", "replace").decode()  # the command line may hold what is not Unicode


def _label(entry: object) -> Label | None:
    """What a line says; None = it is of a version that this one does not know."""
    match entry:
        case {
            "task_id": str(task),
            "trial": int(trial),
            "attempt": int(attempt),
            "author": str(author),
            "at": int() | float() as at,
            "values": dict(values),
        } if (
            0 <= trial < _MOST_TRIALS
            and 0 <= at < _LATEST
            and 0 < len(author) <= _LONGEST_AUTHOR
            and author not in MACHINES
            and all(_is_known(*pair) for pair in values.items())
        ):
            return Label(task_id=task, trial=trial, attempt=attempt, author=author, at=float(at), values=values)
    return None


def _is_known(name: object, value: object) -> bool:
    if not isinstance(value, str):
        return False
    return len(value) <= _LONGEST_NOTE if name == NOTE else name in FIELDS and value in ("", *FIELDS[str(name)])
