"""From settings to objects, those of classes named in settings (`_target_`) by `plugin_factory`.

These settings come from the person who starts the run: command line, files, installed packages. Settings read from a
run folder never come here (`config.recorded_config`). Browsers and model clients are made in `worker_pool` and
`models`, whose libraries take long to import; a supervisor does not need them.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.agents.kind import AgentContext, SessionAgentKind
from harness.api import (
    Agent,
    AskHost,
    Attack,
    Benchmark,
    ChatModel,
    Evaluator,
    Executor,
    Judge,
    JudgedEvaluator,
    ObservationRenderer,
    Sink,
)
from harness.browser.acting.uploads import available_files
from harness.choices import Dialect
from harness.config import Config, member_task
from harness.errors import ConfigError, HarnessError, TaskError, error_line, plugin_boundary
from harness.evaluation.action_classes import action_set_of, prompt_lines
from harness.evaluation.agent_registry import agent_kind, check_agent, session_kind
from harness.evaluation.endpoint_settings import provider_name
from harness.evaluation.plugin_factory import as_plugin, make_plugin, plugin_factory
from harness.evaluation.run_context import not_hosted
from harness.evaluation.suite import Suite, named
from harness.evaluation.suite_selection import Selection
from harness.evaluation.task_sight import check_asking, check_sight
from harness.evaluators.reward import LastReward
from harness.journal.index import Outcomes
from harness.journal.log import read
from harness.journal.store import RunFolder
from harness.llm.limiter import Clock, Limiter, Limiters
from harness.llm.providers import provider_of
from harness.records import Task
from harness.runner.pending import PendingPolicy
from harness.runner.run_budget import RunBudget, Spending
from harness.runner.shutdown import ShutdownSignal
from harness.settings.executor import ExecutorSettings
from harness.settings.models import JudgeSettings, LlmSettings
from harness.settings.plugin import PluginSettings
from harness.settings.run import RunSettings
from harness.settings.task import TaskSettings
from harness.tasks import load
from harness.tasks.parse_eval import EVAL_TYPES
from harness.tasks.selection import ALL, Split
from harness.tasks.shards import in_shard
from harness.working_time import working_s

_REWARD = "reward"
"""The shipped evaluator of every benchmark that is code."""
_OFFERED = ("action_set", "ask_host", "observation_settings")
"""What the constructor of an agent of the person's own may name."""
NO_OUTCOMES: Outcomes = MappingProxyType({})


def check_plugins(config: Config) -> None:
    """See that every class the settings name is there and fits, before anything is played.

    Raises:
        ConfigError: One does not, in one sentence.
    """
    action_set_of(config.action_set.value, config.actions)
    if config.agent._target_ is not None:
        plugin_factory("agent", config.agent, Agent, given=("model",), offered=_OFFERED)
    else:
        check_agent(config.agent, agent_context(config))
    kind = session_kind(config.agent)
    if config.browser.stops_time and kind is not None and kind.drives_browser(config.agent):
        raise ConfigError(
            "browser.time=stopped needs an agent whose actions Cairn performs, so that it knows when the model thinks; "
            "leave out agent.browser=cdp, or browser.time=stopped"
        )
    if config.judge._target_ is not None:
        plugin_factory("judge", config.judge, Judge)
    benchmark = build_benchmark(config.task)
    if benchmark is not None and benchmark.needs_trace and not config.browser.har:
        raise ConfigError(f"{type(benchmark).__name__} judges the requests of the pages; set browser.har=true")
    build_evaluators(config, benchmark)
    build_attack(config.attack)
    build_executor(config.executor)
    build_renderer(config)


def load_tasks(config: Config) -> tuple[Task, ...]:
    """The selected tasks: those of a file, or of a benchmark that is code.

    Raises:
        UsageError: Task file, benchmark or selection cannot be used.
    """
    tasks = in_shard(read_tasks(config), config.task.shard)
    check_sight(config.agent, config.observation, tasks)
    check_asking(config.agent, tasks)
    return tasks


def read_tasks(config: Config) -> tuple[Task, ...]:
    """The same, whichever agent and shard are to play them."""
    task = config.task
    return tuple(_tasks_of_suite(config)) if task.members else _tasks_of(config, task)


def _tasks_of_suite(config: Config) -> Iterator[Task]:
    if config.task.split is not None:
        raise ConfigError("task.split belongs to one benchmark; give `split` in its entry of the suite file")
    chosen, found = Selection.of(config.task), False
    for name, member in config.task.members.items():
        if chosen.has(name):
            with _naming(config.task, name):
                tasks = chosen.of_benchmark(name, _tasks_of(config, member_task(member)))
            found = found or bool(tasks)
            yield from (named(task, name) for task in tasks)
    if not found:
        raise TaskError(f"{config.task.path}: no task is selected; change task.ids or task.sites")


