"""Requests to a site that no page makes: without cookies, and bounded.

For rules about visits (`cairn.visits`), which ask a site before a page does, and for plug-ins that manage sites.
"""

from harness.browser.network.http import answered_before, fetch

__all__ = [
    "answered_before",
    "fetch",
]
