"""CUBE over the same sessions: `POST /cube` answers as a benchmark, `POST /cube/NAME` as a task (JSON-RPC 2.0).

CUBE starts a server for each task that is spawned; here a task is an address of this server, and its episodes are
played by the workers. Shapes and methods are those of cube-standard 0.1.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from harness import __version__
from harness.api import Stop, description_of, parameters_of
from harness.plugins.environments.agent import actions_for, actions_of
from harness.plugins.environments.answer import Answer
from harness.plugins.environments.play import Session
from harness.plugins.environments.problem import CAPACITY_REACHED, SESSION_ERROR, VALIDATION_ERROR, Problem
from harness.plugins.environments.requests import StepRequest, of_order, order_of_call, read_reset, read_step
from harness.plugins.environments.rpc import Method, NotFound, answered, not_json
from harness.plugins.environments.sessions import Environments
from harness.plugins.environments.turn import Turn
from harness.plugins.environments.views import TEXT, data_url
from harness.plugins.environments.wire import Order

PATH = "/cube"
FINAL_STEP = "final_step"
"""CUBE's own action that ends an episode."""
TEXT_ACTION = "act"
"""The tool of action sets that are written as text only."""
_SPARE_TASKS = 1024
"""Spawned tasks that hold no episode; the oldest are forgotten first."""
Read = Callable[[Request], Awaitable[object]]


@dataclass(eq=False)
class CubeTask:
    """A task that was spawned: it holds an episode at most, and none before its first `cube/reset`."""

    task_id: str
    seed: int | None
    session: Session = field(default_factory=Session)
    ended: Problem | None = None
    """Why the server took its episode away."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One request at a time."""
    closed: bool = False

    def __post_init__(self) -> None:
        self.session.ends = self._end

    def _end(self, problem: Problem) -> None:
        self.ended = problem


