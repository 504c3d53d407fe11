"""`harness serve`: the tasks of a run as environments for whoever trains an agent."""

import argparse
import os
from pathlib import Path

from harness.api import ConfigError, ExitCode
from harness.plugins.environments.rewards import shaping_of

HELP = "serve tasks as environments to train on, over OpenEnv's protocol"
EXAMPLE = "harness serve task=demo environments=8"

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OBSERVATIONS = ("openenv", "browsergym")
_TOKEN = "CAIRN_SERVE_TOKEN"
_REWARDS = "rewards._target_"
_MOST = 4096


def arguments(parser: argparse.ArgumentParser) -> None:
    """See `harness.api.Command`."""
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="settings as for harness run; and environments=N (default: 4), obs=openenv|browsergym,"
        " rewards._target_=CLASS",
    )
    parser.add_argument("--config-dir", type=Path, metavar="DIR", help="folder of your own configurations")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="port (default: 8000; 0 = a free one)")
    parser.add_argument("--no-token", action="store_true", help="let everyone who reaches --host play")
    parser.add_argument("--until-stdin-ends", action="store_true", help="end with the program that starts it")
    parser.add_argument("--typed", action="store_true", help="/schema has a schema for each action, not text")
    parser.add_argument("--queue", type=float, default=10.0, metavar="S", help="a reset waits S for a free place")
    parser.add_argument("--lease", type=float, default=600.0, metavar="S", help="an idle session ends after S")
    parser.add_argument("--grace", type=float, default=30.0, metavar="S", help="a lost client may resume within S")


def run(options: argparse.Namespace) -> int:
    """See `harness.api.Command`."""
    import asyncio
    import sys

    from harness.plugins.environments.server import Serving, serve
    from harness.plugins.environments.slots import Patience

    own, overrides = _own(options.overrides)
    for name in ("queue", "lease", "grace"):
        if not 0 <= getattr(options, name) < 10**7:
            raise ConfigError(f"--{name} {getattr(options, name):g} cannot be used; give a number of seconds")
    if not 0 <= options.port < 65536:
        raise ConfigError(f"--port {options.port} is not a port; give a number below 65536")
    wanted = Serving(
        overrides=overrides,
        shaping=shaping_of(own.get(_REWARDS)),
        config_dir=options.config_dir,
        environments=_number(own.get("environments", "4")),
        host=options.host,
        port=options.port,
        watches_stdin=options.until_stdin_ends,
        token=_token(options.host, no_token=options.no_token),
        typed=options.typed,
        browsergym=_observation(own.get("obs", "openenv")) == "browsergym",
        patience=Patience(queue_s=options.queue, lease_s=options.lease, grace_s=options.grace),
    )

    def announce(url: str) -> None:
        sys.stdout.write(f"environment server ready on {url}\n")
        sys.stdout.flush()

    asyncio.run(serve(wanted, options.hosting, announce))
    return ExitCode.DONE


def _own(given: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """What is said to the server, and the settings of the run."""
    pairs = [(one.partition("=")[0], one) for one in given]
    own = {name: one.partition("=")[2] for name, one in pairs if name in ("environments", "obs", _REWARDS)}
    if named := [one for name, one in pairs if name == "agent" or name.startswith("agent.")]:
        raise ConfigError(f"{named[0][:80]}: the agent is whoever connects; leave it out")
    return own, tuple(one for name, one in pairs if name not in own)


def _number(said: str) -> int:
    if not (said.isascii() and said.isdigit() and 0 < int(said[:9]) <= _MOST):
        raise ConfigError(f"environments={said[:40]} is not a number from 1 to {_MOST}")
    return int(said)


def _observation(said: str) -> str:
    if said not in _OBSERVATIONS:
        raise ConfigError(f"obs={said[:40]} is unknown; choose one of {', '.join(_OBSERVATIONS)}")
    return said


def _token(host: str, *, no_token: bool) -> str | None:
    token = os.environ.get(_TOKEN) or None
    if token is None and host not in _LOOPBACK and not no_token:
        raise ConfigError(
            f"--host {host} can be reached by others: set {_TOKEN}, which clients then give as Authorization: Bearer,"
            " or say --no-token"
        )
    return token
