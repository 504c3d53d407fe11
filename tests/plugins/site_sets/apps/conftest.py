"""The set `apps` in a folder of its own, up while the tests of a module use it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ConfigError
from harness.plugins.site_sets.apps.installing import installed, requirements
from tests.e2e.conftest import environment, start
from tests.plugins.site_sets.small_site import Typed

__all__ = ["start"]


@dataclass(frozen=True, slots=True)
class Apps:
    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "sites" / "apps"

    @property
    def served(self) -> Path:
        return self.state / "sites.json"

    def type(self, verb: str, *words: str) -> Typed:
        done = subprocess.run(
            [sys.executable, "-m", "harness.main", "sites", verb, "apps", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=environment(),
            timeout=1200,
            check=False,
        )
        return Typed(done.returncode, done.stdout, done.stderr)

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.type("status", "--json").out.splitlines()]


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apps]:
    for name in requirements():
        try:
            installed(name)
        except ConfigError as missing:
            pytest.skip(f"{missing}; it was not run, or its packages cannot be installed here")
    found = Apps(tmp_path_factory.mktemp("apps"))
    try:
        up = found.type("up", "--scale", "2")
        assert up.code == 0, up
        yield found
    finally:
        down = found.type("down", "--all")
    assert down.code == 0, down
