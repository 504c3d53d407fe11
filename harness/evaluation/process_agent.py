"""Makes the agent that is a process (`agent=process`)."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from harness.choices import ObservationType
from harness.evaluation.agent_kinds import AgentSettings, tool_box
from harness.evaluation.found_results import results_in
from harness.evaluation.shipped_agents import placed_command
from harness.gateway.agent_process import find_program, process_environment
from harness.gateway.request_key import Volatile
from harness.gateway.sandbox.bubblewrap import choose_sandbox
from harness.gateway.sandbox.file_view import view_of
from harness.gateway.session import ProcessAgent
from harness.gateway.settings import ProcessSettings
from harness.llm.passthrough import Passthrough

_SHARED = (Path("/opt"), Path("/usr/local"))
"""Of what every confined process may read, where people put files of their own."""


def check_process_agent(settings: AgentSettings) -> None:
    """See that `build_process_agent` will make one.

    Raises:
        ConfigError: The command cannot be run, or a setting cannot be used.
    """
    tool_box(settings)
    made = _process_settings(settings)
    if made.sandbox is not None:
        view_of(made.command, cwd=made.cwd, environment=made.environment, readable=made.readable)


def build_process_agent(
    settings: AgentSettings,
    passthrough: Passthrough | None,
    stopping: Callable[[], Awaitable[None]],
    hidden: tuple[Path, ...] = (),
) -> ProcessAgent:
    """The agent of one lane.

    Args:
        passthrough: To the run's model; None = there is none.
        stopping: Waits until the run is to stop.
        hidden: What it may not read in a sandbox.
    Raises:
        ConfigError: The command cannot be run, or a setting cannot be used.
    """
    made = _process_settings(settings)
    if made.sandbox is not None:
        view = view_of(made.command, cwd=made.cwd, environment=made.environment, readable=made.readable, hidden=hidden)
        hidden = (*hidden, *results_in(view.given), *results_in(_SHARED, limited=False))
    made = replace(made, hidden=hidden)
    return ProcessAgent(settings=made, box=tool_box(settings), passthrough=passthrough, stopping=stopping)


def _process_settings(settings: AgentSettings) -> ProcessSettings:
    agent = settings.agent
    command = placed_command(agent.command)
    program = find_program(command, agent.cwd, process_environment(agent.env))
    return ProcessSettings(
        command=(program, *command[1:]),
        environment=dict(agent.env),
        cwd=agent.cwd,
        sandbox=choose_sandbox(agent.sandbox)[0],
        readable=tuple(agent.readable),
        browser=agent.browser == "mcp",
        cdp=agent.browser == "cdp",
        pictures=ObservationType.image in settings.observation.parts,
        timeout_s=agent.timeout_s,
        volatile=Volatile.of(agent.volatile),
        on_divergence=settings.on_divergence,
        model=settings.model,
        max_observation_tokens=agent.max_observation_tokens,
    )
