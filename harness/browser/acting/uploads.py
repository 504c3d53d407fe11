"""Finds the file that an agent names: a file in the configured folder, and no other.

The folder comes from the settings; the model gives only a plain name. A path, or a link that leads out of the folder,
is refused like a missing file.
"""

from pathlib import Path

from harness.errors import ActionFailed

_LISTED = 50


def upload_path(name: str, folder: str | None) -> str:
    """The absolute path of the file called `name`.

    Raises:
        ActionFailed: There is none, or nothing may be uploaded.
    """
    if folder is None:
        raise ActionFailed("file uploads are not enabled")
    root = Path(folder).resolve()
    files = {path.name: path for path in sorted(root.iterdir()) if _is_inside(path, root)} if root.is_dir() else {}
    if name not in files:
        known = ", ".join(repr(one) for one in list(files)[:_LISTED]) or "none"
        raise ActionFailed(f"there is no file {name!r} to upload; available files: {known}")
    return str(files[name].resolve())


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_file() and path.resolve().parent == root
