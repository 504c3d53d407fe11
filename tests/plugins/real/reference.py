"""What REAL's own code gives: run with the Python of an environment that has `agisdk`.

Reads `{"checks": [...], "starts": [task, ...]}` from standard input and writes what its evaluator gives for each of the checks,
which pages its task opens before an episode, and its limits. The evaluator and the task run unchanged. Doubles stand in the
place of the browser, the network and the model; what the package imports besides is empty modules.
"""

import ast
import contextlib
import importlib.util
import json
import sys
import types
from pathlib import Path


class Hollow(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def package():
    root = Path(importlib.util.find_spec("agisdk").submodule_search_locations[0], "REAL")
    for name in ("playwright", "playwright.sync_api", "requests", "openai", "numpy", "gymnasium"):
        sys.modules[name] = Hollow(name)
    sys.modules["playwright"].sync_api = sys.modules["playwright.sync_api"]
    sys.modules["playwright.sync_api"].TimeoutError = TimeoutError
    sys.modules["numpy"].random = types.SimpleNamespace(RandomState=lambda seed: None)
    for name in ("", ".browsergym", ".browsergym.webclones", ".browsergym.core"):
        module = types.ModuleType(f"agisdk.REAL{name}")
        module.__path__ = [str(root.joinpath(*name.split(".")))]
        sys.modules[f"agisdk.REAL{name}"] = module
    from agisdk.REAL.browsergym.webclones import base, evaluate, task_config

    return root, base, evaluate, task_config


class Page:
    """Keeps what is opened, by tab."""

    def __init__(self, opened, tab="agent"):
        self.opened, self.tab, self.context = opened, tab, self

    def new_page(self):
        return Page(self.opened, "second")

    def goto(self, url):
        self.opened.append([self.tab, url])

    def wait_for_load_state(self, state):
        pass

    def bring_to_front(self):
        pass


class Configured:
    """A task that consists of checks."""

    def __init__(self, checks, task_config, scripts):
        self.eval_scripts_dir = scripts
        self.task = types.SimpleNamespace(points=1.0)
        self._checks = [task_config.Eval(**{"type": "script" if "script" in one else "", **one}) for one in checks]

    def get_evals(self):
        return self._checks


def score(case, evaluate, task_config, scripts):
    evaluate.generate_from_model = lambda prompt, model: case["grade"]
    judge = evaluate.WebCloneEvaluator(Configured(case["checks"], task_config, scripts))
    try:
        return judge.evaluate(json.loads(case["state"]), case["answer"])[0]
    except ValueError:
        return None


def default_of(tree, function, argument):
    """The default of an argument, in a module that cannot be imported without all that it needs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            names = [one.arg for one in node.args.args][-len(node.args.defaults) :]
            if argument in names:
                return ast.literal_eval(node.args.defaults[names.index(argument)])
    raise LookupError(argument)


def viewport_of(tree):
    return next(
        ast.literal_eval(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "self.viewport"
    )


def main():
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        root, base, evaluate, task_config = package()
        scripts = root / "browsergym/webclones/v2/eval_scripts"
        scores = [score(case, evaluate, task_config, scripts) for case in asked["checks"]]
        starts = {}
        for name in asked["starts"]:
            base.AbstractWebCloneTask(seed=0, task_id=name).setup(Page(starts.setdefault(name, [])))
    limits = {
        "max_steps": default_of(ast.parse((root / "harness.py").read_text()), "__init__", "max_steps"),
        "viewport": viewport_of(ast.parse((root / "browsergym/core/task.py").read_text())),
        "tasks": {version: len(names) for version, names in task_config.TASKS_BY_VERSION.items()},
        "model": default_of(ast.parse(Path(evaluate.__file__).read_text()), "__init__", "llm"),
        "threshold": default_of(ast.parse(Path(evaluate.__file__).read_text()), "evaluate_with_llm", "threshold"),
    }
    json.dump({"scores": scores, "starts": starts, "limits": limits, "root": str(root)}, sys.stdout)


if __name__ == "__main__":
    main()
