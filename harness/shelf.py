"""What is on the shelf of this package: the one table by which the core finds a plug-in that is shipped with it.

A stranger's package says the same in its entry points. Nothing here is imported before it is asked for by name, and a
row whose file has been taken away is not a row: a plug-in can be removed without a change here.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_PACKAGE = Path(__file__).parent

# Entry points of our own would need no table, but a checkout that is not installed has none.
SHELF: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "cairn.commands": {
            "compare": "harness.plugins.compare.command",
            "clean": "harness.plugins.clean.command",
            "new": "harness.plugins.new.command",
            "settings": "harness.plugins.settings_reference.command",
            "completion": "harness.plugins.completion.command",
            "attribute": "harness.plugins.attribution.command",
            "record": "harness.plugins.record.command",
            "diff": "harness.plugins.diff.command",
            "policies": "harness.plugins.policies.command",
            "attacks": "harness.plugins.attacks.command",
            "find": "harness.plugins.find.command",
            "matrix": "harness.plugins.matrix.command",
            "label": "harness.plugins.labels.command",
            "plot": "harness.plugins.plot.command",
            "view": "harness.plugins.html_report.viewer.command",
            "judge-check": "harness.plugins.judge_check.command",
            "audit": "harness.plugins.audit.command",
            "report": "harness.plugins.html_report.command",
            "import": "harness.plugins.webarena.import_command",
            "export": "harness.plugins.tracking.exports.command",
            "bundle": "harness.plugins.bundles.bundle_command",
            "verify": "harness.plugins.bundles.verify_command",
            "agents": "harness.plugins.process_agent.agents_command",
            "serve": "harness.plugins.environments.serve",
            "sites": "harness.plugins.site_sets.command",
        },
        "cairn.exports": {
            "art": "harness.plugins.tracking.exports.formats:Art",
            "annotations": "harness.plugins.labels.annotations:Annotations",
            "parquet": "harness.plugins.tracking.exports.formats:Parquet",
            "csv": "harness.plugins.tracking.exports.formats:Csv",
            "webarena-verified": "harness.plugins.webarena_verified.export:Verified",
            "hf": "harness.plugins.tracking.exports.formats:HuggingFace",
            "inspect": "harness.plugins.tracking.exports.formats:Inspect",
            "mlflow": "harness.plugins.tracking.exports.formats:Mlflow",
            "otel": "harness.plugins.tracking.exports.formats:OpenTelemetry",
            "sft": "harness.plugins.tracking.exports.formats:FineTuning",
            "tokens": "harness.plugins.tracking.exports.formats:TokenIds",
        },
        "cairn.action_sets": {
            "id_accessibility_tree": "harness.plugins.webarena.id_action_set:IdActionSet",
            "playwright": "harness.plugins.webarena.playwright_action_set:PlaywrightActionSet",
        },
        "cairn.episode_fields": {"label": "harness.plugins.labels.fields:LabelFields"},
        "cairn.endpoints": {"scripted": "harness.plugins.demo.model.scripted_endpoint:ScriptedEndpoint"},
        "cairn.functions": {
            "demo": "harness.plugins.demo.functions:FUNCTIONS",
            "webarena": "harness.plugins.webarena.functions:FUNCTIONS",
        },
        "cairn.importers": {"webarena": "harness.plugins.webarena.results_import:import_results"},
        "cairn.archives": {"bundle": "harness.plugins.bundles.run_bundle:open_bundle"},
        "cairn.comparisons": {"html": "harness.plugins.html_report.report:write_comparison"},
        "cairn.executors": {
            "ray": "harness.plugins.clusters.ray_run:play_on_ray",
            "slurm": "harness.plugins.clusters.slurm_run:play_shards",
        },
        "cairn.findings": {"attribution": "harness.plugins.attribution.run_attributions:write_attributions"},
        "cairn.left_jobs": {"slurm": "harness.plugins.clusters.slurm_jobs:refuse_running"},
        "cairn.further_pages": {"html": "harness.plugins.html_report.pages:further_page"},
        "cairn.former_names": {"demo": "harness.plugins.demo", "tracking": "harness.plugins.tracking"},
        "cairn.judges": {
            "webjudge": "harness.plugins.online_mind2web.webjudge:WebJudge",
            "last_screenshots": "harness.plugins.webvoyager.last_screenshots:LastScreenshots",
        },
        "cairn.reports": {"html": "harness.plugins.html_report.report:write_report"},
        "cairn.servers": {"demo": "harness.plugins.demo"},
        "cairn.measures": {
            "policies": "harness.plugins.policies.measures:PolicyMeasures",
            "attack": "harness.plugins.attacks.measures:AttackMeasures",
            "safearena": "harness.plugins.safearena.measures:SafeArenaMeasures",
        },
        "cairn.page_scripts": {"attack": "harness.plugins.attacks.scripts:page_scripts"},
        "cairn.site_forms": {"attack": "harness.plugins.attacks.scripts:site_forms"},
        "cairn.task_keys": {
            "policies": "harness.plugins.policies.policy:check_policies",
            "attack": "harness.plugins.attacks.planted:check_attack",
            "safearena": "harness.plugins.safearena.safearena:check_safearena",
        },
        "cairn.sweeps": {"matrix": "harness.plugins.matrix.command:of_sweep"},
        "cairn.task_diffs": {"html": "harness.plugins.diff.page:write_diff"},
        "cairn.trackers": {"art": "harness.plugins.tracking.run_tracker:RunTracker"},
        "cairn.scorers": {"verified": "harness.plugins.webarena_verified.run_score:score_verified"},
        "cairn.viewer_pages": {
            "label": "harness.plugins.labels.viewer_page:LabelQueue",
            "matrix": "harness.plugins.matrix.viewer_page:MatrixPage",
            "diff": "harness.plugins.diff.viewer_page:DiffPage",
            "figures": "harness.plugins.plot.viewer_page:FiguresPage",
        },
        "cairn.visits": {"live": "harness.plugins.live.rules:LiveRules"},
        "cairn.agents": {
            "careful": "harness.plugins.policies.careful:CarefulKind",
            "computer": "harness.plugins.computer_agent.agent:ComputerKind",
            "human": "harness.plugins.human.agent:HumanKind",
            "process": "harness.plugins.process_agent.kind:ProcessKind",
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
