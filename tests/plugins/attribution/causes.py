"""Fourteen causes, injected into tasks of the demo: what each looks like in a run, and what it is to be called."""

import json
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import psutil

from harness.actions.playwright_code import Code
from harness.api import (
    Action,
    Artifacts,
    ChatModel,
    Click,
    Closed,
    Decision,
    Episode,
    EvaluatorError,
    Finding,
    Goto,
    LiveObservation,
    Message,
    Stop,
    Target,
    Task,
)

EXPECTED: dict[str, tuple[str, str] | None] = {
    "dead_endpoint": ("harness", "model endpoint not available"),
    "forbidden": ("environment", "access denied"),
    "captcha": ("environment", "captcha page"),
    "crash": ("harness", "browser crashed"),
    "evaluator_error": ("harness", "evaluator error"),
    "judge_down": ("harness", "judge not available"),
    "budget": ("model", "step limit"),
    "loop": ("model", "loop"),
    "refused_target": ("model", "element not there"),
    "wrong_form": ("model", "wrong answer form"),
    "early_stop": ("model", "stopped early"),
    "wrong_page": ("model", "never reached the page"),
    "ambiguous_locator": ("model", "ambiguous target"),
    "nothing_wrong": None,
}
FORBIDDEN = b"<!doctype html><title>403 Forbidden</title><h1>Forbidden</h1><p>You may not see this."
CAPTCHA = b"<!doctype html><title>Just a moment...</title><h1>Verify you are human</h1><p>Complete the captcha."
LINKS = ("All products", "Shipping", "Contact", "Cart", "Thimble and Oak")
MOST_STEPS = 9


class Injected:
    """Plays the script of its task, an entry for each decision."""

    def __init__(self, model: ChatModel, scripts: str) -> None:
        self._model = model
        self._scripts = json.loads(Path(scripts).read_text())

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        script = self._scripts[task.task_id]
        entry = script[min(len(episode.steps), len(script) - 1)]
        if entry["do"] == "ask":
            await self._model.ask([Message(role="user", content="Which page is this?")])
        if entry["do"] == "crash":
            for one in psutil.Process().children(recursive=True):
                if "chrom" in one.name() or "headless" in one.name():
                    one.send_signal(signal.SIGKILL)
        return Decision(action=self._action(entry, observation))

    def _action(self, entry: dict[str, Any], observation: LiveObservation) -> Action:
        match entry["do"]:
            case "goto":
                return Goto(url=entry["url"])
            case "code":
                return Code(verb="click", pw_code=entry["code"])
            case "id" | "crash":
                return Click(target=Target(id=entry.get("id", "1")))
            case "stop":
                return Stop(answer=entry["answer"])
        found = next(
            (id for id, node in observation.nodes.items() if (node.role, node.name) == (entry["role"], entry["name"])),
            "0",
        )
        return Click(target=Target(id=found, role=entry["role"], name=entry["name"]))


class Broken:
    """An evaluator that cannot judge."""

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        raise EvaluatorError("the page of orders is not in the evidence")


@contextmanager
def keeper() -> Iterator[str]:
    """A site that lets nobody in, and an endpoint that is down."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {"/forbidden": (403, FORBIDDEN), "/captcha": (200, CAPTCHA)}
            status, body = found.get(self.path, (503, b"{}"))
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(status)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def write_tasks(folder: Path, seed: int) -> tuple[str, ...]:
    """Tasks and scripts in an order of their own; gives the settings of the run."""
    draw = random.Random(seed)
    demo = json.loads((Path(__file__).parents[3] / "tasks" / "demo.json").read_text())
    cost, wishlist = demo[0], demo[10]
    visits = [_click(name) for name in draw.sample(LINKS, 3)]
    answers = {"dead_endpoint": [{"do": "ask"}], "crash": [*visits[:1], {"do": "crash"}]}
    scripts: dict[str, list[dict[str, Any]]] = {
        **answers,
        "forbidden": [{"do": "stop", "answer": draw.choice(["N/A", "It cannot be read."])}],
        "captcha": [{"do": "stop", "answer": "There is a captcha."}],
        "evaluator_error": [*visits, {"do": "stop", "answer": "done"}],
        "judge_down": [*visits, {"do": "stop", "answer": "done"}],
        "budget": [_click(name) for name in draw.sample(LINKS * 2, 10)],
        "loop": [_click(name) for name in draw.sample(LINKS, 2) * 8],
        "refused_target": [visits[0], {"do": "id", "id": str(draw.randint(5000, 9000))}, _stop("$39.50")],
        "wrong_form": [*visits[:2], _stop(draw.choice(["44.5 dollars", "The price is $ 44.50.", "USD 44.50"]))],
        "early_stop": [*visits[: draw.randint(0, 2)], _stop("")],
        "wrong_page": [*visits, _stop("here it is")],
        "ambiguous_locator": [visits[0], {"do": "code", "code": "page.get_by_role('link').click()"}, _stop("$1")],
        "nothing_wrong": [*visits[:1], _stop("$44.50")],
    }
    tasks = [{**(wishlist if name == "wrong_page" else cost), "task_id": name} for name in EXPECTED]
    for task in tasks:
        task["intent"] = f"{task['intent']} ({task['task_id']})"
        if task["task_id"] in ("forbidden", "captcha"):
            task |= {"sites": ["keeper"], "start_url": f"__KEEPER__/{task['task_id']}"}
        if task["task_id"] == "evaluator_error":
            task["eval"] = {"eval_types": ["broken"]}
        if task["task_id"] == "judge_down":
            task["eval"] = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["anything"]}}
    draw.shuffle(tasks)
    (folder / "tasks.json").write_text(json.dumps(tasks))
    (folder / "scripts.json").write_text(json.dumps(scripts))
    return (
        *("agent._target_=tests.plugins.attribution.causes.Injected", "agent.name=injected"),
        f"+agent.arguments.scripts={folder / 'scripts.json'}",
        f"task.path={folder / 'tasks.json'}",
        "+evaluators.broken._target_=tests.plugins.attribution.causes.Broken",
        *(
            "llm.max_attempts=1",
            "llm.max_outage_s=0",
            f"limits.max_steps={MOST_STEPS}",
            "workers=1",
            "executor.lanes=1",
            f"run.seed={seed}",
        ),
    )


def at(url: str) -> tuple[str, ...]:
    """Settings that name the keeper's address."""
    return (
        *("llm=openai", "llm.model=m", f"llm.base_url={url}/v1", "llm.api_key=none"),
        *("judge.model=j", f"judge.base_url={url}/v1", "judge.max_attempts=1", f"+sites.keeper.url={url}"),
    )


def _click(name: str) -> dict[str, Any]:
    return {"do": "click", "role": "link", "name": name}


def _stop(answer: str) -> dict[str, Any]:
    return {"do": "stop", "answer": answer}
