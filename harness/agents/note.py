"""A note that an agent keeps for itself: written in one reply, shown in every prompt until it writes another.

It is stored in the journal with the decision (`Decision.memory`), so that it outlives the process. A model that calls
functions writes it by calling one (`KeepNote`), others between `<note>` and `</note>`.
"""

import re
from collections.abc import Sequence
from typing import Any

from harness.actions import KeepNote
from harness.actions.keep_note import MOST_OF_A_NOTE
from harness.actions.truncate import cut
from harness.agents.calls import read_call
from harness.records import ToolCall

# In the reply and no action: an action would cost a step and a request each time.
RULE = f"""\
You may keep a note. Write it between <note> and </note> in your reply, outside the action. It replaces your earlier
note and is shown to you above every later observation, under NOTE. It holds at most {MOST_OF_A_NOTE} characters.
"""
# No beginning within a note: a flood of them without an end would be read again from each.
_NOTE = re.compile(r"<note>((?:(?!<note>).)*?)</note>", re.DOTALL)
_LINE = "| "
"""Before each line, so that no line of a note can pass for the header of another section."""


def split(reply: str) -> tuple[str, str | None]:
    """A reply without its notes, and the last of them; None = there is none."""
    notes = _NOTE.findall(reply)
    return (_NOTE.sub("", reply), cut(notes[-1].strip(), MOST_OF_A_NOTE)) if notes else (reply, None)


def noted(memory: Any) -> str:
    """The note in what a decision left; "" without one."""
    note = memory.get("note") if isinstance(memory, dict) else None
    return note if isinstance(note, str) else ""


def called(calls: Sequence[ToolCall]) -> str | None:
    """The last note that these calls keep; None = they keep none."""
    notes = [read_call(KeepNote, call) for call in calls if call.name == KeepNote.kind]
    kept = [one.text for one in notes if isinstance(one, KeepNote)]
    return cut(kept[-1].strip(), MOST_OF_A_NOTE) if kept else None


def section(note: str) -> str:
    """The note as it is shown above the observation; "" without one."""
    lines = [_LINE + line for line in note.splitlines()]
    return "\n".join(("NOTE:", *lines, "")) if lines else ""
