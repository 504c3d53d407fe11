"""What the original judges ask and how they read, from a checkout of their code, which runs unchanged.

Reads from standard input `{"benchmark": …, "folder": the checkout, "episodes": […]}`, an episode being its task, answer,
actions, screenshots (base64) and the judge's replies, and writes for each `{"asked": [messages, …], "verdict": …}`, for
WebJudge with the scores of the screenshots.
Doubles stand in the place of the model; modules that the code imports besides are empty.
"""

import asyncio
import contextlib
import importlib
import json
import sys
import tempfile
import types
from base64 import b64decode
from pathlib import Path


class Hollow(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {})


class Engine:
    """A model of WebJudge: keeps what it is asked. Key points are asked first, the verdict last."""

    def __init__(self, replies):
        self.asked, self.replies = [], list(replies)

    def generate(self, messages):
        self.asked.append(messages)
        content = messages[-1]["content"]
        if len(self.asked) == 1:
            return [self.replies[0]]
        number = self.pictures.index(content[1]["image_url"]["url"].partition(",")[2])
        self.pictures[number] = None
        self.asked[-1] = (number, messages)
        return [self.replies[1 + number]]


def online_mind2web(folder, episodes):
    backoff = Hollow("backoff")
    backoff.on_exception = lambda *_, **__: lambda wrapped: wrapped
    sys.modules.update(backoff=backoff, openai=Hollow("openai"))
    sys.path.insert(0, str(Path(folder, "src")))
    judge, utils = importlib.import_module("methods.webjudge_online_mind2web"), importlib.import_module("utils")
    for episode, paths in files(episodes):
        model = Engine(episode["replies"])
        model.pictures = [utils.encode_image(judge.Image.open(path)) for path in paths]
        asking = judge.WebJudge_Online_Mind2Web_eval(episode["task"], episode["actions"], paths, model, 3)
        messages, _, _, record, _ = asyncio.run(asking)
        ratings = [one for _, one in sorted(model.asked[1:], key=lambda numbered: numbered[0])]
        verdict = utils.extract_predication(episode["replies"][-1], "WebJudge_Online_Mind2Web_eval")
        scores = [one["Score"] for one in record]
        yield {"asked": [model.asked[0], *ratings, messages], "verdict": verdict, "scores": scores}


def webvoyager(folder, episodes):
    sys.modules["openai"] = Hollow("openai")
    sys.path.insert(0, str(Path(folder, "evaluation")))
    judge = importlib.import_module("auto_eval")
    for episode, paths in files(episodes, "screenshot{}.png"):
        asked = []

        def create(messages, asked=asked, episode=episode, **_):
            asked.append(json.loads(json.dumps(messages)))
            message = types.SimpleNamespace(content=episode["replies"][-1])
            usage = types.SimpleNamespace(prompt_tokens=0, completion_tokens=0)
            return types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)], usage=usage)

        client = types.SimpleNamespace(chat=types.SimpleNamespace(completions=types.SimpleNamespace(create=create)))
        given = f"Now given a task: {episode['task']}  Please interact with https://www.example.com and get the answer."
        told = [("system", ""), ("user", given), ("assistant", f"Action: ANSWER; [{episode['answer']}]")]
        place = Path(paths[0]).parent
        place.joinpath("interact_messages.json").write_text(
            json.dumps([{"role": role, "content": content} for role, content in told])
        )
        verdict = judge.auto_eval_by_gpt4v(str(place), client, "m", 15)
        yield {"asked": asked, "verdict": verdict}


def browsecomp(folder, episodes):
    for name in ("pandas", "simple_evals", "simple_evals.common", "simple_evals.types"):
        sys.modules[name] = Hollow(name)
    sys.modules["simple_evals"].__path__ = [folder]
    sys.modules["simple_evals"].common = sys.modules["simple_evals.common"]
    judge = importlib.import_module("simple_evals.browsecomp_eval")
    for episode in episodes:
        asked = []

        class Grader:
            def _pack_message(self, role, content):
                return {"role": role, "content": content}

            def __call__(self, messages, asked=asked, episode=episode):
                asked.append(messages)
                return types.SimpleNamespace(response_text=episode["replies"][-1])

        evaluation = judge.BrowseCompEval.__new__(judge.BrowseCompEval)
        evaluation.grader_model = Grader()
        found = evaluation.grade_sample(episode["task"], episode["reference"], episode["answer"])
        yield {"asked": asked, "verdict": found.removeprefix("correct: ") == "yes", "template": judge.GRADER_TEMPLATE}


def files(episodes, name="{}.png"):
    for episode in episodes:
        with tempfile.TemporaryDirectory() as place:
            paths = [str(Path(place, name.format(number))) for number in range(len(episode["screenshots"]))]
            for path, data in zip(paths, episode["screenshots"], strict=True):
                Path(path).write_bytes(b64decode(data))
            yield episode, paths


if __name__ == "__main__":
    given = json.load(sys.stdin)
    judges = {"online_mind2web": online_mind2web, "webvoyager": webvoyager, "browsecomp": browsecomp}
    with contextlib.redirect_stdout(sys.stderr):
        answer = list(judges[given["benchmark"]](given["folder"], given["episodes"]))
    json.dump(answer, sys.stdout)
