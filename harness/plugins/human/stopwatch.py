"""How long a person was at a step: pauses, and times in which nobody looked, do not count."""

from collections.abc import Callable
from dataclasses import dataclass

from harness.api.agent_kinds import working_s


@dataclass
class Stopwatch:
    """Begins at a stand."""

    clock: Callable[[], float] = working_s
    """In seconds."""
    _spent_s: float = 0.0
    _since: float | None = None

    @property
    def runs(self) -> bool:
        """Whether it counts."""
        return self._since is not None

    def let(self, runs: bool) -> None:
        """Let it run, or stand."""
        self._spent_s, self._since = self.read(), self.clock() if runs else None

    def read(self) -> float:
        """Seconds for which it has run."""
        return self._spent_s + (0.0 if self._since is None else max(0.0, self.clock() - self._since))
