"""Suite files: which benchmarks, tasks, sites and limits come out, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.api import Benchmark, Closed, Evaluator, EvaluatorError, Finding, JudgedEvaluator, Reward, Task
from harness.cli import configured
from harness.config import Config
from harness.errors import ConfigError, UsageError
from harness.evaluation.builder import build_benchmark, build_evaluators, load_tasks
from harness.evaluation.embedded import plans_digest
from harness.evaluation.suite import Suite
from harness.journal.store import ArtifactStore
from harness.plugins.browsecomp.browsecomp import Grader
from harness.plugins.real.check_scripts import CheckScripts
from harness.plugins.real.state_checks import StateChecks
from harness.plugins.webvoyager.last_screenshots import LastScreenshots
from harness.settings.browser import BrowserSettings
from harness.testing import ScriptedPage
from tests.journal.episodes import closed

pytestmark = pytest.mark.integration
HERE = __name__


class Doors(Benchmark):
    """Knows its tasks by their own ids, and pays what its argument says."""

    def __init__(self, pay: float = 1.0) -> None:
        self._pay = pay

    def tasks(self) -> list[dict[str, Any]]:
        judged = {"eval_types": ["reward", "door"]}
        return [
            {
                "task_id": number,
                "sites": ["doors"],
                "start_url": "__DOORS__/",
                "intent": f"Open {number}",
                "eval": judged,
            }
            for number in (1, 2)
        ]

    async def prepare(self, page: Any, task: Task, /) -> str | None:
        return f"door {task.task_id}"

    async def reward(self, page: Any, task: Task, /) -> Reward | None:
        return Reward(value=self._pay, done=task.task_id == "2")

    def evaluators(self) -> dict[str, Evaluator]:
        return {"door": Door(self._pay)}


class Door:
    def __init__(self, pay: float) -> None:
        self._pay = pay

    async def evaluate(self, task: Task, ended: Closed, artifacts: Any, /) -> Finding:
        return Finding(value=self._pay, why=f"door {task.task_id} of template {task.intent_template_id!r}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Configurations of one's own: `task=doors` with an embedded site, `task=farm` on a deployment."""
    conf = tmp_path / "conf"
    for group in ("task", "sites"):
        (conf / group).mkdir(parents=True)
    for name, sites in (
        ("doors", "embedded: true\nserver: tests.doors\ndoors: {canonical: http://doors.localhost}"),
        ("farm", "embedded: false\nfarm: {url: http://10.0.0.9, canonical: http://farm.test}"),
        ("shed", "embedded: true\ndoors: {canonical: http://shed.localhost}"),
    ):
        (conf / "sites" / f"{name}.yaml").write_text(sites)
        (conf / "task" / f"{name}.yaml").write_text(
            f"# @package _global_\ndefaults: [{{override /sites: {name}}}]\n"
            f"task: {{name: {name}, _target_: {HERE}.Doors, arguments: {{pay: 0.5}}}}\nlimits: {{repeated_actions: 77}}\n"
        )
    return conf


def suite(folder: Path, text: str, *more: str) -> Config:
    path = folder.parent / "mix.yaml"
    path.write_text(text)
    return configured(["task=suite", f"task.path={path}", "llm=none", "agent=null", *more], folder)


BOTH = """
benchmarks:
  demo: {weight: 2, ids: [0-3], limits: {max_steps: 5}}
  halls: {task: doors, arguments: {pay: 1.0}}
  doors:
"""


