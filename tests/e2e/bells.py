"""A benchmark with an embedded site and a server of its own, as a plug-in would bring it: `python -m tests.e2e.bells`."""

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from harness.api import (
    Benchmark,
    BenchmarkPage,
    Click,
    Decision,
    Episode,
    LiveObservation,
    Reward,
    Stop,
    Target,
    Task,
    resolve,
)
from harness.loopback_server import run
from tests.plugins.miniwob.miniwob_solver import Solver

BELLS = 6
PAGE = """<!doctype html><title>Bells</title><p>rung: <b>0</b></p><button
onclick="document.querySelector('b').textContent = ++rung">Ring</button><script>var rung = 0;</script>"""


class Bells(Benchmark):
    """Ring the bell as often as the id says."""

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        judged = {"eval_types": ["reward"]}
        for bell in range(1, BELLS + 1):
            asked = f"Ring {bell} times"
            yield {"task_id": bell, "sites": ["bells"], "start_url": "__BELLS__/", "intent": asked, "eval": judged}

    async def reward(self, page: BenchmarkPage, task: Task, /) -> Reward | None:
        rung = await page.evaluate("() => window.rung")
        return Reward(value=1.0, done=True) if rung == int(task.task_id) else None


class Ringer:
    """Rings bells, solves pages of MiniWoB++ by rule, and stops on the demo sites with what it sees at once."""

    def __init__(self, model: Any) -> None:
        self._solver = Solver(model)

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        benchmark, _, own = task.task_id.partition(".")
        match benchmark:
            case "bells":
                (button,) = [node for node, found in observation.nodes.items() if found.role == "button"]
                return Decision(action=resolve(Click(target=Target(id=button)), observation.nodes))
            case "miniwob":
                return await self._solver.decide(replace(task, task_id=own), episode, observation)
        return Decision(action=Stop(answer="$44.50"))


async def _page(_: Request) -> Response:
    return HTMLResponse(PAGE)


async def _reset(_: Request) -> Response:
    return Response(status_code=204)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state")
    app = Starlette(routes=[Route("/", _page), Route("/__reset__", _reset, methods=["POST"])])
    run(app, name="bells", port=parser.parse_args().port, watch_stdin=True)


if __name__ == "__main__":
    main()
