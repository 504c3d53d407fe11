"""Sites that are down for everybody: their tasks are paused, so that no further attempts are spent on them.

When an episode ends because a site of its was gone, the instance is asked from here, and no job is given it meanwhile.
If it does not answer either, or with a failure of its own, this lasts until it answers, within a limit; jobs of other
sites and instances go on. One that stays away longer is given to jobs again, each of which waits and fails by itself.
Why: docs/decisions/sites.md#a-site-that-is-down-for-everybody-pauses-its-tasks
"""

import logging
from collections.abc import Awaitable, Callable, Iterable

from harness.browser.network.http import shown
from harness.browser.network.site_health import WaitPolicy
from harness.errors import ShutdownRequested
from harness.journal.site_log import SiteInstance

logger = logging.getLogger(__name__)

_EVERY_S = 1.0


class SiteOutages:
    """The instances that no job is given now, and how long that was so."""

    def __init__(self, ask: Callable[[str], Awaitable[bool]], patience: WaitPolicy) -> None:
        """
        Args:
            ask: Whether a server answers at an address with anything but a failure of its own.
            patience: The longest pause, who hears of it, and the clock.
        """
        self._ask = ask
        self._patience = patience
        self._held: dict[str, SiteInstance] = {}
        self._given_up: set[str] = set()
        """Addresses that stayed away for the longest pause and have not answered since."""
        self.pauses: dict[str, float] = {}
        """Site to the seconds for which one of its instances was not given to jobs."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def holds(self, urls: Iterable[str]) -> bool:
        """Whether one of these is not given to jobs now."""
        return not self._held.keys().isdisjoint(urls)

    def suspect(self, instance: SiteInstance) -> bool:
        """An episode found it gone: it is not given to jobs until `follow` has ended; False = that would be no use."""
        if instance.url in self._held or instance.url in self._given_up or self._patience.limit_s <= 0:
            return False
        self._held[instance.url] = instance
        return True

    def answered(self, urls: Iterable[str]) -> None:
        """Episodes were played there: the next outage is one of its own."""
        self._given_up.difference_update(urls)

    async def follow(self, instance: SiteInstance, is_wanted: Callable[[], bool]) -> None:
        """Ask until the instance answers, the longest pause is over, or no job is pending."""
        try:
            # Asked from here: to count failures in a row would take a job that tries the site, and costs an attempt.
            if await self._ask(instance.url):
                return
            await self._pause(instance, is_wanted)
        except ShutdownRequested:
            logger.info("the run is stopping while %s is down", instance.site)
        finally:
            del self._held[instance.url]

    async def _pause(self, instance: SiteInstance, is_wanted: Callable[[], bool]) -> None:
        begun, countdown = self._patience.monotonic(), self._patience.countdown()
        name, address = instance.site, shown(instance.url)
        before = self.pauses.setdefault(name, 0.0)
        is_back = False
        logger.warning("%s at %s does not answer, also not from here: its tasks are paused", name, address)
        while is_wanted() and (lasted := self._patience.monotonic() - begun) < self._patience.limit_s:
            self.pauses[name] = before + lasted
            countdown(f"{name} is down ({address}); its tasks are paused, others go on; waiting up to")
            await self._patience.sleep(min(_EVERY_S, self._patience.limit_s - lasted))
            if is_back := await self._ask(instance.url):
                break
        lasted = self._patience.monotonic() - begun
        self.pauses[name] = before + lasted
        if is_back:
            self._patience.tell(f"{name} answers again after {lasted:.0f} s; its tasks go on")
        elif is_wanted():
            self._given_up.add(instance.url)
            self._patience.tell(
                f"{name} is still down after {lasted:.0f} s ({address}); its tasks are tried all the same"
                " (sites.max_outage_s)"
            )
