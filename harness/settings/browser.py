"""The browser in which agents act."""

from dataclasses import dataclass

from harness.choices import LONGEST_S, ValueRange
from harness.settings.fields import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSettings:
    """The browser in which agents act."""

    executable: str | None = setting(None, measured=False)
    """Path of the Chromium to use; null = the one that was installed or is found."""
    headless: bool = setting(True, measured=False, named=False)
    """false = its windows are shown."""
    slow_mo_ms: float = setting(0.0, measured=False)
    """Wait this many milliseconds before each command to the browser, to watch it."""
    width: int = setting(1280, bounds=ValueRange(1, 16_384))
    """Width of the page that an agent sees, in CSS pixels."""
    height: int = setting(720, bounds=ValueRange(1, 16_384))
    """Height of the page that an agent sees, in CSS pixels."""
    locale: str = setting("en-US", filled=True)
    """Language and forms of numbers and dates that pages are told."""
    timezone: str = setting("UTC", filled=True)
    """Time zone of pages, as `Europe/Paris`."""
    geolocation: dict[str, float] = setting(factory=dict, added=True)
    """`{latitude: 48.9, longitude: 2.4}`: where the browser says it is, for tasks that do not say; {} = it does not."""
    settle_timeout_s: float = setting(5.0, bounds=ValueRange(0, LONGEST_S))
    """A page that is not quiet for this long after an action is observed as it is, with a notice."""
    action_timeout_s: float = 10.0
    """How long one input or one question to a page may take before the page counts as hung."""
    navigation_timeout_s: float = 30.0
    """How long a page may take to answer."""
    site_wait_s: float | None = setting(None, measured=False)
    """How long a site that is gone, or cannot be reset yet, is waited for; null = `browser.navigation_timeout_s`."""
    step_deadline_s: float = 90.0
    """A step that takes longer is a hung browser: it is ended, and its attempt is resumed in another."""
    screenshots: bool = setting(True, measured=False)
    """Store a picture of the page at each step, for reports; agents that are shown pictures have them anyway."""
    har: bool = setting(False, measured=False)
    """Record what pages ask of their sites, for `harness export webarena-verified`."""
    uploads: str | None = None
    """A folder whose files an agent may upload by name, and whose names it is told; null = no uploads."""
    # By polling: ulimit counts address space, cgroups need rights, and V8's own limit counts only its heap.
    max_memory_mb: float | None = setting(1024.0, measured=False, bounds=ValueRange(128, 1 << 20))
    """A page that holds more memory (resident) is ended, which its own task sees as a crash; null = no bound."""
    # On demand, each lane has a browser of its own, as the pages of one get their frames one after the other.
    rendering: str = setting("always", choices=("always", "on_demand"), added=True)
    """`on_demand`: pages are not rendered while the model thinks, so that animations cost nothing, and each lane has a
    browser of its own; where the browser is another than the headless shell, or the agent drives it
    (`agent.browser=cdp`), it is `always`.
    """
    time: str = setting("running", choices=("running", "stopped"), added=True)
    """`stopped`: clocks, timers and animations of pages stand still while the model thinks, so that a slow model and a
    fast one see the same; not with `agent.browser=cdp`.
    """
    allowed: str = setting("auto", choices=("auto", "sites", "any"))
    """`sites`: pages reach the configured sites only; `any`: no limit; `auto`: `sites` for the embedded ones."""

    @property
    def site_limit_s(self) -> float:
        """How long a site that is gone is waited for, in seconds."""
        return self.navigation_timeout_s if self.site_wait_s is None else self.site_wait_s

    @property
    def stops_time(self) -> bool:
        return self.time == "stopped"

    @property
    def viewport(self) -> tuple[int, int]:
        """Width and height in CSS pixels; the device pixel ratio is always 1."""
        return self.width, self.height
