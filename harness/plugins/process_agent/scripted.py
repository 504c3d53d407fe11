"""A process with a scripted model, for its tests: a real gateway, a real endpoint over HTTP, and answers from a list.

async with scripted_process(["python3", "agent.py"], ("goto", {"url": "http://site.test/"}), "It is 7.") as agent:
    episode = await play(agent, "[1] link 'Tea'")           # harness.testing
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from harness.api import CairnActionSet, ChatSettings, JsonObject, dumps
from harness.api.actions import Keyboard, Mouse
from harness.api.agent_kinds import ToolBox
from harness.api.endpoints import Endpoint
from harness.api.gateway import Exchanger, OutageWaiter, Passthrough, Retrier, Unlimited
from harness.api.http_server import serving
from harness.api.settings import EndpointSettings, ProcessSettings, RetryPolicy
from harness.plugins.process_agent.agent_process import find_program, process_environment
from harness.plugins.process_agent.process_plan import ProcessPlan
from harness.plugins.process_agent.session import ProcessAgent

MODEL = "scripted"
Answer = str | tuple[str, Mapping[str, Any]]
"""A text, or the name and the arguments of a call."""


class ScriptedEndpoint:
    """Answers chat completions from a list; the last answer is repeated."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = answers
        self.asked: list[bytes] = []
        """The bodies of all requests."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.asked.append(body)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": dumps(self._completion())})

    def _completion(self) -> JsonObject:
        number = len(self.asked)
        match self.answers[min(number, len(self.answers)) - 1]:
            case str(text):
                said: JsonObject = {"role": "assistant", "content": text}
            case (name, arguments):
                function = {"name": name, "arguments": dumps(arguments).decode()}
                call = {"id": f"call_{number}", "type": "function", "function": function}
                said = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if "tool_calls" in said else "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
        identity = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": MODEL}
        return {**identity, "choices": [choice], "usage": usage}


@asynccontextmanager
async def scripted_process(
    command: Sequence[str], *answers: Answer, timeout_s: float = 60.0
) -> AsyncIterator[ProcessAgent]:
    """An agent for `harness.testing.play`.

    Args:
        command: The program and its arguments.
        answers: Of the model, in order.
        timeout_s: After so long the process is ended.
    Raises:
        ConfigError: There is no such program.
    """
    program = find_program(command, None, process_environment({}))
    settings = ProcessSettings(timeout_s=timeout_s)
    plan = ProcessPlan(settings=settings, command=(program, *command[1:]), model=MODEL)
    actions = tuple(one for one in CairnActionSet().actions if one not in (Mouse, Keyboard))
    async with serving(ScriptedEndpoint(*answers or ("",))) as port:
        endpoint = Endpoint(EndpointSettings(base_url=f"http://127.0.0.1:{port}/v1"))
        chat = ChatSettings(model=MODEL, timeout_s=timeout_s)
        exchanger = Exchanger(endpoint, chat, retrier=Retrier(RetryPolicy(max_attempts=1)), prices={})
        passthrough = Passthrough(exchanger, OutageWaiter(Unlimited(), max_outage_s=0.0))
        try:
            yield ProcessAgent(plan=plan, box=ToolBox(actions), passthrough=passthrough, stopping=_never)
        finally:
            await passthrough.close()


async def _never() -> None:
    await asyncio.Event().wait()
