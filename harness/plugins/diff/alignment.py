"""Where episodes of one task part, and their steps side by side.

Two steps are the same if the same is done on the same page: the page by its address, the action by what it does to
which element, by role and name, as ids change whenever a page is opened again. Texts of pages are compared, too, but a
page that only reads otherwise (a clock, an advertisement) parts nothing: it is marked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from harness.api import InvalidAction, Target
from harness.runs import Episode, Step

_MOST_ALIGNED = 1500
"""Steps of an episode that are aligned after the parting; to align takes the square of them."""
PAGE, ACTION, OUTCOME, END = "another page", "another action", "another outcome", "one has ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A step, as far as it is compared."""

    number: int
    url: str
    """Of the page that was decided upon."""
    text: str
    """Digest of that page, without ids."""
    action: str
    """What was done, with elements by role and name."""
    said: str
    """The same for people."""
    outcome: str

    @property
    def key(self) -> tuple[str, str]:
        return self.url, self.action


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """The first step at which episodes differ."""

    step: int
    """1-based; all steps before it are the same in all of them."""
    kind: str
    """What differs there: the page, the action, its outcome, or that one has ended."""
    said: tuple[str, ...]
    """What each did there; "" = it has no such step."""
    other_text_from: int | None
    """First step before it at which a page read otherwise, although its address is the same; None = none did."""


Row = tuple[int | None, ...]
"""Position of the step of each episode that belongs together; None = it has none there."""


def moves_of(episode: Episode) -> tuple[Move, ...]:
    """The steps of the newest attempt.

    Raises:
        JournalError: Its journal is damaged.
    """
    return tuple(map(_move, episode.steps))


def parting_of(episodes: Sequence[Sequence[Move]]) -> Parting | None:
    """The first step at which not all of them do the same; None = they do the same to the end."""
    other = None
    for at in range(max(map(len, episodes), default=0)):
        here = [one[at] if at < len(one) else None for one in episodes]
        there = [one for one in here if one is not None]
        kind = END if len(there) < len(here) else _difference(there)
        if kind:
            said = tuple("" if one is None else one.said for one in here)
            return Parting(step=at + 1, kind=kind, said=said, other_text_from=other)
        if other is None and len({one.text for one in there}) > 1:
            other = at + 1
        if len({one.outcome for one in there}) > 1:
            said = tuple("" if one is None else f"{one.said}: {one.outcome or 'not performed'}" for one in here)
            return Parting(step=at + 1, kind=OUTCOME, said=said, other_text_from=other)
    return None


def rows_of(episodes: Sequence[Sequence[Move]], parting: Parting | None) -> tuple[Row, ...]:
    """All steps in rows: up to the parting by number, after it by what is the same again.

    Every step has one place, and the steps of each episode stay in their order.
    """
    first, *others = episodes
    common = parting.step if parting else len(first)
    rows: list[list[int | None]] = [[at] for at in range(common, len(first))]
    for column, other in enumerate(others, start=1):
        keys = [next(episodes[at][step].key for at, step in enumerate(row) if step is not None) for row in rows]
        merged: list[list[int | None]] = []
        for ours, theirs in _pairs(keys, [move.key for move in other[common:]]):
            row = [None] * column if ours is None else rows[ours]
            merged.append([*row, None if theirs is None else common + theirs])
        rows = merged
    begun = (tuple(at if at < len(one) else None for one in episodes) for at in range(common))
    return (*begun, *map(tuple, rows))


def _pairs(ours: Sequence[object], theirs: Sequence[object]) -> Iterator[tuple[int | None, int | None]]:
    """Positions that belong together, in order; those that differ stand beside each other as far as they go."""
    cut = [one[:_MOST_ALIGNED] for one in (ours, theirs)]
    blocks = [(a, b, c, d) for _, a, b, c, d in SequenceMatcher(None, cut[0], cut[1], autojunk=False).get_opcodes()]
    for a, b, c, d in (*blocks, (len(cut[0]), len(ours), len(cut[1]), len(theirs))):
        for at in range(max(b - a, d - c)):
            yield (a + at if a + at < b else None), (c + at if c + at < d else None)


def _difference(moves: Sequence[Move]) -> str:
    if len({move.url for move in moves}) > 1:
        return PAGE
    return ACTION if len({move.action for move in moves}) > 1 else ""


def _move(step: Step) -> Move:
    action = step.action.with_targets(
        lambda target: Target(id="", role=target.role, name=target.name, nth=target.nth) if target.role else target
    )
    if isinstance(action, InvalidAction):
        action = InvalidAction()  # whatever was said, nothing was done
    driven = step.text if step.text != step.action.render() else ""  # by the agent's own process
    return Move(
        number=step.number,
        url=step.seen.url if step.seen else "",
        text=step.seen.fingerprint if step.seen else "",
        action=f"{driven} {action!r}",
        said=_said(step),
        outcome=step.outcome,
    )


def _said(step: Step) -> str:
    """With the element, also where the agent's own action does not say it."""
    target = next(iter(step.action.targets), None)
    return f"{step.text} {target.role} {target.name!r}" if target and target.role and not target.line else step.text
