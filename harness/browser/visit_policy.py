"""What pages may be opened beside the run's own sites, how fast, and who kept the agent out: a policy.

A policy is chosen by the key below `sites` that its settings have, `sites.live` for example. Without one there is no
web: pages are opened as `browser.allowed` says, at any pace.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from harness.errors import ConfigError
from harness.registry import Registry

if TYPE_CHECKING:  # the settings are read by every start, which must not wait for playwright
    from playwright.async_api import Browser, BrowserContext

    from harness.actions import Action
    from harness.browser.tabs.tabs import Tabs

POLICIES = Registry(group="cairn.visits", noun="sites")
"""Key below `sites` to the class of the policy."""


class EpisodeVisits(Protocol):
    """What one episode visits."""

    async def wait_for(self, action: "Action") -> None:
        """Wait until the page may be opened that the action may lead to."""
        ...

    async def settle(self) -> None:
        """The action is over; what it opened is counted, and looked at."""
        ...

    def why_refused(self, url: str) -> str:
        """Why this real address was not opened; "" = it was, or nobody asked for it."""
        ...

    def blocked(self, urls: Iterable[str]) -> tuple[str, ...]:
        """A sentence for each who keeps the agent out of the hosts of these addresses, and of the current page's."""
        ...


class BrowserVisits(Protocol):
    """What all episodes of one browser visit."""

    def begin(self, context: "BrowserContext", tabs: "Tabs", tell: Callable[[str], None]) -> EpisodeVisits:
        """Follow an episode.

        Args:
            context: Of the episode alone.
            tabs: Its tabs, which are given notices for the agent.
            tell: Hears what is waited for, and "" when that is over.
        """
        ...


class VisitPolicy(Protocol):
    """The settings of a policy, as a frozen value; a dataclass, whose fields are the keys of its settings."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    """Key below `sites`, and the site that tasks name which are played by this policy; it has no address."""

    @classmethod
    def read(cls, tree: object) -> Self:
        """From the tree below the key.

        Raises:
            ConfigError: A key is unknown, or a value cannot be used.
        """
        ...

    @property
    def local_hosts(self) -> tuple[str, ...]:
        """Hosts whose pages may be opened though they are on this machine: `a.test` or, for its subdomains only,
        `*.a.test`.
        """
        ...

    @property
    def admission(self) -> str:
        """What would let the agent open an address of this machine, for the sentence that refuses one."""
        ...

    @property
    def resolver_rules(self) -> str:
        """For Chromium's `--host-resolver-rules`; "" = none."""
        ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the summary must know of how it was visited."""
        ...

    def admits(self, host: str) -> bool:
        """Whether it is one of `local_hosts`."""
        ...

    def denial(self, host: str) -> str:
        """Why nothing may be asked of a host, as "denied (setting)"; "" = it may."""
        ...

    async def guard(self, browser: "Browser") -> BrowserVisits:
        """Let the policy hold for all pages of a browser that has none yet."""
        ...


@dataclass(frozen=True, slots=True)
class NoVisits:
    """Holds where the settings choose no policy."""

    name: ClassVar[str] = ""
    local_hosts: ClassVar[tuple[str, ...]] = ()
    admission: ClassVar[str] = "only a site of the run may be there"
    resolver_rules: ClassVar[str] = ""
    remarks: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read(cls, tree: object) -> Self:
        return cls()

    def admits(self, host: str) -> bool:
        return False

    def denial(self, host: str) -> str:
        return ""

    async def guard(self, browser: "Browser") -> BrowserVisits:
        return self

    def begin(self, context: "BrowserContext", tabs: "Tabs", tell: Callable[[str], None]) -> EpisodeVisits:
        return self

    async def wait_for(self, action: "Action") -> None:
        return

    async def settle(self) -> None:
        return

    def why_refused(self, url: str) -> str:
        return ""

    def blocked(self, urls: Iterable[str]) -> tuple[str, ...]:
        return ()


NO_VISITS = NoVisits()


def policy_class(name: str) -> type[VisitPolicy]:
    """Raises: ConfigError: There is none."""
    found: type[VisitPolicy] = POLICIES.find(name)
    return found


def chosen(tree: Mapping[str, Any]) -> VisitPolicy:
    """The policy that the tree below `sites` has settings of.

    Raises:
        ConfigError: There are settings of two policies, or see `VisitPolicy.read`.
    """
    given = [name for name in POLICIES.names() if tree.get(name) is not None]
    if len(given) > 1:
        raise ConfigError(f"sites.{given[0]} and sites.{given[1]} exclude each other; set one to null")
    return policy_class(given[0]).read(tree[given[0]]) if given else NO_VISITS
