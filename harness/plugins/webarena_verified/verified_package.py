"""The PyPI package `webarena-verified`, in a separate environment: its pins are not ours, so it is not imported.

Read here: the dataset that it ships, the ids of its subsets, and the copy of WebArena's task file that comes with it,
which says which sites need a login.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api import CodecError, JsonObject, loads
from harness.api.configuration import PROJECT
from harness.api.files import safe_files
from harness.errors import ConfigError

VERSION = "1.2.3"
"""The one that is tested."""
FOLDER = ".venv-verified"
GET_IT = f"python3 -m venv {FOLDER} && {FOLDER}/bin/pip install webarena-verified=={VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedPackage:
    """An installed copy of the package."""

    version: str
    python: Path
    """Python of the package's environment."""
    data: Path
    """Folder of its dataset."""

    def tasks(self, dataset: str | None = None) -> list[JsonObject]:
        """All tasks in their own schema, in the order of the file.

        Args:
            dataset: Another file of the same form; None = the one the package ships.
        Raises:
            ConfigError: The file is missing, or does not hold tasks.
        """
        path = self.data / "webarena-verified.json" if dataset is None else Path(dataset)
        return _objects(path, _json(path))

    def subset(self, name: str) -> frozenset[int]:
        """Ids of the tasks of a subset.

        Raises:
            ConfigError: The package has no such subset.
        """
        path = self.data / "subsets" / f"{name}.json"
        if not path.is_file():
            known = ", ".join(sorted(one.stem for one in path.parent.glob("*.json")))
            raise ConfigError(f"task.arguments.subset: webarena-verified has no subset {name!r}; choose from {known}")
        match _json(path):
            case {"task_ids": list(ids)}:
                return frozenset(one for one in ids if isinstance(one, int))
        raise ConfigError(f"{path}: has no list task_ids; install webarena-verified again")

    def logins(self) -> Mapping[int, Any]:
        """Task id to the storage state that WebArena's own task names; None = no login."""
        path = self.data / "test.raw.json"
        return {task["task_id"]: task.get("storage_state") for task in _objects(path, _json(path))}


def find_package(place: str | None = None) -> VerifiedPackage:
    """The installed package.

    Args:
        place: Folder of its environment; None = `.venv-verified` in this folder or beside Cairn, else Cairn's own
            environment.
    Raises:
        ConfigError: It is not there; the sentence names the command that gets it.
    """
    places = [Path(FOLDER), PROJECT / FOLDER, Path(sys.prefix)] if place is None else [Path(place)]
    for folder in places:
        for found in sorted(folder.glob("lib*/python3*/site-packages/webarena_verified-*.dist-info")):
            data, python = found.parent / "webarena_verified" / "assets" / "dataset", folder / "bin" / "python"
            if data.is_dir() and python.exists():
                return VerifiedPackage(
                    version=found.name.removeprefix("webarena_verified-").removesuffix(".dist-info"),
                    python=python.absolute(),
                    data=data.absolute(),
                )
    where = "" if place is None else f" in task.arguments.package={place}"
    raise ConfigError(
        f"the package webarena-verified is not installed{where}; it needs a separate environment ({GET_IT}), or name"
        " one by task.arguments.package=FOLDER"
    )


def _json(path: Path) -> Any:
    try:
        return loads(safe_files.read_named(path))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except CodecError as error:
        raise ConfigError(f"{path}: is not valid JSON ({error})") from error


def _objects(path: Path, value: Any) -> list[JsonObject]:
    if isinstance(value, list) and all(isinstance(one, dict) and isinstance(one.get("task_id"), int) for one in value):
        return value
    raise ConfigError(f"{path}: is not a JSON array of tasks, each with a number as its task_id")
