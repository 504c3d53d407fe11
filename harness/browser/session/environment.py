"""The `Environment` of an episode: restore, act, gather, each with a timeout, each ending in a record or an error."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from playwright.async_api import Browser, Page

from harness.actions import Action, Cdp, Goto
from harness.api import Artifacts, Benchmark
from harness.browser.driver.playwright_errors import Deadline
from harness.browser.network import effects_url, site_health
from harness.browser.network.sending import SendingWatch
from harness.browser.network.trace import Trace
from harness.browser.page_settings import PageSettings
from harness.browser.session import checkpoint, evidence, in_doubt, login, page_age, restoration, site_forms
from harness.browser.session.benchmark_page import BenchmarkCalls
from harness.browser.session.browser_session import BrowserSession, InitialState, SiteBinding
from harness.browser.session.page_age import LateTimers, PageAge
from harness.browser.session.page_scripts import PageScripts
from harness.browser.session.restore_doubts import RestoreDoubts
from harness.browser.session.restored_effects import RestoredEffects
from harness.browser.session.shared_browser import SharedWindow
from harness.browser.visit_policy import NO_VISITS, EpisodeVisits
from harness.errors import InfraError, SiteUnavailable
from harness.protocols import RawEvidence, RestoreResult, StepResult
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
    Task,
)
from harness.settings.resume import ResumeSettings

_CLOSES_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDeps:
    """What all environments of a worker share."""

    pages: PageSettings
    restoring: ResumeSettings
    checkpoints: Artifacts | None
    """Storage states of earlier steps."""
    benchmark: Benchmark | None = None
    """What the tasks are of, when it is code; a task file has none."""
    logins: login.LoginCache = field(default_factory=login.LoginCache)
    tell: Callable[[int, str], None] = lambda lane, note: None
    """Called with a lane and what it waits for."""
    reached: set[str] = field(default_factory=set)
    """Addresses of sites on which an episode has begun in this process."""
    in_vain: set[str] = field(default_factory=set)
    """Addresses of sites that were waited for in vain and never reached: the address is wrong rather than the site
    away, and no further attempt waits for it.
    """


class BrowserEnvironment:
    """One episode's browser; every restore begins with a fresh window."""

    def __init__(self, browser: Browser, lane: SiteBinding, deps: EnvironmentDeps) -> None:
        self.guard = lane.guard
        self._browser = browser
        self._lane = lane
        self._deps = deps
        self._settings = deps.pages.browser
        self._takes_pictures = deps.pages.screenshots
        self._watch = Deadline()
        self._sites: tuple[Site, ...] = ()
        """The sites of the task."""
        self._patience = site_health.WaitPolicy(
            limit_s=self._settings.site_limit_s, tell=partial(deps.tell, lane.number)
        )
        self._open: BrowserSession | None = None
        self._scripts: PageScripts | None = None
        """Of plug-ins, in the window that is open."""
        self._unrecorded: tuple[SideEffect, ...] = ()
        """Effects of windows that are closed, seen after the last record."""
        self._facts = in_doubt.NOTHING_KNOWN
        self._effects: RestoredEffects | None = None
        """What the restore has caused; None = what pages send is the agent's doing."""
        self._is_restoring = False
        self._age: PageAge | LateTimers | None = None
        """What is not known of the timers of pages that a restore led to; None = there was none."""
        self._repeats: Episode | None = None
        """Where the pending action, which opens a page, may have been performed before."""
        self._has_begun = False
        """Whether the action at hand may have been sent to the browser."""
        self._trace: Trace | None = None
        self._opened: Opened | None = None
        """The attempt."""
        self._benchmark: BenchmarkCalls | None = None
        self._intent = ""
        """The objective, where the benchmark makes it."""
        self._performing: Callable[[], Awaitable[None]] | None = None
        """Waits for the commands of a process that drives the browser; None = there is none."""
        self._visits: EpisodeVisits = NO_VISITS
        browser.on("disconnected", self._lost)

    async def restore(self, task: Task, episode: Episode, clean: Collection[str] = ()) -> RestoreResult:
        self._sites = tuple(site for site in self._lane.sites if site.name in task.sites)
        self._opened = episode.opened
        self._facts = in_doubt.SiteFacts.of(task, self._lane.sites, clean)
        settings, plan = self._deps.restoring, restoration.RESET
        if is_driven := restoration.is_driven(episode):
            restoration.check_driven(task, episode, sites=self._lane.sites, settings=settings, clean=clean)
        else:
            plan = restoration.plan(task, episode, sites=self._lane.sites, settings=settings, clean=clean)
        self._go_on()
        self._age = None
        if episode.arrival is not None:
            compares = is_driven or plan.sends_again
            waiting = partial(self._watched, "waiting for recorded requests", limit_s=math.inf)  # it knows how long
            self._effects = RestoredEffects(
                episode,
                compares=compares,
                was_reset=self._facts.was_reset,
                guard=waiting,
                stands_still=self._settings.stops_time,
            )
            self._age = self._effects.age
        self._is_restoring = True
        try:
            await self._shut()
            async with self._patient():
                restored = await self._restored(task, episode, plan, is_driven=is_driven)
            self._deps.reached.update(site.url for site in self._sites)
            await self._window.rest()
            return restored
        finally:
            self._is_restoring = False

    async def _restored(
        self, task: Task, episode: Episode, plan: restoration.Plan, *, is_driven: bool
    ) -> RestoreResult:
        if self._effects is None:
            return await self._begun(task, episode)
        if is_driven:
            return await self._anew(task, episode, self._effects)
        return await self._led_back(task, episode, plan, self._effects)

    async def _begun(self, task: Task, episode: Episode) -> RestoreResult:
        view = await self._arrive(task, image=self._takes_pictures)
        effects = self._window.traffic.take_effects()
        changed = in_doubt.changed_by_restore(episode, effects, self._facts)
        return RestoreResult(view=view, strategy="reset", intent=self._intent, effects=effects, changed=changed)

    async def _anew(self, task: Task, episode: Episode, effects: RestoredEffects) -> RestoreResult:
        """The start page, from which a process that drives the browser does all it did before."""
        view = await self._arrive(task, episode=episode)
        assert episode.arrival is not None
        alike = restoration.compare(view, episode.arrival, least=self._deps.restoring.min_similarity, step=0)
        if not episode.steps:
            await effects.finish(is_strict=False)
        else:
            await self._planted.begin(1)
        effects.passed(1)
        return RestoreResult(view=view, strategy="reset", similarity=(alike,), sent=effects.take_aside())

    async def _led_back(
        self, task: Task, episode: Episode, plan: restoration.Plan, effects: RestoredEffects
    ) -> RestoreResult:
        doubts = RestoreDoubts(
            episode, plan, sites=self._lane.sites, facts=self._facts, policy=self._deps.restoring.in_doubt
        )
        await doubts.begin()
        if plan.strategy == "checkpoint":
            view = await self._from_checkpoint(task, episode, plan.anchor)
        else:
            view = await self._arrive(task, episode=episode)
        again, least = partial(self._again, effects), 0.0 if plan.in_doubt else plan.least
        view, alike = await restoration.replay(episode, view, begin=plan.anchor, perform=again, least=least)
        await effects.finish()
        assert episode.last is not None
        restored = RestoreResult(view=await self._final(view, episode.last), strategy=plan.strategy, similarity=alike)
        looking = self._watched("looking at the pending action")
        restored = await doubts.settle(restored, effects, window=self._window, guard=looking)
        if self._age is None:
            self._age = await page_age.reopened(episode, self._window.tabs, stands_still=self._settings.stops_time)
        self._repeats = episode if plan.not_reset and in_doubt.is_repeated(episode, restored) else None
        return restored

    async def share(self, performing: Callable[[], Awaitable[None]]) -> SharedWindow:
        """See `ShareableEnvironment`."""
        self._performing = performing
        await self._wake()
        async with self._watched("sharing the browser"):
            return await SharedWindow.of(
                self._window, self._followed, uploads=self._settings.uploads, check=self._watch.check
            )

    async def _followed(self, recorded: Acted, is_last: bool) -> RestoreResult:
        if (effects := self._effects) is not None:
            await effects.at_once(recorded.step)
        async with self._patient(), self._watched("performing an action"):
            await self._planted.land()
            view = await self._window.look(recorded=recorded.observation)
        self._window.storage.checkpoint()
        alike = restoration.compare(view, recorded, least=self._deps.restoring.min_similarity, step=recorded.step)
        if effects is not None:
            finish = effects.finish if is_last else partial(effects.complete, recorded.step)
            await finish(is_strict=False)
            effects.passed(recorded.step + 1)
        await self._planted.begin(recorded.step if is_last else recorded.step + 1)
        if is_last:
            view = await self._final(view, recorded)
        return RestoreResult(view=view, strategy="replay", similarity=(alike,))

    async def ask_sites(self, action: Action) -> Mapping[str, str]:
        if not action.may_change_sites():
            return {}
        return await effects_url.answers(self._lane.sites, [site.name for site in self._lane.sites])

    @property
    def is_lost(self) -> bool:
        return self._watch.is_over

    async def effects_begun(self) -> None:
        if self._effects is not None and self._is_restoring:
            return await self._effects.begun_aside()
        self._go_on()
        if not self._unrecorded:
            await self._window.traffic.effects_begun()

    def take_effects(self) -> tuple[SideEffect, ...]:
        if self._is_restoring:
            return () if self._effects is None else self._effects.take_aside()
        self._go_on()
        live = () if self._open is None else self._open.traffic.take_effects()
        effects, self._unrecorded = (*self._unrecorded, *live), ()
        return effects

    def _go_on(self) -> None:
        """What pages send from here on is not caused by the restore."""
        if self._effects is not None:
            effects, self._effects = self._effects, None
            self._unrecorded += effects.stop()

    async def act(self, action: Action) -> StepResult:
        self._go_on()
        self._has_begun = False
        try:
            await self._wake()  # in here: a page that could not be woken was sent nothing
            async with self._patient():
                landed = await self._step(action, self._planted.step + 1, image=self._takes_pictures)
                # After the observation, when the page has come to rest, and in its record: one of its own could be lost
                # between.
                if self._benchmark is not None:
                    async with self._watched("asking the benchmark for the reward"):
                        landed = replace(landed, reward=await self._benchmark.reward())
        except InfraError as error:
            is_down = isinstance(error, SiteUnavailable)
            error.unsent = not self._has_begun or (is_down and self._window.traffic.sent_nothing())
            raise
        before, self._repeats = self._repeats, None
        doubt = in_doubt.repeated(before, landed.effects, self._facts) or self._lost_timers(
            self._window.tabs.documents()
        )
        if self._performing is None:  # a process that drives the browser may use it at any time
            await self._window.rest()
        return replace(landed, doubt=doubt)

    def _lost_timers(self, documents: Mapping[Page, int]) -> str:
        return "" if self._age is None else self._age.lost(documents, stood_s=self._window.stood_s)

    async def gather(self, task: Task) -> RawEvidence:
        self._go_on()
        await self._wake()
        limit_s = self._settings.step_deadline_s * (1 + len(task.eval.program_html) + len(task.probes))
        async with self._patient(), self._watched("gathering the evidence", limit_s=limit_s):
            await self._window.traffic.effects_answered()
            await self._check_sites()
            # Evaluators would find the text that plug-ins have planted.
            await self._planted.lift()
            cuts_off = self._benchmark is None  # its evidence may need the agent's page as it is
            page = evidence.gather(self._window, task, trace=self._trace, cuts_off=cuts_off)
            gathered = replace(await page, blocked=self._visits.blocked(task.start_urls))
            if self._benchmark is not None:
                gathered = replace(gathered, benchmark=await self._benchmark.evidence(), kept=self._benchmark.kept)
            # A timer that strikes after this would change a site without a record. A run of WebArena closes its browser
            # here.
            await self._window.cut_off()
            return replace(gathered, doubt=self._lost_timers({}))

    async def glance(self) -> bytes | None:
        """See `WatchableEnvironment`."""
        return None if self._open is None else await self._open.glance()

    async def is_at_password(self) -> bool:
        """See `WatchableEnvironment`."""
        return self._open is not None and await self._open.is_at_password()

    async def _wake(self) -> None:
        async with self._watched("waking the pages"):
            await self._window.wake()

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

    @property
    def _window(self) -> BrowserSession:
        assert self._open is not None, "an environment is restored before it is used"
        return self._open

    @property
    def _planted(self) -> PageScripts:
        assert self._scripts is not None, "an environment is restored before it is used"
        return self._scripts

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
            unknown = {site.url for site in self._sites} - self._deps.reached
            if not unknown & self._deps.in_vain and not await site_health.wait(self._sites, self._patience):
                self._deps.in_vain.update(unknown)
            raise

    async def _check_sites(self) -> None:
        lost, refused = self._window.traffic.take_failed()
        limit_s = self._settings.navigation_timeout_s
        await site_health.check(lost, self._sites, timeout_s=limit_s, refused=refused)

    async def _fresh(self, task: Task, storage: Any, step: int = 0, *, writes: bool = False) -> None:
        """A new window, logged in as the task wants, in which a step has begun.

        Args:
            writes: Forms of plug-ins are sent to sites that were reset.
        """
        sites = login.wanted(task, self._lane.sites)
        self._watch = Deadline()  # what died with an earlier window does not end this one
        if storage is None:
            storage = self._deps.logins.state(self._lane, sites)
        doubtful = restoration.may_be_in_doubt(task, self._lane.sites, self._facts.reset)
        state = InitialState(
            storage=storage,
            geolocation=task.geolocation or self._settings.geolocation or None,
            sending=SendingWatch() if doubtful else None,
        )
        async with self._watched("opening a window"):
            self._open = await BrowserSession.open(
                self._browser, self._lane, pages=self._deps.pages, state=state, watch=self._watch
            )
        self._open.actor.user, self._open.actor.selectors = task.user, task.selectors
        if self._effects is not None:
            self._effects.listen(self._open.traffic, self._open.tabs)
        tell = partial(self._deps.tell, self._lane.number)
        self._visits = self._lane.visits.begin(self._open.context, self._open.tabs, tell)
        if (benchmark := self._deps.benchmark) is not None:
            self._benchmark = BenchmarkCalls(benchmark, self._open, task=task, opened=self._opened)
        async with self._watched("logging in"):
            with self._window.traffic.unrecorded():
                if await login.ensure(self._window, sites):
                    await self._deps.logins.keep(self._window, sites)
        if writes:
            async with self._watched("sending forms of plug-ins"):
                await site_forms.fill_in(
                    self._window, task, self._opened, sites=self._facts, goes_on=self._effects is not None
                )
        async with self._watched("beginning a trace"):
            if self._settings.har:
                self._trace = await Trace.begin(self._window.context)
            self._scripts = PageScripts.of(self._window, task, self._opened)
            await self._scripts.begin(step)

    async def _arrive(self, task: Task, *, image: bool = False, episode: Episode | None = None) -> LiveObservation:
        """Open the start pages, one tab each, and come back to the first.

        Args:
            episode: What is led back; its elements get their ids back.
        """
        await self._fresh(task, checkpoint.state_of_task(task), writes=True)
        recorded = None
        if episode is not None and episode.arrival is not None:
            recorded = episode.arrival.observation
            self._window.reserve_ids(checkpoint.used_ids(episode))
        await self._visit(task.start_urls)
        async with self._watched("looking at the start page"):
            if len(task.start_urls) > 1:
                await self._window.tabs.focus(self._window.tabs.numbered(0))
            if self._benchmark is not None:
                self._intent = await self._benchmark.prepare()
            view = await self._window.look(image=image, recorded=recorded)
            self._window.storage.checkpoint()  # what is there now is not a change of the first step
            return view

    async def _visit(self, urls: tuple[str, ...]) -> None:
        """Open each address in a separate tab; nothing lies behind it in the tab's history."""
        for number, url in enumerate(urls):
            await self._visits.wait_for(Goto(url=url))
            async with self._watched(f"opening {url}"):
                if number:
                    await self._window.tabs.open()
                outcome = await self._window.perform(Goto(url=url))
                if isinstance(outcome, Refused):
                    refused = f"{url} cannot be opened: "
                    raise SiteUnavailable(
                        refused + (self._visits.why_refused(url) or outcome.why.removeprefix(refused))
                    )
                tab = await self._window.arrive()
                await tab.cdp.send("Page.resetNavigationHistory")
            await self._visits.settle()
        await self._check_sites()

    async def _from_checkpoint(self, task: Task, episode: Episode, anchor: int) -> LiveObservation:
        """Cookies and storage as they were after a step, its tabs at their addresses; nothing is performed again."""
        acted = page_age.acted_at(episode, anchor)
        urls, current = checkpoint.recorded_tabs(acted)
        state = checkpoint.recorded_state(episode.steps[:anchor], self._deps.checkpoints, self._lane.addresses)
        await self._fresh(task, state or checkpoint.state_of_task(task), anchor)
        self._window.reserve_ids(checkpoint.used_ids(episode))
        if self._trace is not None:
            self._trace.comment = f"begins after step {anchor}: the episode was resumed there without a replay"
        await self._visit(urls)
        # The benchmark's `prepare` is not called: it would start an episode of the page's own again, at its first step.
        async with self._watched("looking at the restored page"):
            await self._window.tabs.focus(self._window.tabs.numbered(current))
            view = await self._window.look(recorded=acted.observation)
            self._window.storage.checkpoint()
        return view

    async def _final(self, view: LiveObservation, last: Acted) -> LiveObservation:
        """The restored view as the agent saw it then: with its picture, and with the notices of the record."""
        if self._takes_pictures and view.image is None:
            async with self._watched("looking at the restored page"):
                view = await self._window.look(image=True, recorded=last.observation)
        return replace(view, observation=replace(view.observation, notices=last.observation.notices))

    async def _again(self, effects: RestoredEffects, action: Action, recorded: Acted, is_last: bool) -> StepResult:
        """A recorded step; only the last is seen by anybody."""
        await effects.complete(recorded.step - 1)
        effects.begin(recorded.step)
        image, seen = is_last and self._takes_pictures, recorded.observation
        landed = await self._step(action, recorded.step, image=image, recorded=seen)
        if not await effects.at_once(recorded.step):
            return landed
        async with self._watched("looking at the restored page"):
            return replace(landed, view=await self._window.look(image=image, recorded=seen))

    async def _step(
        self, action: Action, number: int, *, image: bool = False, recorded: Observation | None = None
    ) -> StepResult:
        await self._visits.wait_for(action)
        async with self._watched("performing an action"):
            self._watch.check()  # before `_has_begun`: a browser that is gone already was sent nothing
            await self._planted.begin(number)
            self._has_begun = True
            outcome = await self._perform(action)
            await self._planted.land()
            view = await self._window.look(image=image, recorded=recorded)
            await self._visits.settle()
        await self._check_sites()
        return StepResult(
            outcome=outcome,
            view=view,
            effects=self._window.traffic.take_effects(),
            checkpoint=self._window.storage.checkpoint(),
            matched=self._window.actor.matched,
        )

    async def _perform(self, action: Action) -> Outcome:
        if not isinstance(action, Cdp) or self._performing is None:
            return await self._window.perform(action)
        await self._window.tabs.ensure_current()
        self._window.action_begins()
        await self._performing()
        return Done()
