"""`harness export webarena-verified`."""

import argparse
import sys
from pathlib import Path

from harness.api import Export
from harness.api.text import flat
from harness.runs.trials import amount


class Verified(Export):
    """For WebArena-Verified's own evaluator."""

    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        from harness.plugins.webarena_verified.verified_export import export_verified

        into = into if options.to else into / "webarena-verified"
        found = export_verified(run, into)
        for sentence in found.left_out:
            sys.stdout.write(f"left out: {flat(sentence)}\n")
        for sentence in found.partial.values():
            sys.stdout.write(f"partial trace: {flat(sentence)}\n")
        sys.stdout.write(
            f"{amount(found.episodes, 'episode')}: webarena-verified eval-tasks --output-dir {into}"
            f" --config {into / 'config.json'}\n"
        )
        return [into]