class Cube:
    """The two kinds of CUBE's servers."""

    def __init__(self, environments: Environments, read: Read) -> None:
        """Args: read: Gives the JSON of a request. Raises Problem."""
        self._environments = environments
        self._read = read
        self._tasks: dict[str, CubeTask] = {}

    async def benchmark(self, request: Request) -> Response:
        """The methods of a benchmark."""

        async def spawned(params: Mapping[str, Any]) -> str:
            return self._spawn(params, request)

        methods: dict[str, Method] = {
            "cube/info": self._info,
            "cube/tasks": self._metadata,
            "cube/task_configs": self._configs,
            "cube/spawn": spawned,
            "cube/shutdown": self._shutdown,
        }
        return await self._answer(request, methods.get)

    async def task(self, request: Request) -> Response:
        """The methods of a task."""
        name = request.path_params["name"]

        def found(method: str) -> Method | None:
            if method == "cube/close":
                return lambda params: self._close(name, params)
            answer = _METHODS.get(method)
            return None if answer is None else lambda params: self._of_task(name, answer, params)

        return await self._answer(request, found)

    async def _answer(self, request: Request, methods: Callable[[str], Method | None]) -> Response:
        def found(name: str) -> Method:
            if (method := methods(name)) is None:
                raise NotFound
            return method

        try:
            body = await self._read(request)
        except Problem as problem:
            return Answer(not_json(problem))
        return Answer(await answered(body, found))

    # The benchmark.

    async def _info(self, params: Mapping[str, Any]) -> Any:
        run = self._environments.run
        return {
            "name": f"cairn/{run.folder.name}",
            "version": __version__,
            "description": f"{len(run.tasks)} tasks for web agents, played in Chromium and scored from evidence",
            "authors": [],
            "license": "",
            "requirements": {},
            "num_tasks": len(run.tasks),
            "tags": ["web", "browser"],
            "reset_isolation": None,
            "named_subsets": {},
            "_type": "cube.benchmark.BenchmarkMetadata",
        }

    async def _metadata(self, params: Mapping[str, Any]) -> Any:
        return [_metadata(task_id, goal) for task_id, goal in self._chosen("cube/tasks", params)]

    async def _configs(self, params: Mapping[str, Any]) -> Any:
        chosen = self._chosen("cube/task_configs", params)
        beside = {"seed": None, "tool_config": None, "sub_bench_name": None}
        return [{"metadata": _metadata(task_id, goal), **beside} for task_id, goal in chosen]

    def _chosen(self, what: str, params: Mapping[str, Any]) -> list[tuple[str, str]]:
        _check(what, params, ("task_id", "offset", "limit"))
        wanted = params.get("task_id")
        offset, limit = _whole(what, "offset", params.get("offset", 0)), params.get("limit", -1)
        tasks = self._environments.run.tasks.values()
        found = [(one.task_id, one.intent) for one in tasks if not wanted or one.task_id == wanted]
        return found[offset:] if limit in (-1, None) else found[offset : offset + _whole(what, "limit", limit)]

    def _spawn(self, params: Mapping[str, Any], request: Request) -> str:
        _check("cube/spawn", params, ("task_config",), "tasks are served at the address of the benchmark")
        config = params.get("task_config")
        metadata = config.get("metadata") if isinstance(config, dict) else None
        task_id = metadata.get("id") if isinstance(metadata, dict) else None
        if not isinstance(config, dict) or not isinstance(task_id, str):
            raise _wrong("cube/spawn: give a task_config of cube/task_configs, with metadata.id")
        if task_id not in self._environments.run.tasks:
            raise _wrong(f"cube/spawn: there is no task {task_id[:80]!r}; cube/tasks lists them")
        seed = read_reset({"seed": config.get("seed")}).seed
        self._make_room()
        name = uuid.uuid4().hex
        self._tasks[name] = CubeTask(task_id, seed)
        query = f"?{request.url.query}" if request.url.query else ""  # a token that is given there
        return f"{request.url.scheme}://{request.url.netloc}{PATH}/{name}{query}"

    def _make_room(self) -> None:
        idle = [name for name, one in self._tasks.items() if one.session.play is None or one.session.play.over]
        for name in idle[: max(0, len(idle) - _SPARE_TASKS + 1)]:
            del self._tasks[name]
        if len(self._tasks) >= 2 * _SPARE_TASKS + self._environments.slots.number:
            raise Problem(CAPACITY_REACHED, "too many tasks are spawned; close some")

    async def _shutdown(self, params: Mapping[str, Any]) -> None:
        """Nothing: the server has other clients, and a session that is left open is given back by its lease."""

    # A task.

    async def _of_task(self, name: str, answer: "_Answer", params: Mapping[str, Any]) -> Any:
        if (task := self._tasks.get(name)) is None:
            raise Problem(
                SESSION_ERROR, "there is no such task (it was closed, or the server restarted); spawn it again"
            )
        async with task.turn:
            try:
                return await answer(self, task, params)
            finally:
                if task.closed:  # while a reset waited for a free environment
                    self._environments.give_up(task.session, "the client closed the task")

    async def _close(self, name: str, params: Mapping[str, Any]) -> None:
        """Give the episode back; what is closed already stays so."""
        if (task := self._tasks.pop(name, None)) is not None:
            task.closed = True
            self._environments.give_up(task.session, "the client closed the task")

    async def tools(self, task: CubeTask, params: Mapping[str, Any]) -> Any:
        """The actions, with CUBE's own for the end."""
        own = actions_for(self._environments.run.tasks[task.task_id], self._environments.run.action_set)
        actions = actions_of(own)
        found = [_tool(one.kind, description_of(one), parameters_of(one)) for one in actions]
        if not found:
            name = self._environments.action_set.name
            text = {**TEXT, "description": f"One action of the action set {name}, as `click [12]`."}
            shape = {"type": "object", "properties": {"action_str": text}, "required": ["action_str"]}
            found = [_tool(TEXT_ACTION, "Perform an action.", shape)]
        return [*found, _tool(FINAL_STEP, "Stop the task execution.", {"type": "object", "properties": {}})]

    async def reset(self, task: CubeTask, params: Mapping[str, Any]) -> Any:
        """Begin an episode; with `episode_id` and `resume` as in `reset` of the socket, go on with one."""
        _check("cube/reset", params, ("seed", "trial", "episode_id", "resume"))
        wanted = read_reset({"seed": task.seed, **params, "task": task.task_id})
        task.ended = None
        turn = await self._environments.reset(task.session, wanted)
        return {"obs": observation(turn), "info": info(turn)}

    async def step(self, task: CubeTask, params: Mapping[str, Any]) -> Any:
        """Perform an action."""
        turn = await self._performed("cube/step", task, params)
        return {
            "obs": observation(turn, _call_id(params)),
            "reward": turn.reward or 0.0,
            "done": turn.done,
            "truncated": turn.truncated,
            "info": info(turn),
            "error": _error(turn),
            "_type": "cube.core.EnvironmentOutput",
        }

    async def call(self, task: CubeTask, params: Mapping[str, Any]) -> Any:
        """Perform an action, which is a step of the episode, too; gives the observation only."""
        return observation(await self._performed("tools/call", task, params), _call_id(params))

    async def evaluate(self, task: CubeTask, params: Mapping[str, Any]) -> Any:
        """The score; an episode that goes on ends first. `obs` is not needed: the score comes from evidence."""
        _check("cube/evaluate", params, ("obs",))
        state = await self._environments.state(task.session)
        if not state["done"]:
            await self._do(task, StepRequest(order=self._order(FINAL_STEP, {})))
            state = await self._environments.state(task.session)
        told = {name: state[name] for name in ("episode_id", "task", "trial", "step_count")}
        return {"reward": state["reward"], "info": told}

    async def status(self, task: CubeTask, params: Mapping[str, Any]) -> Any:
        """One sentence."""
        state = await self._environments.state(task.session)
        if task.session.play is None:
            return f"no episode: {task.ended}" if task.ended else "no episode: reset begins one"
        where = f"task {state['task']}, trial {state['trial']}, {state['step_count']} steps"
        return f"{where}, done, reward {state['reward']}" if state["done"] else f"{where}, going on"

    async def privileged_info(self, task: CubeTask, params: Mapping[str, Any]) -> Any:
        """Nothing: reference answers stay on the server."""
        return {"tool_call_id": None, "name": None, "data": {}, "_type": "cube.core.StructuredContent"}

    async def _performed(self, what: str, task: CubeTask, params: Mapping[str, Any]) -> Turn:
        _check(what, params, ("name", "arguments", "action_id", "request_id", "_meta"))
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not name:
            raise _wrong(f"{what}: name, that of the action, is missing")
        if not isinstance(arguments, dict):
            raise _wrong(f"{what}: arguments must be an object")
        return await self._do(task, self._request(name, arguments, params.get("request_id")))

    async def _do(self, task: CubeTask, request: StepRequest) -> Turn:
        if task.session.play is None and task.ended is not None:
            raise task.ended
        return await self._environments.step(task.session, request)

    def _request(self, name: str, arguments: Mapping[str, Any], request_id: object) -> StepRequest:
        order = self._order(name, arguments)
        if not order.name:
            said = {"action_str": order.text, "request_id": request_id}
            return read_step(said, self._environments.action_set)
        called = order_of_call(order.name, order.arguments, self._environments.action_set)
        return of_order(called, request_id)

    def _order(self, name: str, arguments: Mapping[str, Any]) -> Order:
        if name == FINAL_STEP:
            return Order(name=Stop.kind, arguments={"answer": ""})
        if actions_of(self._environments.action_set):
            return Order(name=name, arguments=dict(arguments))
        if name != TEXT_ACTION or not isinstance(arguments.get("action_str"), str):
            raise _wrong(f"the tools are {TEXT_ACTION}, with action_str, and {FINAL_STEP}")
        return Order(text=arguments["action_str"])


