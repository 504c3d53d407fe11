"""The server that a client starts for itself."""

from pathlib import Path

import pytest

from harness.plugins.environments.clients import own_server as module
from tests.waiting import wait_until


def test_it_is_not_held_up_by_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = tmp_path / "talks"
    talks.write_text(f"#!/bin/sh\necho '{module._READY}http://x'\nhead -c 1000000 /dev/zero\n: > {tmp_path}/said\n")
    talks.chmod(0o755)
    monkeypatch.setattr(module.sys, "executable", str(talks))
    monkeypatch.delenv(module.URL, raising=False)
    assert module.own_server((f"run.id={tmp_path.name}",)) == "http://x"
    wait_until((tmp_path / "said").exists)
