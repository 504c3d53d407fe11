"""An agent of your own: browser-use, in the browser of the episode. Needs `harness agents install browser-use`.

harness run agent=browser-use llm=openai llm.model=NAME
"""

import asyncio
import json
import os
import sys

os.environ |= {"ANONYMIZED_TELEMETRY": "false", "BROWSER_USE_VERSION_CHECK": "false"}  # no hosts but the gateway

from browser_use import Agent, BrowserSession, ChatOpenAI
from browser_use.dom.serializer.serializer import DOMTreeSerializer

# Elements are numbered as they stand on the page. Chromium's own numbers differ from start to start, and so would what
# the model is asked by a process that is started again.
DOMTreeSerializer._allocate_selector_index = lambda self, node: len(self._selector_map) + 1


async def main():
    task = json.load(sys.stdin)
    browser = BrowserSession(
        cdp_url=os.environ["CAIRN_CDP_URL"],
        enable_default_extensions=False,
        highlight_elements=False,  # frames around what it uses; they last a second, and the model is told their number
    )
    agent = Agent(
        task["intent"],
        llm=ChatOpenAI(os.environ["CAIRN_MODEL"]),  # OPENAI_BASE_URL and OPENAI_API_KEY lead to the gateway of the run
        browser_session=browser,
        use_vision=False,
        use_judge=False,  # which would ask the model whether it has done well
        directly_open_url=False,  # the browser shows the start page of the task
    )
    done = await agent.run(max_steps=100)
    print(json.dumps({"answer": done.final_result() or ""}))


asyncio.run(main())
