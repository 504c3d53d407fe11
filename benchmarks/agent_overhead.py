"""What a step costs with each agent beside `agent=prompt`, the model's time aside.

Run: `python -m benchmarks.agent_overhead [--episodes 8]`. The steps of `step_overhead` on the embedded shop: the agent
makes its request, a model that answers at once says what the script has next, messages and decision are stored, the
action is performed, the page read, and both records are appended. An agent that looks at pictures is compared with
`agent=prompt` in a browser that takes screenshots, which are stored with each observation as in any run by default.
Mouse and keyboard type in three steps (click, text, Enter), and so does the agent beside them.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from benchmarks.journal_append import SECRETS
from benchmarks.results import Rows, parser, tell, timed
from benchmarks.step_overhead import HOME, SCRIPT, Stage, Step, action_for, in_turn, stage, task
from benchmarks.step_overhead import Timed as Times
from harness.actions import Action, Click, Goto, Keyboard, Press, Target, Type
from harness.api import Message, Reply
from harness.browser.session.chromium import ChromiumPool
from harness.cli import configured
from harness.codec import dumps
from harness.evaluation.builder import build_agent
from harness.journal.log import Journal
from harness.journal.prompt_store import put_messages
from harness.journal.store import ArtifactStore
from harness.records import (
    Acted,
    Decided,
    Done,
    Episode,
    LiveObservation,
    Observation,
    Opened,
    Site,
    ToolCall,
)
from harness.secrets.redaction import Redactor
from harness.settings.browser import BrowserSettings
from harness.settings.observation import ObservationSettings

VIEWPORT = (1280, 720)
PLAIN, SHOTS, MARKS = "accessibility_tree", "accessibility_tree+image", "accessibility_tree+marks"
"""What the browser reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """An agent and the browser that it has."""

    overrides: tuple[str, ...]
    shows: str = PLAIN
    by_keys: bool = False
    """Types as with mouse and keyboard, in a step for each of click, text and Enter."""

    @property
    def name(self) -> str:
        return " ".join(self.overrides)


_PROMPT = ("agent=prompt",)
_COMPUTER = ("agent=computer", "llm.api=responses", "llm.model=computer-use-preview")
PAIRS = (
    (Player(overrides=(*_PROMPT, "agent.history=30")), Player(overrides=_PROMPT)),
    (Player(overrides=("agent=tools",)), Player(overrides=_PROMPT)),
    (Player(overrides=("agent=vision",), shows=MARKS), Player(overrides=_PROMPT, shows=SHOTS)),
    (
        Player(overrides=_COMPUTER, shows=SHOTS, by_keys=True),
        Player(overrides=_PROMPT, shows=SHOTS, by_keys=True),
    ),
)
"""Each agent, and the one it is compared with."""


class Prompter:
    """A model that says what it is told to say, in words, as a call, or as a call of the computer tool."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._next = Reply()
        self._said = 0

    def say(self, action: Action) -> None:
        plain = action.with_targets(lambda target: Target(id=target.id))
        if self._agent in ("agent=tools", "agent=computer"):
            called = _pointed(action) if self._agent == "agent=computer" else None
            values = {one.name: getattr(plain, one.name) for one in fields(plain)}
            given = {name: value.id if isinstance(value, Target) else value for name, value in values.items()}
            self._said += 1
            call = ToolCall(
                id=f"call_{self._said}",
                name="computer" if called else plain.kind,
                arguments=dumps(called or given).decode(),
            )
            self._next = Reply(text="I go on.", tool_calls=(call,), finish_reason="tool_calls")
        else:
            self._next = Reply(text=f"I go on. ```{plain.render()}```")

    async def ask(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> Reply:
        return self._next


def _pointed(action: Action) -> Mapping[str, Any] | None:
    """The action as OpenAI's computer tool has it; None = by a function."""
    match action:
        case Click(target=Target(box=(x, y, width, height))):
            return {"type": "click", "button": "left", "x": int(x + width / 2), "y": int(y + height / 2)}
        case Keyboard(text=text):
            return {"type": "type", "text": text}
        case Press():
            return {"type": "keypress", "keys": ["ENTER"]}
        case Goto():
            return None
    raise SystemExit(f"no call for {action.render()}")


