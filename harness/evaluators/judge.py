"""A model as judge: what it is asked, and how the verdict is read from its reply.

Its reply is stored unchanged in the verdict, and a reply without a verdict is
an error, never a 0.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass

from harness.actions.truncate import MOST_OF_A_MESSAGE, cut
from harness.api import ChatModel, Judge, JudgeKind, JudgeQuestion, Message, RecordedEpisode, Reply
from harness.codec import CodecError, digest, encode, plain
from harness.errors import (
    EvaluatorError,
    JournalError,
    ModelUnavailable,
    RequestRefused,
    ShutdownRequested,
    UsageError,
    plugin_boundary,
    said_by,
)
from harness.evaluators.judge_prompts import prompt_of
from harness.evaluators.result import WEBARENA, shown
from harness.protocols import JudgeReplies
from harness.records import Judged, Usage

MAX_JUDGED = 100_000
"""Characters of an answer that a judge is shown."""

_BEFORE, _AFTER = re.compile(r"[\s*_`'\"#>.-]*"), re.compile(r"[\s*_`'\".!]*")
"""Markup around a verdict, which is removed; the verdict is searched from the end."""


class ModelJudge:
    """Judges by asking a chat model; keeps nothing between two scores."""

    def __init__(self, model: ChatModel, *, name: str = "") -> None:
        """`name`: of the model; another one's replies are not taken for its own."""
        self._model = model
        self.name = name

    async def judge(self, question: JudgeQuestion, /) -> Reply:
        return await self._model.ask(question.messages)


class JudgeSession:
    """The jury of one verdict: asks what was not asked before, reads, and keeps count of replies and cost."""

    def __init__(
        self,
        judge: Judge | None,
        dialect: str,
        recorded: JudgeReplies | None = None,
        *,
        clock: Callable[[], float] = time.time,
        asking: MutableMapping[str, asyncio.Lock] | None = None,
    ) -> None:
        """`asking`: shared by sessions with the same `recorded` that go on at the same time."""
        self._recorded = recorded
        self._asking = {} if asking is None else asking
        """By question: the same one waits for the reply to the first."""
        self._clock = clock
        self._dialect = dialect
        self._replies: list[str | None] = []
        self.usage = Usage()
        self._judge = judge
        self._strict = dialect != WEBARENA

    @property
    def replies(self) -> tuple[str, ...]:
        """Replies in the order of the questions, which may have been asked side by side."""
        return tuple(reply for reply in self._replies if reply is not None)

    @property
    def is_answered(self) -> bool:
        """Whether the judge was asked, and has replied to every question."""
        return bool(self._replies) and None not in self._replies

    @property
    def judge_name(self) -> str:
        """Name of the judge; "" while none has replied."""
        return self._judge.name if self._judge is not None and self.replies else ""

    async def fuzzy(self, *, pred: str, reference: str, question: str) -> bool:
        reply = await self._ask("fuzzy_match", pred=pred, reference=reference, question=question)
        if self._strict:
            return last_word(reply, ("correct", "incorrect", "partially correct")) == "correct"
        return lenient(reply, good="correct", bad=("partially correct", "incorrect"))

    async def ua(self, *, pred: str, reference: str, question: str) -> bool:
        reply = await self._ask("same_reason", pred=pred, reference=reference, question=question)
        if self._strict:
            return last_word(reply, ("same", "different")) == "same"
        return lenient(reply, good="same", bad=("different",))

    async def _ask(self, kind: JudgeKind, *, pred: str, reference: str, question: str) -> str:
        if len(pred) > MAX_JUDGED:
            raise EvaluatorError(f"the answer has {len(pred)} characters; the limit for a judge is {MAX_JUDGED}")
        messages = prompt_of(kind, self._dialect, pred=pred, reference=reference, question=question)
        return await self.reply(
            JudgeQuestion(kind=kind, intent=question, reference=reference, answer=pred, messages=messages)
        )

    async def reply(self, question: JudgeQuestion) -> str:
        """What the judge says to a question of kind `prompt` is the same in every dialect, so it is paid once."""
        if self._judge is None:
            raise EvaluatorError("this task needs a judge: set judge.model=…, then score the run again")
        place = len(self._replies)
        self._replies.append(None)
        judged = await self._heard(self._judge, question)
        self._replies[place] = judged.reply
        self.usage += judged.usage
        return judged.reply

    async def _heard(self, judge: Judge, question: JudgeQuestion) -> Judged:
        """What was said to this, now or before this process began."""
        # Our dialects clean an answer differently, so each asks; a benchmark's question is the same in both, and paid
        # once.
        is_ours = question.kind != "prompt"
        key = digest(
            {
                "dialect": self._dialect if is_ours else "",
                "model": judge.name,
                "messages": [plain(one) for one in question.messages],
            }
        )
        async with self._asking.setdefault(key, asyncio.Lock()):
            if self._recorded is not None and (known := self._recorded.said(key)) is not None:
                return known
            reply = await _asked(judge, question)
            judged = Judged(key=key, reply=reply.text, model=reply.model, usage=reply.usage, at=self._clock())
            _check(judged, judge.name)
            if self._recorded is not None:
                await self._recorded.keep(judged, reply.raw, () if is_ours else question.messages)
            return judged


