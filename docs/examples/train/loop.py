"""A training loop that closes: rollouts on the environment server, rewards and tokens logged, a trainer, an evaluation.

    python docs/examples/train/loop.py [--steps 2] [--tasks 2] [--group 4] [--at-once 8] [--work DIR]

Runs without a key: the policy is the embedded endpoint, which gives token ids as vLLM does, and `train` is a stub where
yours goes. Kill it at any moment and start it again with the same command: rollouts go on at their last step, what was
sampled is not sampled again, each step is logged once. What it knows is on the disk: checkpoints, a file for each
rollout, and journals.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import cli
from harness.plugins.environments.clients.connection import Connection, EnvironmentFailed
from harness.plugins.tracking.model import Model
from harness.plugins.tracking.trajectory import RolloutError, Trajectory, TrajectoryGroup
from harness.runs import Tokens

TASKS = Path(__file__).resolve().parents[3] / "tasks"
READY = "environment server ready on "
SYSTEM = (
    "You operate a web browser. Answer with one action between ``` and ```: click [id], type [id] [text] [1 for enter],"
    " clear [id] [text] [0], select [id] [option], check [id], scroll [down], press [key], goto [url], stop [answer]."
)
ACTION = re.compile(r"```(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Rollout:
    """One episode of a group; its file holds each answer before the step is taken, and in the end the reward."""

    checkpoint: int
    task: str
    number: int

    @property
    def episode_id(self) -> str:
        return f"step{self.checkpoint}-task{self.task}-{self.number}"

    def play(self, work: Path, server: str, policy: str) -> Trajectory | RolloutError:
        """Play it, or what is left of it."""
        path = work / "rollouts" / f"{self.episode_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        turns = lines_of(path)
        if not (turns and "reward" in turns[-1]):
            try:
                turns = self.played(path, turns, Connection(server), policy)
            except EnvironmentFailed as failed:
                if not failed.mask:
                    raise
                return RolloutError.of(failed)  # the infrastructure's fault: no sample, never a reward of 0
        return trajectory_of(turns, task=self.task, episode_id=self.episode_id)

    def played(self, path: Path, turns: list[Any], environment: Connection, policy: str) -> list[Any]:
        """All turns, the last one with the reward."""
        turn = environment.reset(task=self.task, episode_id=self.episode_id, seed=self.number)
        for number in range(1000):
            if turn["done"]:
                break
            if number == len(turns):
                turns.append(append(path, self.decided(turn["observation"], turns, policy)))
            # With a request_id of its own, a step that was done before the kill is answered and not done again.
            action = {"action_str": turns[number]["said"], "request_id": f"{self.episode_id}-{number}"}
            turn = environment.step(action)
            turns[number]["error"] = turn["observation"]["error"]
        environment.close()
        return [*turns, append(path, {"reward": turn["reward"]})]

    def decided(self, seen: dict[str, Any], turns: Sequence[Any], policy: str) -> dict[str, Any]:
        """What the policy answers to a page, with its tokens."""
        done = [f"{number}. {performed(turn)}" for number, turn in enumerate(turns, start=1)]
        asked = (
            f"OBSERVATION:\n{seen['text']}\nURL:\n{seen['url']}\nOBJECTIVE:\n{seen['goal']}\n"
            f"PREVIOUS ACTIONS:\n{chr(10).join(done) or 'None'}"
        )
        if turns and self.checkpoint == 0 and self.number % 2:
            # The embedded model always says the same: so that rewards in a group differ, half of them give up at first.
            return {"asked": asked, "said": "```stop []```", "tokens": None}
        body = {
            "model": f"checkpoint-{self.checkpoint}",
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}],
            "logprobs": True,
            "return_token_ids": True,
        }
        request = urllib.request.Request(
            f"{policy}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            answer = json.load(response)
        choice = answer["choices"][0]
        tokens = {
            "prompt_ids": answer["prompt_token_ids"],
            "completion_ids": choice["token_ids"],
            "logprobs": [one["logprob"] for one in choice["logprobs"]["content"]],
        }
        return {"asked": asked, "said": choice["message"]["content"], "tokens": tokens}


def performed(turn: dict[str, Any]) -> str:
    """A line of the history: the action, and why it was refused."""
    found = ACTION.search(turn["said"])
    action = " ".join((found[1] if found else turn["said"]).split())
    return f"{action} -> refused: {turn['error']}" if turn.get("error") else action


def trajectory_of(turns: Sequence[Any], **metadata: str) -> Trajectory:
    """What is logged: each answer with the prompt that it answered, and its tokens."""
    *steps, end = turns
    messages: list[Any] = [{"role": "system", "content": SYSTEM}]
    seen, tokens = [], []
    for step in steps:
        messages.append({"role": "user", "content": step["asked"]})
        seen.append((0, len(messages) - 1))
        said = {"role": "assistant", "content": step["said"]}
        messages.append({"finish_reason": "stop", "index": 0, "message": said})
        found = step["tokens"]
        tokens.append(None if found is None else Tokens(**{name: tuple(ids) for name, ids in found.items()}))
    metrics: dict[str, float | int | bool] = {"steps": len(steps)}
    return Trajectory(
        messages_and_choices=messages,
        reward=end["reward"],
        metrics=metrics,
        metadata=dict(metadata),
        seen=seen,
        tokens=tokens,
    )


def train(work: Path, step: int, groups: Sequence[TrajectoryGroup]) -> None:
    """The stub: a file in the place of weights. A trainer of yours reads tokens and advantages, as here."""
    advantages, sampled = [], 0
    for group in groups:
        rewards = [one.reward for one in group.trajectories]
        advantages += [reward - sum(rewards) / len(rewards) for reward in rewards]
        sampled += sum(len(one.completion_ids) for each in group.trajectories for one in each.tokens or () if one)
    checkpoint = {"step": step, "samples": len(advantages), "tokens": sampled, "advantages": advantages}
    path = work / "checkpoints" / f"{step}.json"
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".new").write_text(json.dumps(checkpoint))
    path.with_suffix(".new").replace(path)  # there at once, or not at all


def evaluate(work: Path, step: int, tasks: Sequence[str]) -> None:
    """The checkpoint on the tasks, by `run.py`, logged beside the rollouts; a finished run takes seconds."""
    settings = {
        "task": "demo",
        "task.ids": f"[{','.join(tasks)}]",
        "llm": "scripted",
        "llm.step": step,
        "llm.token_ids": "true",
        "tracking": "art",
        "tracking.base_path": work / "art",
        "tracking.project": "train",
        "tracking.name": "policy",
        "run.root": work / "results",
        "run.id": f"eval-{step}",
        "run.display": "plain",
    }
    if code := cli.run([f"{key}={value}" for key, value in settings.items()]):
        raise SystemExit(code)


def main(options: argparse.Namespace) -> None:
    work: Path = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    tasks = [str(task) for task in range(options.tasks)]
    model = Model(name="policy", project="train", base_path=work / "art", report_metrics=[])
    step = len(list((work / "checkpoints").glob("*.json")))
    if step < options.steps:
        with serving_policy(work) as policy, serving_environments(work, options.at_once) as server:
            for each in range(step, options.steps):
                wanted = [Rollout(each, task, number) for task in tasks for number in range(options.group)]
                with ThreadPoolExecutor(options.at_once) as threads:
                    played = list(threads.map(lambda one: one.play(work, server, policy), wanted))
                groups = groups_of(wanted, played)
                asyncio.run(model.log(groups, split="train", step=each, on_repeat="once"))
                train(work, each + 1, groups)
    for each in range(options.steps + 1):
        evaluate(work, each, tasks)
    print(f"trained {options.steps} steps; rewards are in {model.folder.history.path}")  # noqa: T201


def groups_of(wanted: Sequence[Rollout], played: Sequence[Trajectory | RolloutError]) -> list[TrajectoryGroup]:
    """A group for each task."""
    found: dict[str, list[Trajectory | RolloutError]] = {}
    for one, item in zip(wanted, played, strict=True):
        found.setdefault(one.task, []).append(item)
    return [TrajectoryGroup(items, metadata={"scenario_id": task}) for task, items in found.items()]


@contextmanager
def serving_environments(work: Path, environments: int) -> Iterator[str]:
    """A server that ends with this process; the one before may take a moment to let the run folder go."""
    command = [sys.executable, "-m", "harness.main", "serve", "task=demo", f"environments={environments}"]
    command += ["--port=0", "--until-stdin-ends", f"run.root={work / 'results'}", "run.id=rollouts"]
    for _ in range(60):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None and process.stdout is not None
            for line in process.stdout:
                if line.startswith(READY):
                    yield line.removeprefix(READY).strip()
                    return
        time.sleep(1)
    raise SystemExit("the environment server does not start; see what it says above")


@contextmanager
def serving_policy(work: Path) -> Iterator[str]:
    """The embedded endpoint; yours is a vLLM with the newest weights."""
    tasks = json.loads((TASKS / "demo.json").read_bytes())
    (work / "intents.json").write_text(json.dumps({str(task["task_id"]): task["intent"] for task in tasks}))
    sites = {f"__{name}__": f"http://{name.lower()}.localhost" for name in ("SHOP", "FORUM", "CODE", "OFFICE")}
    command = [sys.executable, "-m", "harness.plugins.demo.model.model_server", f"--intents={work / 'intents.json'}"]
    command += [f"--plans={TASKS / 'demo.plans.json'}", f"--placeholders={json.dumps(sites)}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        port = process.stdout.readline().rpartition(" ")[2].strip()
        if not port:
            raise SystemExit("the embedded endpoint does not start")
        yield f"http://127.0.0.1:{port}/v1"
        process.stdin.close()


def lines_of(path: Path) -> list[Any]:
    """The lines of a file; one that a kill has cut was not durable, and is cut off."""
    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return [json.loads(line) for line in whole.splitlines()]


def append(path: Path, entry: dict[str, Any]) -> dict[str, Any]:
    """Write a line, durably, before anything is done that depends on it."""
    with path.open("ab") as file:
        file.write(json.dumps(entry).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return entry


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Rollouts, log, train, evaluate.")
    parser.add_argument("--steps", type=int, default=2, help="how often to train")
    parser.add_argument("--tasks", type=int, default=2, help="how many of the demo's tasks: a group for each")
    parser.add_argument("--group", type=int, default=4, help="rollouts of a group")
    parser.add_argument("--at-once", type=int, default=8, help="rollouts at the same time")
    parser.add_argument("--work", type=Path, default=Path("results/train"), help="where everything is kept")
    main(parser.parse_args())
