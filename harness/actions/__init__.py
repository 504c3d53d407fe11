"""What an agent can do: records, the text they are read from and written as, and when two are the same.

Pure and without knowledge of browsers, models or pages.
"""

from harness.actions.describing import describe
from harness.actions.equivalence import early_stop, equivalent
from harness.actions.parsing import ACTION_SETS, NodeLike, extract, parse, resolve

__all__ = ["ACTION_SETS", "NodeLike", "describe", "early_stop", "equivalent", "extract", "parse", "resolve"]
