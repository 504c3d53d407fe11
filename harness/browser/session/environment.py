"""The `Environment` of an episode: restore, act, gather, each with a timeout, each ending in a record or an error."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from harness.actions import Action, Cdp, Goto
from harness.api import Artifacts, Benchmark, Reward
from harness.browser import text_limits
from harness.browser.browser_settings import BrowserSettings, RestoreSettings
from harness.browser.driver.playwright_errors import Deadline
from harness.browser.live.visit import LiveVisit
from harness.browser.network import site_health
from harness.browser.network.http import fetch
from harness.browser.network.trace import Trace
from harness.browser.rendering.similarity import entries
from harness.browser.session import evidence, in_doubt, login, restoration
from harness.browser.session.benchmark_page import BenchmarkCalls
from harness.browser.session.browser_session import BrowserSession, InitialState, SiteBinding
from harness.browser.session.shared_browser import SharedWindow
from harness.browser.tabs.storage import real_state
from harness.codec import digest, loads
from harness.errors import EnvironmentDiverged, JournalError, SiteUnavailable, TaskError
from harness.protocols import InDoubt, RawEvidence, RestoreResult, StepResult
from harness.records import (
    Acted,
    Done,
    Episode,
    LiveObservation,
    Observation,
    Opened,
    Outcome,
    Refused,
    SideEffect,
    Site,
    Step,
    TabRecord,
    Task,
)

_ASKED_WITHIN_S = 5.0
_CLOSES_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDeps:
    """What all environments of a worker share."""

    settings: BrowserSettings
    restoring: RestoreSettings
    checkpoints: Artifacts | None
    """Storage states of earlier steps."""
    benchmark: Benchmark | None = None
    """What the tasks are of, when it is code; a task file has none."""
    logins: login.LoginCache = field(default_factory=login.LoginCache)
    tell: Callable[[int, str], None] = lambda lane, note: None
    """Hears what a lane waits for, see `outage.Patience`."""


class BrowserEnvironment:
    """One episode's browser; every restore begins with a fresh window."""

    def __init__(self, browser: Browser, lane: SiteBinding, gear: EnvironmentDeps) -> None:
        self._browser = browser
        self._lane = lane
        self._gear = gear
        self._settings = gear.settings
        self._watch = Deadline()
        self._sites: tuple[Site, ...] = ()
        """Those of the task."""
        self._patience = site_health.WaitPolicy(
            limit_s=self._settings.navigation_timeout_s, tell=partial(gear.tell, lane.number)
        )
        self._open: BrowserSession | None = None
        self._unrecorded: tuple[SideEffect, ...] = ()
        """Effects of windows that are closed, seen after the last record."""
        self._trace: Trace | None = None
        self._opened: Opened | None = None
        """The attempt."""
        self._benchmark: BenchmarkCalls | None = None
        self._intent = ""
        """The objective, where the benchmark makes it."""
        self._performing: Callable[[], Awaitable[None]] | None = None
        """Waits for the commands of a process that drives the browser; None = there is none."""
        self._live: LiveVisit | None = None
        """On the live web."""
        browser.on("disconnected", self._lost)

    async def restore(self, task: Task, episode: Episode, clean: Collection[str] = ()) -> RestoreResult:
        self._sites = tuple(site for site in self._lane.sites if site.name in task.sites)
        self._opened = episode.opened
        if restoration.is_driven(episode):
            return await self._anew(task, episode, clean)
        plan = restoration.plan(task, episode, sites=self._lane.sites, settings=self._gear.restoring, clean=clean)
        async with self._patient():
            restored = await self._restored(task, episode, plan)
            # Asked last: a site may still have been at work on what was sent to it.
            doubt = await self._doubt(episode, plan) if plan.in_doubt else None
        return self._with_pending(restored, episode, doubt)

    async def _anew(self, task: Task, episode: Episode, clean: Collection[str]) -> RestoreResult:
        """The start page, from which a process that drives the browser does all it did before."""
        settings = self._gear.restoring
        restoration.check_driven(task, episode, sites=self._lane.sites, settings=settings, clean=clean)
        async with self._patient():
            await self._shut()
            view = await self._arrive(task, episode=episode)
        assert episode.arrival is not None
        alike = restoration.compare(view, episode.arrival, least=settings.min_similarity, step=0)
        return RestoreResult(view=view, strategy="reset", similarity=(alike,))

    async def share(self, performing: Callable[[], Awaitable[None]]) -> SharedWindow:
        """See `ShareableEnvironment`."""
        self._performing = performing
        async with self._watched("sharing the browser"):
            return await SharedWindow.of(
                self._window, self._followed, uploads=self._settings.uploads, check=self._watch.check
            )

    async def _followed(self, recorded: Acted, is_last: bool) -> RestoreResult:
        async with self._patient(), self._watched("performing an action"):
            view = await self._window.look(recorded=recorded.observation)
        self._window.traffic.take_effects()
        self._window.storage.checkpoint()
        alike = restoration.compare(view, recorded, least=self._gear.restoring.min_similarity, step=recorded.step)
        if is_last:
            view = await self._final(view, recorded)
        return RestoreResult(view=view, strategy="replay", similarity=(alike,))

    async def _restored(self, task: Task, episode: Episode, plan: restoration.Plan) -> RestoreResult:
        await self._shut()
        if plan.strategy == "reset":
            view = await self._arrive(task, image=self._settings.screenshots)
            return RestoreResult(view=view, strategy="reset", intent=self._intent)
        if plan.strategy == "checkpoint":
            view = await self._from_checkpoint(task, episode, plan.anchor)
        else:
            view = await self._arrive(task, episode=episode)
        view, alike = await restoration.replay(
            episode, view, begin=plan.anchor, perform=self._again, least=0.0 if plan.in_doubt else plan.least
        )
        assert episode.last is not None
        return RestoreResult(view=await self._final(view, episode.last), strategy=plan.strategy, similarity=alike)

    def _with_pending(self, restored: RestoreResult, episode: Episode, doubt: InDoubt | None) -> RestoreResult:
        """The view as it may be acted upon, and what is to be done there first."""
        if (last := episode.last) is None:
            return restored
        if doubt is not None and doubt.resolution in restoration.NOT_REPEATED:
            return replace(restored, doubt=doubt)  # the page may differ by what the action did, if it did it
        pending = None if episode.pending is None else episode.pending.action
        restoration.check_end(restored.view, last, pending=pending, step=len(episode.steps))
        if pending is not None:
            pending = restoration.aim_pending(pending, restored.view, last.observation)
        return replace(restored, pending=pending, doubt=doubt)

    async def _doubt(self, episode: Episode, plan: restoration.Plan) -> InDoubt:
        pending = episode.pending
        assert pending is not None
        now = await self._answers(pending.effects_seen) if pending.effects_seen else {}
        return in_doubt.resolve(episode, plan.not_reset, now=now, policy=self._gear.restoring.in_doubt)

    async def ask_sites(self, action: Action) -> Mapping[str, str]:
        if not action.may_change_sites():
            return {}
        return await self._answers([site.name for site in self._lane.sites if site.effects_url])

    async def _answers(self, names: Iterable[str]) -> dict[str, str]:
        """Site to a hash of what its `effects_url` answers, for those of the sites that have one and answer."""
        urls = {site.name: site.effects_url for site in self._lane.sites if site.effects_url}
        found: dict[str, str] = {}
        for name in urls.keys() & set(names):
            with suppress(SiteUnavailable):  # what cannot be asked is not known, and no reason to lose a decision
                answer = await fetch(urls[name], timeout_s=_ASKED_WITHIN_S)
                found[name] = digest([answer.status, answer.text])
        return found

    async def effects_begun(self) -> None:
        if not self._unrecorded:
            await self._window.traffic.effects_begun()

    def take_effects(self) -> tuple[SideEffect, ...]:
        live = () if self._open is None else self._open.traffic.take_effects()
        effects, self._unrecorded = (*self._unrecorded, *live), ()
        return effects

    async def act(self, action: Action) -> StepResult:
        async with self._patient():
            landed = await self._step(action, image=self._settings.screenshots)
            return landed if self._benchmark is None else replace(landed, reward=await self._reward())

    async def gather(self, task: Task) -> RawEvidence:
        limit_s = self._settings.step_deadline_s * (1 + len(task.eval.program_html))
        async with self._patient(), self._watched("gathering the evidence", limit_s=limit_s):
            await self._window.traffic.effects_answered(limit_s=self._settings.settle_timeout_s)
            gathered = await evidence.gather(self._window, task, settings=self._settings, trace=self._trace)
            if self._live is not None:
                gathered = replace(gathered, blocked=self._live.blocked(task.start_urls))
            if self._benchmark is not None:
                gathered = replace(gathered, benchmark=await self._benchmark.evidence(), kept=self._benchmark.kept)
            await self._window.cut_off()
            return gathered

    async def close(self) -> None:
        """End the episode's use of the browser."""
        self._browser.remove_listener("disconnected", self._lost)
        await self._shut()

    async def _shut(self) -> None:
        if self._open is not None:
            window, self._open = self._open, None
            self._unrecorded += window.traffic.take_effects()
            async with Deadline().guard("closing a window", limit_s=_CLOSES_WITHIN_S):
                await window.close()
        if self._trace is not None:
            self._trace.forget()
            self._trace = None

    async def _reward(self) -> Reward | None:
        assert self._benchmark is not None
        async with self._watched("asking the benchmark for the reward"):
            return await self._benchmark.reward()

    @property
    def _window(self) -> BrowserSession:
        assert self._open is not None, "an environment is restored before it is used"
        return self._open

    def _lost(self, _: Browser) -> None:
        self._watch.abort("the browser is gone", whole=True)

    def _watched(self, doing: str, *, limit_s: float | None = None) -> AbstractAsyncContextManager[None]:
        return self._watch.guard(doing, limit_s=limit_s or self._settings.step_deadline_s)

    @asynccontextmanager
    async def _patient(self) -> AsyncIterator[None]:
        """A site that is gone gets time to come back before anything is tried again."""
        try:
            yield
        except SiteUnavailable:
            await site_health.wait(self._sites, self._patience)
            raise

    async def _check_sites(self) -> None:
        await site_health.check(
            self._window.traffic.take_lost(), self._sites, timeout_s=self._settings.navigation_timeout_s
        )

    async def _fresh(self, task: Task, storage: Any) -> None:
        """A new window, logged in as the task wants."""
        sites = login.wanted(task, self._lane.sites)
        self._watch = Deadline()
        if storage is None:
            storage = self._gear.logins.state(self._lane, sites)
        state = InitialState(storage=storage, geolocation=task.geolocation or self._settings.geolocation)
        async with self._watched("opening a window"):
            self._open = await BrowserSession.open(
                self._browser, self._lane, settings=self._settings, state=state, watch=self._watch
            )
        if self._lane.gate is not None:
            tell = partial(self._gear.tell, self._lane.number)
            self._live = LiveVisit(self._lane.gate, self._open.context, self._open.tabs, tell)
        if (benchmark := self._gear.benchmark) is not None:
            self._benchmark = BenchmarkCalls(benchmark, self._open, self._settings, task=task, opened=self._opened)
        async with self._watched("logging in"):
            if await login.ensure(self._window, sites):
                await self._gear.logins.keep(self._window, sites)
            if self._settings.har:
                self._trace = await Trace.begin(self._window.context)

    async def _arrive(self, task: Task, *, image: bool = False, episode: Episode | None = None) -> LiveObservation:
        """Open the start pages, one tab each, and come back to the first.

        Args:
            episode: What is led back; its elements get their ids back.
        """
        await self._fresh(task, _state_file(task))
        recorded = None
        if episode is not None and episode.arrival is not None:
            recorded = episode.arrival.observation
            self._window.reserve_ids(_used_ids(episode))
        await self._visit(task.start_urls)
        async with self._watched("looking at the start page"):
            if len(task.start_urls) > 1:
                await self._window.tabs.focus(self._window.tabs.all[0])
            if self._benchmark is not None:
                self._intent = await self._benchmark.prepare()
            view = await self._window.look(image=image, recorded=recorded)
            self._window.storage.checkpoint()
            self._window.traffic.take_effects()
            return view

    async def _visit(self, urls: tuple[str, ...]) -> None:
        """Open each address in a tab of its own; nothing lies behind it in the tab's history."""
        for number, url in enumerate(urls):
            if self._live is not None:
                await self._live.wait_for(Goto(url=url))
            async with self._watched(f"opening {url}"):
                if number:
                    await self._window.tabs.open()
                outcome = await self._window.perform(Goto(url=url))
                if isinstance(outcome, Refused):
                    why = self._live.why_refused(url) if self._live is not None else ""
                    raise SiteUnavailable(f"{url} cannot be opened: {why or outcome.why}")
                tab = (await self._window.settler.reach(early=True)).tab  # the observation waits for the rest
                await tab.cdp.send("Page.resetNavigationHistory")
            if self._live is not None:
                await self._live.settle()
        await self._check_sites()

    async def _from_checkpoint(self, task: Task, episode: Episode, anchor: int) -> LiveObservation:
        """Cookies and storage as they were after a step, its tabs at their addresses; nothing is performed again."""
        acted = episode.steps[anchor - 1].acted if anchor else episode.arrival
        assert acted is not None
        await self._fresh(task, self._recorded_state(episode.steps[:anchor]) or _state_file(task))
        self._window.reserve_ids(_used_ids(episode))
        if self._trace is not None:
            self._trace.comment = f"begins after step {anchor}: the episode was resumed there without a replay"
        tabs: tuple[TabRecord, ...] = acted.observation.tabs
        if not all(text_limits.is_complete_url(tab.url) for tab in tabs):
            raise EnvironmentDiverged("the address of a page was too long to record, so the page cannot be reopened")
        await self._visit(tuple(tab.url for tab in tabs))
        async with self._watched("looking at the restored page"):
            current = next((number for number, tab in enumerate(tabs) if tab.current), None)
            if current is None:
                raise EnvironmentDiverged("the record does not name a current tab")
            await self._window.tabs.focus(self._window.tabs.all[current])
            view = await self._window.look(recorded=acted.observation)
            self._window.storage.checkpoint()
            self._window.traffic.take_effects()
        return view

    def _recorded_state(self, steps: Sequence[Step]) -> Any:
        digests = [step.acted.checkpoint for step in steps if step.acted.checkpoint is not None]
        if not digests:
            return None
        if self._gear.checkpoints is None:
            raise EnvironmentDiverged("the recorded storage state is not available")
        try:
            state = self._gear.checkpoints.read(digests[-1])
        except JournalError as error:
            raise EnvironmentDiverged(f"the recorded storage state cannot be used: {error}") from error
        return real_state(state, self._lane.addresses)

    async def _final(self, view: LiveObservation, last: Acted) -> LiveObservation:
        """The restored view as the agent saw it then: with its picture, and with the notices of the record."""
        if self._settings.screenshots and view.image is None:
            async with self._watched("looking at the restored page"):
                view = await self._window.look(image=True, recorded=last.observation)
        return replace(view, observation=replace(view.observation, notices=last.observation.notices))

    async def _again(self, action: Action, recorded: Acted, is_last: bool) -> StepResult:
        """A recorded step; only the last is seen by anybody."""
        return await self._step(action, image=is_last and self._settings.screenshots, recorded=recorded.observation)

    async def _step(self, action: Action, *, image: bool = False, recorded: Observation | None = None) -> StepResult:
        if self._live is not None:
            await self._live.wait_for(action)
        async with self._watched("performing an action"):
            outcome = await self._perform(action)
            view = await self._window.look(image=image, recorded=recorded)
            if self._live is not None:
                await self._live.settle()
        await self._check_sites()
        return StepResult(
            outcome=outcome,
            view=view,
            effects=self._window.traffic.take_effects(),
            checkpoint=self._window.storage.checkpoint(),
        )

    async def _perform(self, action: Action) -> Outcome:
        if not isinstance(action, Cdp) or self._performing is None:
            return await self._window.perform(action)
        self._window.settler.watch(self._window.tabs.current)
        await self._performing()
        return Done()


def _used_ids(episode: Episode) -> set[str]:
    """Every element id that the attempt has shown."""
    seen = [step.acted for step in episode.steps] + ([episode.arrival] if episode.arrival else [])
    return {id for acted in seen for id, _ in entries(acted.observation.text)}


def _state_file(task: Task) -> Any:
    """The task's storage state file, read; None when there is none."""
    if (path := login.state_file(task)) is None:
        return None
    try:
        return loads(Path(path).read_bytes())
    except (OSError, ValueError) as exc:
        raise TaskError(
            f"{path} (storage_state of task {task.task_id}) cannot be read: {exc}; create it again"
        ) from exc
