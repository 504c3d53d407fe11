"""The settings of the agent, whichever kind it is of."""

from dataclasses import dataclass

from harness.settings.agents import ComputerSettings, PromptSettings
from harness.settings.process_agent import ProcessSettings

FIRST_PLACES = {
    "{agents}/browser-use/bin/python": ".venv-agents/browser-use/bin/python",
    "{agents}/playwright-mcp/bin/python": ".venv-agents/clients/bin/python",
    "{agents}/playwright-mcp/node_modules/.bin/playwright-mcp": (
        ".venv-agents/playwright-mcp/node_modules/.bin/playwright-mcp"
    ),
    "{examples}/browser_use_agent.py": "docs/examples/agents/browser_use_agent.py",
    "{examples}/playwright_mcp.py": "docs/examples/agents/playwright_mcp.py",
}
"""Parts of commands of shipped agents to what stood there first: runs are measured by it, so that run folders from
before they were moved are resumed."""


# Of all kinds at once: the keys of `agent` have no kind in their names, and run folders are measured by them.
@dataclass(frozen=True)
class AgentConfig(ProcessSettings, ComputerSettings, PromptSettings):
    """Which agent acts, and what its model is told."""
