"""Folders that take seconds to make: one test process makes it, and all of them read it."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, filled by whoever comes first; nobody else may change it.

    Raises:
        AssertionError: It could not be made; so for each process that asks for it.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        make(folder := factory.mktemp(name))
        return folder
    shared = factory.getbasetemp().parent / f"once-{name}"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "made").exists():
            attempt = len(list(shared.iterdir()))
            (folder := shared / f"{name}-{attempt}").mkdir()
            make(folder)
            (shared / "made").symlink_to(folder.name)
    return (shared / "made").resolve()
