"""`harness verify`: recomputes the scores of a bundle from its evidence."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api.command_line import add_own_settings
from harness.api.text import flat
from harness.errors import ConfigError, ExitCode, JournalError

if TYPE_CHECKING:
    from harness.api import Evaluator

HELP = "check every byte of a bundle, and recompute every score from its evidence; needs no browser and no model"
EXAMPLE = "harness verify demo.cairn"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="file that `harness bundle` wrote")
    parser.add_argument("--sha256", metavar="DIGEST", help="the digest that the authors published; another file fails")
    add_own_settings(parser, "settings that name evaluators of your own (task=mine)")


def run(options: argparse.Namespace) -> int:
    import tempfile

    from harness.plugins.bundles.archive import BundleDamaged, digest_of
    from harness.plugins.bundles.run_bundle import unpack
    from harness.plugins.bundles.verification import AS_RECORDED, verify

    bundle: Path = options.bundle
    if not bundle.is_file():
        raise ConfigError(f"{bundle} is not a file; give a file that `harness bundle` wrote")
    evaluators = _evaluators(options)
    try:
        digest = digest_of(bundle)
        if options.sha256 not in (None, digest):
            raise BundleDamaged(f"{bundle} has the SHA-256 {digest}, not the one given; it is another file")
        with tempfile.TemporaryDirectory(prefix="cairn-") as place:
            manifest = unpack(bundle, Path(place))
            found = verify(Path(place), manifest, evaluators)
    except JournalError as error:
        sys.stderr.write(f"harness: {flat(str(error))}\n")
        return ExitCode.BELOW
    sys.stdout.write(f"sha256 {digest}\n{len(manifest.files)} files: each has the content that was bundled\n")
    for sentence in (*found.sentences(), *found.counts, AS_RECORDED):
        sys.stdout.write(f"{flat(sentence)}\n")
    if found.differs or found.unknown:
        return ExitCode.BELOW
    return ExitCode.UNSCORED if found.unverified else ExitCode.DONE


def _evaluators(options: argparse.Namespace) -> "Mapping[str, Evaluator]":
    from harness.api import NO_EVALUATORS

    if not options.overrides and options.config_dir is None:
        return NO_EVALUATORS
    from harness.api.evaluation import build_benchmark, build_evaluators, configured

    config = configured(options.overrides, options.config_dir)
    return build_evaluators(config, build_benchmark(config.task))
