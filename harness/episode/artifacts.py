"""What an episode keeps on disk: contents are artifacts before the record that names them is written, and are counted,
so that nothing an agent does fills the disk of the run.

The sum is that of the files: when an attempt goes on, its records and what they name are counted again. Artifacts that
other attempts have stored before are counted, too, and so is the rest of the last block of each.
"""

import re
from collections.abc import Iterator
from itertools import chain

from harness.api import Artifacts
from harness.codec import dumps, encode
from harness.protocols import RawEvidence, StagedArtifact, StagingArtifacts, TargetValue
from harness.records import Acted, Decided, Done, Episode, Evidence, Record, Selected, Task, TrajectoryStep


def store_response(raw: bytes, artifacts: Artifacts) -> str | None:
    """The artifact of an endpoint's answer, byte for byte; None when there was none."""
    return artifacts.put(raw) if raw else None


def store_evidence(
    gathered: RawEvidence, artifacts: Artifacts, *, episode: Episode, task: Task, keeps_trajectory: bool = False
) -> Evidence:
    """The record of `gathered`, everything large put among the artifacts, with what the attempt itself adds to it.

    `task`: what it was gathered for.
    """
    targets, opened = task.eval.program_html, episode.opened
    return Evidence(
        url=gathered.url,
        title=gathered.title,
        html=artifacts.put(dumps(gathered.html)),
        selected=tuple(_selected(selection, artifacts) for selection in gathered.selections),
        trace=None if gathered.trace is None else artifacts.put(gathered.trace),
        reward=episode.reward,
        benchmark=None if gathered.benchmark is None else artifacts.put(gathered.benchmark),
        trajectory=artifacts.put(dumps(trajectory_of(episode))) if keeps_trajectory else None,
        blocked=gathered.blocked,
        kept=tuple(map(artifacts.put, gathered.kept)),
        # An N/A without an action before it is a guess, which `corrected` scores 0 by this count.
        actions=sum(isinstance(step.acted.outcome, Done) for step in episode.steps),
        targets=None if opened is None or opened.task.eval.program_html == targets else targets,
    )


def trajectory_of(episode: Episode) -> tuple[TrajectoryStep, ...]:
    """The arrival and the steps of an attempt, each with the page it led to; the agent's own stop is not a step."""
    arrived = () if episode.arrival is None else (_step("", episode.arrival),)
    return (*arrived, *(_step(_said(episode, step.decided), step.acted) for step in episode.steps))


def _said(episode: Episode, decided: Decided) -> str:
    """The action with what it was done to, as ids say nothing without their page."""
    action = decided.action
    targets = ", ".join(f"{target.role} {target.name!r}" for target in action.targets if target.role)
    said = episode.said(decided)
    return f"{said} on {targets}" if targets else said


def _step(action: str, acted: Acted) -> TrajectoryStep:
    seen = acted.observation
    return TrajectoryStep(
        action=action,
        why_not="" if isinstance(acted.outcome, Done) else acted.outcome.why,
        url=seen.url,
        title=seen.title,
        screenshot=seen.screenshot,
    )


def _selected(selection: TargetValue, artifacts: Artifacts) -> Selected:
    return Selected(
        index=selection.index,
        url=selection.url,
        # Value and reason both: `webarena` scores the value of a page with status 500, and `corrected` the error.
        content=None if selection.error and selection.value is None else artifacts.put(dumps(selection.value)),
        error=selection.error,
        last_content=None if selection.last_value is None else artifacts.put(dumps(selection.last_value)),
    )


_BLOCK = 4096
"""Bytes that a file takes at least, on most file systems."""
_DIGEST = re.compile(rb'(?<=")[0-9a-f]{64}(?=")')


class CountedArtifacts:
    """The artifacts of an attempt, counted; implements `StagingArtifacts`. Used in the thread of its journal."""

    def __init__(self, artifacts: StagingArtifacts) -> None:
        self._artifacts = artifacts
        self._known: set[str] = set()
        self.kept = 0
        """Bytes."""

    def put(self, data: bytes) -> str:
        digest = self._artifacts.put(data)
        self._count(digest, len(data))
        return digest

    def stage(self, data: bytes) -> StagedArtifact:
        staged = self._artifacts.stage(data)
        self._count(staged.digest, len(staged.data))
        return staged

    def read(self, digest: str) -> bytes:
        return self._artifacts.read(digest)

    def size(self, digest: str) -> int:
        return self._artifacts.size(digest)

    def resume(self, episode: Episode) -> int:
        """Count what the attempt has stored; gives the bytes of its records."""
        # From the files: a sum in the records would have changed the bytes of every journal.
        size = 0
        for record in _records(episode):
            body = encode(record).body
            size += len(body)
            for found in _DIGEST.findall(body):
                if (digest := found.decode()) not in self._known:
                    self._count(digest, self.size(digest))
        return size

    def _count(self, digest: str, size: int) -> None:
        if digest not in self._known:
            self._known.add(digest)
            self.kept += -(-size // _BLOCK) * _BLOCK


def _records(episode: Episode) -> Iterator[Record]:
    """The records that hold what an agent or a page has made."""
    yield from (one for one in (episode.opened, episode.arrival, episode.pending) if one is not None)
    for step in episode.steps:
        yield from (step.decided, step.acted)
    yield from chain(episode.asked, episode.answered.values(), episode.commanded, episode.landed, episode.exited)
    yield from chain(episode.late, episode.violations, episode.failures, episode.replied)
