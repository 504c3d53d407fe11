"""The first member of a bundle: what is in it, and the scores it claims."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness.bundles.archive import BundleDamaged
from harness.codec import CodecError, build, dumps, loads
from harness.journal.names import JOURNAL_SUFFIX
from harness.records import Status

MANIFEST = "manifest.json"
FORMAT = 1
SIDE_FILES = ("run.json", "config.yaml", "summary.json", "drift.jsonl")
_NAME = re.compile(
    "|".join(map(re.escape, SIDE_FILES))
    + r"|rescored-[a-z]{1,20}\.json"
    + r"|artifacts/([0-9a-f]{2})/(?=\1)[0-9a-f]{64}"
    + rf"|(?!\.)[A-Za-z0-9._-]{{1,230}}{re.escape(JOURNAL_SUFFIX)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledFile:
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledScore:
    """The newest score of one (task, trial) in its journal."""

    task_id: str
    trial: int
    dialect: str
    status: Status
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a bundle says of itself."""

    format: int = FORMAT
    run: str
    """Name of the run folder."""
    harness: str
    """Version that wrote the bundle."""
    evaluator_version: int
    """Of that version; each score in a journal has its own."""
    secrets_searched: int
    """Secrets of the machine that were searched for, besides everything that has the form of a credential. None was
    found.
    """
    files: Mapping[str, BundledFile]
    """By name relative to the run folder."""
    scores: tuple[BundledScore, ...]

    def encoded(self) -> bytes:
        return dumps(self, pretty=True)


def is_run_file(name: str) -> bool:
    """Whether a file of this name can be in a bundle: none leads out of the run folder."""
    return _NAME.fullmatch(name) is not None


def described(content: bytes) -> BundledFile:
    return BundledFile(size=len(content), sha256=hashlib.sha256(content).hexdigest())


def read_manifest(content: bytes) -> Manifest:
    """Raises: BundleDamaged: It has another form, or names files that no run has."""
    try:
        found = loads(content)
        if isinstance(found, dict) and found.get("format") != FORMAT:
            raise BundleDamaged(
                f"{MANIFEST}: its format is not {FORMAT}; use the version of Cairn that wrote the bundle"
            )
        manifest = build(Manifest, found)
    except CodecError as error:
        raise BundleDamaged(f"{MANIFEST}: {error}; write the bundle again with `harness bundle`") from error
    for name in manifest.files:
        if not is_run_file(name):
            raise BundleDamaged(f"{MANIFEST}: files: {name[:200]!r} is no file of a run")
    return manifest
