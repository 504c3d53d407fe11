"""What an attempt has recorded, from which a process that is started again is answered until it is used up. Pure."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping

from harness.api import Episode, Step
from harness.api.records import Answered, Asked


class Recording:
    """The requests and steps of an attempt; each is given out once."""

    def __init__(self, episode: Episode) -> None:
        """
        Args:
            episode: All of whose decisions have been performed.
        """
        self._answers: dict[str, deque[Answered]] = {}
        self._unanswered: Counter[str] = Counter()
        for asked in episode.asked:
            if (answered := episode.answered.get(asked.number)) is None:
                self._unanswered[asked.key] += 1
            else:
                self._answers.setdefault(asked.key, deque()).append(answered)
        self._left = {asked.number: asked for asked in episode.asked if asked.number in episode.answered}
        self.compared: Callable[[], Awaitable[None]] = _at_once
        """Waits until what the process has done so far is compared with the recorded steps."""
        self._steps = deque(episode.steps)

    @property
    def is_used_up(self) -> bool:
        """Whether what the process does from here on is new."""
        return not self._left and not self._steps

    def answer(self, key: str) -> Answered | None:
        """The next recorded answer to a request with this key; None = there is none left."""
        if not (waiting := self._answers.get(key)):
            return None
        answered = waiting.popleft()
        del self._left[answered.number]
        return answered

    def next_request(self, interface: str) -> Asked | None:
        """The first request whose answer has not been given out; None = there is none to this interface."""
        return next((asked for asked in self._left.values() if asked.interface == interface), None)

    def was_cut_off(self, key: str) -> bool:
        """Whether such a request was pending when the process ended, so that it has no answer."""
        if not self._unanswered[key]:
            return False
        self._unanswered[key] -= 1
        return True

    def next_step(self) -> Step | None:
        """The next recorded step, which stays until it is taken; None = there is none left."""
        return self._steps[0] if self._steps else None

    def take_step(self) -> Step:
        return self._steps.popleft()

    def drop(self) -> Mapping[str, int]:
        """Go on without it; what was left."""
        left = {"requests": len(self._left), "steps": len(self._steps)}
        self._answers.clear()
        self._unanswered.clear()
        self._steps.clear()
        self._left.clear()
        return left


async def _at_once() -> None:
    """Calls are compared as they come."""
