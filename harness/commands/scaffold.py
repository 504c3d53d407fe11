"""The files of a new plug-in package, each small enough to be read before it is changed."""

import re
from collections.abc import Mapping
from types import MappingProxyType

_COMMON = {
    "pyproject.toml": """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "NAME"
version = "0.1.0"
dependencies = ["cairn-harness"]

[project.entry-points."cairn.plugins"]
NAME = "NAME"

[tool.setuptools.packages.find]
include = ["NAME*"]

[tool.setuptools.package-data]
NAME = ["configs/**/*.yaml", "*.json"]

[tool.pytest.ini_options]
pythonpath = ["."]
asyncio_mode = "auto"
""",
    "NAME/__init__.py": '"""KIND NAME, a plug-in of Cairn."""\n',
}
_AGENT = {
    "NAME/agent.py": '''"""An agent that asks the model once per step, and remembers which pages it was on."""

from harness.api import (
    ActionSyntaxError,
    CairnActionSet,
    ChatModel,
    Decision,
    Episode,
    InvalidAction,
    LiveObservation,
    Message,
    Task,
    extract,
    resolve,
)


class CLASS:
    """`model` is given by Cairn; the other arguments are those of configs/agent/NAME.yaml."""

    def __init__(self, model: ChatModel, most_pages: int = 20) -> None:
        self._model = model
        self._most_pages = most_pages
        self._actions = CairnActionSet()

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        seen = observation.observation
        pages = [*(episode.memory or []), seen.url][-self._most_pages :]
        prompt = (
            f"Objective: {task.intent}\\nYou were on: {' '.join(pages)}\\nThe page:\\n{seen.text}\\n"
            "Answer with one action between triple backticks: click [id], type [id] [text] [1], goto [url] or"
            " stop [answer]."
        )
        messages = (Message(role="user", content=prompt),)
        reply = await self._model.ask(messages)
        try:
            action = resolve(self._actions.parse(extract(reply.text, "```")), observation.nodes)
        except ActionSyntaxError as error:
            action = InvalidAction(why=str(error))
        return Decision(action=action, messages=messages, reply=reply, memory=pages)
''',
    "NAME/configs/agent/NAME.yaml": """# The agent of this package: harness run agent=NAME llm=openai llm.model=MODEL
name: NAME
_target_: NAME.agent.CLASS
arguments:
  most_pages: 20
""",
    "tests/test_NAME.py": """from harness.testing import MemoryJournal, ScriptedModel, play
from NAME.agent import CLASS


async def test_it_stops_with_the_answer() -> None:
    episode = await play(CLASS(ScriptedModel("```stop [7]```")), "[1] link 'Tea'")
    assert episode.closed is not None and episode.closed.answer == "7"


async def test_its_memory_is_there_after_a_resume() -> None:
    journal = MemoryJournal()
    await play(CLASS(ScriptedModel("```goto [http://site.test/]```")), "one", "two", journal=journal, most_steps=1)
    episode = await play(CLASS(ScriptedModel("```stop []```")), "one", "two", journal=journal)
    assert len(episode.memory) == 2
""",
}
_ACTION = {
    "pyproject.toml": _COMMON["pyproject.toml"].replace(
        "[tool.setuptools.packages.find]",
        """# So that every command reads journals that hold the action.
[project.entry-points."cairn.actions"]
NAME = "NAME.action:CLASS"

[tool.setuptools.packages.find]""",
    ),
    "NAME/action.py": '''"""An action that selects a paragraph."""

from dataclasses import dataclass
from typing import ClassVar

from harness.api import Action, BrowserControls, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class CLASS(Action):
    kind: ClassVar[str] = "NAME"
    prompt: ClassVar[str] = "NAME [id] selects the text of a paragraph."
    target: Target

    async def perform(self, browser: BrowserControls) -> None:
        await browser.double_click(self.target)
        await browser.click(self.target)

    def may_change_sites(self) -> bool:
        return True  # as a click may; such an action is not repeated on a site that was not reset
''',
    "NAME/configs/agent/NAME.yaml": """# @package _global_
# The prompted agent, with the action of this package: harness run agent=NAME llm=openai llm.model=MODEL
defaults:
  - /agent/prompt@agent
  - _self_
agent:
  name: NAME
actions: [NAME.action.CLASS]
""",
    "tests/test_NAME.py": """from pathlib import Path

from harness.api import CairnActionSet, Target
from harness.cli import configured
from harness.evaluation.builder import build_agent
from harness.testing import ScriptedModel, play
from NAME.action import CLASS

CONFIGS = Path(__file__).parents[1] / "NAME" / "configs"


class Browser:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def click(self, target: Target) -> None:
        self.asked.append(("click", target.id))

    async def double_click(self, target: Target) -> None:
        self.asked.append(("double_click", target.id))


async def test_it_is_read_and_performed() -> None:
    action = CairnActionSet([CLASS]).parse("NAME [12]")
    assert action == CLASS(target=Target(id="12"))
    browser = Browser()
    await action.perform(browser)
    assert browser.asked == [("double_click", "12"), ("click", "12")]


async def test_an_agent_is_told_of_it_and_uses_it() -> None:
    model = ScriptedModel("```NAME [1]```", "```stop [7]```")
    episode = await play(build_agent(configured(["agent=NAME"], CONFIGS), model), "[1] paragraph 'Tea'", "the same")
    assert "NAME [id] selects" in model.asked[0][0].content
    assert [step.decided.action.kind for step in episode.steps] == ["NAME"]
""",
}
_EVALUATOR = {
    "NAME/evaluator.py": '''"""An evaluator of the length of the answer; a task has the most as "eval": {"NAME": 80}."""

from harness.api import Artifacts, Closed, EvaluatorError, Finding, Task


class CLASS:
    """The arguments are those of configs/evaluators/NAME.yaml."""

    def __init__(self, tolerance: int = 0) -> None:
        self._tolerance = tolerance

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        most = task.metadata.get("eval.NAME")
        if not isinstance(most, int):
            raise EvaluatorError("the task has no number as eval.NAME")
        length = len(closed.answer)
        fits = length <= most + self._tolerance
        return Finding(value=float(fits), why=f"the answer has {length} characters, {most} are allowed")
''',
    "NAME/configs/evaluators/NAME.yaml": """# The eval type NAME of tasks: harness run +evaluators=NAME task.path=FILE
NAME:
  _target_: NAME.evaluator.CLASS
  arguments:
    tolerance: 0
""",
    "tests/test_NAME.py": """from harness.testing import MemoryArtifacts, a_task, closed
from NAME.evaluator import CLASS


async def test_the_length_of_the_answer_decides() -> None:
    task = a_task(eval_types=("NAME",), **{"eval.NAME": 3})
    assert (await CLASS().evaluate(task, closed("abc"), MemoryArtifacts())).value == 1.0
    assert (await CLASS().evaluate(task, closed("abcd"), MemoryArtifacts())).value == 0.0
""",
}
_SITE = {
    "NAME/configs/sites/NAME.yaml": """# The site NAME: UPPER=http://host:8000 harness run task=NAME
NAME:
  url: ${oc.env:UPPER,null}
  canonical: http://NAME.test  # the address that agents, tasks and journals have for it
  read_only: false
""",
    "NAME/configs/task/NAME.yaml": """# @package _global_
# The tasks of this package: UPPER=http://host:8000 harness run task=NAME llm=openai llm.model=MODEL
defaults:
  - override /sites: NAME
task:
  name: NAME
  path: ${package:NAME,tasks.json}
""",
    "NAME/tasks.json": """[
  {
    "task_id": 0, "sites": ["NAME"], "start_url": "__UPPER__/", "intent": "What is the title of the page?",
    "mutates": false, "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "Welcome"}}
  }
]
""",
    "tests/test_NAME.py": """from pathlib import Path

from harness.cli import configured
from harness.evaluation.builder import load_tasks

CONFIGS = Path(__file__).parents[1] / "NAME" / "configs"


def test_its_tasks_are_sound() -> None:
    config = configured(["task=NAME"], CONFIGS)
    (task,) = load_tasks(config)
    assert task.start_urls == ("http://NAME.test/",)
""",
}
_BENCHMARK = {
    "NAME/NAME.py": '''"""A benchmark whose pages say themselves when a task is done."""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.api import Benchmark, BenchmarkPage, Reward, Task

WORDS = ("OK", "Cancel")


class CLASS(Benchmark):
    """The arguments are those of configs/task/NAME.yaml."""

    def __init__(self, words: list[str] | None = None) -> None:
        self._words = words or WORDS

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        for word in self._words:
            yield {
                "task_id": f"press-{word.lower()}",
                "sites": ["NAME"],
                "start_url": "__UPPER__/",
                "intent": f"Press the button {word}",
                "word": word,
                "mutates": False,
                "eval": {"eval_types": ["reward"]},
            }

    async def prepare(self, page: BenchmarkPage, task: Task, /) -> None:
        await page.evaluate("(seed) => window.start?.(seed)", page.seed)

    async def reward(self, page: BenchmarkPage, task: Task, /) -> Reward | None:
        pressed = await page.evaluate("() => window.pressed ?? null")
        return None if pressed is None else Reward(value=float(pressed == task.metadata["word"]), done=True)
''',
    "NAME/configs/sites/NAME.yaml": _SITE["NAME/configs/sites/NAME.yaml"],
    "NAME/configs/task/NAME.yaml": """# @package _global_
# The benchmark of this package: UPPER=http://host:8000 harness run task=NAME llm=openai llm.model=MODEL
defaults:
  - override /sites: NAME
task:
  name: NAME
  _target_: NAME.NAME.CLASS
  arguments:
    words: [OK, Cancel]
""",
    "tests/test_NAME.py": """from pathlib import Path

from harness.cli import configured
from harness.evaluation.builder import load_tasks
from harness.testing import ScriptedPage
from NAME.NAME import CLASS

CONFIGS = Path(__file__).parents[1] / "NAME" / "configs"


def test_its_tasks_are_sound() -> None:
    tasks = load_tasks(configured(["task=NAME"], CONFIGS))
    assert [task.task_id for task in tasks] == ["press-ok", "press-cancel"]


async def test_the_right_button_is_rewarded() -> None:
    task = load_tasks(configured(["task=NAME"], CONFIGS))[0]
    assert await CLASS().reward(ScriptedPage(None), task) is None
    right, wrong = [await CLASS().reward(ScriptedPage(word), task) for word in ("OK", "Cancel")]
    assert (right.value, wrong.value) == (1.0, 0.0) and right.done
""",
}
_PROCESS = {
    "NAME/agent.py": '''"""An agent as a process: it asks its model through the gateway of the run."""

import json
import os
import sys
import urllib.request

from openai import OpenAI


def act(name: str, arguments: str) -> dict:
    url, token = f"{os.environ['CAIRN_URL']}/actions/{name}", os.environ["CAIRN_TOKEN"]
    request = urllib.request.Request(url, arguments.encode(), {"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main() -> None:
    task, model = json.load(sys.stdin), OpenAI()
    tools = [{"type": "function", "function": tool} for tool in task["tools"]]
    messages = [
        {"role": "system", "content": "You operate a web browser by calling functions. Call stop with the answer."},
        {"role": "user", "content": task["text"]},
    ]
    while True:
        reply = model.chat.completions.create(model=os.environ["CAIRN_MODEL"], messages=messages, tools=tools)
        said = reply.choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            print(json.dumps({"answer": said.content or ""}))
            return
        for call in said.tool_calls:
            result = act(call.function.name, call.function.arguments)
            if result["over"]:
                return
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result["text"]})


if __name__ == "__main__":
    main()
''',
    "NAME/configs/agent/NAME.yaml": """# The agent of this package: harness run agent=NAME llm=openai llm.model=MODEL
name: NAME
kind: process
command: [python3, "${package:NAME,agent.py}"]
""",
    "tests/test_NAME.py": """import sys
from pathlib import Path

from harness.plugins.process_agent.scripted import scripted_process
from harness.testing import MemoryJournal, play

COMMAND = [sys.executable, str(Path(__file__).parents[1] / "NAME" / "agent.py")]
ANSWERS = ("goto", {"url": "http://site.test/tea"}), ("stop", {"answer": "7"})


async def test_it_acts_and_stops_with_the_answer() -> None:
    async with scripted_process(COMMAND, *ANSWERS) as agent:
        episode = await play(agent, "[1] link 'Tea'", "[2] text '7'")
    assert episode.closed is not None and episode.closed.answer == "7" and len(episode.steps) == 1


async def test_another_process_goes_on_where_it_was_stopped() -> None:
    journal = MemoryJournal()
    async with scripted_process(COMMAND, *ANSWERS) as agent:
        await play(agent, "[1] link 'Tea'", "[2] text '7'", journal=journal, most_steps=1)
        episode = await play(agent, "[1] link 'Tea'", "[2] text '7'", journal=journal)
    assert episode.closed is not None and episode.closed.answer == "7" and episode.diverged == ()
""",
}
KINDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "process": _COMMON | _PROCESS,
        "action": _COMMON | _ACTION,
        "agent": _COMMON | _AGENT,
        "benchmark": _COMMON | _BENCHMARK,
        "evaluator": _COMMON | _EVALUATOR,
        "site": _COMMON | _SITE,
    }
)
"""Kind to its files, path to text; both with NAME, CLASS, UPPER and KIND to be replaced."""


def files_of(kind: str, name: str) -> dict[str, str]:
    """Path to text of a package."""
    words = {
        "NAME": name,
        "CLASS": "".join(part.capitalize() for part in name.split("_")),
        "UPPER": name.upper(),
        "KIND": kind.capitalize(),
    }
    any_word = re.compile("|".join(words))
    return {
        any_word.sub(lambda found: words[found[0]], path): any_word.sub(lambda found: words[found[0]], text)
        for path, text in KINDS[kind].items()
    }
