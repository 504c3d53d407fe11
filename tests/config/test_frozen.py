"""Settings are objects that nobody changes, and that the code which uses them receives."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import get_type_hints

import pytest

from harness.cli import configured
from harness.config import Config
from harness.settings.fields import group_of

pytestmark = pytest.mark.integration


def groups(owner: type) -> Iterator[type]:
    yield owner
    for kind in get_type_hints(owner).values():
        if (group := group_of(kind)) is not None and is_dataclass(group):
            yield from groups(group)


def test_every_group_is_frozen() -> None:
    assert {one.__name__ for one in groups(Config) if not one.__dataclass_params__.frozen} == set()  # type: ignore[attr-defined]


def test_lists_are_tuples_where_they_are_declared_so() -> None:
    composed = configured(["agent=process", "agent.command=[python, agent.py]", "agent.readable=[/opt]"])
    assert composed.agent.command == ("python", "agent.py")
    assert composed.tree()["agent"]["command"] == ["python", "agent.py"]
