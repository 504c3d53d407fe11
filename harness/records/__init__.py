"""Everything the harness knows, as frozen records.

Task is what was asked; Opened, Decided, Acted, Resumed, Late, Doubt, Closed, Failed, Judged and Scored are the lines of a
journal, each with its `kind` tag; Episode is what the fold makes of them and is never written. Records hold no behaviour beyond
reading themselves. URLs in records are canonical (see `Site`), never those of one deployment.
"""

from harness.records.asked import Eval, HtmlTarget, Limits, Login, Site, Task
from harness.records.doubts import Doubt, DoubtReason, DoubtResolution
from harness.records.folded import Episode, Step
from harness.records.lines import (
    Acted,
    Closed,
    CloseReason,
    Decided,
    Done,
    Effect,
    Evidence,
    Failed,
    Judged,
    Late,
    Opened,
    Outcome,
    Record,
    Refused,
    Resumed,
    Scored,
    Selected,
    Status,
    Unknown,
    Usage,
    Verdict,
)
from harness.records.seen import Node, Observation, Tab, View

__all__ = [
    "Acted",
    "CloseReason",
    "Closed",
    "Decided",
    "Done",
    "Doubt",
    "DoubtReason",
    "DoubtResolution",
    "Effect",
    "Episode",
    "Eval",
    "Evidence",
    "Failed",
    "HtmlTarget",
    "Judged",
    "Late",
    "Limits",
    "Login",
    "Node",
    "Observation",
    "Opened",
    "Outcome",
    "Record",
    "Refused",
    "Resumed",
    "Scored",
    "Selected",
    "Site",
    "Status",
    "Step",
    "Tab",
    "Task",
    "Unknown",
    "Usage",
    "Verdict",
    "View",
]