async def _asked(judge: Judge, question: JudgeQuestion) -> Reply:
    """The reply of a judge that may be the person's own: whatever it raises costs this verdict, and no other task."""

    def failed(error: BaseException) -> EvaluatorError:
        if isinstance(error, ModelUnavailable | RequestRefused):
            return EvaluatorError(f"the judge did not answer ({said_by(error)}); score the run again")
        said = cut(said_by(error), MOST_OF_A_MESSAGE)
        return EvaluatorError(f"the judge {judge.name} raised {type(error).__name__}: {said}")

    # With a wrong key (`ModelRejected`) no further question would be answered either, so the run stops.
    with plugin_boundary(failed, passes=(UsageError, JournalError, ShutdownRequested, EvaluatorError)):
        reply: object = await judge.judge(question)
    if not isinstance(reply, Reply):
        raise EvaluatorError(f"the judge {judge.name} returned {type(reply).__name__}, not a Reply")
    if not isinstance(reply.raw, bytes):
        raise EvaluatorError(f"the judge {judge.name} returned a Reply whose raw is not bytes")
    return reply


def _check(judged: Judged, name: str) -> None:
    """Raises: EvaluatorError: A field of the reply is of a type or value that no journal can hold."""
    try:
        encode(judged)
    except CodecError as error:
        raise EvaluatorError(f"the judge {name} returned a Reply that cannot be recorded: {error}") from error


class RepeatedReplies:
    """Replies that were given already, for a second look at the same episode; implements `JudgeReplies`."""

    def __init__(self, replies: Iterable[str]) -> None:
        """`replies`: in the order of the questions, whatever these are now."""
        self._replies = list(replies)

    def said(self, key: str) -> Judged:
        if not self._replies:
            raise EvaluatorError("the judge did not answer; score the run again")
        return Judged(key=key, reply=self._replies.pop(0), model="", usage=Usage(), at=0.0)

    async def keep(self, judged: Judged, raw: bytes, messages: Sequence[Message] = ()) -> None:
        """They are kept already."""


@dataclass(frozen=True, slots=True)
class JudgeForEpisode:
    """The judge of one verdict, for the evaluator of one episode; implements `harness.api.JudgeAccess`."""

    session: JudgeSession
    recorded: RecordedEpisode

    async def ask(self, messages: Sequence[Message], /) -> str:
        intent, answer = self.recorded.task.intent, self.recorded.closed.answer
        return await self.session.reply(
            JudgeQuestion(kind="prompt", intent=intent, reference="", answer=answer, messages=tuple(messages))
        )


def last_word(reply: str, words: tuple[str, ...]) -> str:
    """The verdict alone on the last line, decoration aside; anything else is not a verdict."""
    lines = [line for line in reply.splitlines() if line.strip()]
    verdict = _plain(lines[-1]).lower() if lines else ""
    if verdict not in words:
        raise EvaluatorError(f"the judge's last line is none of {', '.join(words)}: {shown(reply)}")
    return verdict


def _plain(line: str) -> str:
    """Without decoration; a pattern that ends in `$` would be tried at every dot of a row of them."""
    for decoration in (_BEFORE, _AFTER):
        found = decoration.match(line)
        line = line[found.end() if found else 0 :][::-1]
    return line


def lenient(reply: str, *, good: str, bad: tuple[str, ...]) -> bool:
    """WebArena's reading: the words anywhere in the reply, the bad ones first."""
    text = reply.lower()
    if any(word in text for word in bad):  # first, as "incorrect" holds "correct"
        return False
    if good not in text:
        raise EvaluatorError(f"the judge says neither {good} nor {' nor '.join(bad)}: {shown(reply)}")
    return True
