"""The live viewer: the report's own pages, served while runs go on. It only reads; pages of plug-ins may take forms.

Names in addresses are looked up among what is there and never made into paths; only PNG bytes are ever served as they
are.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from harness.api.journals import JOURNAL_SUFFIX, ArtifactStore
from harness.api.request_guard import RequestGuard, is_key, key_of_forms
from harness.errors import HarnessError, JournalError
from harness.plugins.html_report.chart import Histogram, charts
from harness.plugins.html_report.fork_tree import fork_tree
from harness.plugins.html_report.pages import Filters, Page, Pages, RunView
from harness.plugins.html_report.report import selected_text, task_view
from harness.plugins.html_report.viewer.further import FurtherPage, FurtherPages, form_of, request_of
from harness.plugins.html_report.viewer.measured import MeasuredRuns
from harness.plugins.html_report.viewer.run_list import baselines_among, listed
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher, RunStatus, RunWatcher, stamp_of
from harness.plugins.html_report.viewer.server_sent_events import PAUSE_S, stream
from harness.runs.baselines import Baseline, is_baseline
from harness.runs.results import select

PAGE_SIZE = 100
BUDGET_S = 0.05
"""What one request spends on looking for news before it answers with what is known."""
_FILTERS = ("q", "status", "site", "cause", "kind")
_FORMS = re.compile(r"/with/[a-z_-]{1,40}\Z")
"""Addresses that take forms."""
_STEM = re.compile(r"[A-Za-z0-9._-]{1,240}")
_PNG = b"\x89PNG\r\n\x1a\n"


class ServerUrls:
    """Addresses on this server, for the pages of one run."""

    def __init__(self, request: Request, catalogue: RunWatcher, query: Mapping[str, str] | None = None) -> None:
        self._root = _root(request)
        self._base = f"{self._root}/run/{quote(catalogue.folder.name, safe='')}"
        self._query = dict(query or {})
        self._artifacts = ArtifactStore(catalogue.folder / "artifacts")

    def home(self) -> str:
        return f"{self._root}/"

    def run(self) -> str:
        return self._base

    def task(self, page: str) -> str:
        return f"{self._base}/task/{quote(page.removesuffix('.html'), safe='')}"

    def cause(self, name: str) -> str:
        return f"{self._base}?{urlencode({'cause': name})}#tasks"

    def rule(self, kind: str, name: str) -> str:
        return f"{self._base}?{urlencode({'kind': kind, 'q': name})}#tasks"

    def step(self, page: str, number: int) -> str:
        return f"{self.task(page)}#step-{number}"

    def page(self, number: int) -> str:
        return f"{self._base}?{urlencode({**self._query, 'page': str(number)})}#tasks"

    def shot(self, digest: str) -> str:
        return f"{self._base}/shot/{digest}"

    def selected(self, digest: str) -> str:
        return selected_text(self._artifacts, digest)


class Viewer:
    """Answers requests about one library."""

    def __init__(self, library: ResultsWatcher) -> None:
        self._library = library
        self._pages = Pages(served=True)
        self._pages.prepare()
        self._further = FurtherPages(key_of_forms())
        self._measured = MeasuredRuns()
        self._charts: dict[str, tuple[RunStatus, tuple[Histogram, ...]]] = {}
        self._headers = {
            "Content-Security-Policy": f"{self._pages.policy}; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }

    def app(self, token: str | None) -> ASGIApp:
        """The application; `token` None = every user of this machine has access."""
        routes = [
            Route("/", self.runs),
            Route("/run/{run}", self.run),
            Route("/run/{run}/task/{stem}", self.task),
            Route("/run/{run}/shot/{digest}", self.shot),
            Route("/with/{page}", self.further, methods=["GET"]),
            Route("/run/{run}/with/{page}", self.further, methods=["GET"]),
            Route("/with/{page}", self.form, methods=["POST"]),
            Route("/run/{run}/with/{page}", self.form, methods=["POST"]),
            Route("/news", self.runs_news),
            Route("/news/{run}", self.run_news),
            Route("/news/{run}/{stem}", self.task_news),
        ]
        return RequestGuard(Starlette(routes=routes), token, forms=_FORMS, printed_by="`harness view`")

    # Plain functions: the server runs each in a thread, so that reading never holds up the loop.

    def runs(self, request: Request) -> Response:
        catalogues = self._library.runs()
        for catalogue in catalogues.values():
            catalogue.refresh(BUDGET_S / len(catalogues))
        places = [ServerUrls(request, catalogue) for catalogue in catalogues.values()]
        rows = listed([catalogue.standing() for catalogue in catalogues.values()])
        return self._page(
            request,
            "runs.html",
            runs=tuple(zip(places, rows, strict=True)),
            agents=sorted({row.status.about.agent for row in rows} - {""}),
            models=sorted({row.status.about.model for row in rows} - {""}),
            results=str(self._library.results),
            further=self._further.links(_root(request), is_of_run=False),
            events=f"{_root(request)}/news?seen={_all(catalogues)}",
        )

    def run(self, request: Request) -> Response:
        if (catalogue := self._library.run(request.path_params["run"])) is None:
            return self._missing(request, "There is no run of this name.")
        version = catalogue.refresh(BUDGET_S)
        standing = catalogue.standing()
        query = {name: value for name, value in request.query_params.items() if name in _FILTERS}
        chosen = Filters(
            text=query.get("q", ""),
            status=query.get("status", ""),
            site=query.get("site", ""),
            cause=query.get("cause", ""),
            kind=query.get("kind", ""),
        )
        rows = select(
            standing.rows,
            text=chosen.text,
            status=chosen.status,
            site=chosen.site,
            cause=chosen.cause,
            kind=chosen.kind,
        )
        count = max(1, -(-len(rows) // PAGE_SIZE))
        number = min(max(1, _number(request.query_params.get("page", ""))), count)
        view = RunView(
            run=standing.about,
            view=standing.view,
            charts=self._charts_of(standing),
            rows=rows[(number - 1) * PAGE_SIZE : number * PAGE_SIZE],
            count=len(rows),
            damaged=standing.damaged,
            unread=standing.unread,
            page=Page(number=number, count=count),
            chosen=chosen,
            branches=fork_tree(catalogue.folder),
            baselines=self._baselines(catalogue, standing),
            measured=self._measured.of(catalogue),
            further=self._further.links(_base(request, catalogue), is_of_run=True),
        )
        events = f"{_root(request)}/news/{quote(catalogue.folder.name, safe='')}?seen={version}"
        return HTMLResponse(
            self._pages.run(view, ServerUrls(request, catalogue, query), events=events), headers=self._headers
        )

    def _charts_of(self, standing: RunStatus) -> tuple[Histogram, ...]:
        """Made once for each state of a run: those of 10,000 tasks take longer than the page of a filter may."""
        known = self._charts.get(standing.about.name)
        if known is None or known[0] is not standing:
            known = self._charts[standing.about.name] = standing, charts(standing.rows)
        return known[1]

    def _baselines(self, catalogue: RunWatcher, standing: RunStatus) -> tuple[Baseline, ...]:
        """Of the tasks of this run; the other runs are read a little further for it, as everywhere here."""
        others = self._library.runs().values()
        for other in others:
            if other is not catalogue and is_baseline(other.agent):
                other.refresh(BUDGET_S / len(others))
        return baselines_among(standing, [other.standing() for other in others if is_baseline(other.agent)])

    def task(self, request: Request) -> Response:
        catalogue, stem = self._library.run(request.path_params["run"]), request.path_params["stem"]
        if catalogue is None or not _STEM.fullmatch(stem):
            return self._missing(request, "There is no such task.")
        journal = stem + JOURNAL_SUFFIX
        stamp = stamp_of(catalogue.folder / journal)
        try:
            episode = catalogue.episode(journal)
        except HarnessError as exc:
            return self._missing(request, str(exc), 200)
        catalogue.refresh(0.01)
        standing = catalogue.standing()
        view = task_view(standing.about, episode) if episode else None
        if view is None:
            return self._missing(request, "This task has not started.")
        order = [row.page for row in standing.rows if row.page]
        at = order.index(view.row.page) if view.row.page in order else -1
        view = replace(
            view,
            before=order[at - 1] if at > 0 else "",
            after=order[at + 1] if 0 <= at < len(order) - 1 else "",
            further=self._further.links(
                _base(request, catalogue), is_of_run=True, task=view.row.task_id, trial=str(view.row.trial)
            ),
        )
        run = quote(catalogue.folder.name, safe="")
        events = f"{_root(request)}/news/{run}/{quote(stem, safe='')}?seen={_stamped(stamp)}"
        return HTMLResponse(
            self._pages.task(view, ServerUrls(request, catalogue), events=events), headers=self._headers
        )

    def further(self, request: Request) -> Response:
        """A page of a plug-in."""
        if (found := self._found(request)) is None:
            return self._missing(request, "There is no such page.")
        page, catalogues = found
        is_of_run = page.asked.is_of_run
        for catalogue in catalogues.values() if is_of_run else ():
            catalogue.refresh(BUDGET_S)
        root = _root(request)
        base = _base(request, *catalogues.values()) if is_of_run else root
        try:
            answer = page.asked.show(request_of(catalogues, request.url.query, is_of_run=is_of_run))
            values = self._further.values(page, base, root, answer)
            if answer.story and is_of_run:
                (catalogue,) = catalogues.values()
                values |= self._story(request, catalogue, answer.story)
        except HarnessError as error:
            return self._missing(request, str(error), 200)
        headers = {**self._headers, "Content-Security-Policy": f"{page.pages.policy}; frame-ancestors 'none'"}
        return HTMLResponse(page.pages.render(answer.template, events="", **values), headers=headers)

    async def form(self, request: Request) -> Response:
        """A form of a page of a plug-in; the page itself is shown then."""
        found, sent = self._found(request), await form_of(request)
        if found is None:
            return self._missing(request, "There is no such page.")
        page, catalogues = found
        if not page.asked.saves:
            return self._missing(request, "This page takes no form.", 405)
        try:
            asked = request_of(catalogues, sent, is_of_run=page.asked.is_of_run)
            if not is_key(asked.field("form_key"), self._further.form_key):
                return self._missing(
                    request, "This form is too long or of an earlier viewer; open its page again.", 403
                )
            fields = await asyncio.to_thread(page.asked.save, asked)
        except HarnessError as error:
            return self._missing(request, str(error), 400)
        base = _base(request, *catalogues.values()) if page.asked.is_of_run else _root(request)
        return RedirectResponse(f"{base}/with/{page.name}?{urlencode(fields)}", 303, headers=self._headers)

    def _found(self, request: Request) -> tuple[FurtherPage, Mapping[str, RunWatcher]] | None:
        """A page, and the runs that it may show."""
        name = request.path_params.get("run")
        page = self._further.of(request.path_params["page"], is_of_run=name is not None)
        if page is None:
            return None
        if name is None:
            return page, self._library.runs()
        catalogue = self._library.run(name)
        return None if catalogue is None else (page, {name: catalogue})

    def _story(self, request: Request, catalogue: RunWatcher, page: str) -> dict[str, object]:
        """What `story.html` is made of.

        Raises:
            HarnessError: The journal cannot be read.
        """
        journal = page.removesuffix(".html") + JOURNAL_SUFFIX
        episode = catalogue.episode(journal)
        view = task_view(catalogue.standing().about, episode) if episode else None
        if view is None:
            raise JournalError(f"{catalogue.folder / journal} cannot be read; look at the run again")
        return {
            "run": view.run,
            "row": view.row,
            "story": view.story,
            "notices": view.notices,
            "place": ServerUrls(request, catalogue),
        }

    def shot(self, request: Request) -> Response:
        """A screenshot; any other artifact stays where it is."""
        catalogue = self._library.run(request.path_params["run"])
        try:
            data = (
                ArtifactStore(catalogue.folder / "artifacts").read(request.path_params["digest"]) if catalogue else b""
            )
        except HarnessError:
            data = b""
        if not data.startswith(_PNG):
            return self._missing(request, "There is no such screenshot.")
        return Response(
            data,
            media_type="image/png",
            headers={**self._headers, "Cache-Control": "private, immutable, max-age=86400"},
        )

    async def runs_news(self, request: Request) -> Response:
        def look() -> str:
            catalogues = self._library.runs()
            for catalogue in catalogues.values():
                catalogue.refresh(BUDGET_S / len(catalogues))
            return _all(catalogues)

        return stream(look, request.query_params.get("seen", ""), lambda: 4 * PAUSE_S)

    async def run_news(self, request: Request) -> Response:
        catalogue = self._library.run(request.path_params["run"])
        if catalogue is None:
            return self._missing(request, "There is no run of this name.")
        return stream(
            lambda: str(catalogue.refresh(BUDGET_S)),
            request.query_params.get("seen", ""),
            lambda: max(PAUSE_S, 5 * catalogue.pass_s) if not catalogue.unread else 0.05,
        )

    async def task_news(self, request: Request) -> Response:
        catalogue, stem = self._library.run(request.path_params["run"]), request.path_params["stem"]
        if catalogue is None or not _STEM.fullmatch(stem):
            return self._missing(request, "There is no such task.")
        path = catalogue.folder / (stem + JOURNAL_SUFFIX)
        return stream(lambda: _stamped(stamp_of(path)), request.query_params.get("seen", ""))

    def _page(self, request: Request, template: str, status: int = 200, **values: object) -> Response:
        page = self._pages.render(template, root=_root(request), **values)
        return HTMLResponse(page, status, headers=self._headers)

    def _missing(self, request: Request, sentence: str, status: int = 404) -> Response:
        return self._page(request, "sentence.html", status, sentence=sentence, events="")


def _root(request: Request) -> str:
    """The prefix of every path, see `request_guard`."""
    return str(request.scope.get("root_path", ""))


def _base(request: Request, catalogue: RunWatcher) -> str:
    """The address of a run."""
    return f"{_root(request)}/run/{quote(catalogue.folder.name, safe='')}"


def _all(catalogues: Mapping[str, RunWatcher]) -> str:
    return str(sum(catalogue.version for catalogue in catalogues.values()) + len(catalogues))


def _stamped(stamp: tuple[int, int] | None) -> str:
    return "-".join(map(str, stamp)) if stamp else "none"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
