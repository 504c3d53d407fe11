"""Pages of plug-ins in the report of a run: those of the viewer that need no server."""

from collections.abc import Mapping
from pathlib import Path

from harness.api.command_line import VIEWER_PAGES, PageRequest, ViewerPage
from harness.api.files import Within, write_atomic
from harness.errors import HarnessError
from harness.plugins.html_report.pages import Link, Pages
from harness.runs.run import Run

_INDEX = "index.html"


def pages_in_report() -> Mapping[str, ViewerPage]:
    """Name to page, in the order in which they are linked.

    Raises:
        ConfigError: The package of one cannot be imported.
    """
    found = {name: VIEWER_PAGES.find(name)() for name in VIEWER_PAGES.names()}
    return {
        name: page
        for name, page in found.items()
        if page.is_of_run and not page.saves and getattr(page, "in_report", False)
    }


def write_further(run: Run, target: Path, within: Within) -> tuple[tuple[Link, ...], tuple[str, ...]]:
    """Write them into the folder of a report; gives links to them, and why others could not be made.

    Raises:
        StorageError: The disk refuses.
    """
    links, faults = list[Link](), list[str]()
    fields = {"report": ("yes",), "scoring": (run.scoring,)}
    for name, page in pages_in_report().items():
        request = PageRequest(folders={run.name: run.folder}, results={run.name: run.results}, fields=fields)
        try:
            answer = page.show(request)
        except HarnessError as error:
            faults.append(f"{page.title}: {error}")
            continue
        text = Pages(added=page.templates).render(answer.template, events="", home=_INDEX, up=_INDEX, **answer.values)
        write_atomic(target / f"{name}.html", text.encode(), durable=False, within=within)
        links.append(Link(title=page.title, address=f"{name}.html"))
    return tuple(links), tuple(faults)
