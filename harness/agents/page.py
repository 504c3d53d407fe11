"""What agents are shown of a page and of their own past, as text: bounded, and one line where a line is meant."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from harness.actions import ActionSet, InvalidAction, Target
from harness.actions.truncate import cut
from harness.agents.token_limit import trim
from harness.records import Done, Episode, Observation, Refused, Step, Unknown

MOST_OF_AN_ADDRESS = 2000
"""Characters, like the next three. Only the text of a page may fill the prompt; it has its own limit.
"""
MOST_OF_A_LINE = 500
"""A notice, a tab's title, an element's name, why an action was refused."""
MOST_OF_AN_ACTION = 4000
"""A line of the history; the agent may have typed that much."""
MOST_NOTICES = 20


@lru_cache(maxsize=128)  # a conversation shows the same pages again with each of its requests
def observation(text: str, max_tokens: int, *, tabs_only: bool = False) -> str:
    """The tabs, and the page unless it is shown as a picture."""
    tabs, blank, body = text.partition("\n\n")
    tabs = "\n".join(cut(tab, MOST_OF_A_LINE) for tab in tabs.split("\n"))
    return trim(tabs if tabs_only else f"{tabs}{blank}{body}", max_tokens)


def sections(seen: Observation, max_tokens: int, *, tabs_only: bool = False) -> str:
    """An observation under its headers, with notices and address."""
    shown = observation(seen.shown_text, max_tokens, tabs_only=tabs_only)
    notices = f"{notice_section(seen.notices)}\n" if seen.notices else ""
    return f"OBSERVATION:\n{shown}\n{notices}URL:\n{cut(seen.url, MOST_OF_AN_ADDRESS)}\n"


def result_line(step: Step) -> str:
    """What became of a call, for the model that made it."""
    if isinstance(step.decided.action, InvalidAction):
        return f"RESULT: error: {one_short_line(step.decided.action.why)}"
    match step.acted.outcome:
        case Refused(why=why):
            return f"RESULT: refused: {one_short_line(why)}"
        case Unknown(why=why):
            return f"RESULT: unknown: {one_short_line(why)}"
        case Done():
            return "RESULT: done"


def unfinished(episode: Episode) -> tuple[str, ...]:
    """What is said of the last reply when it was cut off, filtered or a refusal."""
    last = episode.steps[-1].decided if episode.steps else None
    if last is None or not last.finish_reason or not isinstance(last.action, InvalidAction):
        return ()
    return (f"Your last reply was not read: {last.action.why}.",)


def notice_section(notices: Sequence[str]) -> str:
    """Under their header; "" without any."""
    return "\n".join(["NOTICES:", *(f"- {one}" for one in _notices(notices))]) if notices else ""


def previous_actions(steps: Sequence[Step], action_set: ActionSet, splitter: str) -> str:
    """Numbered, one line each, oldest first; "" without any."""
    return "\n".join(
        f"{number}. {action_line(step, action_set, splitter)}" for number, step in enumerate(steps, start=1)
    )


def action_line(step: Step, action_set: ActionSet, splitter: str) -> str:
    """A step of the history on one line."""
    decided, outcome = step.decided, step.acted.outcome
    action = decided.action.with_targets(_with_short_name)
    # Shorter than a line, as an action set puts a sentence around it.
    reply = cut(decided.reply, MOST_OF_AN_ACTION - 1000)
    line = cut(action_set.render(action, reply=reply, splitter=splitter), MOST_OF_AN_ACTION)
    if isinstance(outcome, Refused):
        line = f"{line} -> refused: {cut(outcome.why, MOST_OF_A_LINE)}"
    elif isinstance(outcome, Unknown) and outcome.why:
        line = f"{line} -> outcome unknown: {outcome.why}"
    return on_one_line(line)


def one_short_line(text: str) -> str:
    return cut(on_one_line(text), MOST_OF_A_LINE)


def on_one_line(text: str) -> str:
    """Line breaks of every kind become blanks, so that a line cannot pass for the header of another section."""
    return " ".join(text.splitlines())


def _notices(notices: Sequence[str]) -> list[str]:
    """Each once, the first and the last of them when they are very many."""
    lines = [
        cut(on_one_line(notice), MOST_OF_A_LINE) + (f" ({times} times)" if times > 1 else "")
        for notice, times in Counter(notices).items()
    ]
    if len(lines) <= MOST_NOTICES:
        return lines
    half = MOST_NOTICES // 2
    return [*lines[:half], f"({len(lines) - 2 * half} more notices)", *lines[-half:]]


def _with_short_name(target: Target) -> Target:
    """What elements are called, a page decides."""
    return replace(target, name=cut(target.name, MOST_OF_A_LINE), line=cut(target.line, MOST_OF_A_LINE))
