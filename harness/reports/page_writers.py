"""Who writes pages of runs; found by name."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, StorageError
from harness.registry import Registry

if TYPE_CHECKING:
    from harness.runs.run import Run

PAGES = Registry(group="cairn.reports", noun="report")
"""Called with a `Run`; writes pages into its folder."""
COMPARISON_PAGES = Registry(group="cairn.comparisons", noun="harness compare")
"""Called with a file to write and a comparison."""
FURTHER_PAGES = Registry(group="cairn.further_pages", noun="HTML page")
"""What renders a page of another plug-in in the frame of the report. Called with the folder of its templates, the name
of one (which extends `layout.html`), and values; gives the text of a file that loads nothing."""
TASK_DIFFS = Registry(group="cairn.task_diffs", noun="diff of a task")
"""Called with a file to write, and names with episodes of one task; the page shows them side by side."""
SWEEPS = Registry(group="cairn.sweeps", noun="sweep")
"""Called with the runs of a sweep (`-m`) that has ended; gives the lines that are printed below its table."""
FINDINGS = Registry(group="cairn.findings", noun="finding")
"""What looks through the journals of a run that has ended, before it is summed up, and writes what it finds into its
folder: a function of `harness.runs.Run`."""


def call_all(registry: Registry, run: "Run", say: Callable[[str], None]) -> None:
    """Call all that are registered with a run; one of an installed package that fails costs a warning."""
    for name in registry.names():
        try:
            with registry.running(name):
                registry.find(name)(run)  # imported here, and jinja with a report
        except HarnessError as error:
            if name in registry.shipped():
                raise
            say(f"warning: {name} of {registry.group} failed: {error}")


def write_further_page(path: Path, templates: Path, name: str, **values: Any) -> None:
    """Write a page of `FURTHER_PAGES`.

    Raises:
        StorageError: The file cannot be written.
    """
    text = FURTHER_PAGES.find("html")(templates, name, **values)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror}); give a file in a folder of yours") from error