def _tasks_of(config: Config, task: TaskSettings) -> tuple[Task, ...]:
    benchmark = build_benchmark(task)
    if benchmark is None and task.path is None:
        raise ConfigError("task.path is not set; give a task file, or the class of a benchmark as task._target_")
    return load(
        Path(str(task.path if benchmark is None else task._target_)),
        config.sites.canonical_bases,
        split=_split_of(task, benchmark),
        ids=task.ids,
        wanted_sites=task.sites,
        limit=task.limit,
        evaluators=build_evaluators(config, benchmark),
        attack=build_attack(config.attack),
        given=None if benchmark is None else _entries(benchmark),
    )


def _split_of(task: TaskSettings, benchmark: Benchmark | None) -> Split | None:
    """Raises: ConfigError: There is no such split."""
    name = task.split or (ALL if benchmark is None else benchmark.split)
    if name == ALL:
        return None
    with _asking(f"cannot list the splits of {type(benchmark).__name__}"):
        splits = (
            {} if benchmark is None else {key: _split_ids(key, ids) for key, ids in dict(benchmark.splits()).items()}
        )
    if name not in splits:
        known = f"choose one of {', '.join((*splits, ALL))}" if splits else "these tasks have no splits; leave it out"
        raise ConfigError(f"task.split={name[:80]} is unknown; {known}")
    return Split(name=name, ids=splits[name])


def _split_ids(name: str, ids: object) -> frozenset[str]:
    if isinstance(ids, str | bytes) or not isinstance(ids, Collection):
        raise TypeError(f"split {name} is {type(ids).__name__}; give a list of task ids")
    return frozenset(map(str, ids))


def build_agent(config: Config, model: ChatModel, ask_host: AskHost = not_hosted) -> Agent:
    """The agent of one lane; a class of the person's own is given the model as `model`."""
    if config.agent._target_ is not None:
        actions = action_set_of(config.action_set.value, config.actions)
        offered = {"action_set": actions, "ask_host": ask_host, "observation_settings": config.observation}
        return make_plugin("agent", config.agent, Agent, offered, model=model)
    kind = agent_kind(config.agent.kind)
    assert not isinstance(kind, SessionAgentKind), "it is not an object of this process"
    return kind.make(config.agent, agent_context(config), model)


def agent_context(config: Config) -> AgentContext:
    """What a shipped agent is made with besides its own settings."""
    api, folder = provider_name(config.llm), config.browser.uploads
    said = "" if folder is None else f"{available_files(folder)}."
    return AgentContext(
        observation=config.observation,
        action_set=action_set_of(config.action_set.value, config.actions),
        prompt_lines=prompt_lines(config.actions),
        viewport=config.browser.viewport,
        api=api,
        has_computer_tool=provider_of(api).has_computer_tool,
        model=config.llm.model,
        endpoint=config.llm.kind,
        on_divergence=config.resume.on_divergence,
        files=f"{said[:1].upper()}{said[1:]}",
    )


def build_judge(settings: JudgeSettings) -> Judge | None:
    """A judge of the person's own; None = there is none."""
    if settings._target_ is None:
        return None
    judge = make_plugin("judge", settings, Judge)
    if not isinstance(judge.name, str) or not judge.name:
        raise ConfigError(f"judge._target_={settings._target_}.name is {judge.name!r:.80}; give a text")
    return judge


def build_attack(settings: PluginSettings) -> Attack | None:
    """What is planted in the tasks; None = nothing."""
    return None if settings._target_ is None else make_plugin("attack", settings, Attack)


def build_renderer(config: Config) -> ObservationRenderer | None:
    """What writes the text of pages; None = the shipped dialects."""
    settings = config.observation
    return None if settings._target_ is None else make_plugin("observation", settings, ObservationRenderer)


def build_benchmark(task: TaskSettings) -> Benchmark | None:
    """The benchmark that the tasks are of; None = a task file is all there is to it."""
    if task.members:
        members = {}
        for name, member in task.members.items():
            with _naming(task, name):
                members[name] = build_benchmark(member_task(member))
        return Suite(members, {name: _benchmark_evaluators(one) for name, one in members.items() if one is not None})
    return None if task._target_ is None else make_plugin("task", task, Benchmark)


@contextmanager
def _naming(suite: TaskSettings, name: str) -> Iterator[None]:
    """What is wrong with a benchmark of a suite names the benchmark."""
    try:
        yield
    except (ConfigError, TaskError) as error:
        raise type(error)(f"{suite.path}: benchmarks.{name}: {error}") from error


def build_evaluators(config: Config, benchmark: Benchmark | None) -> Mapping[str, Evaluator]:
    """The evaluators of benchmark and settings, by eval type."""
    made = {} if benchmark is None else _benchmark_evaluators(benchmark)
    for name, plugin in config.evaluators.items():
        place = f"evaluators.{name}"
        if name in EVAL_TYPES or name in made:
            whose = "of the benchmark" if name in made else "shipped"
            raise ConfigError(f"{place}: there is an evaluator {name} already ({whose}); give yours another name")
        made[name] = make_plugin(place, plugin, Evaluator)
        _check_judged(f"{place}._target_={plugin._target_}", made[name])
    return made


