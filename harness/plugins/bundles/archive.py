"""The file in which a run travels: a tar archive compressed with zstd, and the SHA-256 of that at its end.

One zstd frame contains the archive. A skippable frame (RFC 8878, section 3.1.2) follows, which other programs ignore:
its 32 bytes are the SHA-256 of all bytes before it. So a changed byte anywhere in the file is noticed before anything
of it is used, and `tar --zstd -xf` reads the file, too. Equal members make equal bytes.

Knows nothing of runs. Members are read one after the other, only regular files, with bounded sizes.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from harness.api.files import MAX_BYTES
from harness.errors import JournalError
from harness.runs.opened_run import MAGIC, TRAILER, TRAILER_BYTES

_LEVEL = 9
_PIECE = 1 << 20
_MOST_HEADERS = 1 << 16
"""Bytes of headers and padding before a member; ours have 1 KiB, and tarfile reads some ahead."""
_MOST_EXTENDED = 1 << 13
"""Bytes of one extended header. tarfile reads it whole, and the time it takes may grow with the square of its size
(CVE-2024-6232).
"""
_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class BundleDamaged(JournalError):
    """A bundle is not what was written."""


def write_archive(file: BinaryIO, members: Iterable[tuple[str, bytes]]) -> str:
    """Write `members`, name and content, in the order given.

    Returns the SHA-256 of the whole file in hex: what identifies the bundle.
    """
    hashing = _Hashing(file)
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    with compressor.stream_writer(cast(BinaryIO, hashing), closefd=False) as packed:  # it only writes
        with tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            for name, content in members:
                about = tarfile.TarInfo(name)
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
    hashing.write(TRAILER + hashing.digest())
    return hashing.digest().hex()


def digest_of(path: Path) -> str:
    """The SHA-256 of a bundle in hex.

    Raises:
        BundleDamaged: It is not a bundle, or its content is not the content that was written.
        OSError: It cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        begin = file.read(len(MAGIC))
        if begin != MAGIC or size < TRAILER_BYTES:
            raise BundleDamaged(f"{path} is not a bundle; give a file that `harness bundle` wrote")
        file.seek(0)
        found, left = hashlib.sha256(), size - TRAILER_BYTES
        while left and (piece := file.read(min(_PIECE, left))):
            found.update(piece)
            left -= len(piece)
        trailer = file.read()
    if trailer != TRAILER + found.digest():
        raise BundleDamaged(f"{path} is damaged: its content does not have the checksum at its end; get the file again")
    found.update(trailer)
    return found.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Iterator[tuple[str, bytes]]]:
    """The members of a bundle, name and content.

    Raises:
        BundleDamaged: It is not readable, a member is not a regular file, or it is too large.
        OSError: It cannot be read.
    """
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as unpacked:
            bounded = _Bounded(path, unpacked)
            with _readable(path):  # the first header
                archive = tarfile.open(fileobj=cast(BinaryIO, bounded), mode="r|", tarinfo=_Header)  # it is only read
            with archive:
                yield _members(path, archive, bounded)
    except (tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise BundleDamaged(f"{path} is damaged: {error}; get the file again") from error


def _members(path: Path, archive: tarfile.TarFile, bounded: "_Bounded") -> Iterator[tuple[str, bytes]]:
    for member in _headers(path, archive):
        if not member.isreg():
            raise BundleDamaged(f"{path}: {member.name[:200]!r} is not a regular file")
        if member.size > MAX_BYTES:
            raise BundleDamaged(f"{path}: {member.name[:200]!r} has {member.size:,} bytes; the limit is {MAX_BYTES:,}")
        bounded.allow(member.size)
        content = archive.extractfile(member)
        assert content is not None  # only links have none
        yield member.name, content.read()


def _headers(path: Path, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    members = iter(archive)
    while True:
        with _readable(path):
            member = next(members, None)
        if member is None:
            return
        yield member


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, OverflowError, RecursionError) as error:  # of numbers and names in extended headers
        raise BundleDamaged(
            f"{path} is damaged: a header in it cannot be read ({error}); get the file again"
        ) from error


class _Header(tarfile.TarInfo):
    """The header of a member; what is read of an extended header is bounded, and sparse files are refused."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _EXTENDED and self.size > _MOST_EXTENDED:
            raise tarfile.ReadError(f"a header in it has {self.size:,} bytes; the limit is {_MOST_EXTENDED:,}")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("it holds a sparse file")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]  # not in the stubs


class _Bounded:
    """An unpacked archive to read; a few bytes can be packed that unpack to more than the memory holds."""

    def __init__(self, path: Path, unpacked: zstandard.ZstdDecompressionReader) -> None:
        self._path = path
        self._unpacked = unpacked
        self._left = _MOST_HEADERS

    def allow(self, size: int) -> None:
        """The member whose header was read has `size` bytes."""
        self._left = size + _MOST_HEADERS

    def read(self, size: int) -> bytes:
        data = self._unpacked.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise BundleDamaged(
                f"{self._path}: a header in it has more than {_MOST_HEADERS:,} bytes; get the file again"
            )
        return data


class _Hashing:
    """A file to write, hashed on the way."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self._file.write(data)

    def digest(self) -> bytes:
        return self._hash.digest()
