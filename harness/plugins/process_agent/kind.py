"""Makes the agent that is a process (`agent=process`)."""

import asyncio
from dataclasses import replace
from pathlib import Path

from harness.api.agent_kinds import AgentContext, LaneServices, tool_box
from harness.api.gateway import Passthrough
from harness.api.processes import choose_sandbox
from harness.api.settings import ObservationType, ProcessSettings
from harness.plugins.process_agent.agent_process import find_program, process_environment
from harness.plugins.process_agent.file_view import FileView, view_of
from harness.plugins.process_agent.found_results import results_in
from harness.plugins.process_agent.process_plan import ProcessPlan
from harness.plugins.process_agent.request_key import Volatile
from harness.plugins.process_agent.session import ProcessAgent
from harness.plugins.process_agent.shipped_agents import placed_command

_SHARED = (Path("/opt"), Path("/usr/local"))
"""Of what every confined process may read, where people put files of their own."""


class ProcessKind:
    """Fits `SessionAgentKind`."""

    def check(self, settings: ProcessSettings, context: AgentContext) -> None:
        """See `AgentKind.check`."""
        tool_box(settings, context)
        made = _plan(settings, context)
        if made.sandbox is not None:
            _view(made)

    def drives_browser(self, settings: ProcessSettings) -> bool:
        """See `SessionAgentKind.drives_browser`."""
        return settings.browser == "cdp"

    async def start(self, settings: ProcessSettings, context: AgentContext, services: LaneServices) -> ProcessAgent:
        """See `SessionAgentKind.start`."""
        passthrough = await services.passthrough(settings.model)
        # It looks through folders.
        return await asyncio.to_thread(build_process_agent, settings, context, services, passthrough)


def build_process_agent(
    settings: ProcessSettings,
    context: AgentContext,
    services: LaneServices,
    passthrough: Passthrough | None,
) -> ProcessAgent:
    """The agent of one lane.

    Args:
        settings: Its own.
        context: What else it is made with.
        services: Of the run.
        passthrough: To the run's model; None = there is none.
    Raises:
        ConfigError: The command cannot be run, or a setting cannot be used.
    """
    made = replace(_plan(settings, context), hidden=services.hidden())
    if made.sandbox is not None:
        found = (*results_in(_view(made).given), *results_in(_SHARED, limited=False))
        made = replace(made, hidden=(*made.hidden, *found))
    box = tool_box(settings, context)
    return ProcessAgent(plan=made, box=box, passthrough=passthrough, stopping=services.stopping)


def _view(made: ProcessPlan) -> FileView:
    settings = made.settings
    return view_of(
        made.command, cwd=settings.cwd, environment=settings.env, readable=settings.readable, hidden=made.hidden
    )


def _plan(settings: ProcessSettings, context: AgentContext) -> ProcessPlan:
    command = placed_command(settings.command)
    program = find_program(command, settings.cwd, process_environment(settings.env))
    return ProcessPlan(
        settings=settings,
        command=(program, *command[1:]),
        sandbox=choose_sandbox(settings.sandbox)[0],
        pictures=ObservationType.image in context.observation.parts,
        volatile=Volatile.of(settings.volatile),
        on_divergence=context.on_divergence,
        model=context.model,
    )
