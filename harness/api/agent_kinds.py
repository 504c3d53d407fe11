"""What an agent is made with that registers itself (`cairn.agents`): the lane's services, tools, and the browser.

For agents that bring a loop, a model client or a process of their own. One that only decides needs `harness.api`.
"""

from harness.agents import page
from harness.agents.asking import AskingActionSet
from harness.agents.calls import arguments_of
from harness.agents.kind import AgentContext, LaneServices, WatchableEnvironment
from harness.agents.prompt_agent import PromptKind
from harness.agents.task_images import with_objective
from harness.agents.tools_agent import ToolBox, calling_agent, tool_box
from harness.protocols import (
    DevToolsConnection,
    Environment,
    GuardedEnvironment,
    RestoreResult,
    SessionJournal,
    ShareableEnvironment,
    SharedBrowser,
    StagedArtifact,
)
from harness.records.chat_messages import COMPUTER
from harness.working_time import working_s

__all__ = [
    "COMPUTER",
    "AgentContext",
    "AskingActionSet",
    "DevToolsConnection",
    "Environment",
    "GuardedEnvironment",
    "LaneServices",
    "PromptKind",
    "RestoreResult",
    "SessionJournal",
    "ShareableEnvironment",
    "SharedBrowser",
    "StagedArtifact",
    "ToolBox",
    "WatchableEnvironment",
    "arguments_of",
    "calling_agent",
    "page",
    "tool_box",
    "with_objective",
    "working_s",
]
