"""A run to read, given as its folder or as one file that holds it (a bundle)."""

import io
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError
from harness.registry import Registry
from harness.runs.run import run_folder

SUFFIX = ".cairn"
"""Of the name of a bundle."""
MAGIC = b"\x28\xb5\x2f\xfd"
"""What a bundle begins with, as every file of Zstandard (RFC 8878)."""
# Zstandard's own checksum covers the content, not each byte of the file; a file beside it gets lost.
TRAILER = b"\x50\x2a\x4d\x18" + (32).to_bytes(4, "little")
"""What its last frame begins with, which decoders skip: 32 bytes of digest follow, and the file ends."""
TRAILER_BYTES = len(TRAILER) + 32
_ARCHIVES = Registry(group="cairn.archives", noun="bundle")
"""Name to what opens a run that is a file: called with its path, gives a context manager of an `OpenedRun`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """A run to read."""

    folder: Path
    notices: tuple[str, ...] = ()
    """Of a bundle: what a reader has to know of what its files say, a sentence each."""


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundle, whatever its name is. Raises: OSError."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return False
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - TRAILER_BYTES))
        return file.read(len(TRAILER)) == TRAILER


def _begins_as_one(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


@contextmanager
def run_or_bundle(path: Path) -> Iterator[OpenedRun]:
    """The run folder at `path`; of a bundle, a temporary one that is removed at the end, verified.

    Raises:
        ConfigError: It is neither.
        BundleDamaged: The bundle is not as it was written.
    """
    if not path.exists():
        raise ConfigError(
            f"{path} does not exist; give the folder of a run, like results/NAME, or a bundle (NAME{SUFFIX})"
        )
    # A file that is named or begins like a bundle is a damaged one.
    if path.is_file() and path.suffix != SUFFIX and not _begins_as_one(path):
        raise ConfigError(f"{path} is not a bundle; give the folder of a run, or a file that `harness bundle` wrote")
    opening: AbstractContextManager[OpenedRun] = (
        _ARCHIVES.find("bundle")(path) if path.is_file() else nullcontext(OpenedRun(folder=run_folder(path)))
    )
    with opening as opened:
        yield opened
