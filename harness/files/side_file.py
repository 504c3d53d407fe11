"""A small JSON file beside the journals of a run folder.

The folder may be foreign: nothing in it is believed before it has its form, and it is read bounded.
"""

from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Generic, TypeVar

from harness.codec import CodecError, build, loads
from harness.errors import JournalError, UnsafeFile
from harness.files import safe_files
from harness.files.disk import translate_os_errors

T = TypeVar("T")


@dataclass(frozen=True)
class SideFile(Generic[T]):
    """One kind of file."""

    name: str
    kind: type[T]
    """What it holds: a dataclass, whose form is checked, or `dict` for an object of any keys."""
    fix: str = "restore it, or delete it, then run again"
    """What a person can do about a damaged one."""
    most: int = safe_files.MAX_SIDE_FILE_BYTES

    def read(self, folder: Path, *, below: Path | None = None) -> T | None:
        """What it holds; None where there is none.

        Args:
            folder: The folder it is in.
            below: The folder from which no link is followed; None = `folder`.

        Raises:
            UnsafeFile: It is a link, a FIFO or a device, or too large.
            JournalError: It is damaged.
            StorageError: It cannot be read.
        """
        path = folder / self.name
        try:
            with translate_os_errors(path, "read"), suppress(FileNotFoundError):
                return self.built(safe_files.read(path, below=below, most=self.most))
        except CodecError as error:
            raise JournalError(f"{path} is damaged; {self.fix}") from error
        return None

    def find(self, folder: Path, *, below: Path | None = None) -> T | None:
        """The same; None as well where it is damaged or cannot be read.

        Raises:
            UnsafeFile: As `read`.
        """
        try:
            return self.built(safe_files.read(folder / self.name, below=below, most=self.most))
        except (OSError, CodecError):
            return None

    def glimpse(self, folder: Path) -> T | None:
        """The same, and None where it is unsafe: of a folder that merely lies beside the one that was named."""
        try:
            return self.find(folder)
        except UnsafeFile:
            return None

    def built(self, data: bytes) -> T:
        """Raises: CodecError: `data` is not JSON, or has another form."""
        tree = loads(data)
        if is_dataclass(self.kind):
            return build(self.kind, tree)
        if not isinstance(tree, self.kind):
            raise CodecError(f"not a JSON {'object' if self.kind is dict else self.kind.__name__}")
        return tree
