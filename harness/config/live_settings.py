"""The settings below `sites.live`: rules of a run on the live web."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.browser.live.rules import LiveRules

LIVE = "live"
"""The site that tasks on the live web name; it has no address of its own."""


def read_live(tree: object) -> "LiveRules | None":
    """The rules; None = there are none, and the run is not on the live web.

    Raises:
        ConfigError: One of them is unknown or cannot be used.
    """
    if tree is None:
        return None
    from harness.browser.live.rules import LiveRules  # `--help` must not wait for it

    known = {one.name: one.metadata.get("bounds") for one in fields(LiveRules)}
    if not isinstance(tree, Mapping):
        raise ConfigError(f"sites.live must be a mapping, not {tree!r:.80}; known keys: {', '.join(sorted(known))}")
    if unknown := sorted(set(tree) - known.keys()):
        raise ConfigError(f"sites.live.{unknown[0]} is unknown; known keys: {', '.join(sorted(known))}")
    default = LiveRules()
    agent, robots = tree.get("agent", default.agent), tree.get("robots", default.robots)
    if not isinstance(agent, str) or not agent.replace("-", "").replace("_", "").isalpha():
        raise ConfigError(f"sites.live.agent={agent!r:.80} is no product token; give letters, `-` and `_`")
    if not isinstance(robots, bool):
        raise ConfigError(f"sites.live.robots={robots!r:.80} cannot be used; it is true or false")
    return LiveRules(
        allow=_hosts(tree, "allow"),
        deny=_hosts(tree, "deny"),
        pages_per_minute=_number(tree, "pages_per_minute", default.pages_per_minute, known),
        pages_per_host=int(_number(tree, "pages_per_host", default.pages_per_host, known)),
        robots=robots,
        agent=agent.lower(),
    )


def _hosts(tree: Mapping[str, Any], key: str) -> tuple[str, ...]:
    from harness.browser.live.rules import is_pattern

    given = tree.get(key) or []
    if not isinstance(given, list | tuple):
        raise ConfigError(f"sites.live.{key} must be a list of hosts, not {given!r:.80}")
    hosts = tuple(str(one).lower().rstrip(".") for one in given)
    for host in hosts:
        if not is_pattern(host):
            raise ConfigError(f"sites.live.{key}: {host!r:.80} is no host; give names such as a.com or *.a.com")
    return hosts


def _number(tree: Mapping[str, Any], key: str, default: float, known: Mapping[str, Any]) -> float:
    value = tree.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not known[key].hold(value):
        raise ConfigError(f"sites.live.{key}={value!r:.80} cannot be used; give a number {known[key]}")
    return float(value)
