"""Runs a judge over labelled trajectories; each reply and each verdict is on disk before anything depends on it.

`judgments.jsonl` holds two kinds of lines: `reply`, what the judge said to one question, and `judgment`, the verdict on
one trajectory. A check that was killed goes on: a trajectory with a verdict is not judged again, and a question with a
reply is not asked again. A torn last line is cut off. One process at a time writes it.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from harness.api import (
    Closed,
    CloseReason,
    CodecError,
    EvaluatorError,
    Evidence,
    Judge,
    JudgedEvaluator,
    Message,
    RecordedEpisode,
    Task,
    TrajectoryStep,
    Usage,
    digest,
    dumps,
    loads,
)
from harness.api.files import safe_files, sync, sync_folder, translate_os_errors, write_whole
from harness.api.judging import JudgeForEpisode, JudgeSession
from harness.api.records import Eval, Judged, build, optional, plain
from harness.api.scoring import CORRECTED
from harness.api.secrets import NO_SECRETS, Redactor
from harness.errors import JournalError, TaskError
from harness.plugins.judge_check.labelled_set import Label, LabelledSet, LabelledTrajectory
from harness.runs.judge_error import Agreement

JUDGMENTS = "judgments.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """The judge's word on one trajectory."""

    key: str
    """Digest of the trajectory without its label."""
    digest: str
    """Digest of what the judge was shown."""
    label: bool
    verdict: bool | None
    """None = the judge gave none; `why` says why."""
    unread: bool = optional(False)
    """The judge has replied to every question, but its verdict cannot be read."""
    why: str
    usage: Usage
    replies: tuple[str, ...] = optional(())
    at: float


