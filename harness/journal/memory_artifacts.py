"""Artifacts that are kept nowhere: of episodes that are made up, and evidence as it was before it was redacted."""

from hashlib import sha256

from harness.api import Artifacts
from harness.errors import NoArtifact
from harness.journal.names import check_digest
from harness.protocols import StagedArtifact


class MemoryArtifacts:
    """`harness.api.Artifacts` in memory."""

    def __init__(self, over: Artifacts | None = None) -> None:
        """`over`: where what is not in memory is read; None = nowhere."""
        self._data: dict[str, bytes] = {}
        self._over = over

    def put(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        self._data[digest] = data
        return digest

    def stage(self, data: bytes) -> StagedArtifact:
        return StagedArtifact(digest=self.put(data), data=data, settle=lambda: None)

    def size(self, digest: str) -> int:
        return len(self._data.get(digest, b""))

    def read(self, digest: str) -> bytes:
        if digest not in self._data:
            if self._over is not None:
                return self._over.read(digest)
            check_digest(digest)
            raise NoArtifact(f"artifact {digest} is missing")
        return self._data[digest]
