"""The pages of an episode from inside the browser: functions that evaluators call on them, and rules for visits.

For `cairn.functions` and `cairn.visits`.
"""

from harness.browser.driver.cdp_receive import fast_listener
from harness.browser.session.functions import FunctionContext, PageFunction, part_of
from harness.browser.session.page_values import bounded
from harness.browser.tabs.tabs import Tabs

__all__ = [
    "FunctionContext",
    "PageFunction",
    "Tabs",
    "bounded",
    "fast_listener",
    "part_of",
]
