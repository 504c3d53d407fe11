from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import start
from tests.plugins.site_sets.small_site import SmallSite

__all__ = ["start"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallSite]:
    """A set that is taken down in the end, however its test ended."""
    site = SmallSite(tmp_path)
    yield site
    if (site.state / "set.json").exists():
        assert site.type("down", "--all").code == 0
        assert site.processes() == []
