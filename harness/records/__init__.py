"""Everything the harness knows, as frozen records.

Task is what was asked; Message, Tool and Reply are what passes between an agent and its model; Opened, Replied,
Decided, Acted, Resumed, Late, Doubt, Closed, Failed, Judged and Scored are the lines of a journal, each with its `kind`
tag, and Asked, Answered, Commanded, Landed, Diverged, PolicyViolation and Exited those that an agent's process adds;
Episode is what the fold makes of them and is never written. Records hold no behaviour beyond reading themselves. URLs
in records are canonical (see `Site`), never those of one deployment.
"""

from harness.records.chat_messages import ComputerTool, Message, Reply, Tool, ToolCall
from harness.records.doubts import Doubt, DoubtReason, DoubtResolution
from harness.records.episode import Episode, Step
from harness.records.journal_lines import (
    Acted,
    Closed,
    CloseReason,
    Decided,
    Done,
    Evidence,
    Failed,
    Fork,
    Judged,
    Late,
    Opened,
    Outcome,
    ProcessRecord,
    Record,
    Refused,
    Replied,
    Resumed,
    Scored,
    Selected,
    SideEffect,
    Status,
    Unknown,
    Verdict,
)
from harness.records.observation import LiveObservation, Node, Observation, PendingTimer, SeenElement, TabRecord
from harness.records.process_lines import (
    Answered,
    Asked,
    Boundary,
    BrowserCommand,
    Commanded,
    Diverged,
    Exited,
    Guarded,
    Landed,
    PolicyViolation,
)
from harness.records.reopening import ReopenedPage, reopened_pages, types_what_is_sent_later
from harness.records.task import Eval, HtmlTarget, Reference, ScriptedUser, Task, UserAnswer, Wanted, benchmark_of
from harness.records.tokens import Tokens
from harness.records.trajectory_step import TrajectoryStep
from harness.records.usage import Usage
from harness.settings.limits import EpisodeLimits
from harness.settings.sites import Login, Site

__all__ = [
    "Acted",
    "Answered",
    "Asked",
    "Boundary",
    "BrowserCommand",
    "CloseReason",
    "Closed",
    "Commanded",
    "ComputerTool",
    "Decided",
    "Diverged",
    "Done",
    "Doubt",
    "DoubtReason",
    "DoubtResolution",
    "Episode",
    "EpisodeLimits",
    "Eval",
    "Evidence",
    "Exited",
    "Failed",
    "Fork",
    "Guarded",
    "HtmlTarget",
    "Judged",
    "Landed",
    "Late",
    "LiveObservation",
    "Login",
    "Message",
    "Node",
    "Observation",
    "Opened",
    "Outcome",
    "PendingTimer",
    "PolicyViolation",
    "ProcessRecord",
    "Record",
    "Reference",
    "Refused",
    "ReopenedPage",
    "Replied",
    "Reply",
    "Resumed",
    "Scored",
    "ScriptedUser",
    "SeenElement",
    "Selected",
    "SideEffect",
    "Site",
    "Status",
    "Step",
    "TabRecord",
    "Task",
    "Tokens",
    "Tool",
    "ToolCall",
    "TrajectoryStep",
    "Unknown",
    "Usage",
    "UserAnswer",
    "Verdict",
    "Wanted",
    "benchmark_of",
    "reopened_pages",
    "types_what_is_sent_later",
]
