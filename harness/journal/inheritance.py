"""The steps that a fork has from another run: read from its journal, written as the beginning of a new one.

Invariant: the lines of inherited steps are the bytes of the other journal, but for the checksum at their end, which
chains them to the line before; a new journal is there with all of them or not at all. Artifacts and checkpoints that
the lines name are linked or copied first, so the new run folder needs the other one no more.
"""

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from harness.codec import decode, encode, seal, unseal
from harness.errors import ConfigError
from harness.files import safe_files
from harness.files.disk import Within, translate_os_errors, write_atomic
from harness.journal.fold import late_of
from harness.journal.log import read
from harness.journal.merge import copy_named
from harness.records import (
    Acted,
    Closed,
    Decided,
    Doubt,
    Episode,
    Failed,
    Judged,
    Late,
    Opened,
    ProcessRecord,
    Record,
    Replied,
    Resumed,
    Scored,
)
from harness.secrets.redaction import Redactor

_DIGEST = re.compile(rb"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inheritance:
    """What the newest attempt of an episode recorded up to a step."""

    opened: Opened
    bodies: tuple[bytes, ...]
    """The lines after `opened`, without their checksums."""
    late: int
    """How many of them are `late`."""
    doubts: int
    """How many of them are `doubt`."""

    @property
    def origin(self) -> str:
        """See `Fork.origin`."""
        return sha256(b"\n".join(self.bodies)).hexdigest()


def whole_steps(episode: Episode) -> int | None:
    """How many steps can be inherited; None when not even the start page was recorded."""
    return None if episode.arrival is None else len(episode.steps)


def inherit(path: Path, step: int) -> Inheritance:
    """Read the beginning of the journal at `path`.

    Raises:
        ConfigError: It has no such step.
        JournalError: It is damaged.
    """
    most = whole_steps(read(path))  # reads and checks all of it
    if most is None or step > most:
        there = "no recorded page yet" if most is None else f"no step after {most}; give a step from 0 to {most}"
        raise ConfigError(f"{path} cannot be forked at step {step}: its newest attempt has {there}")
    with translate_os_errors(path, "read"):
        lines = safe_files.read(path).split(b"\n")[:-1]
    opened: Opened | None = None
    attempt: list[tuple[bytes, Record]] = []
    before: list[tuple[bytes, Record]] = []
    crc = 0
    for line in lines:
        body, crc = unseal(line, crc)
        record = decode(body)
        if isinstance(record, Opened):
            # A further attempt does not repeat inherited lines: a crash would leave a journal with half of them.
            before = attempt if record.fork is not None and record.attempt > 1 else []
            attempt = _inherited(before, record)
            opened = record
        else:
            attempt.append((body, record))
    assert opened is not None
    kept = _until(attempt, step)
    if any(isinstance(record, ProcessRecord) for _, record in kept):
        raise ConfigError(
            f"{path} cannot be forked: its agent ran as a separate process, which cannot be brought back to a step"
            " with other settings"
        )
    return Inheritance(
        opened=opened,
        bodies=tuple(body for body, _ in kept),
        late=_number_of(Late, kept),
        doubts=_number_of(Doubt, kept),
    )


def _inherited(before: list[tuple[bytes, Record]], opened: Opened) -> list[tuple[bytes, Record]]:
    """What a further attempt of a fork begins with: lines of the attempt before it."""
    if not before or (fork := opened.fork) is None:
        return []
    kept = _until(before, fork.step)
    if fork.late is None or fork.doubts is None:
        return kept
    # What the attempt before recorded itself ahead of its first decision comes last, and is no other kind of line.
    own = _number_of(Late, kept) - fork.late + _number_of(Doubt, kept) - fork.doubts
    return kept[: len(kept) - own]


def _number_of(kind: type[Record], lines: list[tuple[bytes, Record]]) -> int:
    return sum(isinstance(record, kind) for _, record in lines)


def _until(attempt: list[tuple[bytes, Record]], step: int) -> list[tuple[bytes, Record]]:
    """The lines of steps, late effects and doubts until the next decision after `step`."""
    kept: list[tuple[bytes, Record]] = []
    done = -1
    is_pending = False
    for body, record in attempt:
        match record:
            case Decided() if record.step > step:
                break
            # Of the decision that the fork makes anew.
            case Replied() if record.step > step:
                continue
            case Closed() | Judged() | Scored():
                break
            # How the other run was led back to a page says nothing of this one.
            case Resumed():
                continue
            # The failure was the other run's; what pages sent in it is part of the state that the fork begins from.
            case Failed() if record.effects and done >= 0:
                late = late_of(record, step=done, is_pending=is_pending)
                kept.append((encode(late).body, late))
                continue
            case Failed():
                continue
            case Decided():
                is_pending = True
            case Acted():
                done, is_pending = record.step, False
        kept.append((body, record))
    return kept


def write_inheritance(
    path: Path, opened: Opened, inheritance: Inheritance, *, source: Path, redactor: Redactor
) -> None:
    """Write a journal that begins with inherited steps, with all that they name.

    Args:
        path: The new journal, in an existing run folder that the caller holds.
        opened: Its first record.
        inheritance: The steps.
        source: The run folder that they are from.
        redactor: Of the new run.
    """
    # Before the journal: what it names must be there when it appears.
    named = {found.decode() for body in inheritance.bodies for found in _DIGEST.findall(body)}
    copy_named(source, path.parent, named | {*opened.images, *opened.files.values()})
    # Copied: a fork that read the journal of its parent would not let the parent be deleted or moved.
    data, crc = b"", 0
    for body in (encode(opened, text=redactor.text).body, *inheritance.bodies):
        line, crc = seal(body, crc)
        data += line
    # Whole or not at all: with half of the inherited lines it would look like a fork at an earlier step.
    write_atomic(path, data, within=Within(path.parent, path.parent / ".staging"))
