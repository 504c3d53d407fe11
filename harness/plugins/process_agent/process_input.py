"""What an agent's process is given at its start: the task, and the MCP server as a command."""

import sys
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.api import LiveObservation, Task, dumps
from harness.plugins.process_agent.browser_boundary import BrowserBoundary
from harness.plugins.process_agent.call_result import CallResult


def task_message(task: Task, view: LiveObservation, first: CallResult, browser: BrowserBoundary) -> bytes:
    """What the process reads on its standard input, as JSON."""
    return dumps(_task(task, first, browser) | _pictures(view), pretty=True)


def _pictures(view: LiveObservation) -> dict[str, Any]:
    """The pictures of the task, if it has some."""
    pictures = [b64encode(picture).decode() for picture in view.task_images]
    return {"task_images": pictures} if pictures else {}


def mcp_servers(variables: Mapping[str, str], server: str) -> dict[str, Any]:
    """The MCP server as a command, as clients configure it; they start it without their own environment.

    Args:
        server: Path of its program, as the process sees it.
    """
    # The interpreter itself, as a confined process may not see the environment it was found in.
    command = [str(Path(sys.executable).resolve()), "-I", "-S", server]
    environment = {name: variables[name] for name in ("CAIRN_MCP_URL", "CAIRN_TOKEN")}
    return {"mcpServers": {"cairn": {"command": command[0], "args": command[1:], "env": environment}}}


def _task(task: Task, first: CallResult, browser: BrowserBoundary) -> dict[str, Any]:
    """The message to the process: it says nothing of how the task is judged."""
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in browser.tools
    ]
    return {
        "task_id": task.task_id,
        "intent": task.intent,
        "start_urls": list(task.start_urls),
        "sites": list(task.sites),
        "text": f"OBJECTIVE:\n{task.intent}\n{first.text}",
        "observation": first.as_json(),
        "tools": tools,
    }
