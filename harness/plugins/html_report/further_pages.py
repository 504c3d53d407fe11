"""Pages of plug-ins in the report of a run: those of the viewer that need no server."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.api.command_line import VIEWER_PAGES, PageRequest, ViewerPage
from harness.api.files import Within, write_atomic
from harness.errors import HarnessError
from harness.plugins.html_report.pages import Link, Pages
from harness.runs.run import Run

_INDEX = "index.html"


def pages_in_report() -> Mapping[str, ViewerPage]:
    """Name to page, in the order in which they are linked; without those that cannot be made."""
    return _found()[0]


def _found() -> tuple[Mapping[str, ViewerPage], Sequence[str]]:
    """The pages, and why others cannot be made."""
    found, faults = dict[str, ViewerPage](), list[str]()
    for name in VIEWER_PAGES.names():
        try:
            with VIEWER_PAGES.running(name):
                page = VIEWER_PAGES.find(name)()
                if page.is_of_run and not page.saves and getattr(page, "in_report", False):
                    found[name] = page
        except HarnessError as error:
            faults.append(str(error))
    return found, faults


def write_further(run: Run, target: Path, within: Within) -> tuple[tuple[Link, ...], tuple[str, ...]]:
    """Write them into the folder of a report; gives links to them, and why others could not be made.

    Raises:
        StorageError: The disk refuses.
    """
    links, (pages, missing) = list[Link](), _found()
    faults = [*missing]
    fields = {"report": ("yes",), "scoring": (run.scoring,)}
    for name, page in pages.items():
        request = PageRequest(folders={run.name: run.folder}, results={run.name: run.results}, fields=fields)
        try:
            with VIEWER_PAGES.running(name):
                answer = page.show(request)
                of_page = Pages(added=page.templates)
                text = of_page.render(answer.template, events="", home=_INDEX, up=_INDEX, **answer.values)
        except HarnessError as error:
            faults.append(f"{page.title}: {error}")
            continue
        write_atomic(target / f"{name}.html", text.encode(), durable=False, within=within)
        links.append(Link(title=page.title, address=f"{name}.html"))
    return tuple(links), tuple(faults)
