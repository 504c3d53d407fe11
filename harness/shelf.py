"""What is on the shelf of this package: the one table by which the core finds a plug-in that is shipped with it.

A stranger's package says the same in its entry points. Nothing here is imported before it is asked for by name, and a
row whose file has been taken away is no row: a plug-in can be removed without a change here.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_PACKAGE = Path(__file__).parent

SHELF: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "cairn.commands": {
            "view": "harness.commands.view",
            "judge-check": "harness.commands.judge_check",
            "audit": "harness.commands.audit",
            "import": "harness.commands.import_",
            "export": "harness.commands.export",
            "bundle": "harness.commands.bundle",
            "verify": "harness.commands.verify",
            "agents": "harness.commands.agents",
        },
        "cairn.exports": {
            "art": "harness.commands.export_formats:Art",
            "parquet": "harness.commands.export_formats:Parquet",
            "csv": "harness.commands.export_formats:Csv",
            "webarena-verified": "harness.commands.export_formats:Verified",
            "hf": "harness.commands.export_formats:HuggingFace",
            "inspect": "harness.commands.export_formats:Inspect",
            "mlflow": "harness.commands.export_formats:Mlflow",
            "otel": "harness.commands.export_formats:OpenTelemetry",
            "sft": "harness.commands.export_formats:FineTuning",
        },
        "cairn.action_sets": {
            "id_accessibility_tree": "harness.benchmarks.webarena.id_action_set:IdActionSet",
            "playwright": "harness.benchmarks.webarena.playwright_action_set:PlaywrightActionSet",
        },
        "cairn.endpoints": {"scripted": "harness.demo.model.scripted_endpoint:ScriptedEndpoint"},
        "cairn.functions": {
            "demo": "harness.demo.functions:FUNCTIONS",
            "webarena": "harness.benchmarks.webarena.functions:FUNCTIONS",
        },
        "cairn.importers": {"webarena": "harness.benchmarks.webarena.results_import:import_results"},
        "cairn.reports": {"html": "harness.html_report.report:write_report"},
        "cairn.scorers": {"verified": "harness.benchmarks.webarena_verified.whole_run:score_folder"},
        "cairn.visits": {"live": "harness.browser.live.rules:LiveRules"},
        "cairn.agents": {
            "computer": "harness.agents.computer_agent:ComputerKind",
            "process": "harness.evaluation.process_agent:ProcessKind",
        },
    }
)
"""Group of entry points to name to `module:attribute`, or `module`."""


def on_shelf(group: str) -> Mapping[str, str]:
    """The rows of a group whose module is there; nothing is imported to find out."""
    return {name: place for name, place in SHELF.get(group, {}).items() if _is_there(place.partition(":")[0])}


def _is_there(module: str) -> bool:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
