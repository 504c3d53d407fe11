"""Files that are made from a run and lie beside it, as `attribution.json`: safe to delete, whole or not there."""

from pathlib import Path

from harness.codec import dumps
from harness.files.disk import Within, write_atomic


def write_derived(folder: Path, name: str, value: object) -> Path:
    """Write `value` as JSON to `name` in a run folder; readers see the old file or the new one.

    Raises:
        UnsafeFile: One of the folders is reached by a link.
        StorageError: The disk refuses.
    """
    write_atomic(folder / name, dumps(value) + b"\n", durable=False, within=Within(folder))
    return folder / name
