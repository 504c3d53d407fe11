"""Requests to a site that no page makes: without cookies, and bounded.

For rules about visits (`cairn.visits`), which ask a site before a page does.
"""

from harness.browser.network.http import fetch

__all__ = [
    "fetch",
]
