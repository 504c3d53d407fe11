"""What an agent can do: records, the text they are read from and written as, and when two are the same.

Pure and without knowledge of browsers, models or pages.
"""

from harness.actions.parser import ACTION_SETS, NodeLike, extract, parse, resolve
from harness.actions.render import describe
from harness.actions.repetition import EarlyStop, StopRule, early_stop, equivalent

__all__ = [
    "ACTION_SETS",
    "EarlyStop",
    "NodeLike",
    "StopRule",
    "describe",
    "early_stop",
    "equivalent",
    "extract",
    "parse",
    "resolve",
]
