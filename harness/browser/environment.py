"""What an episode sees of the browser: restore, act, gather, each bounded and each ending in a record or our error."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from playwright.async_api import Browser

from harness.actions.space import Action, Goto
from harness.browser import restoring
from harness.browser.fetching import fetch
from harness.browser.settings import BrowserSettings, RestoreSettings
from harness.browser.window import Lane, Observer, State, Window
from harness.errors import SiteUnavailable
from harness.protocols import Gathered, Landed, Restored
from harness.records import Episode, Refused, Site, Task, View


class BrowserEnvironment:
    """One episode's browser; every restore begins with a fresh window."""

    def __init__(
        self,
        browser: Browser,
        lane: Lane,
        *,
        settings: BrowserSettings,
        restoring: RestoreSettings,
        observer: Callable[[], Observer],
    ) -> None:
        self._browser = browser
        self._lane = lane
        self._settings = settings
        self._restoring = restoring
        self._observer = observer
        self._open: Window | None = None

    @property
    def _window(self) -> Window:
        assert self._open is not None, "an environment is restored before it is used"
        return self._open

    async def restore(self, task: Task, episode: Episode) -> Restored:
        plan = restoring.plan(task, episode, sites=self._lane.sites, settings=self._restoring)
        for site in plan.reset:
            await _reset(site)
        await self.close()
        self._open = await self._fresh(task)
        view = await self._arrive(task)
        if plan.strategy == "reset":
            return Restored(view=view, strategy="reset")
        view, alike = await restoring.replay(episode, view, step=self._step, min_similarity=plan.min_similarity)
        last = episode.last
        assert last is not None
        if self._settings.screenshots:
            async with self._watched("looking"):
                view = await self._window.look(image=True)
        view = replace(view, observation=replace(view.observation, notices=last.observation.notices))
        return Restored(view=view, strategy="replay", similarity=alike)

    async def act(self, action: Action) -> Landed:
        return await self._step(action, image=self._settings.screenshots)

    async def gather(self, task: Task) -> Gathered:
        raise NotImplementedError

    async def close(self) -> None:
        if self._open is not None:
            window, self._open = self._open, None
            await window.close()

    async def _fresh(self, task: Task) -> Window:
        return await Window.open(
            self._browser,
            self._lane,
            settings=self._settings,
            observer=self._observer(),
            state=State(geolocation=task.geolocation),
        )

    async def _arrive(self, task: Task) -> View:
        """Open the start pages, one tab each, and come back to the first."""
        async with self._watched("opening the start pages"):
            tabs = self._window.tabs
            for number, url in enumerate(task.start_urls):
                if number:
                    await tabs.open()
                outcome = await self._window.perform(Goto(url=url))
                if isinstance(outcome, Refused):
                    raise SiteUnavailable(f"start page: {outcome.why}")
                await self._window.settler.settle()
            await tabs.focus(tabs.all[0])
            view = await self._window.look(image=self._settings.screenshots)
            self._window.traffic.take_effects()
            return view

    def _watched(self, doing: str) -> AbstractAsyncContextManager[None]:
        return self._window.watch.over(doing, limit_s=self._settings.step_deadline_s)

    async def _step(self, action: Action, *, image: bool = False) -> Landed:
        async with self._watched("an action"):
            outcome = await self._window.perform(action)
            view = await self._window.look(image=image)
            return Landed(outcome=outcome, view=view, effects=self._window.traffic.take_effects())


async def _reset(site: Site) -> None:
    assert site.reset_url is not None
    answer = await fetch(site.reset_url, method="POST", body=b"")
    if answer.status >= 400:
        raise SiteUnavailable(f"{site.name} cannot be reset: {site.reset_url} answers {answer.status}")
