"""What takes secrets out of what a command says and writes about a finished run."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.codec import dumps
from harness.files import safe_files
from harness.journal.names import journals_in
from harness.secrets.redaction import Redactor
from harness.secrets.secret_detection import readable


def run_redactor(folder: Path, secrets: Mapping[str, str]) -> Redactor:
    """Of the person's own secrets, but for those that are words of the run: these were not hidden in it, either.

    Raises:
        JournalError: A journal is damaged.
    """
    names = (entry.name for entry in journals_in(folder))
    return Redactor(secrets, readable=readable(secrets, _texts(folder), names))


def _texts(folder: Path) -> Iterator[str]:
    from harness.journal.final_state import read_final_state  # and all records: a server that redacts does without

    yield (safe_files.read_if_there(folder / "config.yaml") or b"").decode("utf-8", "replace")
    for entry in journals_in(folder):
        if (ended := read_final_state(Path(entry.path))) is not None:
            yield dumps(ended.opened.task).decode()
