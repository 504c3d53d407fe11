"""What an attempt keeps on disk, so that nothing an agent does fills the disk of the run.

The sum is that of the files: when an attempt goes on, its records and what they name are counted again. Artifacts that
other attempts have stored before are counted, too, and so is the rest of the last block of each.
"""

import re
from collections.abc import Iterator
from itertools import chain

from harness.codec import encode
from harness.protocols import StagedArtifact, StagingArtifacts
from harness.records import Episode, Record

_BLOCK = 4096
"""Bytes that a file takes at least, on most file systems."""
_DIGEST = re.compile(rb'(?<=")[0-9a-f]{64}(?=")')


class CountedArtifacts:
    """The artifacts of an attempt, counted; implements `StagingArtifacts`. Used in the thread of its journal."""

    def __init__(self, artifacts: StagingArtifacts) -> None:
        self._artifacts = artifacts
        self._known: set[str] = set()
        self.kept = 0
        """Bytes."""

    def put(self, data: bytes) -> str:
        digest = self._artifacts.put(data)
        self._count(digest, len(data))
        return digest

    def stage(self, data: bytes) -> StagedArtifact:
        staged = self._artifacts.stage(data)
        self._count(staged.digest, len(staged.data))
        return staged

    def read(self, digest: str) -> bytes:
        return self._artifacts.read(digest)

    def size(self, digest: str) -> int:
        return self._artifacts.size(digest)

    def resume(self, episode: Episode) -> int:
        """Count what the attempt has stored; gives the bytes of its records."""
        size = 0
        for record in _records(episode):
            body = encode(record).body
            size += len(body)
            for found in _DIGEST.findall(body):
                if (digest := found.decode()) not in self._known:
                    self._count(digest, self.size(digest))
        return size

    def _count(self, digest: str, size: int) -> None:
        if digest not in self._known:
            self._known.add(digest)
            self.kept += -(-size // _BLOCK) * _BLOCK


def _records(episode: Episode) -> Iterator[Record]:
    """The records that hold what an agent or a page has made."""
    yield from (one for one in (episode.opened, episode.arrival, episode.pending) if one is not None)
    for step in episode.steps:
        yield from (step.decided, step.acted)
    yield from chain(episode.asked, episode.answered.values(), episode.commanded, episode.landed, episode.exited)
    yield from chain(episode.late, episode.violations, episode.failures)
