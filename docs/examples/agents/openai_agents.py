"""An agent: OpenAI's Agents SDK with an MCP server over stdio. Needs `harness agents install openai-agents`.

harness run agent=openai-agents llm=responses llm.model=NAME
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio

CONFIG = json.loads(Path(os.environ["CAIRN_MCP_CONFIG"]).read_text("utf-8"))
INSTRUCTIONS = "You operate a web browser by calling functions. Call stop with the answer when you are done."


async def main():
    set_tracing_disabled(True)  # it would send what the agent does to OpenAI
    task, server = json.load(sys.stdin), CONFIG["mcpServers"]["cairn"]
    async with MCPServerStdio(server, client_session_timeout_seconds=300) as browser:
        model = os.environ["CAIRN_MODEL"]  # OPENAI_BASE_URL and OPENAI_API_KEY lead to the gateway of the run
        agent = Agent("browser", instructions=INSTRUCTIONS, model=model, mcp_servers=[browser])
        agent.tool_use_behavior = {"stop_at_tool_names": ["stop"]}
        done = await Runner.run(agent, task["text"], max_turns=1000)
        print(json.dumps({"answer": str(done.final_output)}))


asyncio.run(main())
