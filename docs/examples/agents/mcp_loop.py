"""An agent of your own: a tool loop with Anthropic's client and an MCP client. Needs `harness agents install mcp-loop`.

harness run agent=mcp-loop llm=anthropic
"""

import asyncio
import json
import os
import sys

import httpx2
from anthropic import AsyncAnthropic
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def play(task, browser):
    model = AsyncAnthropic()  # ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY lead to the gateway of the run
    found = (await browser.list_tools()).tools
    tools = [{"name": one.name, "description": one.description, "input_schema": one.input_schema} for one in found]
    messages, text = [{"role": "user", "content": task["text"]}], ""
    while "The episode is over." not in text:
        asked = {"model": os.environ["CAIRN_MODEL"], "max_tokens": 4096, "messages": messages, "tools": tools}
        said = await model.messages.create(**asked)
        messages += [{"role": "assistant", "content": said.content}, {"role": "user", "content": []}]
        for call in (block for block in said.content if block.type == "tool_use"):
            text = (await browser.call_tool(call.name, call.input)).content[0].text
            messages[-1]["content"].append({"type": "tool_result", "tool_use_id": call.id, "content": text})


async def main():
    headers = {"Authorization": f"Bearer {os.environ['CAIRN_TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=300) as http:
        async with streamable_http_client(os.environ["CAIRN_MCP_URL"], http_client=http) as streams:
            async with ClientSession(*streams) as browser:
                await browser.initialize()
                await play(json.load(sys.stdin), browser)


asyncio.run(main())
