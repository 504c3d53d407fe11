"""NeMo Gym's gymnasium style over the same sessions: `POST /nemo/reset`, `/nemo/step`, `/nemo/close`.

A session is a cookie. A step is the model's whole Responses object. An episode without a score ends with an HTTP error.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from harness.api import ActionSet
from harness.plugins.environments.answer import Answer
from harness.plugins.environments.problem import VALIDATION_ERROR, Problem
from harness.plugins.environments.requests import StepRequest, of_order, order_of_call, order_of_text, read_row
from harness.plugins.environments.rpc import NamedSessions
from harness.plugins.environments.sessions import Environments
from harness.plugins.environments.turn import Turn
from harness.plugins.environments.wire import Order

COOKIE = "cairn_session"
_ONE_A_STEP = "This call was not performed: one action is performed for each reply, the first one."
_CAN = {"supports_explicit_close": True, "supports_step_idempotency": True}
Read = Callable[[Request], Awaitable[object]]


class NemoGym:
    """The three routes."""

    def __init__(self, environments: Environments, sessions: NamedSessions, read: Read) -> None:
        self._environments = environments
        self._sessions = sessions
        self._read = read

    async def reset(self, request: Request) -> Response:
        """Begin an episode; the cookie of the answer names the session. Raises: Problem: Its goal is not text only."""
        name, turn = await self._sessions.begin(read_row(await self._read(request)), request.is_disconnected)
        if turn.task_images:
            self._sessions.close(name)
            why = "has pictures in its objective, and NeMo Gym is shown text only; leave it out"
            raise Problem(VALIDATION_ERROR, f"task {turn.entry.task_id} {why}")
        answer = Answer({"observation": _text(turn), "info": {**_CAN, "episode_id": turn.entry.episode_id}})
        answer.set_cookie(COOKIE, name, httponly=True, samesite="strict")
        return answer

    async def step(self, request: Request) -> Response:
        """Perform the first function call of a Responses object, or the action that its text is."""
        body = await self._read(request)
        if not isinstance(body, dict):
            raise Problem(VALIDATION_ERROR, "step: give the Responses object")
        action_set, request_id = self._environments.action_set, body.get("_ng_step_request_id")
        wanted, call_ids = _action(body.get("response", body), action_set, request_id)
        # A failure stays an error: of an answer, NeMo Gym's agent would drop `mask_sample` and hand on the reward of 0.
        turn = await self._sessions.step(request.cookies.get(COOKIE), wanted)
        # The next request needs an output for each call of the last reply.
        said = [_text(turn), *[_ONE_A_STEP] * (len(call_ids) - 1)]
        outputs = [{"call_id": call_id, "output": output} for call_id, output in zip(call_ids, said, strict=False)]
        shown = {"observation": None if call_ids else _text(turn), "info": {**_CAN, "tool_outputs": outputs}}
        over = {"terminated": turn.done and not turn.truncated, "truncated": turn.truncated}
        ended = {"reward": turn.reward or 0.0, **over, "mask_sample": False}
        return Answer(shown | ended)

    async def close(self, request: Request) -> Response:
        """Give the session back; a second time it is closed already."""
        closed = self._sessions.close(request.cookies.get(COOKIE))
        return Answer({"status": "closed" if closed else "already_closed"})


def _text(turn: Turn) -> str:
    goal = f"{turn.goal}\n\n" if turn.steps == 0 else ""
    return goal + (f"{turn.told}\n\n" if turn.told else "") + turn.page.text


def _action(response: object, action_set: ActionSet, request_id: object) -> tuple[StepRequest, list[str]]:
    """What is to be done, and the ids of all calls; the first one asks for it.

    Raises:
        Problem: It is not a Responses object.
    """
    output = response.get("output") if isinstance(response, dict) else None
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        raise Problem(VALIDATION_ERROR, "step: output must be the list of a Responses object")
    if calls := [item for item in output if item.get("type") == "function_call"]:
        ids = [str(item.get("call_id", "")) for item in calls]
        return of_order(_called(calls[0], action_set), request_id), ids if ids[0] else []
    # What a model thought is not what it says.
    contents = [item.get("content") or [] for item in output if item.get("type") != "reasoning"]
    parts = [part for one in contents if isinstance(one, list) for part in one if isinstance(part, Mapping)]
    return of_order(order_of_text("".join(str(part.get("text", "")) for part in parts)), request_id), []


def _called(item: Mapping[str, Any], action_set: ActionSet) -> Order:
    """What a call asks for. Its name and arguments are the model's own words: an error in them is a step.

    Raises:
        Problem: It has no name, which no model can cause.
    """
    name, arguments = item.get("name"), item.get("arguments") or "{}"
    if not isinstance(name, str):
        raise Problem(VALIDATION_ERROR, "step: the name of the call is missing")
    try:
        arguments = json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        arguments = None
    return order_of_call(name, arguments, action_set)
