"""A results folder that a viewer serves, and a browser."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from harness.loopback_server import serving
from harness.plugins.html_report.viewer import app
from harness.plugins.html_report.viewer.app import Viewer
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher
from tests.reports.runs import assorted, fill


@pytest.fixture
def results(tmp_path: Path) -> Path:
    fill(tmp_path / "results" / "demo", assorted(12, steps=2))
    return tmp_path / "results"


@pytest_asyncio.fixture(loop_scope="session")
async def base(results: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """Address of a viewer without a token, which reads all that is there before it answers, however busy the machine."""
    monkeypatch.setattr(app, "BUDGET_S", 60.0)
    async with serving(Viewer(ResultsWatcher(results)).app(None)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest_asyncio.fixture(loop_scope="session")
async def client(base: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=base, verify=False) as one:  # reading certificates takes 25 ms
        yield one