def test_each_benchmark_brings_its_tasks_sites_and_limits(folder: Path) -> None:
    config = suite(folder, BOTH)
    tasks = load_tasks(config)
    assert [task.task_id for task in tasks] == [
        *("demo.0", "demo.1", "demo.2", "demo.3"),
        *("halls.1", "halls.2", "doors.1", "doors.2"),
    ]
    assert tasks[4].start_urls == ("http://doors.localhost/",)
    assert config.sites.servers == {
        "harness.plugins.demo": ("shop", "forum", "code", "office"),
        "tests.doors": ("doors",),
    }
    members = config.task.members
    assert {name: member["weight"] for name, member in members.items()} == {"demo": 2.0, "halls": 1.0, "doors": 1.0}
    limits = {name: (one["limits"]["max_steps"], one["limits"]["repeated_actions"]) for name, one in members.items()}
    assert limits == {"demo": (5, 3), "halls": (30, 77), "doors": (30, 77)}
    assert config.task.name == "mix"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "repeated"),
    [
        (("limits.max_steps=9", "limits.repeated_actions=4"), 4),
        (("limits.max_steps=9", "limits.repeated_actions=3"), 3),  # the default, and not the benchmark's 77
        (("limits={max_steps:9,repeated_actions:3}",), 3),
    ],
)
def test_limits_of_the_run_hold_for_every_benchmark_that_the_file_says_nothing_of(
    folder: Path, given: tuple[str, ...], repeated: int
) -> None:
    members = suite(folder, BOTH, *given).task.members
    limits = {name: (one["limits"]["max_steps"], one["limits"]["repeated_actions"]) for name, one in members.items()}
    assert limits == {"demo": (5, repeated), "halls": (9, repeated), "doors": (9, repeated)}


@pytest.mark.slow
def test_a_benchmark_may_switch_a_stop_rule_off(folder: Path) -> None:
    members = suite(
        folder, BOTH.replace("{max_steps: 5}", "{repeated_actions: null, parsing_failures: null}")
    ).task.members
    demo = members["demo"]["limits"]
    assert (demo["max_steps"], demo["repeated_actions"], demo["parsing_failures"]) == (30, None, None)
    with pytest.raises(ConfigError, match=r"limits\.max_steps cannot be null; give a number"):
        suite(folder, BOTH.replace("max_steps: 5", "max_steps: null"))


async def test_a_benchmark_and_its_evaluators_see_a_task_as_their_own(folder: Path, tmp_path: Path) -> None:
    config = suite(folder, BOTH)
    benchmark = build_benchmark(config.task)
    assert benchmark is not None
    by_id = {task.task_id: task for task in load_tasks(config)}
    page: Any = ScriptedPage()
    assert await benchmark.prepare(page, by_id["halls.2"]) == "door 2"
    assert await benchmark.reward(page, by_id["halls.2"]) == Reward(value=1.0, done=True)
    assert await benchmark.reward(page, by_id["doors.1"]) == Reward(value=0.5, done=False)
    assert await benchmark.prepare(page, by_id["demo.0"]) is None
    door = build_evaluators(config, benchmark)["door"]
    artifacts = ArtifactStore(tmp_path)
    assert (await door.evaluate(by_id["halls.2"], closed(), artifacts)).why == "door 2 of template ''"
    assert (await door.evaluate(by_id["doors.2"], closed(), artifacts)).value == 0.5
    with pytest.raises(EvaluatorError, match="demo has no evaluator of this eval type"):
        await door.evaluate(by_id["demo.0"], closed(), artifacts)


