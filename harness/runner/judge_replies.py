"""What judges have said about an attempt, in its journal; fits `JudgeReplies`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from harness.records import Episode, Judged, Record


@dataclass(frozen=True, slots=True)
class JournalJudgeReplies:
    episode: Callable[[], Episode]
    """As the journal tells it now."""
    append: Callable[[Record], Awaitable[None]]

    def said(self, key: str) -> Judged | None:
        return self.episode().judged.get(key)

    async def keep(self, judged: Judged) -> None:
        await self.append(judged)
