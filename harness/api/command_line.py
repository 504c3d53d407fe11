"""The arguments that commands of `harness` have in common, and the tables in which plug-ins are found by name.

For commands and for plug-ins that others extend. Light, so that a command may import it at its top.
"""

from harness.commands.opened_runs import open_in_one_scoring, open_runs, say_left_out
from harness.commands.own_settings import add_own_settings, quoted
from harness.commands.scoring_option import add_scoring
from harness.registry import Registry
from harness.reports.page_writers import COMPARISON_PAGES, FURTHER_PAGES, TASK_DIFFS, write_further_page
from harness.reports.viewer_pages import VIEWER_PAGES, PageAnswer, PageRequest, ViewerPage

__all__ = [
    "COMPARISON_PAGES",
    "FURTHER_PAGES",
    "TASK_DIFFS",
    "VIEWER_PAGES",
    "PageAnswer",
    "PageRequest",
    "Registry",
    "ViewerPage",
    "add_own_settings",
    "add_scoring",
    "open_in_one_scoring",
    "open_runs",
    "quoted",
    "say_left_out",
    "write_further_page",
]