def actions_of(step: Step, view: LiveObservation, *, by_keys: bool) -> Iterator[Action]:
    """What a step of the script is done by."""
    action = action_for(step, view)
    if by_keys and isinstance(action, Type):
        yield Click(target=action.target)
        yield Keyboard(text=action.text)
        if action.enter:
            yield Press(key_comb="Enter")
    else:
        yield action


async def played(here: Stage, pool: ChromiumPool, player: Player, name: str) -> Times:
    """One episode by one agent."""
    model = Prompter(player.overrides[0])
    agent, artifacts = build_agent(configured(player.overrides), model), ArtifactStore(here.folder / name)
    times: list[float] = []

    def seen(view: LiveObservation) -> Observation:
        shown = view.observation
        return shown if view.image is None else replace(shown, screenshot=artifacts.put(view.image))

    with Journal.open(here.folder / f"{name}.traj.jsonl", redactor=Redactor(SECRETS)) as journal:
        async with pool.open(task(), 0) as env:
            view = (await env.restore(task(), Episode())).view
            journal.append(Opened(attempt=1, trial=0, task=task(), task_digest="t", config_digest="c", seed=0, at=0.0))
            journal.append(Acted(step=0, outcome=Done(), observation=seen(view), elapsed_ms=0.0, at=0.0))
            for step in SCRIPT:
                for action in actions_of(step, view, by_keys=player.by_keys):
                    number = len(times) + 1
                    model.say(action)
                    begun = time.perf_counter()
                    decision = await agent.decide(task(), journal.episode, view)
                    stored = put_messages(decision.messages, artifacts)
                    decided = Decided(
                        step=number,
                        action=decision.action,
                        reply=decision.reply.text,
                        prompt=stored.messages,
                        pictures=stored.pictures,
                        model="none",
                        usage=decision.reply.usage,
                        memory=decision.memory,
                        elapsed_ms=0.0,
                        at=0.0,
                    )
                    journal.append(decided)
                    landed = await env.act(decision.action)
                    view = landed.view
                    shown = seen(view)
                    outcome = landed.outcome
                    journal.append(Acted(step=number, outcome=outcome, observation=shown, elapsed_ms=0.0, at=0.0))
                    times.append(time.perf_counter() - begun)
                    if outcome != Done():
                        raise SystemExit(f"{player.name}: {decision.action.render()} was refused: {outcome}")
                if step.shows[1] not in view.observation.text:
                    raise SystemExit(f"{player.name}: no {step.shows} after {step}")
    return Times(times)


@asynccontextmanager
async def _pools(here: Stage) -> AsyncIterator[Mapping[str, ChromiumPool]]:
    """A browser for each of the settings."""
    site = Site(name="shop", url=here.home.rstrip("/"), canonical=HOME.rstrip("/"))
    async with AsyncExitStack() as closing:
        pools = {}
        for shows in (PLAIN, SHOTS, MARKS):
            observation = ObservationSettings(type=shows)
            settings = BrowserSettings(allowed="any", screenshots=shows != PLAIN)
            pool = ChromiumPool(settings, observation=observation, sites=lambda _: (site,))
            pools[shows] = await closing.enter_async_context(pool)
        yield pools


async def measure(*, episodes: int = 8) -> Rows:
    found: Rows = {}
    async with stage() as here, _pools(here) as pools:
        for number, (player, peer) in enumerate(PAIRS):
            mine, floor = await in_turn(
                lambda turn, p=player, n=number: played(here, pools[p.shows], p, f"{n}-{turn}"),  # type: ignore[misc]
                lambda turn, p=peer, n=number: played(here, pools[p.shows], p, f"floor-{n}-{turn}"),  # type: ignore[misc]
                turns=episodes + 1,
            )
            beside = f"{peer.name}{', screenshots' * (peer.shows != PLAIN)}"
            found[f"agent overhead, {len(mine[0].steps)} steps with {player.name} beside {beside}"] = timed(
                [one.whole for one in mine], [one.whole for one in floor]
            )
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--episodes", type=int, default=8)
    tell(asyncio.run(measure(episodes=options.parse_args().episodes)))


if __name__ == "__main__":
    sys.exit(main())
