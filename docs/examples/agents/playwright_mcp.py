"""An agent of your own: a tool loop with Playwright's MCP server (`harness agents install playwright-mcp`).

harness run agent=playwright-mcp llm=openai llm.model=NAME
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from openai import AsyncOpenAI

SYSTEM = "You operate a web browser by calling functions. When you are done, your text is the answer."


async def play(task, browser):
    model, found = AsyncOpenAI(), (await browser.list_tools()).tools  # OPENAI_BASE_URL leads to the gateway of the run
    named = [{"name": one.name, "description": one.description, "parameters": one.input_schema} for one in found]
    asked = {"model": os.environ["CAIRN_MODEL"], "tools": [{"type": "function", "function": one} for one in named]}
    said = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["intent"]}]
    while (reply := (await model.chat.completions.create(messages=said, **asked)).choices[0].message).tool_calls:
        said.append(reply.model_dump(exclude_none=True))
        for call in reply.tool_calls:
            done = await browser.call_tool(call.function.name, json.loads(call.function.arguments))
            text = "\n".join(part.text for part in done.content if part.type == "text")
            said.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return reply.content


async def main():
    given = {"PLAYWRIGHT_MCP_CDP_ENDPOINT": os.environ["CAIRN_CDP_URL"]}  # holds a token: no argument, which others see
    server = stdio_client(StdioServerParameters(command=sys.argv[1], args=["--snapshot-mode", "none"], env=given))
    async with server as streams, ClientSession(*streams) as browser:
        await browser.initialize()
        print(json.dumps({"answer": await play(json.load(sys.stdin), browser)}))


asyncio.run(main())