def test_what_asks_differently_in_the_published_scoring_does_so_in_a_suite() -> None:
    trips, grader, real = LastScreenshots(), Grader(), StateChecks(CheckScripts(None))
    members = {"trips": {"seen": trips}, "facts": {"seen": grader}, "shops": {"state": real}}
    evaluators = Suite(dict.fromkeys(members), members).evaluators()
    seen, state = evaluators["seen"], evaluators["state"]
    assert isinstance(seen, JudgedEvaluator) and isinstance(state, JudgedEvaluator)
    digests = [one.in_dialect("webarena").prompt_digest for one in (trips, grader)]
    assert seen.in_dialect("webarena").prompt_digest == " ".join(sorted(digests))
    assert seen.in_dialect("corrected") is seen
    assert state.in_dialect("webarena") is state, "one question for both scorings"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        (("task.ids=[demo/0-1,doors/2]",), ["demo.0", "demo.1", "doors.2"]),
        (("task.ids=[doors.1]",), ["doors.1"]),
        (("task.ids=[halls]",), ["halls.1", "halls.2"]),
        (("task.limit=1",), ["demo.0", "halls.1", "doors.1"]),
        (("task.sites=[doors]",), ["halls.1", "halls.2", "doors.1", "doors.2"]),
    ],
)
def test_tasks_are_chosen_by_benchmark_and_id(folder: Path, selection: tuple[str, ...], ids: list[str]) -> None:
    assert [task.task_id for task in load_tasks(suite(folder, BOTH, *selection))] == ids


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ("task.ids=[7]", "task.ids asks for 7; write BENCHMARK/ID, with one of demo, halls, doors"),
        ("task.ids=[demo/9]", "task.ids asks for 9, but the file contains 4 tasks, from 0 to 3"),
        ("task.sites=[lake]", "no task is selected; change task.ids or task.sites"),
    ],
)
def test_a_selection_of_nothing_is_one_sentence(folder: Path, selection: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        load_tasks(suite(folder, BOTH, selection))
    assert sentence in str(refused.value)


@pytest.mark.sample(2)  # each composes the settings of its benchmarks, which takes half a second
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("benchmarks: {dome: {}}", "benchmarks.dome: there is no benchmark 'dome'; choose from "),
        ("benchmarks: {demo: {weight: -1}}", "benchmarks.demo.weight=-1 cannot be used; give a number above 0"),
        ("benchmarks: {demo: {weight: .nan}}", "benchmarks.demo.weight=nan cannot be used"),
        ("benchmarks: {demo: {wieght: 1}}", "benchmarks.demo: unknown key 'wieght'; did you mean weight"),
        ("benchmarks: {demo: {}, demo: {}}", "demo is there twice"),
        ("benchmarks: {demo: &a {}, doors: *a}", "an alias cannot be used here"),
        ("benchmarks: {demo: 3}", "benchmarks.demo must be a mapping, as in demo: {weight: 1}"),
        ("benchmarks: [demo]", "contains no benchmarks; give `benchmarks:` and an entry for each"),
        ("benchmark: {demo: {}}", "contains no benchmarks"),
        ("benchmarks: {demo: {}}\nname: x", "unknown key 'name'; known keys: benchmarks"),
        ("benchmarks: {demo.1: {task: demo}}", "'demo.1' cannot be a name; use 1 to 32 of A-Z a-z 0-9 _ -"),
        ("benchmarks: {mix: {task: suite}}", "a suite cannot contain a suite"),
        ("benchmarks: {demo: {arguments: {a: 1}}}", "the tasks of demo are those of a file, and take no arguments"),
        ("benchmarks: {demo: {limits: {steps: 1}}}", "benchmarks.demo.limits: unknown key 'steps'"),
        ("benchmarks: {demo: {limits: {max_steps: many}}}", "limits.max_steps=many cannot be used"),
        ("benchmarks: {demo: {limit: -3}}", "task.limit=-3 cannot be used"),
        ("benchmarks: {demo: {limit: x}}", "benchmarks.demo: limit: "),
        ("benchmarks: {demo: {ids: [2020-01-01]}}", "benchmarks.demo: ids: "),
        ("benchmarks: {demo: {}, farm: {}}", "the sites of demo are embedded, those of farm are your own deployment"),
        ("benchmarks: {doors: {}, shed: {}}", "doors and shed mean different sites by doors"),
        ("benchmarks: {webarena: {}}", "benchmarks.webarena.path is not set; give its task file"),
        ("benchmarks: {demo: {path: '${oc.env:HOME}/x.json'}}", "benchmarks.demo.path: a suite file resolves no ${…}"),
        ("benchmarks: {demo: {ids: ['${oc.env:HOME}']}}", "benchmarks.demo.ids: a suite file resolves no ${…}"),
        ("benchmarks: {demo: {arguments: {a: {'${x}': 1}}}}", "demo.arguments.a.${x}: a suite file resolves no ${…}"),
        ("benchmarks: {demo: {arguments: {a: [{b: '${task}'}]}}}", "arguments.a.b: a suite file resolves no ${…}"),
        ("benchmarks: {", "is not a suite file in YAML"),
        ("\x00", "is not a suite file in YAML"),
    ],
)
def test_a_bad_suite_file_is_one_sentence(folder: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        suite(folder, text)
    said = str(refused.value)
    assert sentence in said and "mix.yaml" in said and len(said.splitlines()) == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("benchmarks: {first: {task: demo}, second: {task: demo, ids: [99]}}", "task.ids asks for 99"),
        ("benchmarks: {first: {task: demo}, second: {task: demo, path: 3}}", "/3: there is no such file or folder"),
        ("benchmarks: {first: {task: doors}, second: {task: doors, arguments: {pays: 1}}}", "keyword argument 'pays'"),
    ],
)
def test_what_is_wrong_with_the_tasks_of_one_benchmark_names_it(folder: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        load_tasks(suite(folder, text))
    said = str(refused.value)
    assert "mix.yaml: benchmarks.second: " in said and sentence in said


@pytest.mark.slow
def test_a_benchmark_is_told_the_viewport_of_the_run(folder: Path) -> None:
    text = "benchmarks: {doors: {}}"
    (folder / "task" / "doors.yaml").write_text(
        "# @package _global_\ndefaults: [{override /sites: doors}]\nbrowser: {height: 2048}\n"
        f"task: {{name: doors, _target_: {HERE}.Doors, arguments: {{pay: '${{browser.height}}'}}}}\n"
    )
    assert suite(folder, text).task.members["doors"]["arguments"] == {"pay": BrowserSettings().height}
    assert suite(folder, text, "browser.height=900").task.members["doors"]["arguments"] == {"pay": 900}


@pytest.mark.slow
def test_a_suite_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: the suite file cannot be read \(No such file or directory\)"):
        configured(["task=suite", f"task.path={tmp_path / 'none.yaml'}"])
    with pytest.raises(ConfigError, match=r"the suite file cannot be read"):
        configured(["task=suite", f"task.path={tmp_path}"])


@pytest.mark.slow
def test_weights_are_no_measured_settings_and_limits_and_arguments_are(folder: Path) -> None:
    before = suite(folder, BOTH).measured()
    assert suite(folder, BOTH.replace("weight: 2", "weight: 3").replace("[0-3]", "[0-4]")).measured() == before
    changed = suite(folder, BOTH.replace("pay: 1.0", "pay: 0.2").replace("max_steps: 5", "max_steps: 6")).measured()
    assert {key for key in changed if changed[key] != before.get(key)} == {
        "task.members.demo.limits.max_steps",
        "task.members.halls.arguments.pay",
    }


@pytest.mark.slow
def test_settings_of_a_suite_are_plain_values_for_other_processes(folder: Path) -> None:
    config = suite(folder, BOTH)
    assert json.loads(json.dumps(config.tree()["task"]["members"])) == config.task.members


@pytest.mark.slow
def test_a_task_file_is_looked_for_beside_the_suite_file(folder: Path) -> None:
    judged = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "7"}}
    task = {"task_id": 4, "sites": ["shop"], "start_url": "__SHOP__", "intent": "How many?", "eval": judged}
    (folder.parent / "mine.json").write_text(json.dumps([task]))
    (only,) = load_tasks(suite(folder, "benchmarks: {mine: {task: demo, path: mine.json}}"))
    assert only.task_id == "mine.4"


@pytest.mark.slow
def test_a_suite_needs_plans_for_the_scripted_endpoint_as_a_benchmark_alone_does(folder: Path) -> None:
    def plans_of(config: Config) -> str | None:
        return plans_digest(config.llm, config.task)

    scripted = ("llm=scripted", "agent=prompt")
    with pytest.raises(
        ConfigError, match="llm=scripted has no plans for the benchmark halls of the suite; leave it out"
    ):
        plans_of(suite(folder, BOTH, *scripted))
    assert plans_of(suite(folder, "benchmarks: {demo: {}, again: {task: demo}}", *scripted))
    own = folder.parent / "plans.json"
    own.write_text("[]")
    assert plans_of(suite(folder, BOTH, *scripted, f"llm.plans={own}"))


def test_every_call_of_a_benchmark_is_handed_on() -> None:
    asked = {name for name, found in vars(Benchmark).items() if callable(found) and not name.startswith("_")}
    assert asked <= vars(Suite).keys()
