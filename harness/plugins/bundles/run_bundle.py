"""Run folders into bundles and back.

Invariant: a bundle contains the journals of a run, every artifact that one of them or `run.json` names, and its
description; never `private/` (cookies), logs, or a file in which a secret was found. What is read back is checked
against the manifest file by file, and is written under names that this module allows.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness import EVALUATOR_VERSION, __version__
from harness.api.files import replacing, safe_files, translate_os_errors
from harness.api.journals import FinalState, held_to_read, journals_in, named_digests, read_final_state, stored
from harness.api.secrets import Redactor
from harness.errors import ConfigError, JournalError, StorageError
from harness.plugins.bundles.archive import BundleDamaged, digest_of, opened, write_archive
from harness.plugins.bundles.manifest import (
    MANIFEST,
    SIDE_FILES,
    BundledFile,
    BundledScore,
    Manifest,
    claimed_scores,
    described,
    is_run_file,
    read_manifest,
)
from harness.plugins.bundles.verification import AS_RECORDED, evidence_of, verify
from harness.runs.about import DESCRIPTION, SUMMARY
from harness.runs.opened_run import SUFFIX, OpenedRun

_MOST_NOTICES = 20


def pack(folder: Path, to: Path, redactor: Redactor) -> tuple[str, Manifest]:
    """Write the bundle of a run folder to `to`: the file appears when it is complete.

    Returns its SHA-256 in hex, and what is in it. The same files make the same bundle.

    Raises:
        ConfigError: A file contains a secret that `redactor` knows, or something that has the form of a credential.
        JournalError: A journal is damaged, or what a verification needs is missing.
        JournalLocked: The run is active.
        UnsafeFile: A link or a special file is in the way.
    """
    with held_to_read(folder):
        _check_descriptions(folder)
        names = sorted(_names(folder))
        files = {name: described(_checked(folder / name, folder, redactor)) for name in names}
        _check_artifacts(folder, files)
        manifest = Manifest(
            run=folder.resolve().name,
            harness=__version__,
            evaluator_version=EVALUATOR_VERSION,
            secrets_searched=redactor.known,
            files=files,
            scores=tuple(_scores(folder)),
        )
        with replacing(to) as file:
            return write_archive(file, _members(folder, manifest)), manifest


def unpack(bundle: Path, into: Path) -> Manifest:
    """Write the files of a bundle into an empty folder.

    Raises:
        BundleDamaged: The bundle is not as it was written.
        StorageError: It cannot be read, or the files cannot be written.
    """
    with translate_os_errors(bundle, "read"):
        digest_of(bundle)
    with translate_os_errors(into), opened(bundle) as members:
        name, content = next(members, ("", b""))
        if name != MANIFEST:
            raise BundleDamaged(f"{bundle} does not begin with {MANIFEST}; give a file that `harness bundle` wrote")
        manifest, found = read_manifest(content, bundle), set[str]()
        _check_space(bundle, manifest, into)
        for name, content in members:
            expected = manifest.files.get(name)
            if expected is None or name in found:
                raise BundleDamaged(f"{bundle}: {name[:200]!r} is not in {MANIFEST}, or occurs twice")
            if described(content) != expected:
                raise BundleDamaged(f"{bundle}: {name} is not the file that {MANIFEST} describes")
            if name.startswith("artifacts/") and Path(name).name != expected.sha256:
                raise BundleDamaged(f"{bundle}: {name} does not have the content that its name says")
            found.add(name)
            _write(into / name, content)
    if absent := sorted(set(manifest.files) - found):
        raise BundleDamaged(f"{bundle} has no {absent[0]}, which {MANIFEST} names")
    return manifest


def _check_space(bundle: Path, manifest: Manifest, into: Path) -> None:
    """Raises: StorageError: The disk does not hold what the bundle unpacks to."""
    needed, free = sum(file.size for file in manifest.files.values()), shutil.disk_usage(into).free
    if needed > free:
        raise StorageError(
            f"{bundle} unpacks to {needed:,} bytes, and {into} has {free:,} free; make room, or set TMPDIR to another"
            " disk"
        )


@contextmanager
def open_bundle(path: Path) -> Iterator[OpenedRun]:
    """A temporary run folder with what a bundle holds, verified; it is removed at the end.

    Raises: BundleDamaged: The bundle is not as it was written.
    """
    with tempfile.TemporaryDirectory(prefix="cairn-") as place:
        folder = Path(place) / path.name.removesuffix(SUFFIX)
        folder.mkdir()
        found = list(verify(folder, unpack(path, folder)).sentences())
        more = [f"and {len(found) - _MOST_NOTICES} more; `harness verify {path}` lists all"]
        notices = (*found[:_MOST_NOTICES], *more[: len(found) > _MOST_NOTICES], AS_RECORDED)
        yield OpenedRun(folder=folder, notices=notices)


def _names(folder: Path) -> Iterator[str]:
    yield from (entry.name for entry in journals_in(folder))
    rescored = (path.name for path in folder.glob("rescored-*.json"))
    yield from (name for name in (*SIDE_FILES, *rescored) if is_run_file(name) and (folder / name).exists())
    named = named_digests(folder)
    for path in stored(folder, "artifacts"):
        if os.fsencode(path.name) in named:
            yield str(path.relative_to(folder))


def _check_descriptions(folder: Path) -> None:
    """See that the small files are what Cairn writes; without `summary.json`, as after a kill, all scores are verified.

    Raises: JournalError: One is damaged, or `run.json` is missing.
    """
    if DESCRIPTION.read(folder) is None:
        raise JournalError(
            f"{folder / DESCRIPTION.name} is missing, so nothing says which tasks the run has; no bundle is written:"
            " start the run again with all its tasks, which writes it and plays nothing twice"
        )
    SUMMARY.read(folder)


def _check_artifacts(folder: Path, files: Mapping[str, BundledFile]) -> None:
    """See that the bundle would have all evidence. Raises: JournalError: An artifact is missing or damaged."""
    kept = {Path(name).name: file.sha256 for name, file in files.items() if name.startswith("artifacts/")}
    needed = [digest for one in _states(folder) if one.closed is not None for digest in evidence_of(one.closed)]
    lost = [name for name in dict.fromkeys([*needed, *kept]) if kept.get(name) != name]
    if lost:
        more = f", and so are {len(lost) - 1} more ({len(lost)} in all)" if len(lost) > 1 else ""
        raise JournalError(
            f"{folder / 'artifacts' / lost[0][:2] / lost[0]} is missing or damaged{more}, so that scores could not be"
            " verified; no bundle is written: restore the folder artifacts from a copy of the run, or play its tasks"
            " again in another folder"
        )


def _checked(path: Path, folder: Path, redactor: Redactor) -> bytes:
    content = safe_files.read(path, below=folder)
    if redactor.finds(content):
        raise ConfigError(
            f"{path} contains a secret of this machine's environment or a credential; no bundle is written: remove the "
            "file or its task from the run, or unset the variable if its value is not a secret"
        )
    return content


def _scores(folder: Path) -> Iterator[BundledScore]:
    for state in _states(folder):
        yield from claimed_scores(state)


def _states(folder: Path) -> Iterator[FinalState]:
    states = (read_final_state(Path(entry.path)) for entry in journals_in(folder))
    yield from (state for state in states if state is not None)


def _members(folder: Path, manifest: Manifest) -> Iterator[tuple[str, bytes]]:
    yield MANIFEST, manifest.encoded()
    for name, expected in manifest.files.items():
        content = safe_files.read(folder / name, below=folder)
        if described(content) != expected:
            raise JournalError(f"{folder / name} changed while the bundle was written; write it again")
        yield name, content


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
