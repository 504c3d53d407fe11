"""Files that are made from a run, beside it (`attribution.json`) or as an export: whole or not there."""

from pathlib import Path

from harness.codec import dumps
from harness.files.disk import Within, prepared, translate_os_errors, write_atomic


def write_derived(folder: Path, name: str, value: object) -> Path:
    """Write `value` as JSON to `name` in a run folder; readers see the old file or the new one.

    Raises:
        UnsafeFile: One of the folders is reached by a link.
        StorageError: The disk refuses.
    """
    # Lost in a power cut, it is made again from the journals.
    write_atomic(folder / name, dumps(value) + b"\n", durable=False, within=Within(folder))
    return folder / name


def write_export(into: Path, name: str, data: bytes, run: Path) -> Path:
    """Put a file into the folder of an export, which is made: below a run folder no link is followed.

    Args:
        into: The folder.
        name: Of the file, with folders below `into`.
        data: All of it.
        run: The run that is exported.

    Raises:
        UnsafeFile: One of the folders in the run folder is reached by a link.
        StorageError: The disk refuses.
    """
    path = into / name
    with translate_os_errors(path):
        write_atomic(path, data, durable=False, within=prepared(path.parent, run))
    return path
