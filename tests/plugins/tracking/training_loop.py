"""A training script of the kind that ART's documentation has, written against whichever `art` it is given."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from harness.loopback_server import serving

TIMES = ("time/wall_clock_sec", "recorded_at")


class StubBackend:
    """A back end with the methods of ART's protocol; a checkpoint is a number."""

    def __init__(self, result: Any, url: str) -> None:
        self._result = result
        self._url = url
        self.steps = [0]
        self.trained: list[tuple[list[Any], dict[str, Any]]] = []

    async def register(self, model: Any) -> None:
        assert model.name

    async def close(self) -> None: ...

    async def _prepare_backend_for_training(self, model: Any, config: Any) -> tuple[str, str]:
        return self._url, "key"

    def _model_inference_name(self, model: Any, step: int | None = None) -> str:
        return f"{model.name}@{self.steps[-1] if step is None else step}"

    async def _get_step(self, model: Any) -> int:
        return self.steps[-1]

    async def _delete_checkpoint_files(self, model: Any, steps_to_keep: list[int]) -> None:
        self.steps = [step for step in self.steps if step in steps_to_keep]

    async def train(self, model: Any, trajectory_groups: Any, **options: Any) -> Any:
        self.trained.append((list(trajectory_groups), options))
        self.steps.append(self.steps[-1] + 1)
        metrics = {"loss/train": 0.5, "time/step_trainer_s": 2.0, "data/step_trainer_tokens": 300.0, "costs/gpu": 0.25}
        return self._result(step=self.steps[-1], metrics=metrics)


@asynccontextmanager
async def chat_endpoint() -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """Yields the base URL, and the requests that were received."""
    received: list[dict[str, Any]] = []

    async def answered(request: Request) -> JSONResponse:
        received.append(await request.json())
        message = {"role": "assistant", "content": f"Tea {len(received) % 2}", "tool_calls": [], "annotations": []}
        message["reasoning_content"] = "Which one?"  # servers of open models say more than a request may
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        return JSONResponse(body)

    async with serving(Starlette(routes=[Route("/v1/chat/completions", answered, methods=["POST"])])) as port:
        yield f"http://127.0.0.1:{port}/v1", received


def own_client(model: Any) -> Any:
    return model.openai_client()


async def train(
    art: Any, backend: Any, folder: Path, *, steps: int = 3, client: Callable[[Any], Any] = own_client
) -> Any:
    model = art.TrainableModel(
        name="m", project="p", base_model="Qwen/Qwen2.5-3B-Instruct", base_path=str(folder), report_metrics=[]
    )
    await model.register(backend)
    talking = client(model)

    async def rollout(scenario: int, attempt: int, step: int) -> Any:
        if (scenario, attempt) == (2, 0):
            raise ValueError("the page is gone")
        asked = {"role": "user", "content": f"Which tea, {scenario}?"}
        trajectory = art.Trajectory(messages_and_choices=[asked], reward=0, metadata={"scenario_id": str(scenario)})
        completion = await talking.chat.completions.create(
            model=model.get_inference_name(), messages=trajectory.messages(), max_tokens=20
        )
        trajectory.messages_and_choices.append(completion.choices[0])
        trajectory.reward = (scenario + attempt) / 10 - step / 100  # the first checkpoint is the best
        trajectory.metrics["found"] = attempt == 1
        trajectory.metrics["costs/train/judge/ruler"] = 0.01
        trajectory.log("asked")
        return trajectory

    for step in range(await model.get_step(), steps):
        groups = await art.gather_trajectory_groups(
            (art.TrajectoryGroup(rollout(scenario, attempt, step) for attempt in range(2)) for scenario in range(3)),
            pbar_desc="gather",
            max_exceptions=1,
        )
        result = await backend.train(model, groups, learning_rate=1e-5)
        await model.log(groups, metrics=result.metrics, step=result.step, split="train")
        finished = await art.gather_trajectories((rollout(scenario, 1, step) for scenario in range(2)), pbar_desc=None)
        await model.log(finished, split="val", step=result.step)
        model.merge_state({"dataset": {"offset": step, f"seen-{step}": True}})
        await model.delete_checkpoints()
    await talking.close()
    return model
