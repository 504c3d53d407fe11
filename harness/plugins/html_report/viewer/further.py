"""Pages that plug-ins add to the viewer, by `harness.api.command_line.VIEWER_PAGES`: found, drawn, and given forms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request

from harness.api.command_line import VIEWER_PAGES, PageAnswer, PageRequest, ViewerPage
from harness.errors import ConfigError
from harness.plugins.html_report.pages import Link, Pages
from harness.plugins.html_report.viewer.run_watcher import RunWatcher

LONGEST_FORM = 64_000
"""Bytes."""
_MOST_FIELDS = 500


@dataclass(frozen=True)
class FurtherPage:
    """One page of a plug-in."""

    name: str
    asked: ViewerPage

    @cached_property
    def pages(self) -> Pages:
        """Made when it is first shown: its templates and its content policy."""
        made = Pages(served=True, added=self.asked.templates)
        made.prepare()
        return made


@dataclass(frozen=True)
class FurtherPages:
    """All of them, of one server.

    Raises:
        ConfigError: The package of one cannot be imported.
    """

    form_key: str
    found: Mapping[str, FurtherPage] = field(
        default_factory=lambda: {name: FurtherPage(name, VIEWER_PAGES.find(name)()) for name in VIEWER_PAGES.names()}
    )

    def of(self, name: str, *, is_of_run: bool) -> FurtherPage | None:
        """The page of this name and kind."""
        page = self.found.get(name)
        return page if page is not None and page.asked.is_of_run is is_of_run else None

    def links(self, base: str, *, is_of_run: bool, **fields: str) -> tuple[Link, ...]:
        """To those with a title, below the address of a run or of all.

        Args:
            base: That address.
            is_of_run: Which kind.
            fields: Of their addresses.
        """
        query = f"?{urlencode(fields)}" if fields else ""
        return tuple(
            Link(title=page.asked.title, address=f"{base}/with/{page.name}{query}")
            for page in self.found.values()
            if page.asked.is_of_run is is_of_run and page.asked.title
        )

    def values(self, page: FurtherPage, base: str, root: str, answer: PageAnswer) -> dict[str, object]:
        """What its template is given, besides the story."""
        further = {
            name: f"{base}/with/{name}"
            for name, one in self.found.items()
            if one.asked.is_of_run is page.asked.is_of_run
        }
        return {
            **answer.values,
            "address": f"{base}/with/{page.name}",
            "further": further,
            "form_key": self.form_key,
            "root": root,
            "home": f"{root}/",
            "up": f"{base}" if page.asked.is_of_run else f"{root}/",
        }


def request_of(catalogues: Mapping[str, RunWatcher], fields: str, *, is_of_run: bool) -> PageRequest:
    """What a page is asked for.

    Args:
        catalogues: The runs.
        fields: As they are in an address or a form.
        is_of_run: Whether the page is of one run, whose episodes it is told.

    Raises:
        ConfigError: There are too many fields.
    """
    try:
        read = parse_qs(fields, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise ConfigError(f"the address has more than {_MOST_FIELDS} fields; use fewer") from error
    return PageRequest(
        folders={name: catalogue.folder for name, catalogue in catalogues.items()},
        results={name: catalogue.standing().rows for name, catalogue in catalogues.items()} if is_of_run else {},
        fields=read,
    )


async def form_of(request: Request) -> str:
    """The form of a request; "" = it is too long."""
    parts, length = list[bytes](), 0
    async for part in request.stream():
        length += len(part)
        if length > LONGEST_FORM:
            return ""
        parts.append(part)
    return b"".join(parts).decode("latin-1")
