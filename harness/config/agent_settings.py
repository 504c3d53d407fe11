"""The settings of the agent, and of a class that takes the place of a shipped one."""

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from harness.choices import Sandbox, ValueRange
from harness.settings.fields import Tree, setting

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
AGENT_KINDS = ("prompt", "tools", "computer", "process", "null", "random")


@dataclass
class PluginConfig:
    """A class that takes the place of a shipped one; see `harness.api` for what it must look like.

    Measured by `plugin_packages.measured_plugin`, and only where there is one: a run made before is measured the same.
    """

    _target_: str | None = setting(None, measured=False)
    """Dotted path of a class of your own, `my_package.module.Class`; null = the shipped one."""
    arguments: Tree = setting(factory=dict, measured=False)
    """What the constructor of the class is given, by name."""

    def __post_init__(self) -> None:
        self._target_ = _PATHS_NOW.get(self._target_ or "", self._target_)


@dataclass
class ImageConfig:
    """The pictures of a page that a model is sent."""

    max_pixels: int | None = setting(None, bounds=ValueRange(10_000, 1 << 28))
    """A larger picture is scaled down to this many; null = as the browser gives it."""
    detail: str | None = None
    """Sent as it is (`low`, `high`, `auto`); null = not sent."""


@dataclass
class AgentConfig(PluginConfig):
    """Which agent acts, and what its model is told."""

    name: str = setting(MISSING, filled=True)
    """Part of the run's name, and how reports call the agent."""
    kind: str = setting("prompt", added=True, choices=AGENT_KINDS)
    """Which shipped agent: one with a prompt per step, with function calls, with mouse and keyboard, a program of your
    own, or one of the baselines `null` and `random`."""
    system: str = ""
    """Introduction; `{actions}` is replaced by the description of the action set."""
    actions: dict[str, str] = field(default_factory=dict)
    """Action set to its description."""
    examples: list[Any] = field(default_factory=list)
    """Example turns, each `{user: TEXT, assistant: REPLY}`; the reply is one text, or one for each action set."""
    template: str = ""
    """User message with `{observation} {notices} {url} {objective} {previous_actions}`."""
    splitter: str = setting("```", filled=True)
    """What opens and closes the action in a reply."""
    example_role: str = setting("system", filled=True, choices=("system", "user"))
    """`system`: examples are system messages named example_user and example_assistant; `user`: they are turns of the
    conversation, for models that accept nothing else."""
    max_observation_tokens: int = 4000
    """What the text of a page may take of the prompt, in tokens that are counted without a tokenizer, about a third
    more than GPT's for English prose; the rest is cut. 0 = no limit."""
    parsing_retries: int = setting(0, bounds=ValueRange(0, 1000))
    """How often a step is asked again after an unreadable reply, before that counts as a step."""
    history: int = setting(0, added=True)
    """Past steps repeated in the prompt as turns of the conversation, at most."""
    history_tokens: int = setting(120_000, added=True)
    """What past steps may take of the prompt, in tokens of three bytes; half of them are dropped when it is too much.
    """
    strict: bool = setting(True, added=True)
    """`agent.kind=tools` only: whether the endpoint shall enforce the schemas of calls, where it can."""
    safety_checks: str = setting("acknowledge", added=True, choices=("acknowledge", "stop"))
    """`agent.kind=computer` only: what becomes of a call that its provider wants to have checked: `acknowledge` (it is
    performed, as no person watches) or `stop` (the episode ends)."""
    legend: bool = setting(False, added=True)
    """`agent.kind=computer` only: also say where elements are. For tests: it shows a model more than its tool does."""
    memory: bool = setting(False, added=True)
    """Whether the agent may keep a note from step to step."""
    needs: str | None = setting(None, added=True)
    """The part of `observation.type` without which the prompt makes no sense, as `marks`."""
    tree: bool = setting(False, added=True)
    """The page's text is shown also where `observation.type` is of pictures only."""
    image: ImageConfig = setting(factory=ImageConfig, added=True)
    command: list[str] = setting(factory=list, added=True)
    """`agent.kind=process` only: the program and its arguments. `{agents}/NAME` begins a path in the environment that
    `harness agents install NAME` makes, `{examples}` one in the folder of the shipped scripts."""
    env: dict[str, str] = setting(factory=dict, added=True)
    """`agent.kind=process` only: further variables of its environment, which has none of ours that could hold a key."""
    cwd: str | None = setting(None, measured=False)
    """`agent.kind=process` only: the folder it runs in; null = the one in which the run was started."""
    sandbox: Sandbox = setting(Sandbox.auto, measured=False)
    """`agent.kind=process` only: what confines the process."""
    readable: list[str] = setting(factory=list, measured=False)
    """`agent.kind=process` only: files and folders that a confined process may read besides its program, its folder and
    what its command names."""
    browser: str = setting("mcp", added=True, choices=("mcp", "cdp", "none"))
    """`agent.kind=process` only. `mcp`: the actions are tools of an MCP server, and plain HTTP calls; `cdp`: it drives
    the browser itself, over CDP; `none`: it can only stop with an answer."""
    timeout_s: float = setting(1800.0, added=True)
    """`agent.kind=process` only: a process that takes longer is ended, and so is its episode."""
    model: str | None = setting(None, added=True)
    """`agent.kind=process` only: sent on in the place of the model that a request names; null = requests are sent on as
    they are."""
    volatile: list[str] = setting(factory=list, measured=False)
    """`agent.kind=process` only: what differs in the requests of a process that is started again and means nothing:
    regular expressions that are looked for in texts, and JSON pointers (`/metadata/id`, `/messages/*/id`) into the
    body."""
