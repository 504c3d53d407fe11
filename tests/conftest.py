"""Which tests `make test` and `make test-fast` leave out, by rules instead of by marks on every row.

`integration`: whatever needs a browser, a composed configuration or some seconds; `make test-fast` leaves it out, and
all plug-ins' tests but those it is asked for (`ARGS=tests/plugins/diff`).
`@pytest.mark.sample(n)`: of the rows of a test, `make test` takes n at even distances; `make test-slow`, or
`make hostile` for those of tests/hostile, takes the others.
"""

import gc
import importlib.util
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.journal.store import RunFolder
from tests.forked import Forks, forks
from tests.looking import browser, shared_browser

__all__ = ["browser", "shared_browser"]

if importlib.util.find_spec("hypothesis"):  # the environments of test-art and test-exports are without it
    from hypothesis import settings

    settings.register_profile("no deadline", deadline=None)  # a busy machine takes longer than the 200 ms by default
    settings.load_profile("no deadline")

ROOMS = frozenset({"browser", "commands", "e2e", "hostile"})
HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Does not even import the folders that `make test-fast` leaves out."""
    if "not integration" not in config.option.markexpr or collection_path.parent != HERE:
        return None
    asked_for = [config.invocation_params.dir / name.partition("::")[0] for name in config.args]
    if collection_path.name == "plugins":
        return True if not any(path.is_relative_to(collection_path) for path in asked_for) else None
    return True if collection_path.name in ROOMS else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collects without the garbage collector, which then never looks at the million objects that stay.

    It would search them while tests are collected, each time that a test leaves many objects, and when a process ends.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def forked() -> Iterator[Forks]:
    """Starts commands in processes of their own, without the time that their imports take."""
    with forks() as found:
        yield found


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFolder]:
    """An open run folder."""
    with RunFolder.open(tmp_path / "run") as run:
        yield run


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rows: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if room_of(item) in ROOMS or item.get_closest_marker("browser"):
            item.add_marker("integration")
        mark = item.get_closest_marker("sample")
        if mark and not item.get_closest_marker("slow") and not item.get_closest_marker("hostile"):
            rows[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    for (_, size), found in rows.items():
        taken = {number * len(found) // size for number in range(size)}
        for number, item in enumerate(found):
            if number not in taken:
                item.add_marker("hostile" if room_of(item) == "hostile" else "slow")


def room_of(item: pytest.Item) -> str:
    """The folder of tests/ that the test is in."""
    return item.path.relative_to(HERE).parts[0]
