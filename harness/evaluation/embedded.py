"""The embedded servers of a run: sites and scripted endpoint, started when the settings ask for them."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from harness.codec import digest, dumps
from harness.config.site_settings import SitesSettings
from harness.embedded_server import KEY_VARIABLE, EmbeddedServer, launch_server
from harness.errors import ConfigError
from harness.evaluation.embedded_endpoint import ENDPOINTS, endpoint_of
from harness.evaluation.run_context import RunContext
from harness.settings.models import LlmSettings
from harness.settings.task import TaskSettings

_ROUTER = "harness.runner.site_router"
_REACH_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedServers:
    """The addresses of the embedded servers."""

    sites_port: int | None
    """None = the sites are your own deployment."""
    base_url: str | None
    """Address of the scripted endpoint; None = the configured one."""


@asynccontextmanager
async def embedded_servers(context: RunContext) -> AsyncIterator[EmbeddedServers]:
    """Start them; leaving the context ends them."""
    config = context.config
    async with AsyncExitStack() as closing:
        # Both are launched before either is waited for, so that they import at the same time.
        sites = await _launch_sites(context, closing) if config.sites.embedded else None
        endpoint = await _launch_endpoint(context, closing) if is_embedded_endpoint(config.llm) else None
        port, base_url = config.sites.port if config.sites.embedded else None, None
        if sites is not None:
            port = await closing.enter_async_context(sites.serving("the embedded sites", context.say))
        if endpoint is not None:
            serving = endpoint.serving("the scripted endpoint", context.say)
            base_url = f"http://127.0.0.1:{await closing.enter_async_context(serving)}/v1"
        context.embedded.port = port
        yield EmbeddedServers(sites_port=port, base_url=base_url)


def check_reach(where: EmbeddedServers) -> None:
    """See that the embedded servers serve this machine, too: they listen on the loopback of the one that started the
    run.

    Raises:
        ConfigError: They do not.
    """
    ports = {"the embedded sites": where.sites_port, "the scripted endpoint": urlsplit(where.base_url or "").port}
    for what, port in ports.items():
        if port is None:
            continue
        try:
            socket.create_connection(("127.0.0.1", port), timeout=_REACH_S).close()
        except OSError as error:
            raise ConfigError(
                f"{what} cannot be reached from {socket.gethostname()}: they serve only the machine that started the"
                " run; give sites and an endpoint that all machines can reach (sites.NAME.url, llm.base_url)"
            ) from error


async def _launch_sites(context: RunContext, closing: AsyncExitStack) -> EmbeddedServer | None:
    """None = another process has started them."""
    if context.config.sites.port is not None:
        context.embedded.key = os.environ.get(KEY_VARIABLE, "")
        return None
    # Not in the run folder, which may be far away; the server deletes it, too, when the run was killed.
    state = closing.enter_context(TemporaryDirectory(prefix="cairn-sites-", ignore_cleanup_errors=True))
    return await closing.enter_async_context(
        launch_server(
            *site_server(context.config.sites, Path(state)),
            log=context.run.path / "sites.log",
            variables={KEY_VARIABLE: context.embedded.key},
        )
    )


def site_server(sites: SitesSettings, state: Path) -> tuple[str, ...]:
    """Module and arguments of the server of the embedded sites, or of several; `state` is for what they remember."""
    servers = sites.servers
    # Workers, locks and resets know one port; the router copies each byte, which a single server is spared.
    given = (sites.server,) if len(servers) < 2 else (_ROUTER, "--servers", dumps(servers).decode())
    # Without it, a server that is started again would look healthy, and the agent's cart would be empty.
    return (*given, "--state", str(state))


def is_embedded_endpoint(llm: LlmSettings) -> bool:
    return llm.kind in ENDPOINTS.names() and llm.base_url is None


def plans_digest(llm: LlmSettings, task: TaskSettings) -> str | None:
    """Of the plans that the embedded endpoint plays, however they are written down; None = it is not used.

    Raises:
        ConfigError: There are none, or they cannot be read.
    """
    return digest(_plans(llm, task)) if is_embedded_endpoint(llm) else None


def _plans(llm: LlmSettings, task: TaskSettings) -> list[Any]:
    if llm.plans is not None:
        return endpoint_of(llm.kind).plan_entries(Path(llm.plans))
    if not task.members:
        raise ConfigError("llm.plans is not set: llm=scripted needs a plan file for these tasks, llm.plans=FILE")
    from harness.evaluation.suite_file import suite_plans  # reads YAML, which a worker does without

    return suite_plans(task.members, endpoint_of(llm.kind).plan_entries)


async def _launch_endpoint(context: RunContext, closing: AsyncExitStack) -> EmbeddedServer:
    llm, run, endpoint = context.config.llm, context.run, endpoint_of(context.config.llm.kind)
    plans, told = llm.plans, b""
    if plans is None:
        plans = str(run.write("plans.json", told := dumps(_plans(llm, context.config.task))))
    intents = {task.task_id: task.intent for task in context.tasks}
    placeholders = {f"__{name.upper()}__": base for name, base in context.config.sites.canonical_bases.items()}
    # Here a wrong file is a usage error.
    endpoint.check(Path(plans), llm.faults, intents, placeholders=placeholders, reveal=run.redactor.reveal_data)
    arguments = {
        "--intents": str(run.write("intents.json", dumps(intents))),
        "--plans": plans,
        "--placeholders": dumps(placeholders).decode(),
        "--faults": dumps(llm.faults).decode(),
        "--latency-ms": str(llm.latency_ms),
    }
    pairs = [part for pair in arguments.items() for part in pair]
    # In the environment: the files hold marks in their place, and other users can see the arguments of a process.
    secrets = run.redactor.secrets_in(dumps(intents) + told)
    return await closing.enter_async_context(
        launch_server(
            endpoint.module,
            *pairs,
            log=run.path / "endpoint.log",
            variables={endpoint.secrets_variable: dumps(secrets).decode()} if secrets else {},
        )
    )
