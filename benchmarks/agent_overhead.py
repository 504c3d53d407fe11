"""What a step costs with each agent beside `agent=prompt`, the model's time aside.

Run: `python -m benchmarks.agent_overhead [--episodes 8]`. The ten steps of `step_overhead` on the embedded shop: the
agent makes its request, a model that answers at once says what the script has next, messages and decision are stored,
the action is performed, the page read, and both records are appended.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from benchmarks.journal_append import SECRETS
from benchmarks.results import Rows, parser, tell, timed
from benchmarks.step_overhead import SCRIPT, Stage, action_for, in_turn, stage, task
from benchmarks.step_overhead import Timed as Times
from harness.actions import Action, Target
from harness.api import Message, Reply
from harness.cli import configured
from harness.codec import dumps
from harness.evaluation.builder import build_agent
from harness.journal.log import Journal
from harness.journal.prompt_store import put_messages
from harness.journal.redaction import Redactor
from harness.journal.store import ArtifactStore
from harness.records import Acted, Decided, Done, Episode, Opened, ToolCall

AGENTS = (("agent=prompt", "agent.history=30"), ("agent=tools",))


class Prompter:
    """A model that says what it is told to say, in words and as a call."""

    def __init__(self, *, calls: bool) -> None:
        self._calls = calls
        self._next = Reply()

    def say(self, action: Action) -> None:
        plain = action.with_targets(lambda target: Target(id=target.id))
        if self._calls:
            values = {one.name: getattr(plain, one.name) for one in fields(plain)}
            given = {name: value.id if isinstance(value, Target) else value for name, value in values.items()}
            call = ToolCall(id="call_1", name=plain.kind, arguments=dumps(given).decode())
            self._next = Reply(text="I go on.", tool_calls=(call,), finish_reason="tool_calls")
        else:
            self._next = Reply(text=f"I go on. ```{plain.render()}```")

    async def ask(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> Reply:
        return self._next


async def played(here: Stage, overrides: Sequence[str], name: str) -> Times:
    """One episode by one agent."""
    model = Prompter(calls=overrides[0] == "agent=tools")
    agent, artifacts = build_agent(configured(overrides), model), ArtifactStore(here.folder / name)
    times = []
    with Journal.open(here.folder / f"{name}.traj.jsonl", redactor=Redactor(SECRETS)) as journal:
        async with here.pool.open(task(), 0) as env:
            view = (await env.restore(task(), Episode())).view
            journal.append(Opened(attempt=1, trial=0, task=task(), task_digest="t", config_digest="c", seed=0, at=0.0))
            journal.append(Acted(step=0, outcome=Done(), observation=view.observation, elapsed_ms=0.0, at=0.0))
            for number, step in enumerate(SCRIPT, start=1):
                model.say(action_for(step, view))
                begun = time.perf_counter()
                decision = await agent.decide(task(), journal.episode, view)
                decided = Decided(
                    step=number,
                    action=decision.action,
                    reply=decision.reply.text,
                    prompt=put_messages(decision.messages, artifacts).messages,
                    model="none",
                    usage=decision.reply.usage,
                    memory=decision.memory,
                    elapsed_ms=0.0,
                    at=0.0,
                )
                journal.append(decided)
                landed = await env.act(decision.action)
                view = landed.view
                seen = view.observation
                journal.append(Acted(step=number, outcome=landed.outcome, observation=seen, elapsed_ms=0.0, at=0.0))
                times.append(time.perf_counter() - begun)
    return Times(times)


async def measure(*, episodes: int = 8) -> Rows:
    found: Rows = {}
    async with stage() as here:
        for overrides in AGENTS:
            name = " ".join(overrides)
            mine, floor = await in_turn(
                lambda turn, o=overrides: played(here, o, f"{'-'.join(o)}-{turn}"),  # type: ignore[misc]
                lambda turn, o=overrides: played(here, ("agent=prompt",), f"floor-{'-'.join(o)}-{turn}"),  # type: ignore[misc]
                turns=episodes + 1,
            )
            found[f"agent overhead, 10 steps with {name}"] = timed(
                [one.whole for one in mine], [one.whole for one in floor]
            )
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--episodes", type=int, default=8)
    tell(asyncio.run(measure(episodes=options.parse_args().episodes)))


if __name__ == "__main__":
    sys.exit(main())
