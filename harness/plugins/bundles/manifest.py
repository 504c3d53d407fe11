"""The first member of a bundle: what is in it, and the scores it claims."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.api import CodecError, dumps, loads
from harness.api.journals import JOURNAL_SUFFIX, FinalState
from harness.api.records import Status, build, optional, repeats_a_key
from harness.api.scoring import DIALECTS
from harness.errors import ConfigError
from harness.plugins.bundles.archive import BundleDamaged

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
    reference: str = optional("")
    """Digest of the task with the corrected reference that it was scored with; "" = with the one that was played."""


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
    """Files by name relative to the run folder."""
    scores: tuple[BundledScore, ...]

    def encoded(self) -> bytes:
        return dumps(self, pretty=True)


def is_run_file(name: str) -> bool:
    """Whether a file of this name can be in a bundle: none leads out of the run folder."""
    return _NAME.fullmatch(name) is not None


def described(content: bytes) -> BundledFile:
    return BundledFile(size=len(content), sha256=hashlib.sha256(content).hexdigest())


def claimed_scores(state: FinalState) -> Iterator[BundledScore]:
    """The newest score of an episode in each dialect."""
    for dialect, score in sorted(state.scores.items()):
        yield BundledScore(
            task_id=state.opened.task.task_id,
            trial=state.opened.trial,
            dialect=dialect,
            status=score.status,
            value=score.value,
            reference="" if score.reference is None else score.reference.task_digest,
        )


def read_manifest(content: bytes, bundle: Path) -> Manifest:
    """Read the first member of the file at `bundle`.

    Raises:
        ConfigError: It says what this version does not know, or has another form.
        BundleDamaged: It names files that no run has.
    """
    again = "use the version of Cairn that wrote the bundle, or write it again with `harness bundle`"
    try:
        found = loads(content)
        if isinstance(found, dict) and found.get("format") != FORMAT:
            raise ConfigError(f"{bundle}: {MANIFEST}: format: it is not {FORMAT}; {again}")
        manifest = build(Manifest, found)
        is_ambiguous = repeats_a_key(content)
    except CodecError as error:
        raise ConfigError(f"{bundle}: {MANIFEST}: {error}; {again}") from error
    for number, score in enumerate(manifest.scores):
        if score.dialect not in DIALECTS:
            known = ", ".join(DIALECTS)
            why = f"unknown dialect {score.dialect[:80]!r}; this version has {known}"
            raise ConfigError(f"{bundle}: {MANIFEST}: scores[{number}].dialect: {why}; {again}")
    if is_ambiguous:
        raise BundleDamaged(f"{bundle}: {MANIFEST}: a key occurs twice, so that it says two things; {again}")
    for name in manifest.files:
        if not is_run_file(name):
            raise BundleDamaged(f"{bundle}: {MANIFEST}: files: {name[:200]!r} is not a file of a run")
    return manifest
