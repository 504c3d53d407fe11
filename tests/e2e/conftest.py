"""Runs the real command in a process of its own, as a person would."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Start:
    """One start of `run.py` that has ended."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "summary.json").read_bytes())  # type: ignore[no-any-return]


def command(*overrides: str, root: Path) -> list[str]:
    return [sys.executable, str(PROJECT / "run.py"), f"run.root={root}", "run.id=run", *overrides]


def environment() -> dict[str, str]:
    """Nothing of the tester's own keys."""
    return {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Start]:
    """Give overrides, get the ended start; every call shares one results folder."""

    def run(*overrides: str, env: dict[str, str] | None = None, timeout_s: float = 300) -> Start:
        done = subprocess.run(
            command(*overrides, root=tmp_path / "results"),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            env={**environment(), **(env or {})},
            cwd=tmp_path,
        )
        return Start(done.returncode, done.stdout, done.stderr, tmp_path / "results" / "run")

    return run
