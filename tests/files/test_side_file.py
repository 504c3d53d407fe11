"""Side files of a run folder: what is missing, damaged or unsafe."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.errors import JournalError, UnsafeFile
from harness.files.side_file import SideFile


@dataclass(frozen=True)
class Note:
    text: str


NOTE = SideFile("note.json", Note, "write it again")
OBJECT = SideFile[dict[str, Any]]("note.json", dict)


def test_what_is_there_is_built(tmp_path: Path) -> None:
    (tmp_path / "note.json").write_text('{"text":"x"}')
    assert NOTE.read(tmp_path) == NOTE.find(tmp_path) == Note(text="x")
    assert OBJECT.read(tmp_path) == {"text": "x"}


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert NOTE.read(tmp_path) is NOTE.find(tmp_path) is NOTE.glimpse(tmp_path) is None


@pytest.mark.parametrize("content", ["", "[]", '{"text":1}', "[" * 100_000, "\xff"])
def test_damage_is_one_sentence_or_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "note.json").write_text(content, "latin-1")
    assert NOTE.find(tmp_path) is NOTE.glimpse(tmp_path) is None
    with pytest.raises(JournalError, match=r"note\.json is damaged; write it again$"):
        NOTE.read(tmp_path)


def test_a_link_is_refused_and_of_a_neighbour_overlooked(tmp_path: Path) -> None:
    (tmp_path / "note.json").symlink_to("/etc/hostname")
    with pytest.raises(UnsafeFile):
        NOTE.find(tmp_path)
    assert NOTE.glimpse(tmp_path) is None


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "note.json").write_text('{"text":"xxxxxxxx"}')
    with pytest.raises(UnsafeFile, match="the limit"):
        SideFile("note.json", Note, most=5).find(tmp_path)
