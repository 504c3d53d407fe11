"""How this Python starts another one that runs a module."""

import sys
from pathlib import Path


def module_arguments(module: str) -> tuple[str, ...]:
    """Arguments of Python that run a module, which finds others where this process finds them.

    `python -m` looks into the current folder first, and a command such as `harness` not at all. So a `calendar.py` of a
    person would take the place of Python's own, and the folder of a package that of the package, as a worker only.
    """
    return ("-m", module) if {"", _current_folder()} & set(sys.path) else ("-P", "-m", module)


def _current_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was deleted, and nothing is found in it
        return ""
