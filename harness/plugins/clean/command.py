"""`harness clean`: removes what a run does not need."""

import argparse
import sys
from pathlib import Path

from harness.errors import ExitCode

HELP = "remove derived files and unreferenced artifacts; journals are never removed"
EXAMPLE = "harness clean results/demo-prompt-scripted --dry-run"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--logs", action="store_true", help="also remove logs (run.log, worker.log and so on)")
    parser.add_argument("--dry-run", action="store_true", help="only list what would be removed")


def run(options: argparse.Namespace) -> int:
    from harness.api.text import flat
    from harness.runs.run import run_folder

    for folder in [run_folder(one) for one in options.runs]:
        sys.stdout.write(f"{flat(_clean(folder, logs=options.logs, dry=options.dry_run))}\n")
    return ExitCode.DONE


def _clean(folder: Path, *, logs: bool, dry: bool) -> str:
    from harness.api.journals import RunFolder, held_to_read
    from harness.api.text import flat
    from harness.plugins.clean.garbage import find_garbage, remove

    with held_to_read(folder) if dry else RunFolder.open(folder):  # an active run may be about to name an artifact
        found = tuple(find_garbage(folder, logs=logs))
        for one in found:
            if one.path.parent == folder:
                sys.stdout.write(f"{'would remove' if dry else 'removed'} {flat(str(one.path))}\n")
            if not dry:
                remove(one, folder)
    stored = sum(one.path.parent != folder for one in found)
    size = sum(one.size for one in found) / 1e6
    verb = "would be removed" if dry else "removed"
    return f"{folder}: {len(found) - stored} derived files and {stored} unreferenced artifacts {verb}, {size:.1f} MB"
