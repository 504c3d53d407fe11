"""What an agent is given of a task and a page, and the check of what it decides: it may be a class from a plug-in.

An agent in our process can look around in it; docs/pages/process_agents_sandbox.md says how to prevent that.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from harness.actions import Action
from harness.actions.truncate import cut
from harness.api import MAX_MEMORY_BYTES, Agent, Decision, Message, ObservationRenderer, Reply
from harness.codec import CodecError, build, dumps, encode, loads
from harness.errors import PluginFailed
from harness.llm.decision_replies import DecisionReplies
from harness.protocols import AgentSession, Environment, SessionAgent, SessionJournal
from harness.records import Decided, Episode, Eval, LiveObservation, ScriptedUser, Task

_SITES_ANSWER_S = 0.1


def checked_decision(given: object) -> Decision:
    """The decision, if it can be recorded as it is.

    Raises:
        PluginFailed: It cannot: a part has the wrong type, or the memory is not a JSON value of at most
            `MAX_MEMORY_BYTES`.
    """
    if not isinstance(given, Decision):
        raise PluginFailed(f"the agent returned {type(given).__name__}, not a Decision")
    if not isinstance(given.action, Action):
        raise PluginFailed(f"the agent's Decision.action is of type {type(given.action).__name__}, not an action")
    if not isinstance(given.reply, Reply):
        raise PluginFailed(f"the agent's Decision.reply is of type {type(given.reply).__name__}, not Reply")
    if not all(isinstance(raw, bytes) for raw in (given.reply.raw, given.reply.request, *given.reply.earlier)):
        raise PluginFailed("the agent's Reply.raw, Reply.request and Reply.earlier are not bytes")
    if not isinstance(given.messages, tuple) or not all(isinstance(one, Message) for one in given.messages):
        raise PluginFailed("the agent's Decision.messages is not a tuple of Message")
    if not isinstance(given.reply.waited_s, int | float):
        raise PluginFailed(f"the agent's Reply.waited_s is of type {type(given.reply.waited_s).__name__}, not float")
    _check_fields(given.action, given.reply)
    return replace(given, memory=_stored(given.memory))


_FIELDS = {"action": "Decision.action", "reply": "Reply.text", "finish_reason": "Reply.finish_reason"}
"""By the field of the record; the others are called as in `Reply`."""


def _check_fields(action: Action, reply: Reply) -> None:
    """Raises: PluginFailed: A field has a type that its record cannot hold."""
    # Here, as well as when it is written: where the record is made, nobody knows whose fault it is.
    record = Decided(
        step=1,
        action=action,
        reply=reply.text,
        prompt=(),
        model=reply.model,
        usage=reply.usage,
        finish_reason=reply.finish_reason,
        request_id=reply.request_id,
        elapsed_ms=0.0,
        at=0.0,
    )
    try:
        encode(record)
    except CodecError as error:
        name, *inner = error.at or ("action",)
        place = ".".join((_FIELDS.get(name, f"Reply.{name}"), *inner))
        raise PluginFailed(f"the agent's {place} cannot be recorded: {error.why}") from error


def _stored(memory: object) -> Any:
    """A copy, as the agent may change its own."""
    try:
        data = dumps(memory)
        # Bounded, as it is in the record itself: for an artifact that a hash names, every fold would need the disk.
        if len(data) > MAX_MEMORY_BYTES:
            raise PluginFailed(f"the agent's memory has {len(data):,} bytes as JSON; {MAX_MEMORY_BYTES:,} are stored")
        stored = build(Any, loads(data))
    except CodecError as error:
        raise PluginFailed(f"the agent's memory is not a JSON value: {error}") from error
    if stored != memory:
        raise PluginFailed(
            "the agent's memory would come back from JSON as another value; use lists, dicts with text keys, texts,"
            " numbers, true, false and null only"
        )
    return stored


@asynccontextmanager
async def agent_session(
    agent: Agent | SessionAgent, journal: SessionJournal, env: Environment
) -> AsyncIterator[AgentSession]:
    """The agent that decides while the context is open; what it has started ends with the context."""
    if isinstance(agent, SessionAgent):
        async with agent.session(journal, env) as session:
            yield session
    else:
        yield agent


async def ask_sites(env: Environment, action: Action, replies: DecisionReplies) -> Mapping[str, str]:
    """What sites say of themselves before an action, for its record: after an interruption it is asked again.

    A site may take its time, and the reply that the decision was made from is paid: it gets a record of its own then.
    """
    asked = asyncio.ensure_future(env.ask_sites(action))
    try:
        if not (await asyncio.wait([asked], timeout=_SITES_ANSWER_S))[0]:
            await replies.keep_last()
        return await asked
    finally:
        asked.cancel()


_UNSAID = Eval(eval_types=())


def public_task(task: Task) -> Task:
    """The task without what it is judged by; `metadata` holds the references of plugged-in evaluators."""
    user = None if task.user is None else ScriptedUser()
    return replace(task, eval=_UNSAID, user=user, probes=(), selectors=(), metadata={})


def public_episode(episode: Episode) -> Episode:
    """What is recorded, without the task's references and without verdicts, which repeat them."""
    opened = episode.opened
    if opened is not None:
        opened = replace(opened, task=public_task(opened.task), files={})
    return replace(episode, opened=opened, judged={}, scores={})


MOST_SHOWN_CHARS = 1_000_000
"""As many as of Cairn's own text."""


def with_shown(view: LiveObservation, renderer: ObservationRenderer | None) -> LiveObservation:
    """The observation with the text of the renderer below the line of tabs; as it is without one.

    Raises:
        PluginFailed: The renderer gives no text.
    """
    if renderer is None:
        return view
    text: object = renderer.render(view)
    if not isinstance(text, str):
        raise PluginFailed(f"the renderer of observations returned {type(text).__name__}, not a text")
    tabs = view.observation.text.partition("\n\n")[0]
    # A renderer is a plug-in: its text may hold lone surrogates, which no journal holds.
    body = cut(text.encode("utf-8", "replace").decode(), MOST_SHOWN_CHARS)
    # Beside Cairn's own text, by which a resume compares pages: a renderer may leave out ids, or print the time.
    return replace(view, observation=replace(view.observation, shown=f"{tabs}\n\n{body}"))
