"""`harness import`: imports results of another harness as a run, as of WebArena's own."""

import argparse
import sys
from pathlib import Path

from harness.api.command_line import Registry
from harness.errors import ExitCode

IMPORTERS = Registry(group="cairn.importers", noun="harness import --from")
"""Name to what is called with source folder, run folder and logs; it writes the run, and tells what it holds."""
HELP = "import a WebArena result folder (render_*.html); data it lacks is left out"
EXAMPLE = "harness import webarena/cache/results_20240101 --to results/gpt-4-cot --log log_files/log_1.log"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from", dest="format", choices=IMPORTERS.names(), default="webarena", help="whose results they are"
    )
    parser.add_argument("source", type=Path, metavar="FOLDER", help="WebArena's --result_dir")
    parser.add_argument(
        "--to", type=Path, metavar="RUN", help="run folder to create (default: results/imported-FOLDER)"
    )
    parser.add_argument(
        "--log", type=Path, action="append", default=[], metavar="FILE", help="WebArena log with the verdicts"
    )


def run(options: argparse.Namespace) -> int:
    from harness.api.text import flat
    from harness.runs.trials import amount

    target = options.to or Path("results") / f"imported-{options.source.resolve().name}"
    found = IMPORTERS.find(options.format)(options.source, target, options.log)
    lines = [f"{target}: {amount(found.episodes, 'episode')}"]
    lines += [f"left out: {sentence}" for sentence in found.skipped]
    lines += [f"missing in {number}: {what}" for what, number in found.missing.items()]
    if found.verdicts:
        agreed = found.verdicts - len(found.disagreements)
        lines.append(f"webarena scoring agrees with the log, or is unscored, on {agreed} of {found.verdicts}")
    if found.disagreements:
        lines.append(f"it disagrees on: {', '.join(found.disagreements)}")
    sys.stdout.write("\n".join(map(flat, lines)) + "\n")
    return ExitCode.DONE
