"""The one place where records become markup: jinja templates with everything escaped, under a strict content policy.

Invariant: what comes out of a journal is text, never markup, wherever it is shown; templates hold no `safe`, and the
only ready-made markup are our own style and script, whose hashes the policy names, and text that `pre` has escaped. So
even markup that slipped through could neither run nor load anything but a style sheet. Does not know where pages are
kept: a `UrlScheme` makes the addresses.
"""

import re
import time
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol
from zlib import crc32

import jinja2
from markupsafe import Markup

from harness.api import dumps
from harness.api.templates import template_environment
from harness.api.text import visible
from harness.plugins.html_report.chart import Histogram
from harness.plugins.html_report.decisive_step import cause_step, ending_step, refusals, verdict_step
from harness.plugins.html_report.fork_tree import Branch
from harness.runs import one_line
from harness.runs.about import RunInfo
from harness.runs.baselines import NO_BASELINE, Baseline, is_baseline, rate_of
from harness.runs.figures import facts, judging, suite_table
from harness.runs.format import ago, cost, duration, graded, measure, percent, points
from harness.runs.judge_error import judge_sentence
from harness.runs.measures import Measured, measure_text
from harness.runs.notes import UNCONFINED
from harness.runs.results import Result
from harness.runs.statistics import Statistics
from harness.runs.task_page import TEXT_LIMIT, TaskPageModel

TEMPLATES = Path(__file__).parent / "templates"
_MOST_COLUMNS = 7
"""Of figures below the headline."""
_MOST_LISTED = (1_000, 100)
"""Rows of a list that are all laid out, and how many are at first where there are more."""


class UrlScheme(Protocol):
    """The addresses of pages and pictures; each gives an address for an attribute."""

    def home(self) -> str: ...
    def run(self) -> str: ...
    def task(self, page: str) -> str: ...
    def cause(self, name: str) -> str: ...
    def rule(self, kind: str, name: str) -> str:
        """The list of the failures that a rule of this class found."""
        ...

    def step(self, page: str, number: int) -> str: ...
    def page(self, number: int) -> str: ...
    def shot(self, digest: str) -> str: ...
    def selected(self, digest: str) -> str:
        """Text of a gathered piece of evidence."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the list of tasks is filtered by; "" = not."""

    text: str = ""
    status: str = ""
    site: str = ""
    cause: str = ""
    kind: str = ""
    """Class of failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which part of a longer list is shown."""

    number: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    title: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run's first page."""

    run: RunInfo
    view: Statistics
    charts: Sequence[Histogram] = ()
    """What its episodes took."""
    rows: Sequence[Result]
    """Those listed."""
    count: int
    """How many there are to page through."""
    damaged: Sequence[str] = ()
    notices: Sequence[str] = ()
    """What a reader has to know of the files that this was read from, a sentence each."""
    unread: int = 0
    page: Page | None = None
    """None = all are listed, and filtered in the browser."""
    chosen: Filters = Filters()
    baselines: Sequence[Baseline] | None = None
    """Of the same tasks; None = they were not looked for."""
    branches: Sequence[Branch] = ()
    """The tree of forks that it is in."""
    measured: Sequence[Measured] = ()
    """What plug-ins measure of it."""
    further: Sequence[Link] = ()
    """To pages that plug-ins add."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task's page."""

    run: RunInfo
    row: Result
    story: TaskPageModel
    before: str = ""
    after: str = ""
    notices: Sequence[str] = ()
    """As those of `RunView`, of this task's journal."""
    further: Sequence[Link] = ()
    """To pages that plug-ins add."""


