"""A judge for the failures that no rule explains: its class, the steps that it cites, and its reason.

Asked only when a person asks for it. A reply is in `attribution_replies.jsonl` before it counts, so nothing is paid for
twice, whatever is killed. What does not name one of the three classes, or cites no step of the episode, counts for
nothing: the failure stays unexplained.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.api import Judge, JudgeQuestion, Message, ModelUnavailable, RequestRefused, digest
from harness.api.judging import RULE, quoted
from harness.errors import JournalError
from harness.runs import Episode, Run, Step, one_line
from harness.runs.attribution import ENVIRONMENT, HARNESS, MODEL, UNEXPLAINED, Attribution
from harness.runs.side_log import append, read

REPLIES = "attribution_replies.jsonl"
_AT_ONCE = 4
_MOST_STEPS, _OF_A_TEXT, _OF_A_PAGE = 60, 400, 4000
"""Of an episode that are shown: its first and its last ones; characters of a text, and of the last page."""
_MARKUP = " \t*_`>-"
"""Around a line of a reply."""
_SYSTEM = f"""You find out why a web agent failed a task. Say whose failure it was, and cite the steps that show it.

harness: what had to play or to judge the episode did not work, such as the browser, the connection to the model, or
the evaluator.
environment: the site did not let the agent do the task, by errors, blocks, missing content, or a login that it did not
have.
model: what the agent did or said was wrong, such as a wrong page, element, or answer, giving up, or repeating itself.

{RULE}

Answer with these three lines, and nothing after them:
class: harness, environment or model
steps: numbers of the steps that show it, the decisive one first
reason: one sentence"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the judge said of one episode."""

    episode: Episode
    found: Attribution | None
    """None = nothing that counts."""
    why_not: str = ""


async def judge_unexplained(run: Run, judge: Judge) -> tuple[Judged, ...]:
    """Ask about each failure of the run that its attributions leave unexplained.

    Raises:
        ModelRejected: The judge's endpoint refuses all requests; what was said before is kept.
        StorageError: The disk refuses.
    """
    known = {str(entry.get("key")): str(entry.get("reply")) for entry in read(run.folder, REPLIES).entries}
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(episode: Episode) -> Judged:
        async with slots:
            return await _judged(run, episode, judge, known)

    left = [one for one in run.readable() if one.attribution is not None and one.attribution.kind == UNEXPLAINED]
    try:
        async with asyncio.TaskGroup() as group:
            found = [group.create_task(one(episode)) for episode in left]
    except ExceptionGroup as errors:  # the first; the others were cancelled
        raise errors.exceptions[0] from errors
    return tuple(task.result() for task in found)


async def _judged(run: Run, episode: Episode, judge: Judge, known: dict[str, str]) -> Judged:
    try:
        steps = episode.steps
        messages = question_of(episode)
    except JournalError as error:  # damaged since it was looked at
        return Judged(episode=episode, found=None, why_not=str(error))
    key = digest([judge.name, [[one.role, one.content] for one in messages]])
    if key not in known:
        asked = JudgeQuestion(kind="prompt", intent=episode.intent, reference="", answer="", messages=messages)
        try:
            reply = await judge.judge(asked)
        except (ModelUnavailable, RequestRefused) as error:
            return Judged(episode=episode, found=None, why_not=f"the judge did not answer ({error})")
        append(
            run.folder,
            REPLIES,
            {"key": key, "judge": judge.name, "reply": reply.text, "cost_usd": reply.usage.cost_usd},
        )
        known[key] = reply.text
    found = read_reply(known[key], [step.number for step in steps], judge.name)
    why_not = "" if found else f"the judge's reply names no class, or no step that there is: {known[key]!r:.100}"
    return Judged(episode=episode, found=found, why_not=why_not)


def question_of(episode: Episode) -> tuple[Message, ...]:
    """What the judge is asked about an episode.

    Raises:
        JournalError: Its journal is damaged.
    """
    return Message(role="system", content=_SYSTEM), Message(role="user", content="\n".join(_parts(episode)))


def _parts(episode: Episode) -> Iterator[str]:
    closed, steps = episode.record.closed, episode.steps
    yield f"The task: {quoted(episode.intent, 'task')}"
    yield f"How it ended: {quoted(f'{closed.reason}: {closed.detail}' if closed else 'it did not end', 'end')}"
    yield f"What the evaluator says: {quoted(episode.score.why or episode.cause, 'evaluator')}"
    yield f"The agent's answer: {quoted(episode.answer, 'answer')}"
    shown = _shown(steps)
    yield f"Steps: {len(steps)}" + ("" if len(shown) == len(steps) else f", {len(shown)} of them are shown")
    for step in shown:
        said = (step.text, step.seen.url if step.seen else "", step.reply)
        action, url, reply = (text[:_OF_A_TEXT] for text in said)
        how = {"refused": f"refused: {step.why_not}", "unknown": "interrupted"}.get(step.outcome, "")
        yield f"Step {step.number}: {quoted((action, f'on {url}', f'because: {reply}', how[:_OF_A_TEXT]), 'step')}"
    if steps and (page := steps[-1].page or steps[-1].seen) is not None:
        yield f"The last page: {quoted((page.url, page.title, page.text[:_OF_A_PAGE]), 'page')}"


def _shown(steps: Sequence[Step]) -> Sequence[Step]:
    half = _MOST_STEPS // 2
    return steps if len(steps) <= _MOST_STEPS else (*steps[:half], *steps[-half:])


def read_reply(reply: str, steps: Sequence[int], judge: str) -> Attribution | None:
    """The attribution that a reply gives; None = no class, or none of the steps that there are.

    Args:
        reply: As it was given; the last line of each kind counts.
        steps: Numbers of the episode's steps.
        judge: Name.
    """
    parts = (line.partition(":") for line in reply[-_OF_A_PAGE:].splitlines())
    said = {name.strip(_MARKUP).lower(): value.strip(_MARKUP) for name, colon, value in parts if colon}
    kind = said.get("class", "").lower().strip(f"{_MARKUP}.")
    cited = [int(number) for number in re.findall(r"\d{1,6}", said.get("steps", ""))]
    reason = one_line(said.get("reason", ""), 300)
    if kind not in (HARNESS, ENVIRONMENT, MODEL) or not reason or not cited or not set(cited) <= set(steps):
        return None
    more = "" if len(cited) == 1 else f" (steps {', '.join(map(str, dict.fromkeys(cited)))})"
    return Attribution(kind=kind, rule=one_line(f"judged by {judge}", 60), step=cited[0], why=reason + more)
