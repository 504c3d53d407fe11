"""The files that an agent may upload: those directly in the configured folder, and no others.

The folder comes from the settings; the model gives only a plain name. A path, or a link that leads out of the folder,
is refused like a missing file.
"""

from pathlib import Path

from harness.errors import ActionFailed
from harness.escape import listed

_LISTED = 50


def upload_path(name: str, folder: str | None) -> str:
    """The absolute path of the file called `name`.

    Raises:
        ActionFailed: There is none, or nothing may be uploaded.
    """
    if folder is None:
        raise ActionFailed("file uploads are not enabled")
    files = _files(folder)
    if name not in files:
        raise ActionFailed(f"there is no file {name!r} to upload; {available_files(folder)}")
    return str(files[name].resolve())


def available_files(folder: str) -> str:
    """What a model is told: the names, of which there may be more than are listed."""
    return f"available files: {listed([repr(name) for name in _files(folder)], _LISTED) or 'none'}"


def _files(folder: str) -> dict[str, Path]:
    root = Path(folder).resolve()
    return {path.name: path for path in sorted(root.iterdir()) if _is_inside(path, root)} if root.is_dir() else {}


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_file() and path.resolve().parent == root
