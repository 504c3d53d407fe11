"""`harness verify`: recomputes the scores of a bundle from its evidence."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.own_settings import add_own_settings
from harness.errors import ConfigError, ExitCode
from harness.reports.escape import flat

if TYPE_CHECKING:
    from harness.api import Evaluator
    from harness.bundles.manifest import BundledScore, Manifest
    from harness.commands.rescore import RescoreResult

HELP = "check every byte of a bundle, and recompute every score from its evidence; needs no browser and no model"
EXAMPLE = "harness verify demo.cairn"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="file that `harness bundle` wrote")
    parser.add_argument("--sha256", metavar="DIGEST", help="the digest that the authors published; another file fails")
    add_own_settings(parser, "settings that name evaluators of your own (task=mine)")


def run(options: argparse.Namespace) -> int:
    import tempfile

    from harness.bundles.archive import BundleDamaged, digest_of
    from harness.bundles.run_bundle import unpack

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
            wrong, unverified, counts = _compared(Path(place), manifest, evaluators)
    except BundleDamaged as error:
        sys.stderr.write(f"harness: {flat(str(error))}\n")
        return ExitCode.BELOW
    sys.stdout.write(f"sha256 {digest}\n{len(manifest.files)} files: each has the content that was bundled\n")
    for sentence in wrong:
        sys.stdout.write(f"differs: {flat(sentence)}\n")
    for sentence in unverified:
        sys.stdout.write(f"not verified: {flat(sentence)}\n")
    for sentence in counts:
        sys.stdout.write(f"{flat(sentence)}\n")
    return ExitCode.BELOW if wrong else ExitCode.UNSCORED if unverified else ExitCode.DONE


def _evaluators(options: argparse.Namespace) -> "Mapping[str, Evaluator]":
    from harness.api import NO_EVALUATORS

    if not options.overrides and options.config_dir is None:
        return NO_EVALUATORS
    from harness.cli import configured
    from harness.evaluation.builder import build_benchmark, build_evaluators

    config = configured(options.overrides, options.config_dir)
    return build_evaluators(config, build_benchmark(config.task))


def _compared(
    folder: Path, manifest: "Manifest", evaluators: "Mapping[str, Evaluator]"
) -> tuple[list[str], list[str], list[str]]:
    """In sentences: what does not follow from the evidence, what cannot be recomputed, as a secret is redacted in it,
    and how much was compared.
    """
    import asyncio

    from harness.commands.rescore import rescore
    from harness.evaluators.scorer import EVALUATOR_VERSION

    claimed = {(one.dialect, one.task_id, one.trial): one for one in manifest.scores}
    dialects = sorted({dialect for dialect, _, _ in claimed})
    found = asyncio.run(rescore(folder, dialects, evaluators=evaluators))
    wrong, unverified, counts = [], [], []
    if manifest.evaluator_version != EVALUATOR_VERSION:
        counts.append(f"scored by evaluators of version {manifest.evaluator_version}; these are {EVALUATOR_VERSION}")
    for dialect, results in found.items():
        compared = [(one, claimed.pop((dialect, one.task_id, one.trial), None)) for one in results]
        wrong += [why for one, claim in compared if (why := _difference(dialect, one, claim))]
        without = [_unverified(dialect, one, claim) for one, claim in compared if claim is not None and one.missing]
        unverified += without
        scored = sum(claim is not None for _, claim in compared) - len(without)
        counts.append(f"{dialect}: {scored} scores recomputed from the evidence, of {len(results)} episodes")
    wrong += [f"{dialect}: task {task}, trial {trial} has a score but no journal" for dialect, task, trial in claimed]
    for dialect, results in found.items():
        wrong += _summary_faults(folder, dialect, results)
    return wrong, unverified, counts


def _difference(dialect: str, one: "RescoreResult", claim: "BundledScore | None") -> str | None:
    """How the score of an episode is not what its evidence says; None = it is."""
    name = f"{dialect}: task {one.task_id}, trial {one.trial}"
    journal = None if one.before is None else (one.before.status, one.before.value)
    if journal != (None if claim is None else (claim.status, claim.value)):
        return f"{name}: the manifest says {_said(claim)}, the journal {_said(one.before)}"
    if claim is None or one.scored is None:
        return None if claim is None else f"{name} has a score but has not ended"
    if not one.missing and (one.scored.status, one.scored.value) != journal:
        why = next((verdict.why for verdict in one.scored.verdicts if verdict.why), "")
        return f"{name}: scored {_said(claim)}, but its evidence gives {_said(one.scored)}{why and f' ({why})'}"
    return None


def _unverified(dialect: str, one: "RescoreResult", claim: "BundledScore") -> str:
    assert one.scored is not None
    why = next(verdict.why for verdict in one.scored.verdicts)
    return f"{dialect}: task {one.task_id}, trial {one.trial}: scored {_said(claim)}, but {why}"


def _said(score: object) -> str:
    value = getattr(score, "value", None)
    return "nothing" if score is None else "unscored" if value is None else f"{value:g}"


def _summary_faults(folder: Path, dialect: str, results: "Iterable[RescoreResult]") -> Iterator[str]:
    """What `summary.json`, the figures that were shown, says of a task and the evidence does not."""
    from harness.codec import CodecError, loads

    try:
        summary = loads((folder / "summary.json").read_bytes())
        if summary["scoring"] != dialect:
            return
        shown = {(one["task_id"], one["trial"]): one["score"] for one in summary["results"]}
        totals = [summary[status] for status in ("passed", "failed", "unscored")]
        rate = summary["success_rate"]
    except FileNotFoundError:
        return
    except (CodecError, KeyError, TypeError) as error:
        yield f"summary.json: {error!r:.200} is not what Cairn writes"
        return
    kept = {(one.task_id, one.trial): one.before if one.missing else one.scored for one in results}
    values = {key: None if score is None else score.value for key, score in kept.items()}
    for task, trial in shown:
        if shown[task, trial] != values.get((task, trial)):
            yield f"summary.json: task {task}, trial {trial}: {shown[task, trial]}, not {values.get((task, trial))}"
    scores = list(shown.values())
    counted = [scores.count(1.0), sum(score not in (None, 1.0) for score in scores), scores.count(None)]
    if counted != totals or rate != (counted[0] / len(scores) if scores else 0.0):
        yield f"summary.json: its totals are {totals} and a rate of {rate}; its results are {counted}"
