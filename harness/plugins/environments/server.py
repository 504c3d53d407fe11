"""`harness serve`, from the first lane to the last answer."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import __version__
from harness.api import ConfigError, HostedRun, Hosting, HostingRequest
from harness.api.http_server import Clients, WebSockets, call_when_input_ends, serving
from harness.api.settings import ObservationType
from harness.plugins.environments.app import MAX_BODY, EnvironmentServer, Shape
from harness.plugins.environments.hub import Hub
from harness.plugins.environments.ledger import Ledger
from harness.plugins.environments.rewards import Shaping
from harness.plugins.environments.sessions import Environments
from harness.plugins.environments.slots import Patience

_AGENT = ("agent='null'", "agent._target_=harness.plugins.environments.agent.ClientAgent", "agent.name=client")
_PING_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What is served, and to whom."""

    overrides: tuple[str, ...]
    shaping: Shaping | None
    """Rewards before the end; None = those of the benchmark only."""
    config_dir: Path | None
    environments: int
    host: str
    port: int
    token: str | None
    watches_stdin: bool
    """Whether the end of standard input is the end: it comes, however the program ends that holds it."""
    typed: bool
    browsergym: bool
    patience: Patience


async def serve(wanted: Serving, hosting: Hosting, announce: Callable[[str], None]) -> None:
    """Serve until the person asks for the end.

    Raises:
        HarnessError: The run cannot be begun or cannot go on, or the address cannot be used.
    """
    found: list[Environments] = []
    hub = Hub(asks=lambda one: found[0].asked(one), hangs_up=lambda one: found[0].hung_up(one))
    with listen(wanted.host, wanted.port) as listener:
        request = HostingRequest(
            overrides=(*_AGENT, *_rewards(wanted.shaping), *wanted.overrides),
            config_dir=wanted.config_dir,
            shows=frozenset(ObservationType) - {ObservationType.marks},
            episodes=wanted.environments,
            answer=hub.answer,
            tell=lambda news: found[0].told(news),
            stalled=lambda why: found[0].stalled(why),
        )
        async with hosting(request) as run:
            with Ledger(run.folder) as ledger:
                served = Environments(
                    run, ledger, slots=wanted.environments, patience=wanted.patience, shaping=wanted.shaping
                )
                found.append(served)
                shape = Shape(version=__version__, typed=wanted.typed, browsergym=wanted.browsergym)
                app = EnvironmentServer(served, shape).app(wanted.token, host=wanted.host)
                sockets = WebSockets(max_bytes=MAX_BODY, ping_every_s=_PING_S)
                clients = Clients(most=4 * wanted.environments + 64)
                async with serving(app, listener=listener, clients=clients, sockets=sockets) as port:
                    announce(address_of(wanted.host, port))
                    try:
                        await _ended(run, watches_stdin=wanted.watches_stdin)
                    finally:
                        served.stop()


def _rewards(shaping: Shaping | None) -> tuple[str, ...]:
    """The setting by which workers know of them: the agent's, so a run folder holds one kind of rewards."""
    return () if shaping is None else (f"+agent.arguments.rewards={shaping.name}",)


async def _ended(run: HostedRun, *, watches_stdin: bool) -> None:
    """Wait for the end. Raises: HarnessError: The run cannot go on."""
    waiting: list[asyncio.Future[None]] = [asyncio.ensure_future(run.stopped())]
    if watches_stdin:
        ends: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(ends)
        call_when_input_ends(ends.cancel)
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if waiting[0].done():
        await waiting[0]
    else:
        waiting[0].cancel()


def address_of(host: str, port: int) -> str:
    """Where clients reach it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """Raises: ConfigError: The address cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{host}:{port} cannot be used: {why}; choose another with --host and --port") from error
