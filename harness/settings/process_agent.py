"""What can be set of an agent that is a process."""

from dataclasses import dataclass

from harness.choices import Sandbox
from harness.settings.agents import ToolsSettings
from harness.settings.fields import setting


@dataclass(frozen=True)
class ProcessSettings(ToolsSettings):
    """Of `agent.kind=process`."""

    # Measured without the path of the environment, which differs from machine to machine.
    command: tuple[str, ...] = setting((), added=True)
    """`agent.kind=process` only: the program and its arguments. `{agents}/NAME` begins a path in the environment that
    `harness agents install NAME` makes, `{examples}` one in the folder of the shipped scripts."""
    env: dict[str, str] = setting(factory=dict, added=True)
    """`agent.kind=process` only: further variables of its environment, which has none of ours that could hold a key."""
    cwd: str | None = setting(None, measured=False)
    """`agent.kind=process` only: the folder it runs in; null = the one in which the run was started."""
    sandbox: Sandbox = setting(Sandbox.auto, measured=False)
    """`agent.kind=process` only: what confines the process."""
    # What may be read is listed, because no list has all places of secrets and of copies of tasks.
    readable: tuple[str, ...] = setting((), measured=False)
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
    volatile: tuple[str, ...] = setting((), measured=False)
    """`agent.kind=process` only: what differs in the requests of a process that is started again and means nothing:
    regular expressions that are looked for in texts, and JSON pointers (`/metadata/id`, `/messages/*/id`) into the
    body."""
