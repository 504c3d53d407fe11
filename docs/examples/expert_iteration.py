"""Expert iteration: evaluate, log, train on what went well, evaluate the new checkpoint.

    python docs/examples/expert_iteration.py [--rounds 2] [--tasks 4] [--work DIR]

Runs without a key: model and fine-tuning are the embedded endpoint's, which keeps files and jobs but whose checkpoints
all answer alike. With a real endpoint only `serving` goes away. Kill it at any moment and start it again: each part
reads from the disk and from the endpoint what is done already. The script has no state of its own.
"""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import cli
from harness.api import dumps
from harness.api.endpoints import Endpoint
from harness.api.settings import EndpointSettings
from harness.api.tasks import load_task_file
from harness.plugins.tracking.backends.fine_tuning_api import FineTuning
from harness.plugins.tracking.backends.openai import OpenAIBackend
from harness.plugins.tracking.episodes import RunTrajectories
from harness.plugins.tracking.trainable import TrainableModel

PROJECT = Path(__file__).resolve().parents[2]
TASKS, PLANS = PROJECT / "tasks" / "demo.json", PROJECT / "tasks" / "demo.plans.json"
SITES = {name: f"http://{name}.localhost" for name in ("shop", "forum", "code", "office")}


@dataclass(frozen=True)
class Iteration:
    """What all rounds share."""

    work: Path
    tasks: int
    url: str

    def evaluate(self, step: int, model: str) -> Path:
        """Run the pending tasks with a checkpoint, log the run, and return its folder; a finished run takes seconds."""
        run = self.work / "results" / f"step-{step}"
        settings = {
            "task": "demo",
            "task.limit": self.tasks,
            "llm": "openai",
            "llm.model": model,
            "llm.base_url": self.url,
            "llm.api_key": "none",
            "llm.step": step,
            "tracking": "art",
            "tracking.base_path": self.work / "art",
            "tracking.project": "demo",
            "tracking.name": "student",
            "run.root": run.parent,
            "run.id": run.name,
            "run.display": "plain",
        }
        if code := cli.run([f"{key}={_quoted(value)}" for key, value in settings.items()]):
            raise SystemExit(code)
        return run

    async def position(self) -> tuple[int, str]:
        """The latest checkpoint, and what to ask the endpoint for."""
        async with self.student() as model:
            return await model.get_step(), model.get_inference_name()

    async def train(self, run: Path) -> None:
        async with self.student() as model:
            await model.train(RunTrajectories(run))

    async def conclude(self) -> str:
        """Keep the best checkpoint and the latest."""
        async with self.student() as model:
            await model.delete_checkpoints()
            best = model.folder.history.best_step("val/reward")
            return f"best checkpoint: step {best}, {model.get_inference_name(best)}"

    @asynccontextmanager
    async def student(self) -> AsyncIterator[TrainableModel]:
        model = TrainableModel(name="student", project="demo", base_model="scripted", base_path=self.work / "art")
        # A job of the embedded endpoint ends after a few looks; give a real one the usual five seconds between two.
        backend = OpenAIBackend(
            base_url=self.url, client=FineTuning(Endpoint(EndpointSettings(base_url=self.url)), poll_s=0.1)
        )
        try:
            await model.register(backend)
            yield model
        finally:
            await backend.close()
            await model.close()


def main(options: argparse.Namespace) -> None:
    work: Path = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    with serving(work, options.tasks) as url:
        iteration = Iteration(work, options.tasks, url)
        while True:
            step, model = asyncio.run(iteration.position())
            run = iteration.evaluate(step, model)
            if step >= options.rounds:
                break
            asyncio.run(iteration.train(run))
        print(asyncio.run(iteration.conclude()))  # noqa: T201


@contextmanager
def serving(work: Path, tasks: int) -> Iterator[str]:
    """The embedded endpoint; its fine-tuning jobs are kept in a file and outlive it, it does not outlive us."""
    intents = work / "intents.json"
    intents.write_bytes(dumps({task.task_id: task.intent for task in load_task_file(TASKS, SITES, limit=tasks)}))
    arguments = {
        "--intents": str(intents),
        "--plans": str(PLANS),
        "--placeholders": dumps({f"__{name.upper()}__": url for name, url in SITES.items()}).decode(),
        "--state": str(work / "endpoint.json"),
    }
    command = [
        sys.executable,
        "-m",
        "harness.plugins.demo.model.model_server",
        *(part for pair in arguments.items() for part in pair),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as endpoint:
        assert endpoint.stdin is not None and endpoint.stdout is not None
        port = endpoint.stdout.readline().rpartition(" ")[2].strip()
        if not port:
            raise SystemExit("the embedded endpoint did not start")
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            endpoint.stdin.close()


def _quoted(value: object) -> str:
    """Hydra reads `:` and `,` in values; quotes keep them text."""
    return str(value) if isinstance(value, int) else "'{}'".format(str(value).replace("'", "\\'"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Evaluate, log, train, evaluate.")
    parser.add_argument("--rounds", type=int, default=2, help="how often to train")
    parser.add_argument("--tasks", type=int, default=4, help="how many of the demo tasks")
    parser.add_argument("--work", type=Path, default=Path("results/expert-iteration"), help="where everything is kept")
    main(parser.parse_args())
