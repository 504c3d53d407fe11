"""The settings of the agent, and of a class that takes the place of a shipped one."""

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from harness.choices import Sandbox
from harness.config.schema_fields import Tree, setting

FIRST_PATHS = {"harness.benchmarks.miniwob.miniwob.MiniWob": "harness.benchmarks.miniwob.benchmark.MiniWob"}
"""Shipped classes that were moved, to their first path: it is still understood, and runs are measured by it, so that
run folders from before the move are resumed."""
FIRST_PLACES = {
    "{agents}/browser-use/bin/python": ".venv-agents/browser-use/bin/python",
    "{agents}/playwright-mcp/bin/python": ".venv-agents/clients/bin/python",
    "{agents}/playwright-mcp/node_modules/.bin/playwright-mcp": (
        ".venv-agents/playwright-mcp/node_modules/.bin/playwright-mcp"
    ),
    "{examples}/browser_use_agent.py": "docs/examples/agents/browser_use_agent.py",
    "{examples}/playwright_mcp.py": "docs/examples/agents/playwright_mcp.py",
}
"""Parts of commands of shipped agents to what stood there first: runs are measured by it, for the same reason."""
_PATHS_NOW = {first: now for now, first in FIRST_PATHS.items()}


@dataclass
class PluginConfig:
    """A class that takes the place of a shipped one; see `harness.api` for what it must look like.

    Measured by `plugin_packages.measured_plugin`, and only where there is one: a run made before is measured the same.
    """

    _target_: str | None = setting(None, measured=False)
    """Its dotted path, `my_package.module.Class`; null = the shipped one."""
    arguments: Tree = setting(factory=dict, measured=False)
    """What its constructor is given, by name."""

    def __post_init__(self) -> None:
        self._target_ = _PATHS_NOW.get(self._target_ or "", self._target_)


@dataclass
class ImageConfig:
    """The pictures of a page that a model is sent."""

    max_pixels: int | None = None
    """A larger picture is scaled down to this many; null = as the browser gives it."""
    detail: str | None = None
    """Sent as it is (`low`, `high`, `auto`); null = not sent."""


@dataclass
class AgentConfig(PluginConfig):
    name: str = MISSING
    kind: str = setting("prompt", added=True)
    """Which shipped agent: `prompt`, `tools`, `computer`, or one of the baselines `null` and `random`."""
    system: str = ""
    """Introduction; `{actions}` is replaced by the description of the action set."""
    actions: dict[str, str] = field(default_factory=dict)
    """Action set to its description."""
    examples: list[Any] = field(default_factory=list)
    template: str = ""
    """User message with `{observation} {notices} {url} {objective} {previous_actions}`."""
    splitter: str = "```"
    example_role: str = "system"
    max_observation_tokens: int = 4000
    parsing_retries: int = 0
    """How often a step is asked again after an unreadable reply, before that counts as a step."""
    history: int = setting(0, added=True)
    """Past steps repeated in the prompt as turns of the conversation, at most."""
    history_tokens: int = setting(120_000, added=True)
    """What they may take of the prompt, in tokens of three bytes; half of them goes at once when it is too much."""
    strict: bool = setting(True, added=True)
    """Tools only: whether the endpoint shall enforce the schemas of calls, where it can."""
    safety_checks: str = setting("acknowledge", added=True)
    """Computer only: what becomes of a call that its provider wants to have checked: `acknowledge` (it is performed, as
    no person watches) or `stop` (the episode ends)."""
    legend: bool = setting(False, added=True)
    """Computer only: also say where elements are. For tests: it shows a model more than its tool does."""
    memory: bool = setting(False, added=True)
    """Whether the agent may keep a note from step to step."""
    needs: str | None = setting(None, added=True)
    """The part of `observation.type` without which the prompt makes no sense, as `marks`."""
    tree: bool = setting(False, added=True)
    """The page's text is shown also where `observation.type` is of pictures only."""
    image: ImageConfig = setting(factory=ImageConfig, added=True)
    command: list[str] = setting(factory=list, added=True)
    """Process only, as all below: the program and its arguments. `{agents}/NAME` begins a path in the environment that
    `harness agents install NAME` makes, `{examples}` one in the folder of the shipped scripts."""
    env: dict[str, str] = setting(factory=dict, added=True)
    """Further variables of its environment, which has none of ours that could hold a key."""
    cwd: str | None = setting(None, measured=False)
    """The folder it runs in; null = the one in which the run was started."""
    sandbox: Sandbox = setting(Sandbox.auto, measured=False)
    """What confines the process: `bubblewrap`, `none`, or `auto`, bubblewrap where it works."""
    readable: list[str] = setting(factory=list, measured=False)
    """Files and folders that a confined process may read besides its program, its folder and what its command names."""
    browser: str = setting("mcp", added=True)
    """`mcp`: the actions are tools of an MCP server, and plain HTTP calls; `cdp`: it drives the browser itself, over
    CDP; `none`: it can only stop with an answer."""
    timeout_s: float = setting(1800.0, added=True)
    """A process that takes longer is ended, and so is its episode."""
    model: str | None = setting(None, added=True)
    """Sent on in the place of the model that a request names; null = requests are sent on as they are."""
    volatile: list[str] = setting(factory=list, measured=False)
    """What differs in the requests of a process that is started again and means nothing: regular expressions that are
    looked for in texts, and JSON pointers (`/metadata/id`, `/messages/*/id`) into the body."""
