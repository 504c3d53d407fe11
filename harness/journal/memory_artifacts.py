"""Artifacts that are kept nowhere: of episodes that are made up, by the audit and by tests."""

from hashlib import sha256

from harness.errors import JournalError
from harness.protocols import StagedArtifact


class MemoryArtifacts:
    """`harness.api.Artifacts` in memory."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        self._data[digest] = data
        return digest

    def stage(self, data: bytes) -> StagedArtifact:
        return StagedArtifact(digest=self.put(data), data=data, settle=lambda: None)

    def read(self, digest: str) -> bytes:
        if digest not in self._data:
            raise JournalError(f"artifact {digest} is missing")
        return self._data[digest]
