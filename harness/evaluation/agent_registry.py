"""The shipped agents, by the word that `agent.kind` has for each."""

from harness.agents.kind import AgentContext, AgentKind, SessionAgentKind
from harness.config.agent_settings import AgentConfig
from harness.errors import ConfigError
from harness.registry import Registry

KINDS = Registry(
    group="cairn.agents",
    noun="agent.kind",
    core={
        "prompt": "harness.agents.prompt_agent:PromptKind",
        "tools": "harness.agents.tools_agent:ToolsKind",
        "null": "harness.agents.null_agent:NullKind",
        "random": "harness.agents.random_agent:RandomKind",
    },
)
Kind = AgentKind[AgentConfig] | SessionAgentKind[AgentConfig]


def agent_kind(name: str) -> Kind:
    """The kind of this name; no other is imported.

    Raises:
        ConfigError: There is none.
    """
    made: Kind = KINDS.find(name)()
    return made


def check_agent(settings: AgentConfig, context: AgentContext) -> None:
    """See that the agent which `agent.kind` names can be made.

    Raises:
        ConfigError: It cannot.
    """
    agent_kind(settings.kind).check(settings, context)
    needed, shown = settings.needs, context.observation
    if needed is not None and needed not in {part.value for part in shown.parts}:
        raise ConfigError(
            f"agent={settings.name} needs {needed} in observation.type, which is {shown.type}; "
            f"give observation.type={needed}"
        )


def session_kind(settings: AgentConfig) -> SessionAgentKind[AgentConfig] | None:
    """The kind of an agent that lasts as long as an episode is played; None = the agent is of another."""
    if settings._target_ is not None:
        return None
    kind = agent_kind(settings.kind)
    return kind if isinstance(kind, SessionAgentKind) else None
