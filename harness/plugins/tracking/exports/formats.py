"""The shipped formats of `harness export`; each imports what it needs when it writes."""

import argparse
import sys
from pathlib import Path

from harness.api import Export
from harness.api.text import flat
from harness.errors import ConfigError
from harness.runs.trials import amount


class Art(Export):
    """ART trajectories."""

    def arguments(self, parser: argparse._ArgumentGroup, /) -> None:
        parser.add_argument("--project", default="cairn", help="project of the model (default: cairn)")
        parser.add_argument("--name", help="name of the model (default: the run's llm.model)")
        parser.add_argument("--split", default="val", help="split to log as (default: val)")
        parser.add_argument("--step", type=int, help="checkpoint that was evaluated (default: the run's llm.step)")

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        import asyncio

        from harness.api.configuration import slug
        from harness.plugins.tracking.episodes import RunTrajectories
        from harness.plugins.tracking.model import Model
        from harness.runs import Run

        settings = Run(run).settings
        step = settings.get("llm.step", 0) if options.step is None else options.step
        model = Model(
            name=options.name or slug(settings.get("llm.model", "model")),
            project=options.project,
            base_path=Path(options.to or ".art"),
            report_metrics=[],
        )
        asyncio.run(model.log(RunTrajectories(run, options.scoring), options.split, step=step, on_repeat="once"))
        files = model.folder.trajectories(options.split, step)
        if len(files) > 1:
            logged = f"step {step} of split {options.split} of this model was logged {len(files)} times"
            newest = f"ART reads the newest only, {files[-1].name}: --step or --name tells runs apart"
            sys.stderr.write(f"harness: {logged}, and {newest}\n")
        return [*files, model.folder.history.path]


class Parquet(Export):
    """Tables of episodes, steps and requests."""

    kind = "parquet"

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        from harness.plugins.tracking.tables import write_tables

        return list(write_tables(run, into, self.kind, dialect=options.scoring))


class Csv(Parquet):
    """The same as CSV."""

    kind = "csv"


class Inspect(Export):
    """A log of Inspect."""

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        from harness.plugins.tracking.exports.inspect_log import export_inspect

        return [export_inspect(run, into)]


class HuggingFace(Export):
    """A data set of Hugging Face."""

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        from harness.plugins.tracking.exports.hf_dataset import export_hf

        return [export_hf(run, into if options.to else into / "hf", dialect=options.scoring)]


class FineTuning(Export):
    """Chats for supervised fine-tuning."""

    def arguments(self, parser: argparse._ArgumentGroup, /) -> None:
        parser.add_argument(
            "--min-score",
            type=float,
            default=1.0,
            metavar="X",
            help="minimum score of an episode (default: 1)",
        )
        parser.add_argument(
            "--where",
            action="append",
            default=[],
            metavar="FIELD=PATTERN",
            help="only episodes whose task, site, template, trial, closed or label.success matches (* and ? are"
            " wildcards)",
        )
        parser.add_argument(
            "--per",
            choices=("step", "episode"),
            default="step",
            help="a sample for each answer, or as few as possible",
        )

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        from harness.plugins.tracking.exports.sft import SftChoice, export_sft, where_of

        if not 0 <= options.min_score <= 1:
            raise ConfigError(f"--min-score {options.min_score:g} is not a score; give a number from 0 to 1")
        choice = SftChoice(
            dialect=options.scoring, min_score=options.min_score, where=where_of(options.where), per=options.per
        )
        found = export_sft(run, into, choice)
        for why, count in sorted(found.left_out.items()):
            sys.stdout.write(f"left out: {amount(count, 'sample')}: {flat(why)}\n")
        of = f"{amount(found.episodes, 'episode')}; not chosen: {amount(found.passed_over, 'episode')}"
        sys.stdout.write(f"{flat(run.resolve().name)}: {amount(found.samples, 'sample')} of {of}\n")
        return [found.path]


class TokenIds(Export):
    """Token ids, log probabilities and rewards."""

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        from harness.plugins.tracking.exports.token_ids import export_tokens

        found = export_tokens(run, into, dialect=options.scoring)
        without = f"; {amount(found.without, 'answer')} without token ids" if found.without else ""
        sys.stdout.write(f"{flat(run.resolve().name)}: tokens of {amount(found.answers, 'answer')}{without}\n")
        if found.without and not found.answers:
            sys.stdout.write("play with llm.token_ids=true, on an endpoint that gives them, as vLLM does\n")
        return [found.path]


class OpenTelemetry(Export):
    """Spans, in a file or sent to `--to`'s address."""

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        from harness.plugins.tracking.exports.otel_spans import export_otel
        from harness.plugins.tracking.exports.otlp_http import is_address, send_otel

        if not is_address(options.to):
            return [export_otel(run, into)]
        sys.stdout.write(f"{flat(run.resolve().name)}: {send_otel(run, options.to)} traces sent\n")
        return []


class Mlflow(Export):
    """A run of MLflow, in a local store or on a server."""

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        from harness.plugins.tracking.exports.mlflow_runs import export_mlflow, local_store

        has_uri = options.to is not None and "://" in options.to
        uri = options.to if has_uri else local_store(into, run)
        run_id = export_mlflow(run, uri, dialect=options.scoring)
        sys.stdout.write(f"{flat(run.resolve().name)}: run {flat(run_id)} of MLflow\n")
        return []