def _check_judged(place: str, evaluator: Evaluator) -> None:
    """Raises: ConfigError: An evaluator that asks the judge cannot say what judges in a dialect, or by which prompt."""
    if not isinstance(evaluator, JudgedEvaluator):
        return
    for dialect in Dialect:
        call = f"{place}.in_dialect({dialect.value!r})"
        with _asking(f"{call} cannot be called"):
            judging: object = evaluator.in_dialect(dialect.value)
        if not isinstance(judging, JudgedEvaluator):
            raise ConfigError(f"{call} returned {type(judging).__name__}; return a JudgedEvaluator")
        for of, said in ((place, evaluator.prompt_digest), (call, judging.prompt_digest)):
            if not isinstance(said, str):
                raise ConfigError(f"{of}.prompt_digest is {said!r:.80}; give a text")


def _benchmark_evaluators(benchmark: Benchmark) -> dict[str, Evaluator]:
    default = benchmark.default_reward
    if default is not None and not (isinstance(default, int | float) and math.isfinite(default)):
        raise ConfigError(f"{type(benchmark).__name__}.default_reward is {default!r:.80}; give a number, or None")
    return {_REWARD: LastReward(default), **_evaluators_of(benchmark)}


@contextmanager
def _asking(failed: str) -> Iterator[None]:
    """A plug-in of the person's own is asked within."""
    with plugin_boundary(lambda error: ConfigError(f"{failed}: {error_line(error)}"), passes=(HarnessError,)):
        yield


def _entries(benchmark: Benchmark) -> list[object]:
    with _asking(f"cannot list the tasks of {type(benchmark).__name__}"):
        return list(benchmark.tasks())


def _evaluators_of(benchmark: Benchmark) -> Mapping[str, Evaluator]:
    """Raises: ConfigError: One is not an evaluator, or has the name of a shipped one."""
    theirs = type(benchmark).__name__
    with _asking(f"cannot make the evaluators of {theirs}"):
        evaluators = dict(benchmark.evaluators())
    for name, evaluator in evaluators.items():
        # A suite hands on the rewards of its benchmarks.
        if name in (*EVAL_TYPES, _REWARD) and not isinstance(benchmark, Suite):
            raise ConfigError(f"{theirs}.evaluators: {name} is a shipped evaluator; give yours another name")
        if isinstance(evaluator, type):
            raise ConfigError(
                f"{theirs}.evaluators: {name} is a class; give an object of it, {evaluator.__name__}(...)"
            )
        if not isinstance(evaluator, Evaluator):
            raise ConfigError(f"{theirs}.evaluators: {name} lacks members of harness.api.Evaluator")
        _check_judged(f"{theirs}.evaluators: {name}", evaluator)
    return evaluators


def build_executor(settings: ExecutorSettings) -> Executor | None:
    """An executor of the person's own; None = `executor.kind` says which."""
    return None if settings._target_ is None else make_plugin("executor", settings, Executor)


def pending_policy(config: Config) -> PendingPolicy:
    """The settings that say which episodes are pending."""
    return PendingPolicy(scoring=config.scoring, resume=config.resume, run=config.run)


def build_rate_limiter(
    llm: LlmSettings,
    judge: JudgeSettings,
    tell: Callable[[str], None] = lambda text: None,
    outcomes: Outcomes = NO_OUTCOMES,
) -> Limiters:
    """Those of the run, see `Limiter`; `outcomes` say whether the endpoint ever answered."""
    answered, clock = any(outcome.steps for outcome in outcomes.values()), Clock(monotonic=working_s)
    return Limiters(
        Limiter(
            llm,
            clock,
            tell,
            answered=answered,
            max_outage_s=llm.max_outage_s,
            longest_wait_s=llm.max_retry_s,
        ),
        Limiter(
            judge,
            clock,
            tell=lambda text: tell(f"judge: {text}"),
            answered=True,
            longest_wait_s=judge.max_retry_s,
        ),
    )


def build_run_budget(
    settings: RunSettings, run: RunFolder, outcomes: Outcomes, *, stopping: ShutdownSignal
) -> RunBudget:
    """The limits of a run and the usage already in its journals; the run stops when one is reached, and says which."""

    def on_empty(why: str) -> None:
        stopping.tell(why)
        stopping.ask()

    return RunBudget(
        settings,
        {
            place: Spending.of(outcome.usage, outcome.judge_usage, outcome.elapsed_ms)
            for place, outcome in outcomes.items()
        },
        read=lambda task_id, trial: read(run.journal_path(task_id, trial)),
        on_empty=on_empty,
    )


def build_sinks(report_metrics: list[Any] | None) -> list[Any] | None:
    """`tracking.report_metrics` with objects in the place of classes; names of shipped sinks stay."""
    if not isinstance(report_metrics, list):
        return report_metrics  # for the reader of names to refuse
    return [
        make_plugin("tracking.report_metrics", as_plugin(one), Sink)
        if isinstance(one, dict) and "_target_" in one
        else one
        for one in report_metrics
    ]
