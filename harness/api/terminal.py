"""The console of a command that prints tables: no text of a page or a model controls it.

A closed pipe is not an error. For commands. Imports rich: import it in the function that prints.
"""

from harness.reports.console import Terminal

__all__ = [
    "Terminal",
]
