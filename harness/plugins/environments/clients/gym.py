"""`gymnasium.make("cairn/demo.17")`: an environment whose actions and pages are texts. Importing this module makes the
names of the demo's tasks known, as gymnasium asks no installed package for names any more (since 1.0).

A limit of the run (steps, time) truncates an episode, which has its score nevertheless. An infrastructure failure is a
truncated episode with reward 0 and `info["mask_sample"]`, since gymnasium knows no step without a reward: leave such
episodes out.
"""

from collections.abc import Iterable
from typing import Any

import gymnasium
from gymnasium.spaces import Dict, Text

from harness.plugins.environments.clients.connection import Connection, EnvironmentFailed
from harness.plugins.environments.clients.own_server import own_server

__all__ = ["CairnEnv", "register"]

_DEMO_TASKS = 40
_SEEN = ("text", "url", "title", "goal", "error")
_INFO = ("task", "step", "notices", "doubts", "screenshot", "task_images", "closed")


class Words(Text):
    """Any text: `Text` knows texts of a small alphabet only."""

    def contains(self, x: Any) -> bool:
        """Whether it is a text."""
        return isinstance(x, str)


class CairnEnv(gymnasium.Env[dict[str, str], str]):
    """One task, or any (`reset(options={"task": …})`)."""

    def __init__(
        self, task: str | None = None, url: str | None = None, settings: tuple[str, ...] = ("task=demo",)
    ) -> None:
        """Args:
        task: Its id; None = the tasks in turn.
        url: Of a server; None = `CAIRN_ENVIRONMENTS_URL`, else a server of this process with `settings`.
        settings: As for `harness serve`.
        """
        self.action_space: Words = Words(max_length=200)
        self.observation_space: Any = Dict({name: Words(max_length=1 << 20) for name in _SEEN})
        self._task = task
        self._connection = Connection(url or own_server(settings))
        self._last = dict.fromkeys(_SEEN, "")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """See gymnasium. Raises: EnvironmentFailed: There is no episode."""
        super().reset(seed=seed)
        wanted = {"task": self._task, "seed": seed} | (options or {})
        return self._shown(self._connection.reset(**wanted))

    def step(self, action: str) -> tuple[dict[str, str], float, bool, bool, dict[str, Any]]:
        """See gymnasium."""
        try:
            turn = self._connection.step(action)
        except EnvironmentFailed as failed:
            if not failed.mask:
                raise
            return self._last, 0.0, False, True, dict(failed.data)
        seen, info = self._shown(turn)
        truncated = turn["observation"]["truncated"]
        return seen, float(turn["reward"] or 0.0), turn["done"] and not truncated, truncated, info

    @property
    def episode_id(self) -> str | None:
        """Of the episode, under which it is in the run folder's `environments.jsonl`."""
        return self._connection.episode_id

    def close(self) -> None:
        """See gymnasium."""
        self._connection.close()

    def _shown(self, turn: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
        seen = turn["observation"]
        self._last = {name: seen[name] for name in _SEEN}
        return self._last, {name: seen[name] for name in _INFO} | {"mask_sample": False}


def register(benchmark: str, ids: Iterable[str], **given: Any) -> None:
    """Make tasks known to `gymnasium.make` as `cairn/BENCHMARK.ID`; those that are known stay as they are.

    Args:
        benchmark: The middle part of the names.
        ids: Of its tasks.
        given: Arguments of `CairnEnv`, such as `url` or `settings`.
    """
    for one in ids:
        if (name := f"cairn/{benchmark}.{one}") not in gymnasium.registry:
            gymnasium.register(name, f"{__name__}:CairnEnv", kwargs={"task": one, **given})


register("demo", map(str, range(_DEMO_TASKS)))
