"""The end of an episode without its pages: what scoring again needs, read in a fraction of the time of a whole journal.

Every line's checksum is verified; only the lines that say how the last attempt began, ended and was scored are decoded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness import safe_files
from harness.codec import CodecError, NewerSchema, decode, unseal
from harness.errors import JournalCorrupt, JournalError
from harness.journal.disk import translate_os_errors
from harness.journal.names import check_name
from harness.journal.record_limits import invalid_record
from harness.records import Closed, Opened, Scored

_WANTED = tuple(b'{"kind":"%s",' % kind.kind.encode() for kind in (Opened, Closed, Scored))


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    """The last attempt of a journal."""

    opened: Opened
    closed: Closed | None = None
    """None = still pending."""
    scores: Mapping[str, Scored] = field(default_factory=dict)
    """By dialect."""


def read_final_state(path: Path) -> FinalState | None:
    """How the last attempt of the journal at `path` ended; None when there is none.

    Raises:
        JournalCorrupt: A terminated line is damaged.
        JournalError: It was made by a newer version, is another task's or trial's, or no regular file.
        StorageError: The file cannot be read.
    """
    with translate_os_errors(path, "read"):
        data = safe_files.read(path)
    crc, opened, closed = 0, None, None
    scores: dict[str, Scored] = {}
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            body, crc = unseal(line, crc)
            record = decode(body) if body.startswith(_WANTED) else None
        except NewerSchema as exc:
            raise JournalError(f"{path}:{number}: {exc}") from exc
        except CodecError as exc:
            raise JournalCorrupt(path, number, str(exc)) from exc
        if record is not None and (why := invalid_record(record)):
            raise JournalCorrupt(path, number, why)
        match record:
            case Opened():
                opened, closed, scores = record, None, {}
            case Closed():
                closed = record
            case Scored():
                scores[record.dialect] = record
    if opened is None:
        return None
    check_name(path, opened.task.task_id, opened.trial)
    return FinalState(opened=opened, closed=closed, scores=scores)