class JudgmentLog:
    """The file of a check; implements `harness.protocols.JudgeReplies`."""

    def __init__(self, folder: Path, redactor: Redactor = NO_SECRETS) -> None:
        """Read what is there; the folder exists and is held by this process."""
        self._path = folder / JUDGMENTS
        self._redactor = redactor
        self._replies: dict[str, Judged] = {}
        self.judgments: dict[str, Judgment] = {}
        with translate_os_errors(self._path):
            self._fd = safe_files.open_regular(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._read()
            sync_folder(folder)

    def _read(self) -> None:
        data = safe_files.read(self._path)
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
            try:
                tree = loads(line)
                if "judgment" in tree:
                    known = build(Judgment, tree["judgment"])
                    self.judgments[known.key] = known
                else:
                    reply = build(Judged, tree["reply"])
                    self._replies[reply.key] = reply
            except (CodecError, KeyError, TypeError) as error:
                raise JournalError(
                    f"{self._path}:{number}: invalid record of judge-check ({error}); move the file away and run again"
                ) from error
        if len(whole) < len(data):
            os.ftruncate(self._fd, len(whole))

    def said(self, key: str) -> Judged | None:
        return self._replies.get(key)

    async def keep(self, judged: Judged, raw: bytes, messages: Sequence[Message] = ()) -> None:
        self._append({"reply": plain(judged)})
        self._replies[judged.key] = judged

    def add(self, judgment: Judgment) -> None:
        self._append({"judgment": plain(judgment)})
        self.judgments[judgment.key] = judgment

    def close(self) -> None:
        os.close(self._fd)

    def _append(self, tree: object) -> None:
        with translate_os_errors(self._path):
            write_whole(self._fd, self._redactor.data(dumps(tree)) + b"\n")
            sync(self._fd)


class _Files:
    """`Artifacts` of one trajectory: the screenshots below a folder, by the hash of their bytes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[str, Path] = {}

    def named(self, step: TrajectoryStep, beside: Path) -> TrajectoryStep:
        """The step with the hash in the place of a file's name.

        Raises:
            TaskError: There is no such file.
        """
        if step.screenshot is None:
            return step
        for path in (self._folder / step.screenshot, beside / step.screenshot):
            if path.is_file() and path.resolve().is_relative_to(self._folder.resolve()):
                found = sha256(safe_files.read_named(path)).hexdigest()
                self._paths[found] = path
                return replace(step, screenshot=found)
        raise TaskError(f"{self._folder / step.screenshot}: the screenshot of a trajectory is missing")

    def put(self, data: bytes) -> str:
        raise JournalError("the screenshots of labelled trajectories are only read")

    def read(self, digest: str) -> bytes:
        if digest not in self._paths:
            raise JournalError(f"there is no screenshot {digest}")
        return safe_files.read_named(self._paths[digest])


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck:
    """A judge with a method, over labels."""

    judge: Judge
    method: JudgedEvaluator
    labels: LabelledSet
    log: JudgmentLog
    at_once: int = 4
    clock: Callable[[], float] = time.time
    asking: dict[str, asyncio.Lock] = field(default_factory=dict)
    """Questions of trajectories that have one in common: it is paid for once."""
    tell: Callable[[int, int], None] = lambda done, total: None
    """Hears how many trajectories are judged."""

    async def run(self, limit: int | None = None) -> tuple[Judgment, ...]:
        """Judge what is not judged yet.

        Raises:
            TaskError: A trajectory is missing or wrong; those judged before are kept.
            ModelRejected: The judge's endpoint refuses all requests.
        """
        wanted = self.labels.labels[:limit]
        slots = asyncio.Semaphore(self.at_once)

        async def one(label: Label) -> Judgment:
            async with slots:
                judged = await self._judgment(label)
                self.tell(len(self.log.judgments), len(wanted))
                return judged

        try:
            async with asyncio.TaskGroup() as group:
                found = [group.create_task(one(label)) for label in wanted]
        except ExceptionGroup as errors:  # the first; the others were cancelled
            raise errors.exceptions[0] from errors
        return tuple(task.result() for task in found)

    async def _judgment(self, label: Label) -> Judgment:
        trajectory, path = self.labels.trajectory(label)
        files = _Files(self.labels.folder)
        steps = tuple(files.named(step, path.parent) for step in trajectory.steps)
        seen = digest([trajectory.goal, trajectory.answer, [plain(step) for step in steps]])
        known = self.log.judgments.get(label.key)
        if known is not None and known.digest == seen and known.verdict is not None:
            return replace(known, label=label.says)
        recorded = RecordedEpisode(
            task=_task(label, trajectory), closed=_closed(trajectory), trajectory=steps, artifacts=files
        )
        session = JudgeSession(self.judge, CORRECTED, self.log, clock=self.clock, asking=self.asking)
        verdict, unread = None, False
        try:
            finding = await self.method.evaluate_judged(recorded, JudgeForEpisode(session, recorded))
            verdict, why = finding.value == 1.0, finding.why
        except EvaluatorError as error:
            why, unread = str(error), session.is_answered
        judgment = Judgment(
            key=label.key,
            digest=seen,
            label=label.says,
            verdict=verdict,
            unread=unread,
            why=why,
            usage=session.usage,
            replies=session.replies,
            at=self.clock(),
        )
        self.log.add(judgment)
        return judgment


def agreement(judgments: Sequence[Judgment], *, unread_fails: bool = False) -> Agreement:
    """Counts over the trajectories that the judge gave a verdict on.

    Args:
        judgments: One for each trajectory.
        unread_fails: A verdict that cannot be read is failure, as in AgentRewardBench's own code.
    """
    verdicts = [False if unread_fails and one.unread else one.verdict for one in judgments]
    counts: Mapping[tuple[bool, bool], int] = {
        (verdict, label): sum(
            said is verdict and one.label is label for said, one in zip(verdicts, judgments, strict=True)
        )
        for verdict in (True, False)
        for label in (True, False)
    }
    return Agreement(
        both=counts[True, True],
        judge_only=counts[True, False],
        people_only=counts[False, True],
        neither=counts[False, False],
    )


def _task(label: Label, trajectory: LabelledTrajectory) -> Task:
    start = trajectory.steps[0].url
    return Task(
        task_id=label.task_id,
        sites=(),
        intent=trajectory.goal,
        start_urls=(start,) if start else (),
        eval=Eval(eval_types=()),
    )


def _closed(trajectory: LabelledTrajectory) -> Closed:
    last = trajectory.steps[-1]
    evidence = Evidence(url=last.url, title=last.title, html=None)
    return Closed(reason=CloseReason.STOPPED, detail="", answer=trajectory.answer, evidence=evidence, at=0.0)
