"""What a class of your own has to look like to be plugged in: agent, benchmark, evaluator, judge, executor, model
provider, renderer of observations, sink.

A class is named in the settings and nothing in this package changes: `agent._target_: my_package.MyAgent`, with its
arguments under `agent.arguments`; likewise `task` (a benchmark), `evaluators.NAME`, `judge`, `executor`, `llm` (a
provider), `observation` (a renderer), and `tracking.report_metrics` for sinks. Only `Action`, `Benchmark`,
`JudgedEvaluator` and `ModelProvider` are derived from; anything else inherits from nothing and has the methods of a
protocol. docs/pages/extending.md walks through each, `harness new agent NAME` writes a package to begin with, and
`harness.testing` has test doubles.

Records and actions are re-exported here, so that a plug-in imports `harness.api`, and `harness.testing` in its tests.
One that does more than fit a protocol finds parts of the core in further modules of this package, such as
`harness.api.files`. They are what the shipped plug-ins import, and they may change with a minor version.

A name is imported when it is asked for: whoever takes `dumps` from here, as the embedded servers do, does not wait for
records and actions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.actions import (
        Action,
        ActionSet,
        AskUser,
        BrowserControls,
        CairnActionSet,
        Click,
        Goto,
        InvalidAction,
        Press,
        Scroll,
        Stop,
        Target,
        Type,
        extract,
        resolve,
    )
    from harness.actions.tool_schema import description_of, parameters_of, read_arguments
    from harness.api.agent import MAX_MEMORY_BYTES, Agent, ChatModel, Decision
    from harness.api.attack import Attack
    from harness.api.benchmark import LIVE, NO_EVALUATORS, Benchmark, BenchmarkPage, Reward, SiteAnswer
    from harness.api.command import Command, Export
    from harness.api.evaluator import (
        Artifacts,
        Evaluator,
        Finding,
        Judge,
        JudgeAccess,
        JudgedEvaluator,
        JudgeKind,
        JudgeQuestion,
        RecordedEpisode,
    )
    from harness.api.executor import Executor, WorkerHandle
    from harness.api.hosting import AskHost, EpisodeNews, HostedRun, Hosting, HostingRequest
    from harness.api.model_provider import Answer, ModelProvider, RetryableError, text_of
    from harness.api.observation_renderer import ObservationRenderer
    from harness.api.page_script import PageScript
    from harness.api.sink import Identity, Sink
    from harness.api.site_form import SiteForm
    from harness.codec import CodecError, JsonObject, digest, dumps, loads
    from harness.errors import (
        ActionSyntaxError,
        ConfigError,
        EpisodeLeft,
        EvaluatorError,
        ExitCode,
        HarnessError,
        ModelUnavailable,
        PluginFailed,
        RequestRefused,
        SiteUnavailable,
    )
    from harness.records import (
        Closed,
        CloseReason,
        ComputerTool,
        Episode,
        Evidence,
        LiveObservation,
        Message,
        Node,
        Observation,
        Refused,
        Reply,
        ScriptedUser,
        Step,
        Task,
        Tokens,
        Tool,
        ToolCall,
        TrajectoryStep,
        Unknown,
        Usage,
        UserAnswer,
    )
    from harness.settings.models import ChatSettings

__all__ = [
    "LIVE",
    "MAX_MEMORY_BYTES",
    "NO_EVALUATORS",
    "Action",
    "ActionSet",
    "ActionSyntaxError",
    "Agent",
    "Answer",
    "Artifacts",
    "AskHost",
    "AskUser",
    "Attack",
    "Benchmark",
    "BenchmarkPage",
    "BrowserControls",
    "CairnActionSet",
    "ChatModel",
    "ChatSettings",
    "Click",
    "CloseReason",
    "Closed",
    "CodecError",
    "Command",
    "ComputerTool",
    "ConfigError",
    "Decision",
    "Episode",
    "EpisodeLeft",
    "EpisodeNews",
    "Evaluator",
    "EvaluatorError",
    "Evidence",
    "Executor",
    "ExitCode",
    "Export",
    "Finding",
    "Goto",
    "HarnessError",
    "HostedRun",
    "Hosting",
    "HostingRequest",
    "Identity",
    "InvalidAction",
    "JsonObject",
    "Judge",
    "JudgeAccess",
    "JudgeKind",
    "JudgeQuestion",
    "JudgedEvaluator",
    "LiveObservation",
    "Message",
    "ModelProvider",
    "ModelUnavailable",
    "Node",
    "Observation",
    "ObservationRenderer",
    "PageScript",
    "PluginFailed",
    "Press",
    "RecordedEpisode",
    "Refused",
    "Reply",
    "RequestRefused",
    "RetryableError",
    "Reward",
    "ScriptedUser",
    "Scroll",
    "Sink",
    "SiteAnswer",
    "SiteForm",
    "SiteUnavailable",
    "Step",
    "Stop",
    "Target",
    "Task",
    "Tokens",
    "Tool",
    "ToolCall",
    "TrajectoryStep",
    "Type",
    "Unknown",
    "Usage",
    "UserAnswer",
    "WorkerHandle",
    "description_of",
    "digest",
    "dumps",
    "extract",
    "loads",
    "parameters_of",
    "read_arguments",
    "resolve",
    "text_of",
]

_ROOMS = (
    *("harness.errors", "harness.codec", "harness.actions", "harness.actions.tool_schema", "harness.records"),
    *("harness.settings.models", "harness.api.agent", "harness.api.attack", "harness.api.benchmark"),
    *("harness.api.command", "harness.api.evaluator", "harness.api.executor", "harness.api.hosting"),
    *("harness.api.model_provider", "harness.api.observation_renderer", "harness.api.page_script", "harness.api.sink"),
    "harness.api.site_form",
)
"""Where the names are, those first that need the fewest others."""

if not TYPE_CHECKING:  # which would take any name for one of this page

    def __getattr__(name: str) -> Any:
        if name in __all__:
            for room in map(import_module, _ROOMS):
                if hasattr(room, name):
                    globals()[name] = found = getattr(room, name)
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
