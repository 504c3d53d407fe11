"""Classes that settings name: what is refused in one sentence, what they are given, and what a run is measured by."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.api import (
    Agent,
    Artifacts,
    Benchmark,
    Closed,
    ComputerTool,
    Decision,
    Episode,
    Evaluator,
    Executor,
    Finding,
    Identity,
    Judge,
    JudgeAccess,
    JudgedEvaluator,
    JudgeQuestion,
    LiveObservation,
    Message,
    RecordedEpisode,
    Reply,
    Stop,
    Task,
    Tool,
)
from harness.cli import configured
from harness.config import Config
from harness.config.config_tree import saved
from harness.errors import ConfigError, UsageError
from harness.evaluation.builder import (
    build_agent,
    build_evaluators,
    build_executor,
    build_judge,
    build_renderer,
    build_sinks,
    check_plugins,
    load_tasks,
)
from harness.evaluation.plugin_factory import plugin_factory
from harness.settings.plugin import PluginSettings

pytestmark = pytest.mark.integration
HERE = __name__
MINE = ("agent.name=mine", f"agent._target_={HERE}.Mine")


class Silent:
    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        return Reply()


class Words:
    def __init__(self, most: int = 5) -> None:
        self.most = most

    def render(self, observation: LiveObservation, /) -> str:
        return " ".join(observation.observation.text.split()[: self.most])


class Mine:
    def __init__(self, model: Any, depth: int = 1, api_key: str = "") -> None:
        if depth < 0:
            raise ValueError("depth is below 0")
        self.model, self.depth = model, depth

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        return Decision(action=Stop(answer=str(self.depth)))


class Asks(Mine):
    def decide(self, *given: Any) -> Any:
        return None


class Total:
    def __init__(self, most: int = 1) -> None:
        self.most = most

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        return Finding(value=1.0, why="")


class Nameless:
    async def judge(self, question: JudgeQuestion, /) -> Reply:
        return Reply(text="correct")


class Numbered(Nameless):
    name = 5


class Named(Nameless):
    name = "named-1"


class Undigested(JudgedEvaluator):
    prompt_digest: Any = None

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        return Finding(value=1.0, why="")


class Undecided(Undigested):
    prompt_digest = "p"

    def in_dialect(self, dialect: str, /) -> Any:
        return None


class Unable(Undecided):
    def in_dialect(self, dialect: str, /) -> Any:
        raise KeyError(dialect)


class Judged(Benchmark):
    def tasks(self) -> list[Any]:
        return []

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {"mine": Undigested()}


class Elsewhere:
    def start(self, command: Sequence[str], number: int, log: Path, /) -> Any:
        return None


class Rows:
    def __init__(self, path: str) -> None:
        self.path = path

    def start(self, identity: Identity) -> None: ...

    def log(self, row: Mapping[str, float], split: str) -> None: ...

    def close(self) -> None: ...


class Taskless(Benchmark):
    """It forgot what it is about."""


class Clashing(Benchmark):
    def tasks(self) -> list[Any]:
        return []

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {"url_match": Total()}


class Judgeless(Clashing):
    def evaluators(self) -> Mapping[str, Evaluator]:
        raise KeyError("judge")


class Unwritten(Benchmark):
    """Its tasks are not JSON."""

    def tasks(self) -> list[Any]:
        return [{"task_id": "a", "seen": {1, 2}}]


class Listed(Benchmark):
    """Its tasks are what a test says."""

    def __init__(self, entries: Any = (), error: str = "", splits: Any = None) -> None:
        self._entries = entries
        self._error = error
        self._splits = splits

    def tasks(self) -> Iterator[Any]:
        yield from self._entries
        if self._error:
            raise KeyError(self._error)

    def splits(self) -> Any:
        return self._splits


def test_ids_of_a_split_may_be_numbers() -> None:
    entries = ",".join(SOUND.replace("task_id: a", f"task_id: {number}") for number in range(2))
    given = [f"+task.arguments.entries=[{entries}]", "+task.arguments.splits={dev: [1]}", "task.split=dev"]
    (chosen,) = load_tasks(configured([LISTED, *given]))
    assert chosen.task_id == "1"


@pytest.mark.parametrize("ids", ["01", None, 0])
def test_a_split_that_is_no_list_of_ids_is_refused(ids: object) -> None:
    task = replace(Config().task, path=None, _target_=f"{HERE}.Listed", split="dev")
    with pytest.raises(
        ConfigError, match=f"splits of Listed: TypeError: split dev is {type(ids).__name__}; give a list"
    ):
        load_tasks(replace(Config(), task=replace(task, arguments={"entries": [], "splits": {"dev": ids}})))


class Unforeseen(Exception):
    """Of no kind that is raised elsewhere."""


@pytest.mark.parametrize("error", [Unforeseen("mine"), NameError("undefined")])
@pytest.mark.parametrize(
    ("method", "failed"),
    [
        ("__init__", f"task._target_={__name__}.Listed cannot be made"),
        ("tasks", "cannot list the tasks of Listed"),
        ("splits", "cannot list the splits of Listed"),
        ("evaluators", "cannot make the evaluators of Listed"),
    ],
)
def test_whatever_a_benchmark_raises_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, method: str, failed: str, error: Exception
) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Listed, method, fails)
    task = replace(Config().task, path=None, _target_=f"{HERE}.Listed", split="dev" if method == "splits" else None)
    with pytest.raises(ConfigError, match=f"^{failed}: {type(error).__name__}: {error}"):
        load_tasks(replace(Config(), task=task))


LISTED = f"task._target_={HERE}.Listed"
SOUND = "{task_id: a, sites: [shop], start_url: __SHOP__/, intent: Look, word: x, eval: {eval_types: [reward]}}"


def test_the_tasks_of_a_benchmark_are_checked_and_selected_like_those_of_a_file() -> None:
    other = SOUND.replace("task_id: a", "task_id: b")
    config = configured([LISTED, f"+task.arguments.entries=[{SOUND},{other}]", "task.ids=[b]"])
    (task,) = load_tasks(config)
    assert (task.task_id, task.start_urls, task.metadata) == ("b", ("http://shop.localhost/",), {"word": "x"})
    assert config.measured()["task._target_"] == f"{HERE}.Listed"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["+task.arguments.entries=[3]"], r"Listed, entry 0: contains a number; a task is a JSON object"),
        (["+task.arguments.entries=[{task_id: ../a}]"], "ids become file names"),
        ([f"+task.arguments.entries=[{SOUND},{SOUND}]"], "task id 'a' is already used in .*Listed, entry 0"),
        ([f"+task.arguments.entries=[{SOUND.replace('reward', 'rewards')}]"], "contains 'rewards'; choose from"),
        (["+task.arguments.error=seed"], "cannot list the tasks of Listed: KeyError: 'seed'"),
        (["+task.arguments.entries=[]"], "contains no tasks"),
    ],
)
def test_tasks_of_a_benchmark_that_cannot_be_used_are_one_sentence(overrides: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        load_tasks(configured([LISTED, *overrides]))


async def later(*_: Any) -> None: ...


@pytest.mark.parametrize(
    ("place", "mine", "method"),
    [("executor", "Elsewhere", "start"), ("observation", "Words", "render"), ("task", "Listed", "tasks")],
)
def test_a_method_that_is_async_where_it_is_called_plainly_is_refused(
    monkeypatch: pytest.MonkeyPatch, place: str, mine: str, method: str
) -> None:
    monkeypatch.setattr(f"{HERE}.{mine}.{method}", later)
    with pytest.raises(ConfigError, match=f"{place}._target_={HERE}.{mine}: its method {method} must be a plain `def`"):
        check_plugins(configured(["agent=null", f"{place}._target_={HERE}.{mine}"]))


@pytest.mark.parametrize(
    ("evaluators", "sentence"),
    [
        ({"mine": Total}, r"Listed\.evaluators: mine is a class; give an object of it, Total\(\.\.\.\)"),
        ({"reward": Total()}, r"Listed\.evaluators: reward is a shipped evaluator; give yours another name"),
    ],
)
def test_an_evaluator_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch, evaluators: Mapping[str, Any], sentence: str
) -> None:
    monkeypatch.setattr(Listed, "evaluators", lambda _: evaluators)
    with pytest.raises(ConfigError, match=sentence):
        check_plugins(configured(["agent=null", LISTED]))


@pytest.mark.slow
def test_the_time_of_pages_is_not_stopped_for_an_agent_that_drives_the_browser_itself() -> None:
    process = ["agent=process", f"agent.command=[{sys.executable}]", "browser.time=stopped"]
    check_plugins(configured(process))
    with pytest.raises(ConfigError, match=r"leave out agent\.browser=cdp, or browser\.time=stopped"):
        check_plugins(configured([*process, "agent.browser=cdp"]))


def test_tasks_that_are_not_json_are_one_sentence() -> None:
    with pytest.raises(UsageError, match="Unwritten, entry 0: is not JSON"):
        load_tasks(configured([f"task._target_={HERE}.Unwritten"]))


def test_without_a_file_and_without_a_benchmark_there_are_no_tasks() -> None:
    with pytest.raises(ConfigError, match=r"task.path is not set; give a task file, or the class of a benchmark"):
        load_tasks(configured(["task.path=null"]))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["agent._target_=no.such.Agent"], "agent._target_=no.such.Agent cannot be imported: "),
        ([f"agent._target_={HERE}.NoSuch"], f"cannot be imported: {HERE} has no class NoSuch; give module.Class"),
        (["agent._target_=os.system"], "agent._target_=os.system cannot be imported: it is not a class"),
        (["agent._target_=os.path.join"], "agent._target_=os.path.join is not a class"),
        (
            ["agent._target_=builtins.dict"],
            "agent._target_=builtins.dict has no method decide, which harness.api.Agent",
        ),
        ([f"agent._target_={HERE}.Asks"], "its method decide must be `async def`"),
        ([*MINE, "+agent.arguments.deep=2"], "unexpected keyword argument 'deep'; it is given model, too"),
        ([*MINE, "+agent.arguments.model=2"], "multiple values for keyword argument 'model'"),
        ([*MINE, "+agent.arguments._args_=[1]"], "agent.arguments: _args_ cannot be the name of an argument"),
        ([f"judge._target_={HERE}.Mine"], "has no method judge, which harness.api.Judge needs"),
        ([f"+evaluators.total._target_={HERE}.Mine"], r"evaluators.total._target_=.*Mine has no method evaluate"),
        (
            [f"+evaluators.url_match._target_={HERE}.Total"],
            "evaluators.url_match: there is an evaluator url_match already",
        ),
        (["+evaluators.total.arguments.most=1"], "evaluators.total._target_ is not set"),
        ([f"task._target_={HERE}.Total"], "has no method tasks, which harness.api.Benchmark needs"),
        ([f"task._target_={HERE}.Taskless"], "Taskless cannot be made: TypeError: Can't instantiate abstract class"),
        ([f"task._target_={HERE}.Clashing"], "Clashing.evaluators: url_match is a shipped evaluator"),
        ([f"task._target_={HERE}.Judgeless"], "cannot make the evaluators of Judgeless: KeyError: 'judge'"),
        ([f"task._target_={HERE}.Rows"], "has no method tasks"),
        ([f"task._target_={HERE}.Judged"], r"Judged.evaluators: mine.prompt_digest is None; give a text"),
        ([f"+evaluators.mine._target_={HERE}.Undigested"], r"Undigested.prompt_digest is None; give a text"),
        ([f"+evaluators.mine._target_={HERE}.Undecided"], r"in_dialect\('webarena'\) returned NoneType"),
        ([f"+evaluators.mine._target_={HERE}.Unable"], r"in_dialect\('webarena'\) cannot be called: KeyError"),
        (
            [f"observation._target_={HERE}.Total"],
            "has no method render, which harness.api.ObservationRenderer needs",
        ),
        ([f"observation._target_={HERE}.Words", "+observation.arguments.lest=1"], "observation.arguments do not fit"),
        ([f"executor._target_={HERE}.Total"], "has no method start, which harness.api.Executor needs"),
    ],
)
def test_a_class_that_does_not_fit_is_one_sentence(overrides: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        check_plugins(configured(overrides))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def f(:", "SyntaxError: invalid syntax"),
        ("undefined", "NameError: name 'undefined' is not defined"),
        ("1/0", "ZeroDivisionError: division by zero"),
        ("from harness.api import Nope", "ImportError: cannot import name 'Nope' from 'harness.api'"),
        ("open('nope.json')", "FileNotFoundError: .*nope.json"),
        ("class E(Exception): ...\nraise E('mine')", "E: mine"),
        ("class E(Exception):\n    def __str__(self): return 1 / 0\nraise E", "E: $"),
        ("class E(BaseException): ...\nraise E('mine')", "E: mine"),
        ("import asyncio\nraise asyncio.CancelledError", "CancelledError: $"),
        ("import sys\nsys.exit(0)", r"RuntimeError: it called sys.exit\(0\)"),  # 0: a run that played nothing passed CI
        ("import not_there_for_cairn", "No module named 'not_there_for_cairn'; give module.Class of an installed"),
    ],
)
@pytest.mark.parametrize("module", ["broken_agent", "agents_of_mine.broken"])
def test_what_a_module_raises_while_it_is_imported_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, code: str, why: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    file = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(exist_ok=True)
    file.write_text(code)
    with pytest.raises(ConfigError, match=f"agent._target_={module}.Mine cannot be imported: {why}"):
        plugin_factory("agent", PluginSettings(_target_=f"{module}.Mine"), Agent)


def test_what_a_constructor_raises_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match=r"Mine cannot be made: ValueError: depth is below 0"):
        build_agent(configured([*MINE, "+agent.arguments.depth=-1"]), Silent())
    with pytest.raises(ConfigError, match=r"lacks members of harness.api.Judge"):
        build_judge(configured([f"judge._target_={HERE}.Nameless"]).judge)
    with pytest.raises(ConfigError, match=r"Numbered\.name is 5; give a text"):
        build_judge(configured([f"judge._target_={HERE}.Numbered"]).judge)


@pytest.mark.slow
def test_an_unknown_setting_beside_a_class_is_refused() -> None:
    for wrong in ("+agent.argument.depth=2", "+evaluators.total={_target_: x, most: 1}", "+judge.targets=x"):
        with pytest.raises(ConfigError, match="is not a setting"):
            configured([*MINE, wrong])


def test_classes_get_their_arguments_and_an_agent_its_model() -> None:
    model = Silent()
    agent = build_agent(configured([*MINE, "+agent.arguments.depth=3"]), model)
    assert isinstance(agent, Mine) and (agent.model, agent.depth) == (model, 3)
    chosen = configured([f"+evaluators.total={{_target_: {HERE}.Total, arguments: {{most: 4}}}}"])
    (total,) = build_evaluators(chosen, None).values()
    assert isinstance(total, Total) and total.most == 4
    judge = build_judge(configured([f"judge._target_={HERE}.Named"]).judge)
    assert isinstance(judge, Judge) and judge.name == "named-1"
    assert isinstance(build_executor(configured([f"executor._target_={HERE}.Elsewhere"]).executor), Executor)
    sinks = build_sinks(["wandb", {"_target_": f"{HERE}.Rows", "path": "rows.txt"}])
    assert sinks is not None and sinks[0] == "wandb" and sinks[1].path == "rows.txt"


def test_arguments_are_data_and_nothing_in_them_is_made() -> None:
    config = configured([*MINE, "+agent.arguments.depth={_target_: os.getpid}"])
    with pytest.raises(ConfigError, match="cannot be made: TypeError"):
        build_agent(config, Silent())


def plain(config: Config) -> dict[str, Any]:
    return {key: value for key, value in config.measured().items() if key.startswith(("agent.", "judge.", "eval"))}


def test_a_run_is_measured_by_class_arguments_and_version() -> None:
    shipped = plain(configured([]))
    assert not [key for key in shipped if "_target_" in key or "arguments" in key or "distribution" in key]
    mine = plain(configured([*MINE, "+agent.arguments.depth=3", "+agent.arguments.api_key=tr0ub4dor"]))
    assert mine["agent._target_"] == f"{HERE}.Mine" and mine["agent.arguments.depth"] == 3
    assert mine["agent.distribution"] is None and "agent.arguments.api_key" not in mine
    theirs = plain(configured(["+evaluators.total._target_=pytest.Item"]))
    assert theirs["evaluators.total.distribution"] == f"pytest {pytest.__version__}"


def test_a_secret_among_the_arguments_is_not_written() -> None:
    config = configured([*MINE, "+agent.arguments.api_key=tr0ub4dor-and-3"])
    assert "tr0ub4dor" not in saved(config.tree()) and config.agent.arguments["api_key"] == "tr0ub4dor-and-3"


def test_a_renderer_is_made_with_its_arguments_and_is_measured() -> None:
    config = configured([f"observation._target_={HERE}.Words", "+observation.arguments.most=2"])
    made = build_renderer(config)
    assert isinstance(made, Words) and made.most == 2
    assert config.measured()["observation._target_"] == f"{HERE}.Words"
    plain = configured([])
    assert build_renderer(plain) is None
    assert not [name for name in plain.measured() if name.startswith("observation._") or "arguments" in name]
