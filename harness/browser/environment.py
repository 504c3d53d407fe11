"""What an episode sees of the browser: restore, act, gather, each bounded and each ending in a record or our error."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from harness.actions.space import Action, Goto
from harness.browser import gathering, login, outage, restoring
from harness.browser.faults import Watch
from harness.browser.resetting import put_back
from harness.browser.settings import BrowserSettings, RestoreSettings
from harness.browser.storage import real_state
from harness.browser.trace import Trace
from harness.browser.window import Lane, State, Window
from harness.codec import loads
from harness.errors import EnvironmentDiverged, JournalError, SiteUnavailable, TaskError
from harness.protocols import Artifacts, Gathered, Landed, Restored
from harness.records import Acted, Episode, Refused, Site, Tab, Task, View

_CLOSES_WITHIN_S = 5.0
_RESET_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gear:
    """What all environments of a worker share."""

    settings: BrowserSettings
    restoring: RestoreSettings
    checkpoints: Artifacts | None
    """Storage states of earlier steps."""
    logins: login.Kept = field(default_factory=login.Kept)
    tell: Callable[[int, str], None] = lambda lane, note: None
    """Hears what a lane waits for, see `outage.Patience`."""


class BrowserEnvironment:
    """One episode's browser; every restore begins with a fresh window."""

    def __init__(self, browser: Browser, lane: Lane, gear: Gear) -> None:
        self._browser = browser
        self._lane = lane
        self._gear = gear
        self._settings = gear.settings
        self._watch = Watch()
        self._sites: tuple[Site, ...] = ()
        """Those of the task."""
        self._patience = outage.Patience(
            limit_s=self._settings.navigation_timeout_s, tell=partial(gear.tell, lane.number)
        )
        self._open: Window | None = None
        self._trace: Trace | None = None
        browser.on("disconnected", self._lost)

    async def restore(self, task: Task, episode: Episode) -> Restored:
        self._sites = tuple(site for site in self._lane.sites if site.name in task.sites)
        plan = restoring.plan(task, episode, sites=self._lane.sites, settings=self._gear.restoring)
        waited_s = sum([await self._reset(site) for site in plan.reset])
        async with self._patient():
            return replace(await self._restored(task, episode, plan), waited_s=waited_s)

    async def _reset(self, site: Site) -> float:
        assert site.reset_url is not None
        return await put_back(site.reset_url, hook=f"reset of {site.name}", timeout_s=_RESET_S, patience=self._patience)

    async def _restored(self, task: Task, episode: Episode, plan: restoring.Plan) -> Restored:
        await self._shut()
        if plan.strategy == "checkpoint":
            return await self._from_checkpoint(task, episode, plan)
        if plan.strategy == "reset":
            return Restored(view=await self._arrive(task, image=self._settings.screenshots), strategy="reset")
        view, alike = await restoring.replay(episode, await self._arrive(task), step=self._again, plan=plan)
        return Restored(view=await self._final(view, episode.last), strategy="replay", similarity=alike)

    async def act(self, action: Action) -> Landed:
        async with self._patient():
            return await self._step(action, image=self._settings.screenshots)

    async def gather(self, task: Task) -> Gathered:
        limit_s = self._settings.step_deadline_s * (1 + len(task.eval.program_html))
        async with self._patient(), self._watched("gathering the evidence", limit_s=limit_s):
            return await gathering.gather(self._window, task, settings=self._settings, trace=self._trace)

    async def close(self) -> None:
        """End the episode's use of the browser."""
        self._browser.remove_listener("disconnected", self._lost)
        await self._shut()

    async def _shut(self) -> None:
        if self._open is not None:
            window, self._open = self._open, None
            async with Watch().over("closing a window", limit_s=_CLOSES_WITHIN_S):
                await window.close()
        if self._trace is not None:
            self._trace.forget()
            self._trace = None

    @property
    def _window(self) -> Window:
        assert self._open is not None, "an environment is restored before it is used"
        return self._open

    def _lost(self, _: Browser) -> None:
        self._watch.strike("the browser is gone")

    def _watched(self, doing: str, *, limit_s: float | None = None) -> AbstractAsyncContextManager[None]:
        return self._watch.over(doing, limit_s=limit_s or self._settings.step_deadline_s)

    @asynccontextmanager
    async def _patient(self) -> AsyncIterator[None]:
        """A site that is gone gets time to come back before anything is tried again."""
        try:
            yield
        except SiteUnavailable:
            await outage.wait(self._sites, self._patience)
            raise

    async def _check_sites(self) -> None:
        await outage.check(self._window.traffic.take_lost(), self._sites, timeout_s=self._settings.navigation_timeout_s)

    async def _fresh(self, task: Task, storage: Any) -> None:
        """A new window, logged in as the task wants."""
        sites = login.wanted(task, self._lane.sites)
        self._watch = Watch()
        if storage is None:
            storage = self._gear.logins.state(self._lane, sites)
        state = State(storage=storage, geolocation=task.geolocation)
        async with self._watched("opening a window"):
            self._open = await Window.open(
                self._browser, self._lane, settings=self._settings, state=state, watch=self._watch
            )
        async with self._watched("logging in"):
            if await login.ensure(self._window, sites):
                await self._gear.logins.keep(self._window, sites)
            if self._settings.har:
                self._trace = await Trace.begin(self._window.context)

    async def _arrive(self, task: Task, *, image: bool = False) -> View:
        """Open the start pages, one tab each, and come back to the first."""
        await self._fresh(task, _state_file(task))
        await self._visit(task.start_urls)
        async with self._watched("looking at the start page"):
            if len(task.start_urls) > 1:
                await self._window.tabs.focus(self._window.tabs.all[0])
            view = await self._window.look(image=image)
            self._window.storage.checkpoint()
            self._window.traffic.take_effects()
            return view

    async def _visit(self, urls: tuple[str, ...]) -> None:
        """Open each address in a tab of its own; nothing lies behind it in the tab's history."""
        for number, url in enumerate(urls):
            async with self._watched(f"opening {url}"):
                if number:
                    await self._window.tabs.open()
                outcome = await self._window.perform(Goto(url=url))
                if isinstance(outcome, Refused):
                    raise SiteUnavailable(f"{url} cannot be opened: {outcome.why}")
                tab = (await self._window.settler.reach(early=True)).tab  # whoever looks at it waits for the rest
                await tab.cdp.send("Page.resetNavigationHistory")
        await self._check_sites()

    async def _from_checkpoint(self, task: Task, episode: Episode, plan: restoring.Plan) -> Restored:
        """Cookies and storage as they were, the recorded tabs at their addresses; nothing is performed again."""
        last = episode.last
        assert last is not None
        await self._fresh(task, self._recorded_state(episode) or _state_file(task))
        if self._trace is not None:
            self._trace.comment = (
                f"begins after step {len(episode.steps)}, where the episode was resumed without a replay"
            )
        tabs: tuple[Tab, ...] = last.observation.tabs
        await self._visit(tuple(tab.url for tab in tabs))
        async with self._watched("looking at the restored page"):
            current = next(number for number, tab in enumerate(tabs) if tab.current)
            await self._window.tabs.focus(self._window.tabs.all[current])
            view = await self._window.look()
            self._window.storage.checkpoint()
            self._window.traffic.take_effects()
        alike = restoring.compare(view, last, least=plan.least_at_end, step=len(episode.steps))
        return Restored(view=await self._final(view, last), strategy="checkpoint", similarity=(alike,))

    def _recorded_state(self, episode: Episode) -> Any:
        digests = [step.acted.checkpoint for step in episode.steps if step.acted.checkpoint is not None]
        if not digests:
            return None
        if self._gear.checkpoints is None:
            raise EnvironmentDiverged("the recorded storage state is not at hand")
        try:
            state = self._gear.checkpoints.read(digests[-1])
        except JournalError as error:
            raise EnvironmentDiverged(f"the recorded storage state cannot be used: {error}") from error
        return real_state(state, self._lane.addresses)

    async def _final(self, view: View, last: Acted | None) -> View:
        """The restored view as the agent saw it then: with its picture, and with the notices of the record."""
        assert last is not None
        if self._settings.screenshots and view.image is None:
            async with self._watched("looking at the restored page"):
                view = await self._window.look(image=True)
        return replace(view, observation=replace(view.observation, notices=last.observation.notices))

    async def _again(self, action: Action, is_last: bool) -> Landed:
        """A recorded step; only the last is seen by anybody."""
        return await self._step(action, image=is_last and self._settings.screenshots)

    async def _step(self, action: Action, *, image: bool = False) -> Landed:
        async with self._watched("performing an action"):
            outcome = await self._window.perform(action)
            view = await self._window.look(image=image)
        await self._check_sites()
        return Landed(
            outcome=outcome,
            view=view,
            effects=self._window.traffic.take_effects(),
            checkpoint=self._window.storage.checkpoint(),
        )


def _state_file(task: Task) -> Any:
    """The task's storage state file, read; None when there is none."""
    if (path := login.state_file(task)) is None:
        return None
    try:
        return loads(Path(path).read_bytes())
    except (OSError, ValueError) as exc:
        raise TaskError(f"{path} (storage_state of task {task.task_id}) cannot be read: {exc}; make it anew") from exc
