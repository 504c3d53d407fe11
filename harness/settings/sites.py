"""The settings of one site, and of the reset of all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.choices import ResetScope, ResetWhen


def derived(**how: Any) -> Any:
    """A field that is not a key of the settings."""
    return field(metadata={"derived": True}, **how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How to log in to a site: fill a form or send headers, then check."""

    url: str = ""
    """Canonical URL of the form."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """CSS selector or `label=…`/`placeholder=…` of each input to its value; values are secrets."""
    submit: str = ""
    """CSS selector or `button=…` (accessible name)."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that log in, in place of a form, sent once to `probe_url`; the cookies of the answer are kept. Values are
    secrets."""
    probe_url: str
    """Canonical URL that only a logged-in visitor can stay on."""
    probe_text: str = ""
    """Text the probe page must hold; "" = staying on `probe_url` is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One site of a deployment: its real address and its canonical one."""

    name: str
    """As in a task's `sites`; its placeholder is `__NAME__` in capitals."""
    url: str
    """Real base URL, without a trailing slash."""
    canonical: str
    """The address shown to agents and in records, without a trailing slash."""
    read_only: bool = False
    """No task changes it."""
    # It has to be declared, because many sites change something by GET.
    safe_get: bool = False
    """Opening an address of it changes nothing, nor does a click on a plain link to one (RFC 9110, 9.2.1)."""
    effects_url: str | None = None
    """Address whose answer changes after every effect on the site, for actions in doubt; null = there is none."""
    login: Login | None = None
    """How the browser of each episode is logged in before it begins; null = it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings(Site):
    """`sites.NAME`: one site, by the name that tasks have for it."""

    name: str = derived()
    url: str | None = None  # type: ignore[assignment]  # of an embedded site, it is found when the site is served
    """The real base URL; null = that of an embedded site."""
    instances: tuple[str, ...] = ()
    """Real base URLs of further instances; once it is read, of all of them, `url` first and each once."""
    canonical: str = ""
    """The address shown to agents and in records; without it, `url` without credentials."""
    is_embedded: bool = derived()
    """Every lane has a site of its own, served by the harness."""
    server: str | None = None
    """Of an embedded site: the module that serves it; null = `sites.server`."""
    reset_command: str | None = None
    """Command that puts an instance back to its first state; `{url}` in it is the instance. null = `sites.reset`."""
    reset_url: str | None = None
    """Address that is sent a POST to put an instance back to its first state; `{url}` in it is the instance. null =
    `sites.reset`."""
    version: str | None = None
    """What is declared to be served, as the digest of an image; null = `sites.version`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetSettings:
    """`sites.reset`: the hook for all sites that have none of their own."""

    command: str | None = None
    """Command that puts an instance back to its first state; `{url}` in it is the instance."""
    url: str | None = None
    """Address that is sent a POST to put an instance back; `{url}` in it is the instance."""
    # A reset of a real deployment takes minutes.
    timeout_s: float = 900.0
    """A reset that takes longer has failed."""
    # Not by effects: a change by GET, or by a request that was under way at a kill, cannot be seen.
    when: ResetWhen = ResetWhen.DIRTY
    """When a site is reset."""
    scope: ResetScope = ResetScope.GIVEN
    """What the hook for all sites puts back."""
