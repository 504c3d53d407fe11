"""`harness export`: runs in the formats of others, from their journals alone."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.errors import ConfigError

HELP = "write runs as training data (art) or flat tables (parquet, csv)"
EXAMPLE = "harness export art results/demo-prompt-scripted --project shopping"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", choices=tuple(FORMATS), metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="where to write (art: .art; tables: export/ in each RUN)"
    )
    parser.add_argument("--scoring", choices=("corrected", "webarena"), default="corrected", help="scores to take")
    art = parser.add_argument_group("art")
    art.add_argument("--project", default="cairn", help="project the model belongs to (default: cairn)")
    art.add_argument("--name", help="name of the model (default: the run's llm.model)")
    art.add_argument("--split", default="val", help="split to log as (default: val)")
    art.add_argument("--step", type=int, help="checkpoint that was evaluated (default: the run's llm.step)")


def run(options: argparse.Namespace) -> int:
    for folder in options.runs:
        if not folder.is_dir():
            raise ConfigError(f"{folder} is no run folder; give one of those under results/")
        for path in FORMATS[options.format](folder, options):
            sys.stdout.write(f"{path}\n")
    return 0


def _art(folder: Path, options: argparse.Namespace) -> list[Path]:
    import asyncio

    from harness.config import slug
    from harness.tracking.episodes import RunTrajectories, settings_of
    from harness.tracking.model import Model

    settings: dict[str, Any] = settings_of(folder)
    step = settings.get("llm.step", 0) if options.step is None else options.step
    model = Model(
        name=options.name or slug(settings.get("llm.model", "model")),
        project=options.project,
        base_path=options.to or Path(".art"),
        report_metrics=[],
    )
    asyncio.run(model.log(RunTrajectories(folder, options.scoring), options.split, step=step, on_repeat="once"))
    return [*model.folder.trajectories(options.split, step), model.folder.history.path]


def _tables(folder: Path, options: argparse.Namespace) -> list[Path]:
    from harness.tracking.tables import write_tables

    into = folder / "export" if options.to is None else options.to
    if options.to is not None and len(options.runs) > 1:
        into /= folder.resolve().name
    return list(write_tables(folder, into, options.format, dialect=options.scoring))


FORMATS: dict[str, Callable[[Path, argparse.Namespace], list[Path]]] = {
    "art": _art,
    "parquet": _tables,
    "csv": _tables,
}
"""Format to what writes one run in it and names the files."""