_Answer = Callable[[Cube, CubeTask, Mapping[str, Any]], Awaitable[Any]]
_METHODS: Mapping[str, _Answer] = {
    "tools/list": Cube.tools,
    "tools/call": Cube.call,
    "cube/reset": Cube.reset,
    "cube/step": Cube.step,
    "cube/evaluate": Cube.evaluate,
    "cube/status": Cube.status,
    "cube/privileged_info": Cube.privileged_info,
}


def observation(turn: Turn, call_id: str | None = None) -> dict[str, Any]:
    """CUBE's observation: the goal on the first page, why the action was refused, the page, the screenshot.

    Args:
        turn: What is seen.
        call_id: Of the call that led to it, which each piece names.
    """
    pieces = [("goal", turn.goal)] if turn.steps == 0 else []
    pieces += [("error", turn.refused)] if turn.refused else []
    pieces += [("notices", "\n".join(turn.notices))] if turn.notices else []
    pieces += [("url", turn.page.url), ("page", turn.page.text)]
    contents = [
        {"tool_call_id": call_id, "name": name, "data": data, "_type": "cube.core.TextContent"} for name, data in pieces
    ]
    pictures = [("goal_picture", one) for one in turn.task_images]
    pictures += [] if turn.image is None else [("screenshot", turn.image)]
    contents += [
        {"tool_call_id": call_id, "name": name, "data": data_url(one), "_type": "cube.core.ImageContent"}
        for name, one in pictures
    ]
    return {"contents": contents, "error": _error(turn), "_type": "cube.core.Observation"}


def info(turn: Turn) -> dict[str, Any]:
    """What CUBE has no member for."""
    place = {"episode_id": turn.entry.episode_id, "task": turn.entry.task_id, "trial": turn.entry.trial}
    return place | {"step": turn.steps, "reward": turn.reward, "doubts": list(turn.doubts)}


def _error(turn: Turn) -> dict[str, str] | None:
    """An action that was not performed; the episode goes on."""
    if not turn.refused:
        return None
    told = {"error_type": "ActionRefused", "exception_str": turn.refused, "stack_trace": ""}
    return told | {"_type": "cube.core.StepError"}


def _metadata(task_id: str, goal: str) -> dict[str, Any]:
    beside = {"recommended_max_steps": None, "container_config": None, "_type": "cube.task.TaskMetadata"}
    return {"id": task_id, "split": "test", "abstract_description": goal, **beside}


def _tool(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    properties = parameters["properties"]
    told = {key: {"description": f"The {key}.", **one} for key, one in properties.items()}  # CUBE wants one for each
    shape = {"name": name, "description": description, "parameters": {**parameters, "properties": told}}
    return shape | {"_type": "cube.core.ActionSchema"}


def _call_id(params: Mapping[str, Any]) -> str | None:
    given = params.get("action_id")
    return given if isinstance(given, str) else None


def _check(what: str, params: Mapping[str, Any], known: tuple[str, ...], why: str = "") -> None:
    if unknown := sorted(str(name) for name in params if name not in known):
        raise _wrong(f"{what}: {unknown[0][:80]!r} is unknown{f'; {why}' if why else ''}")


def _whole(what: str, name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _wrong(f"{what}: {name} must be a whole number from 0")
    return value


def _wrong(message: str) -> Problem:
    return Problem(VALIDATION_ERROR, message)
