"""What `gymnasium.make("cairn/demo.17")` finds: gymnasium calls `register_demo` by an entry point of `gymnasium.envs`.

Imports nothing of the client, since every program that imports gymnasium comes here.
"""

from collections.abc import Iterable
from typing import Any

import gymnasium

_ENTRY = "harness.plugins.environments.clients.gym:CairnEnv"
_DEMO_TASKS = 40


def register(benchmark: str, ids: Iterable[str], **given: Any) -> None:
    """Make tasks known to `gymnasium.make` as `cairn/BENCHMARK.ID`; those that are known stay as they are.

    Args:
        benchmark: The middle part of the names.
        ids: Of its tasks.
        given: Arguments of `CairnEnv`, such as `url` or `settings`.
    """
    for one in ids:
        if (name := f"cairn/{benchmark}.{one}") not in gymnasium.registry:
            gymnasium.register(name, _ENTRY, kwargs={"task": one, **given})


def register_demo() -> None:
    """The demo's tasks, on a server of the process's own unless `url` says another."""
    register("demo", map(str, range(_DEMO_TASKS)))
