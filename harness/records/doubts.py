"""Doubts in a journal: it is unknown whether an interrupted action reached its site."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class DoubtReason(StrEnum):
    """Why the state of the sites is unknown."""

    INTERRUPTED = "interrupted"
    """An action was interrupted on a site that cannot be reset."""
    PAGE_DIFFERS = "page_differs"
    """A page was opened from a checkpoint, and its text is not quite the recorded one."""
    EARLIER_ATTEMPT = "earlier_attempt"
    """An earlier attempt changed, or may have changed, a site that was not reset since."""
    REOPENED = "reopened"
    """A page was opened again by a restore, and doing so changed its site, or may have, or what it sends later."""


class DoubtResolution(StrEnum):
    """What was done about a doubt; the first five are the values of `resume.in_doubt`."""

    ASK_PAGE = "ask_page"
    """The page was opened again and the agent decides upon it; the action was not repeated."""
    SKIP = "skip"
    """The same, but the agent is not notified."""
    REPEAT = "repeat"
    """The action was performed, perhaps for the second time."""
    RESTART = "restart"
    """A new attempt began."""
    UNSCORED = "unscored"
    """The episode was set aside without a score."""
    PERFORMED = "performed"
    """The site had received the action: there is proof. The resulting page is unknown."""
    ACCEPTED = "accepted"
    """The episode went on from there."""
    NOT_PERFORMED = "not_performed"
    """The site had not received the action: there is proof."""
    SAFE = "safe"
    """The action was performed, perhaps for the second time: it follows a link of a site whose links change nothing."""

    @property
    def is_settled(self) -> bool:
        """Whether the episode goes on as if nothing had been interrupted, so that its score carries no doubt."""
        return self in (DoubtResolution.NOT_PERFORMED, DoubtResolution.SAFE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """It is unknown whether an action reached a site that cannot be reset, or what an earlier attempt changed there."""

    kind: ClassVar[str] = "doubt"
    step: int
    """Step of the pending decision; 0 = the whole attempt."""
    reason: DoubtReason
    resolution: DoubtResolution
    why: str
    """A sentence."""
    at: float

    @property
    def is_settled(self) -> bool:
        """See `DoubtResolution.is_settled`."""
        return self.resolution.is_settled
