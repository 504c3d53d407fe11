"""An agent whose model has a mouse and a keyboard: its provider's own computer tool."""

from dataclasses import replace

from harness.api import Agent, ChatModel
from harness.api.actions import Screen
from harness.api.agent_kinds import AgentContext, calling_agent
from harness.api.pictures import scaled_size
from harness.api.settings import ComputerSettings
from harness.errors import ConfigError
from harness.plugins.computer_agent.box import ComputerBox


class ComputerKind:
    """Fits `AgentKind`."""

    def check(self, settings: ComputerSettings, context: AgentContext) -> None:
        """See `AgentKind.check`."""
        if not context.has_computer_tool:
            raise ConfigError(
                f"llm.api={context.api} has no computer tool; choose llm.api=responses or llm.api=messages"
            )

    def make(self, settings: ComputerSettings, context: AgentContext, model: ChatModel) -> Agent:
        """See `AgentKind.make`."""
        width, height = scaled_size(context.viewport, settings.image.max_pixels)
        box = ComputerBox(
            Screen(width=width, height=height),
            context.viewport,
            settings.image.max_pixels,
            strict=settings.strict,
            legend=settings.legend,
            keeps_note=settings.memory,
        )
        made = calling_agent(settings, context, model, box)
        conversation = replace(made.conversation, only_newest=True)
        return replace(made, conversation=conversation, stops_at_checks=settings.safety_checks == "stop")
