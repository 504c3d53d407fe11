"""From settings to objects; the only module that makes objects of classes named in settings (`_target_`).

These settings come from the person who starts the run: command line, files, installed packages. Settings read from a
run folder never come here (`config.recorded_config`). Browsers and model clients are made in `worker_pool` and
`models`, whose libraries take long to import; a supervisor does not need them.
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction, signature
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate

from harness.api import Agent, Benchmark, ChatModel, Evaluator, Executor, Judge, ObservationRenderer, Sink
from harness.config import Config, ExecutorConfig, TaskConfig
from harness.config.agent_settings import PluginConfig
from harness.errors import ConfigError
from harness.evaluation.action_classes import action_set_of
from harness.evaluation.agent_kinds import check_agent, shipped_agent
from harness.evaluators.reward import LastReward
from harness.tasks.parse_eval import EVAL_TYPES

PLUGIN_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError),
    *(OSError, RuntimeError, TypeError, ValueError),
)
"""What code of a plug-in raises for arguments it cannot use, before anything is played."""


def check_plugins(config: Config) -> None:
    """See that every class the settings name is there and fits, before anything is played.

    Raises:
        ConfigError: One does not, in one sentence.
    """
    action_set_of(config.action_set.value, config.actions)
    if config.agent._target_ is not None:
        _factory("agent", config.agent, Agent, given=("model",))
    else:
        check_agent(config)
    if config.judge._target_ is not None:
        _factory("judge", config.judge, Judge)
    build_evaluators(config, build_benchmark(config.task))
    build_executor(config.executor)
    build_renderer(config)


def build_agent(config: Config, model: ChatModel) -> Agent:
    """The agent of one lane; a class of the person's own is given the model as `model`."""
    if config.agent._target_ is not None:
        agent: Agent = _make("agent", config.agent, Agent, model=model)
        return agent
    return shipped_agent(config, model)


def build_judge(config: Config) -> Judge | None:
    """A judge of the person's own; None = there is none."""
    judge: Judge | None = None if config.judge._target_ is None else _make("judge", config.judge, Judge)
    return judge


def build_renderer(config: Config) -> ObservationRenderer | None:
    """What writes the text of pages; None = the shipped dialects."""
    settings = config.observation
    made: ObservationRenderer | None = (
        None if settings._target_ is None else _make("observation", settings, ObservationRenderer)
    )
    return made


def build_benchmark(task: TaskConfig) -> Benchmark | None:
    """The benchmark that the tasks are of; None = a task file is all there is to it."""
    made: Benchmark | None = None if task._target_ is None else _make("task", task, Benchmark)
    return made


def build_evaluators(config: Config, benchmark: Benchmark | None) -> Mapping[str, Evaluator]:
    """By eval type, those of the benchmark and of the settings."""
    made: dict[str, Evaluator] = {} if benchmark is None else {"reward": LastReward(), **_evaluators_of(benchmark)}
    for name, plugin in config.evaluators.items():
        place = f"evaluators.{name}"
        if name in EVAL_TYPES or name in made:
            whose = "of the benchmark" if name in made else "shipped"
            raise ConfigError(f"{place}: there is an evaluator {name} already ({whose}); give yours another name")
        made[name] = _make(place, plugin, Evaluator)
    return made


def _evaluators_of(benchmark: Benchmark) -> Mapping[str, Evaluator]:
    """Raises: ConfigError: One is no evaluator, or has the name of a shipped one."""
    theirs = type(benchmark).__name__
    try:
        evaluators = dict(benchmark.evaluators())
    except PLUGIN_ERRORS as error:
        raise ConfigError(f"the evaluators of {theirs} cannot be had: {_said(error)}") from error
    for name, evaluator in evaluators.items():
        if name in EVAL_TYPES:
            raise ConfigError(f"{theirs}.evaluators: {name} is a shipped evaluator; give yours another name")
        if not isinstance(evaluator, Evaluator):
            raise ConfigError(f"{theirs}.evaluators: {name} has not all that harness.api.Evaluator asks for")
    return evaluators


def build_executor(settings: ExecutorConfig) -> Executor | None:
    """An executor of the person's own; None = `executor.kind` says which."""
    made: Executor | None = None if settings._target_ is None else _make("executor", settings, Executor)
    return made


def build_sinks(report_metrics: list[Any] | None) -> list[Any] | None:
    """`tracking.report_metrics` with objects in the place of classes; names of shipped sinks stay."""
    if not isinstance(report_metrics, list):
        return report_metrics  # for the reader of names to refuse
    return [
        _make("tracking.report_metrics", _as_plugin(one), Sink) if isinstance(one, dict) and "_target_" in one else one
        for one in report_metrics
    ]


def _as_plugin(entry: Mapping[str, Any]) -> PluginConfig:
    return PluginConfig(
        _target_=str(entry["_target_"]), arguments={key: value for key, value in entry.items() if key != "_target_"}
    )


def _make(place: str, plugin: PluginConfig, protocol: type[Any], **given: Any) -> Any:
    """An object of the class named at `place`."""
    factory = _factory(place, plugin, protocol, given=tuple(given))
    try:
        made = factory(**given)
    except PLUGIN_ERRORS as error:
        raise ConfigError(f"{place}._target_={plugin._target_} cannot be made: {_said(error)}") from error
    if not isinstance(made, protocol):  # attributes that only an object has
        raise ConfigError(
            f"{place}._target_={plugin._target_} has not all that harness.api.{protocol.__name__} asks for"
        )
    return made


def _factory(place: str, plugin: PluginConfig, protocol: type[Any], given: Sequence[str] = ()) -> Callable[..., Any]:
    """What makes the object, checked as far as it can be without making one."""
    named = f"{place}._target_={plugin._target_}"
    if hidden := [key for key in plugin.arguments if not key.isidentifier() or key.startswith("_")]:
        raise ConfigError(f"{place}.arguments: {hidden[0]} cannot be the name of an argument")
    try:
        factory = instantiate(
            {"_target_": plugin._target_, **plugin.arguments}, _partial_=True, _recursive_=False, _convert_="all"
        )
    except InstantiationException as error:
        raise ConfigError(f"{named} cannot be imported: {_said(error.__cause__ or error)}") from error
    made_by = getattr(factory, "func", None)
    if not isinstance(made_by, type):
        raise ConfigError(f"{named} is no class; give the dotted path of one, my_package.module.Class")
    for name, method in vars(protocol).items():
        if name.startswith("_") or not callable(method):
            continue
        theirs = getattr(made_by, name, None)
        if not callable(theirs):
            raise ConfigError(f"{named} has no method {name}, which harness.api.{protocol.__name__} asks for")
        if iscoroutinefunction(method) and not iscoroutinefunction(theirs):
            raise ConfigError(f"{named}: its method {name} must be `async def`")
    try:
        signature(made_by).bind(**plugin.arguments, **dict.fromkeys(given))
    except TypeError as error:
        also = f"; it is given {', '.join(given)}, too" if given else ""
        raise ConfigError(
            f"{place}.arguments do not fit the constructor of {plugin._target_}: {error}{also}"
        ) from error
    return factory  # type: ignore[no-any-return]


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
