"""Resets sites of your own deployment to their initial state: a command or a request, for one site or for all.

The command comes from the settings, never from a task. The environment variables CAIRN_SITES, CAIRN_URLS and CAIRN_TASK
name the sites, their addresses and the task; the command must reset only these sites. `{url}` in a hook is replaced by
the address of the instance. A hook for all sites without `{url}` cannot distinguish them, so it is called only while no
job uses any site. The embedded sites have their own hook, one for the instances of each lane.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from secrets import token_urlsafe

from harness.browser.network.reset_request import Hook, post_until_ok, retry_until_ok
from harness.browser.network.site_health import WaitPolicy
from harness.choices import ResetScope
from harness.config.site_settings import DEMO_SERVER, URL, SitesSettings
from harness.embedded_server import KEY_HEADER, KEY_VARIABLE
from harness.errors import ConfigError
from harness.journal.site_log import SiteInstance
from harness.records import Task
from harness.runner import shell
from harness.settings.sites import ResetSettings

_EMBEDDED_S = 10.0
_WRONG_KEY = (401, 403)
_NOT_IMPLEMENTED = 501


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetHooks:
    settings: ResetSettings
    """Of the hook for all sites."""
    commands: Mapping[str, str]
    """Commands by site; they take precedence over the one for all sites."""
    urls: Mapping[str, str]
    known: frozenset[str]
    """Sites with an address."""
    patience: WaitPolicy
    """With a hook that fails."""
    redact: Callable[[str], str]
    """Takes secrets out of what a command said."""

    def covers(self, site: str) -> bool:
        """Whether there is a hook for the site, or for all sites."""
        hooks = (self.settings.command, self.settings.url)
        named = any(hook is not None and (URL not in hook or site in self.known) for hook in hooks)
        return named or site in self.commands or site in self.urls

    def together(self, sites: Collection[str]) -> frozenset[str]:
        """The sites that can only be reset together."""
        url, command = self.settings.url, self.settings.command
        hook = url if command is None else command
        cannot_tell = command is None and url is not None and URL not in url
        if hook is None or not (cannot_tell or self.settings.scope is ResetScope.ALL):
            return frozenset()
        return frozenset(sites) - self.commands.keys() - self.urls.keys()

    async def reset(self, wanted: tuple[SiteInstance, ...], task: Task) -> None:
        """Reset the instances one after the other; a hook for all sites without `{url}` runs once."""
        rest: list[SiteInstance] = []
        for one in wanted:
            if one.site in self.commands:
                await self._run(f"sites.{one.site}.reset_command", self.commands[one.site], (one,), task)
            elif one.site in self.urls:
                await self._post(f"sites.{one.site}.reset_url", self.urls[one.site].replace(URL, one.url))
            else:
                rest.append(one)
        if rest and self.settings.command is not None:
            for some in ((one,) for one in rest) if URL in self.settings.command else (tuple(rest),):
                named = f"sites.reset.command for {', '.join(one.site for one in some)}"
                await self._run(named, self.settings.command, some, task)
        elif rest and self.settings.url is not None:
            for url in dict.fromkeys(self.settings.url.replace(URL, one.url) for one in rest):
                await self._post("sites.reset.url", url)

    def missing(self) -> Iterator[str]:
        """A sentence for every command that cannot be run at all."""
        own = {f"sites.{name}.reset_command": command for name, command in self.commands.items()}
        for setting, command in {"sites.reset.command": self.settings.command, **own}.items():
            if command is not None and (word := shell.find_missing_program(command)) is not None:
                yield f"{setting}: there is no command {word}, or it is not executable; correct it or give its path"

    async def _run(self, setting: str, command: str, instances: Sequence[SiteInstance], task: Task) -> None:
        variables = {
            "CAIRN_SITES": ",".join(one.site for one in instances),
            "CAIRN_URLS": ",".join(one.url for one in instances),
            "CAIRN_TASK": task.task_id,
        }

        async def attempt() -> str | None:
            ended = await shell.run_command(
                command.replace(URL, instances[0].url), variables=variables, timeout_s=self.settings.timeout_s
            )
            if ended.code == 0:
                return None
            if ended.code is None:
                return f"it did not finish within {self.settings.timeout_s:g} s (sites.reset.timeout_s)"
            last = f" ({self.redact(ended.said)[:200]})" if ended.said else ""
            # No wait can mend these; any other code may be a busy machine: a late `docker restart` ended a run of a
            # thousand tasks.
            if ended.code in shell.NO_COMMAND:
                raise ConfigError(
                    f"{setting}: it ended with code {ended.code}{last}, so a command is missing or not "
                    "executable; fix it and run the same command to continue"
                )
            return f"it ended with code {ended.code}{last}"

        await retry_until_ok(attempt, hook=setting, patience=self.patience)

    async def _post(self, setting: str, url: str) -> None:
        await post_until_ok(Hook(url, setting), timeout_s=self.settings.timeout_s, patience=self.patience)


class EmbeddedResetHooks:
    """Resets the embedded sites of a lane."""

    def __init__(self, patience: WaitPolicy | None = None) -> None:
        """`patience`: how long a server that does not answer, or answers with an error, is asked again."""
        self.port: int | None = None
        """Where they are served; known once they are started."""
        self.key = token_urlsafe(24)
        """What they want to hear first; another one for each start of a run."""
        self._patience = patience or WaitPolicy(limit_s=_EMBEDDED_S)

    async def reset(self, wanted: tuple[SiteInstance, ...], _: Task) -> None:
        """Reset the instances one after the other; takes milliseconds."""
        assert self.port is not None, "the embedded sites start before the run begins"
        for one in wanted:
            url = f"{one.url}:{self.port}/__reset__"
            hook = Hook(url, f"reset of {one.site}", {KEY_HEADER: self.key}, partial(why_foreign, self.port))
            await post_until_ok(hook, timeout_s=_EMBEDDED_S, patience=self._patience)


def why_foreign(port: int | None, status: int) -> str:
    """What the answer to a reset says of who serves `sites.port`; "" = the sites do, as far as it shows."""
    where = f"sites.port={port}"
    if status in _WRONG_KEY:
        return (
            f"the sites on {where} were started with another {KEY_VARIABLE}; start them and the run with the same one"
            " in the environment, or set sites.port=null"
        )
    if 400 <= status < 500 or status == _NOT_IMPLEMENTED:
        return (
            f"another program answers on {where} (status {status} to a reset); give the port of"
            f" python -m {DEMO_SERVER}, or null to start the sites for the run"
        )
    return ""


def build_reset_hooks(
    sites: SitesSettings, patience: WaitPolicy | None = None, redact: Callable[[str], str] = str
) -> ResetHooks:
    """What is configured.

    Args:
        patience: How long a hook that fails is tried again, and who hears of it; None = they will not be run.
        redact: Takes secrets out of what a command said.
    """
    return ResetHooks(
        settings=sites.reset,
        commands={name: site.reset_command for name, site in sites.by_name.items() if site.reset_command},
        urls={name: site.reset_url for name, site in sites.by_name.items() if site.reset_url},
        patience=patience or WaitPolicy(limit_s=0.0),
        redact=redact,
        known=frozenset(sites.instances),
    )


def unresettable(sites: SitesSettings, tasks: Sequence[Task]) -> list[str]:
    """Ids of tasks that require a reset for which there is no hook."""
    if sites.embedded:
        return []
    configured = build_reset_hooks(sites)
    return [
        task.task_id
        for task in tasks
        if task.require_reset and not all(configured.covers(site) for site in task.sites or ("",))
    ]
