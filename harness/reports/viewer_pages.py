"""What plug-ins add to the viewer (`harness view`): pages of one run, or of all.

Light, as `harness.reports.page_writers`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from harness.registry import Registry

if TYPE_CHECKING:
    from harness.runs.results import Result

VIEWER_PAGES = Registry(group="cairn.viewer_pages", noun="page of the viewer")
"""Name, which is in the address, to an object like `ViewerPage`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """What a page is asked for."""

    folders: Mapping[str, Path]
    """Name to folder of each run that it may show; of a page of one run, that run."""
    results: "Mapping[str, Sequence[Result]]"
    """The episodes of these runs, by the same names, as far as they have been read. Pages of several runs read what
    they need themselves: it is empty there."""
    fields: Mapping[str, Sequence[str]]
    """Of the address, or of the form that was sent; anything may be in it."""

    def field(self, name: str) -> str:
        """The first value of a field; "" = it has none."""
        return next(iter(self.fields.get(name, ())), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """What is shown."""

    template: str
    """In the folder of the page's templates; it extends `layout.html`. There are `address` (of this page), `further`
    (addresses of the other pages of its kind, by name), `form_key` (the value of the field of this name, without which
    no form is accepted), `root` (what precedes all addresses), `home` (the first page) and `up` (the page of the run,
    or the first one). A page of a report has only `home`, `up` and its values."""
    values: Mapping[str, object]
    story: str = ""
    """`Result.page` of an episode of the run, whose story the template includes (`story.html`); "" = of none."""


class ViewerPage(Protocol):
    """One page. Its methods are called in threads, several at once; a `HarnessError` is shown as a sentence."""

    title: ClassVar[str]
    """Of the link to it."""
    is_of_run: ClassVar[bool]
    """Whether it is of one run, and not of all."""
    templates: ClassVar[Path]
    """Folder of its templates, with `style.css` and, if it needs one, a script `page.js`."""
    saves: ClassVar[bool]
    """Whether it takes forms; without, `save` is not called. One of a run that takes none may have `in_report = True`:
    it is also a page of the report, `NAME.html`, asked for with the field `report`, and with the scoring of the report
    in the field `scoring`."""

    def show(self, request: PageRequest, /) -> PageAnswer:
        """What a visitor sees."""
        ...

    def save(self, request: PageRequest, /) -> Mapping[str, str]:
        """Keep what a form says, and give the fields of the address to go on to."""
        ...