class Pages:
    def __init__(
        self, *, served: bool = False, in_one_file: bool = False, style_url: str = "", added: Path | None = None
    ) -> None:
        """Args:
        served: By a server, which may be asked for news and answers forms.
        in_one_file: All pages are in one file.
        style_url: Where `style()` is a separate file; "" = each page contains it.
        added: Folder of templates of another plug-in, with its `style.css` and, if it has one, its script `page.js`.
        """
        self._environment = _environment(*([added] if added else []))
        css = style() + (_asset("style.css", added) if added else "")
        further = {"live.js": served, "single.js": in_one_file}
        script = "\n".join(map(_asset, ["report.js", *(name for name, is_needed in further.items() if is_needed)]))
        of_lists = _asset("list.js")
        of_page = _asset("page.js", added) if added and (added / "page.js").is_file() else ""
        self.policy = policy("" if style_url else css, script, of_lists, *([of_page] if of_page else []), served=served)
        self._environment.globals.update(css=Markup(css), style_url=style_url)
        self._environment.globals.update(js=Markup(script), js_of_lists=Markup(of_lists), js_of_page=Markup(of_page))
        self._environment.globals.update(policy=self.policy, served=served)
        self._environment.globals.update(rate_of=rate_of, no_baseline=NO_BASELINE, is_baseline=is_baseline)
        self._environment.globals.update(ending_step=ending_step, verdict_step=verdict_step, refusals=refusals)
        self._environment.globals.update(cause_step=cause_step, suite_table=suite_table)
        self._environment.globals.update(unconfined=UNCONFINED, most_listed=_MOST_LISTED)

    def prepare(self) -> None:
        """Compile all templates now instead of when they are first asked for."""
        for name in self._environment.list_templates(extensions=["html"]):
            self._environment.get_template(name)

    def run(self, view: RunView, place: UrlScheme, *, events: str = "") -> str:
        """A run's first page; `events` is the address of its news, when there is one."""
        return self.render("index.html", **_fields(view), place=place, events=events)

    def task(self, view: TaskView, place: UrlScheme, *, events: str = "") -> str:
        return self.render("task.html", **_fields(view), place=place, events=events)

    def leaf(self, view: TaskView, place: UrlScheme) -> str:
        """A task's page as an inert part of one file."""
        return self.render("leaf.html", **_fields(view), place=place)

    def around(self, view: RunView, place: UrlScheme) -> tuple[str, str]:
        """The single file without its task pages: the part before them, and the part after."""
        gap = f"<!-- {token_hex(16)} -->"
        before, _, after = self.render(
            "single.html", **_fields(view), place=place, gap=Markup(gap), events=""
        ).partition(gap)
        return before, after

    def render(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(values)


def further_page(templates: Path, name: str, **values: Any) -> str:
    """A page of another plug-in, in the frame and the style of these: one file that loads nothing."""
    return Pages(added=templates).render(name, events="", **values)


def version() -> str:
    """Changes whenever pages would look different."""
    digest = sha256()
    for path in sorted(TEMPLATES.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def style() -> str:
    """The style sheet of all pages."""
    return _asset("report.css")


def policy(style: str, *scripts: str, served: bool) -> str:
    """The content policy of a page that contains just this style and these scripts; style "" = a file beside it.

    A script is never a file: artifacts are files beside the page, too, and contain text of strangers.
    """
    sources = {
        "default-src": "'none'",
        "style-src": _hash(style) if style else "'self' file:",
        "script-src": " ".join(map(_hash, scripts)),
        "img-src": "'self' data:" if served else "'self' file: data:",
        "connect-src": "'self'" if served else "'none'",
        "form-action": "'self'" if served else "'none'",
        "base-uri": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in sources.items())


def _environment(*added: Path) -> jinja2.Environment:
    environment = template_environment(*added, TEMPLATES, finalize=_seen)
    environment.filters.update(
        percent=percent,
        points=points,
        cost=cost,
        measure=measure,
        graded=graded,
        facts=facts,
        columns=columns,
        judge_sentence=judge_sentence,
        measure_text=measure_text,
        judging=judging,
        ago=lambda at: ago(time.time() - at),
        ms=lambda elapsed: duration(elapsed / 1000),
        clock=_clock,
        iso=lambda at: _clock(at, "%Y-%m-%dT%H:%M:%SZ"),
        line=one_line,
        cut=_cut,
        pre=_pre,
        json=lambda value: dumps(value, pretty=True).decode().rstrip(),
        stamp=lambda markup: f"{crc32(str(markup).encode()):08x}",
    )
    return environment


def columns(count: int) -> int:
    """Into how many columns so many figures go, so that no row holds a single one."""
    rows = -(-count // _MOST_COLUMNS)
    return -(-count // max(1, rows))


def _clock(at: float, form: str = "%Y-%m-%d %H:%M:%S UTC") -> str:
    try:
        return time.strftime(form, time.gmtime(at))
    except (OverflowError, ValueError, OSError):  # the time of a file can be any
        return "unknown time"


def _seen(value: object) -> object:
    """Every text on its way into a page; markup of ours is left alone."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _cut(text: str, limit: int = TEXT_LIMIT) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n… {len(text) - limit:,} more characters are in the journal"


def _pre(text: str, limit: int = TEXT_LIMIT) -> Markup:
    """Text between tags, where quotes are not markup: an observation has thousands of them."""
    return Markup(escape(visible(_cut(text, limit)), quote=False))


def _asset(name: str, folder: Path = TEMPLATES) -> str:
    """A style or script of the report without comments and indentation, because every page contains it."""
    text = (folder / name).read_text("utf-8")
    text = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE) if name.endswith(".js") else text
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL) if name.endswith(".css") else text
    return re.sub(r"\n\s*", "\n", text).strip()


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _fields(view: RunView | TaskView) -> dict[str, object]:
    return {name: getattr(view, name) for name in view.__slots__}
