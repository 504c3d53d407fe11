"""Marks every test that needs a browser, servers or processes of its own as `integration`; `make test-fast` leaves them out."""

from pathlib import Path

import pytest

ROOMS = frozenset({"browser", "commands", "demo", "e2e", "hostile", "viewer"})
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        room = item.path.relative_to(HERE).parts[0]
        if room in ROOMS or item.get_closest_marker("browser"):
            item.add_marker("integration")
