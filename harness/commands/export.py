"""`harness export`: writes runs in other formats, from their journals alone."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from harness.commands.scoring_option import add_scoring
from harness.errors import ConfigError, ExitCode
from harness.escape import flat, visible
from harness.runs.trials import amount

HELP = "write runs as training data (art, sft), tables (parquet, csv), datasets (hf), or for other programs"
EXAMPLE = "harness export art results/demo-prompt-scripted --project shopping"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", choices=tuple(FORMATS), metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders")
    parser.add_argument(
        "--to",
        metavar="DIR",
        help="where to write (default: .art for art, else export/ in each RUN); otel and mlflow also take an address",
    )
    add_scoring(parser, "scoring to export", default="corrected")
    art = parser.add_argument_group("art")
    art.add_argument("--project", default="cairn", help="project of the model (default: cairn)")
    art.add_argument("--name", help="name of the model (default: the run's llm.model)")
    art.add_argument("--split", default="val", help="split to log as (default: val)")
    art.add_argument("--step", type=int, help="checkpoint that was evaluated (default: the run's llm.step)")
    sft = parser.add_argument_group("sft")
    sft.add_argument(
        "--min-score", type=float, default=1.0, metavar="X", help="least score of an episode to learn from (default: 1)"
    )
    sft.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="FIELD=PATTERN",
        help="only episodes whose task, site, template, trial or closed is like that (* and ? stand for anything)",
    )
    sft.add_argument(
        "--per", choices=("step", "episode"), default="step", help="a sample for each answer, or as few as there can be"
    )


def run(options: argparse.Namespace) -> int:
    from harness.runs.run import run_folder

    for folder in [run_folder(one) for one in options.runs]:
        for path in FORMATS[options.format](folder, options):
            sys.stdout.write(f"{visible(str(path))}\n")
    return ExitCode.DONE


def _art(folder: Path, options: argparse.Namespace) -> list[Path]:
    import asyncio

    from harness.config import slug
    from harness.runs import Run
    from harness.tracking.episodes import RunTrajectories
    from harness.tracking.model import Model

    settings = Run(folder).settings
    step = settings.get("llm.step", 0) if options.step is None else options.step
    model = Model(
        name=options.name or slug(settings.get("llm.model", "model")),
        project=options.project,
        base_path=Path(options.to or ".art"),
        report_metrics=[],
    )
    asyncio.run(model.log(RunTrajectories(folder, options.scoring), options.split, step=step, on_repeat="once"))
    return [*model.folder.trajectories(options.split, step), model.folder.history.path]


def _tables(folder: Path, options: argparse.Namespace) -> list[Path]:
    from harness.tracking.tables import write_tables

    return list(write_tables(folder, _into(folder, options), options.format, dialect=options.scoring))


def _verified(folder: Path, options: argparse.Namespace) -> list[Path]:
    from harness.benchmarks.webarena.verified_export import export_verified

    into = _into(folder, options) if options.to else _into(folder, options) / options.format
    found = export_verified(folder, into)
    for sentence in found.left_out:
        sys.stdout.write(f"left out: {flat(sentence)}\n")
    for sentence in found.partial:
        sys.stdout.write(f"partial trace: {flat(sentence)}\n")
    sys.stdout.write(
        f"{found.episodes} episodes: webarena-verified eval-tasks --output-dir {into} --config {into / 'config.json'}\n"
    )
    return [into]


def _inspect(folder: Path, options: argparse.Namespace) -> list[Path]:
    from harness.exports.inspect_log import export_inspect

    return [export_inspect(folder, _into(folder, options))]


def _hf(folder: Path, options: argparse.Namespace) -> list[Path]:
    from harness.exports.hf_dataset import export_hf

    into = _into(folder, options)
    return [export_hf(folder, into if options.to else into / "hf", dialect=options.scoring)]


def _sft(folder: Path, options: argparse.Namespace) -> list[Path]:
    from harness.exports.sft import SftChoice, export_sft, where_of

    if not 0 <= options.min_score <= 1:
        raise ConfigError(f"--min-score {options.min_score:g} is no score; give a number from 0 to 1")
    choice = SftChoice(
        dialect=options.scoring, min_score=options.min_score, where=where_of(options.where), per=options.per
    )
    found = export_sft(folder, _into(folder, options), choice)
    for why, count in sorted(found.left_out.items()):
        sys.stdout.write(f"left out: {amount(count, 'sample')}: {flat(why)}\n")
    of = f"{amount(found.episodes, 'episode')}; not chosen: {amount(found.passed_over, 'episode')}"
    sys.stdout.write(f"{flat(folder.resolve().name)}: {amount(found.samples, 'sample')} of {of}\n")
    return [found.path]


def _otel(folder: Path, options: argparse.Namespace) -> list[Path]:
    from harness.exports.otel_spans import export_otel
    from harness.exports.otlp_http import is_address, send_otel

    if not is_address(options.to):
        return [export_otel(folder, _into(folder, options))]
    sys.stdout.write(f"{flat(folder.resolve().name)}: {send_otel(folder, options.to)} traces sent\n")
    return []


def _mlflow(folder: Path, options: argparse.Namespace) -> list[Path]:
    from harness.exports.mlflow_runs import export_mlflow, local_store

    has_uri = options.to is not None and "://" in options.to
    uri = options.to if has_uri else local_store(_into(folder, options), folder)
    run_id = export_mlflow(folder, uri, dialect=options.scoring)
    sys.stdout.write(f"{flat(folder.resolve().name)}: run {flat(run_id)} of MLflow\n")
    return []


def _into(folder: Path, options: argparse.Namespace) -> Path:
    """Where the files of a run go; of several runs, each into a folder of its own."""
    if options.to is None:
        return folder / "export"
    to = Path(options.to)
    return to / folder.resolve().name if len(options.runs) > 1 else to


FORMATS: dict[str, Callable[[Path, argparse.Namespace], list[Path]]] = {
    "art": _art,
    "parquet": _tables,
    "csv": _tables,
    "webarena-verified": _verified,
    "hf": _hf,
    "inspect": _inspect,
    "mlflow": _mlflow,
    "otel": _otel,
    "sft": _sft,
}
"""Format to what writes one run in it and names the files."""
