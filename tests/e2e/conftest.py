"""Runs the real command in a process of its own, as a person would."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.main import main
from tests.forked import Forks

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
def start(tmp_path: Path, forked: Forks) -> Callable[..., Start]:
    """Give overrides, get the ended start; every call shares one results folder."""

    def run(*overrides: str, env: dict[str, str] | None = None, timeout_s: float = 1200) -> Start:
        done = forked.run(
            "run.py",
            *command(*overrides, root=tmp_path / "results")[2:],
            cwd=tmp_path,
            env={**environment(), **(env or {})},
            timeout_s=timeout_s,
        )
        return Start(done.returncode, done.stdout, done.stderr, tmp_path / "results" / "run")

    return run


@pytest.fixture
def harness_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Start]]:
    """Give the arguments of a command, get what it came to in this process: for what ends before anything is played."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)  # hydra reads both, so a start sets them
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    for name in os.environ.keys() - environment().keys():
        monkeypatch.delenv(name)

    def call(*arguments: str) -> Start:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as ended:  # of argparse
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return Start(code, said.out, said.err, tmp_path / "results" / "run")

    before = logging.getLogger().handlers[:]
    yield call
    for handler in [one for one in logging.getLogger().handlers if one not in before]:  # of hydra, for `run.log`
        logging.getLogger().removeHandler(handler)
        handler.close()


@pytest.fixture
def start_here(harness_here: Callable[..., Start], tmp_path: Path) -> Callable[..., Start]:
    """As `start`, in this process: for starts that end before anything is played."""

    def run(*overrides: str) -> Start:
        given = command(*overrides, root=tmp_path / "results")[2:]
        return harness_here("run", *sorted(given, key=lambda one: not one.startswith("-")))

    return run
