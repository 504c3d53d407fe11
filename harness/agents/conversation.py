"""An episode as the conversation that an agent which calls functions has with its model.

It follows from the episode alone: each past reply is a turn of the assistant, and each of its calls has a result, the
last one with the page that it led to. So every request is the one before with something behind it, until the oldest
half of the turns is dropped (see `history`), whose actions the first message then lists, with the note they left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.actions import ActionSet, InvalidAction, KeepNote
from harness.actions.truncate import cut
from harness.agents import note, page
from harness.agents.calls import Turn, read_call, turns
from harness.agents.prompt_history import MOST_OF_A_REPLY, first_kept, rough_tokens, turn_tokens
from harness.records import Done, Episode, Message, Observation, Step, Task, ToolCall
from harness.settings.agents import ModelAgentSettings

SPLITTER = "```"
"""Around an action that stands in a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """How one is written."""

    settings: ModelAgentSettings
    action_set: ActionSet
    tabs_only: bool = False
    """The page is shown as a picture."""
    only_newest: bool = False
    """Of the past only the newest turn is repeated, where results need a screenshot: there is none of earlier pages."""
    model_key: str = ""
    """Of the model that is sent it, see `AgentContext.model_key`."""

    def messages(self, task: Task, episode: Episode, seen: Observation) -> tuple[Message, ...]:
        """What the model is sent next; `seen` is the page as it is now."""
        past = turns(episode)
        kept = past[-1:] if self.only_newest else past[self._first(episode, past) :]
        begin = kept[0].start if kept else len(episode.steps)
        first_page = seen if not kept else _page_before(episode, begin, seen)
        dropped = past[: len(past) - len(kept)]
        # The note is shown once the turn that wrote it is gone, not above every page: each request begins with the one
        # before.
        head = self._head(task, episode, begin, first_page, kept_note=(dropped[-1].note if dropped else None) or "")
        following = [*(turn.start for turn in kept[1:]), len(episode.steps)]
        tail = (
            message
            for turn, end in zip(kept, following, strict=False)
            for message in self._turn(episode, turn, _page_before(episode, end, seen))
        )
        return (Message(role="system", content=self.settings.system), head, *tail)

    def _first(self, episode: Episode, past: Sequence[Turn]) -> int:
        sizes = [self._size(episode, turn) for turn in past]
        return first_kept(sizes, most=self.settings.history, budget=self.settings.history_tokens)

    def _head(self, task: Task, episode: Episode, begin: int, seen: Observation, *, kept_note: str) -> Message:
        dropped = page.previous_actions(episode.steps[:begin], self.action_set, SPLITTER)
        previous = f"PREVIOUS ACTIONS:\n{dropped}\n" if dropped else ""
        noted = note.section(kept_note)
        return Message(role="user", content=f"OBJECTIVE:\n{task.intent}\n{previous}{noted}{self._page(seen)}")

    def _turn(self, episode: Episode, turn: Turn, seen: Observation) -> Iterator[Message]:
        text = cut(turn.text, MOST_OF_A_REPLY)
        performed = episode.steps[turn.start : turn.end]
        if not turn.calls:
            yield Message(role="assistant", content=text or "(no answer)")
            yield Message(role="user", content=f"{page.result_line(performed[0])}\n{self._page(seen)}")
            return
        # Signatures and encrypted reasoning are for the model that made them.
        items = turn.items if turn.by in ("", self.model_key) else ()
        yield Message(role="assistant", content=text, tool_calls=turn.calls, items=items)
        step_of = dict(zip(turn.acting, performed, strict=False))
        for number, call in enumerate(turn.calls):
            if number in step_of:
                said = page.result_line(step_of[number])
            elif number in turn.acting:
                said = _not_performed(performed[-1])
            else:
                said = _kept(call)
            if number == len(turn.calls) - 1:
                more = f"{turn.unread} further calls of your reply were not read.\n" if turn.unread else ""
                said = f"{said}\n{more}{self._page(seen)}"
            yield Message(role="tool", content=said, tool_call_id=call.id)

    def _page(self, seen: Observation) -> str:
        return page.sections(seen, self.settings.max_observation_tokens, tabs_only=self.tabs_only)

    def _size(self, episode: Episode, turn: Turn) -> int:
        """Tokens of a turn, about."""
        text = "" if turn.end == 0 else episode.steps[turn.end - 1].acted.observation.shown_text
        called = sum(rough_tokens(one.arguments) for one in turn.calls)
        return turn_tokens(text, turn.text, most=self.settings.max_observation_tokens) + called


def _page_before(episode: Episode, step: int, now: Observation) -> Observation:
    """The page on which a step was decided; that of the next step is the present one."""
    last = None if step >= len(episode.steps) else replace(episode, steps=episode.steps[:step], pending=None).last
    return now if last is None else last.observation


def _kept(call: ToolCall) -> str:
    """The result of a note that took no step."""
    read = read_call(KeepNote, call)
    return f"RESULT: error: {page.one_short_line(read.why)}" if isinstance(read, InvalidAction) else "RESULT: done"


def _not_performed(last: Step) -> str:
    """The result of a call after the last one that was performed."""
    if isinstance(last.decided.action, InvalidAction) or not isinstance(last.acted.outcome, Done):
        return "RESULT: not performed: an earlier call of your reply was not performed"
    return "RESULT: not performed: the page changed, and what it is aimed at is no longer there"
