"""The replies of judges about an attempt, in its journal; implements `JudgeReplies`."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.api import Artifacts
from harness.records import Episode, Judged
from harness.runner.persist import store_response
from harness.runner.recorder import Recorder


@dataclass(frozen=True, slots=True)
class JournalJudgeReplies:
    episode: Callable[[], Episode]
    """As the journal tells it now."""
    recorder: Recorder
    artifacts: Artifacts

    def said(self, key: str) -> Judged | None:
        return self.episode().judged.get(key)

    async def keep(self, judged: Judged, raw: bytes) -> None:
        await self.recorder.keep(lambda: replace(judged, response=store_response(raw, self.artifacts)))
