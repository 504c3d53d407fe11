"""Files that are read with bounds and never through a link, and written whole or not at all.

For everything that touches a run folder, or a file of a person's or a stranger's.
"""

from harness.files import safe_files
from harness.files.disk import (
    Within,
    hold,
    is_unfinished,
    prepared,
    remove_if_left,
    replacing,
    sync_folder,
    translate_os_errors,
    write_atomic,
    write_whole,
)
from harness.files.safe_files import MAX_BYTES
from harness.files.side_file import SideFile
from harness.files.sync import sync

__all__ = [
    "MAX_BYTES",
    "SideFile",
    "Within",
    "hold",
    "is_unfinished",
    "prepared",
    "remove_if_left",
    "replacing",
    "safe_files",
    "sync",
    "sync_folder",
    "translate_os_errors",
    "write_atomic",
    "write_whole",
]
