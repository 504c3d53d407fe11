"""Texts of pages, models and strangers, made fit to be printed: visible, on one line, cut.

For every plug-in that prints or stores a text it did not write.
"""

from harness.actions.truncate import cut
from harness.escape import flat, markdown_cell, markdown_table, visible
from harness.trees import each_text

__all__ = [
    "cut",
    "each_text",
    "flat",
    "markdown_cell",
    "markdown_table",
    "visible",
]
