"""The records of a journal beyond those that `harness.api` has, and how values become JSON and come back.

For plug-ins that write records, import or export whole journals, or check one line by line.
"""

from harness.browser.rendering.similarity import fingerprint
from harness.codec import build, digest_tree, plain, repeats_a_key
from harness.journal.record_limits import MAX_TIMESTAMP_S
from harness.records import (
    Acted,
    Answered,
    Asked,
    Boundary,
    BrowserCommand,
    Commanded,
    Decided,
    Diverged,
    Done,
    Eval,
    Exited,
    Guarded,
    HtmlTarget,
    Judged,
    Landed,
    Login,
    Opened,
    PolicyViolation,
    Record,
    Reference,
    Scored,
    SeenElement,
    Selected,
    Status,
    TabRecord,
    Verdict,
)
from harness.records.optional import optional

__all__ = [
    "MAX_TIMESTAMP_S",
    "Acted",
    "Answered",
    "Asked",
    "Boundary",
    "BrowserCommand",
    "Commanded",
    "Decided",
    "Diverged",
    "Done",
    "Eval",
    "Exited",
    "Guarded",
    "HtmlTarget",
    "Judged",
    "Landed",
    "Login",
    "Opened",
    "PolicyViolation",
    "Record",
    "Reference",
    "Scored",
    "SeenElement",
    "Selected",
    "Status",
    "TabRecord",
    "Verdict",
    "build",
    "digest_tree",
    "fingerprint",
    "optional",
    "plain",
    "repeats_a_key",
]
