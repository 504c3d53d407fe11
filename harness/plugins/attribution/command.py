"""`harness attribute`: says of each failure whether it is the harness's, the environment's or the model's, and why."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_scoring
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.api.terminal import Terminal
    from harness.plugins.attribution.judge import Judged
    from harness.runs import Run
    from harness.runs.attribution import Attributions
    from harness.runs.results import Result

HELP = "attribute each failure to the harness, the environment or the model, with the rule and the step"
EXAMPLE = "harness attribute results/demo-prompt-scripted"
_KINDS = ("harness", "environment", "model", "unexplained")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="run folders or bundles; the others are compared with the first",
    )
    parser.add_argument(
        "--judge",
        nargs="*",
        metavar="KEY=VALUE",
        help="ask a judge about failures that no rule explains, as in --judge judge=openai judge.model=gpt-5",
    )
    parser.add_argument("--class", dest="kind", choices=_KINDS, help="only failures of this class")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_scoring(parser, "scoring to use for all runs (default: that of the first)")


def run(options: argparse.Namespace) -> int:
    from contextlib import ExitStack

    from harness.api.terminal import Terminal
    from harness.runs import Run, escaped, one_line
    from harness.runs.opened_run import run_or_bundle

    scoring, found, is_whole = options.scoring, list[_Found](), True
    with ExitStack() as closing:
        for path in options.runs:
            opened = closing.enter_context(run_or_bundle(path))
            one = Run(opened.folder, scoring=scoring)
            # One file holds those of one scoring, which the report and others show.
            is_own = one.scoring == Run(opened.folder).scoring
            one = _attributed(one, keeps=path.is_dir() and is_own)
            if options.judge is not None:
                if not path.is_dir():
                    raise ConfigError(f"{path} is a bundle, which is only read; give a run folder to --judge")
                one, is_judged = _judged(one, options.judge, keeps=is_own)
                is_whole &= is_judged
            scoring = one.scoring
            for notice in (*opened.notices, *map(str, one.damaged)):
                sys.stderr.write(f"harness: {one_line(f'{path}: {notice}')}\n")
            is_whole &= not one.damaged
            found.append(_Found(one.name if path.is_dir() else path.name, one, _failures(one, options.kind)))
        if options.json:
            from harness.api import dumps

            sys.stdout.write(escaped(dumps([_as_data(one) for one in found], pretty=True).decode()) + "\n")
        else:
            _print(Terminal(highlight=False), found)
            _print_moves(Terminal(highlight=False), found)
    return ExitCode.DONE if is_whole else ExitCode.UNSCORED


@dataclass(frozen=True, slots=True)
class _Found:
    """A run, and those of its failures that were asked for."""

    name: str
    run: "Run"
    failures: "Sequence[Result]"


def _attributed(run: "Run", *, keeps: bool) -> "Run":
    """The run with its attributions; `keeps` = they are written into its folder, if that can be written to."""
    from harness.errors import StorageError
    from harness.plugins.attribution.run_attributions import attributions_of, write_attributions
    from harness.runs import one_line

    try:
        found = write_attributions(run) if keeps else attributions_of(run)
    except StorageError as error:
        sys.stderr.write(f"harness: {one_line(str(error))}; the attributions are not kept\n")
        found = attributions_of(run)
    return _with(run, found)


def _with(run: "Run", found: "Attributions") -> "Run":
    """The run with these attributions, and with what could not be read for them."""
    from harness.runs import Run

    attributed = Run(run.folder, scoring=run.scoring, attributions=found)
    for error in run.left_out:
        attributed.leave_out(error)
    return attributed


def _judged(run: "Run", settings: Sequence[str], *, keeps: bool) -> "tuple[Run, bool]":
    """The run with what a judge says of failures that no rule explains, and whether it said something of each."""
    import asyncio

    from harness.plugins.attribution.run_attributions import keep_attributions
    from harness.runs import one_line
    from harness.runs.attribution import Attributions, basis_of
    from harness.runs.verified import key_of

    said = asyncio.run(_asked(run, settings))
    for one in said:
        if one.found is None:
            sys.stderr.write(f"harness: task {one_line(f'{one.episode.task_id}: {one.why_not}')}\n")
    known = run.about.attributions
    found = {
        key_of(one.episode.task_id, one.episode.trial): (basis_of(one.episode.result, one.episode.score), one.found)
        for one in said
        if one.found is not None
    }
    attributions = Attributions(by_trial={**known.by_trial, **found}, rules=known.rules)
    if keeps:
        keep_attributions(run, attributions)
    return _with(run, attributions), len(found) == len(said)


async def _asked(run: "Run", settings: Sequence[str]) -> "tuple[Judged, ...]":
    from contextlib import AsyncExitStack

    from harness.api.evaluation import build_redactor, configured, open_judge
    from harness.plugins.attribution.judge import judge_unexplained

    config = configured(settings)
    async with AsyncExitStack() as stack:
        judge = await open_judge(config.judge, config.llm, build_redactor(config.tree()), stack)
        if judge is None:
            raise ConfigError("no judge is set; give one, as in --judge judge=openai judge.model=NAME")
        return await judge_unexplained(run, judge)


def _failures(run: "Run", kind: str | None) -> "Sequence[Result]":
    return [one for one in run.results if one.attribution is not None and kind in (None, one.attribution.kind)]


def _as_data(found: _Found) -> dict[str, object]:
    from harness.runs.attribution import attributed

    counts = attributed(one.attribution for one in found.failures)
    return {
        "run": found.name,
        "scoring": found.run.scoring,
        "failures": len(found.failures),
        "not_the_models": counts.not_the_models if counts else 0,
        "classes": dict(counts.kinds) if counts else {},
        "rules": [{"class": one.kind, "rule": one.name, "episodes": one.episodes} for one in counts.rules]
        if counts
        else [],
        "episodes": [
            {
                "task_id": one.task_id,
                "trial": one.trial,
                "status": one.status,
                "class": one.attribution.kind,
                "rule": one.attribution.rule,
                "step": one.attribution.step,
                "why": one.attribution.why,
            }
            for one in found.failures
            if one.attribution is not None
        ],
        "damaged": [str(one) for one in found.run.damaged],
    }


def _print(console: "Terminal", found: Sequence[_Found]) -> None:
    from harness.runs.attribution import attributed

    for one in found:
        counts = attributed(row.attribution for row in one.failures)
        console.say(f"{one.name} ({one.run.scoring} scoring): {counts or 'no failure to attribute'}")
        if counts is None:
            continue
        rules = [(rule.kind, rule.name, str(rule.episodes)) for rule in counts.rules]
        console.table(("class", "rule", "episodes"), rules, right={2})
        console.table(("task", "outcome", "class", "rule", "step", "why"), list(_rows(one.failures)), right={4})


def _rows(failures: "Sequence[Result]") -> Iterator[tuple[str, ...]]:
    for one in failures:
        if (said := one.attribution) is not None:
            yield one.name, one.status, said.kind, said.rule, str(said.step or "-"), said.why


def _print_moves(console: "Terminal", found: Sequence[_Found]) -> None:
    """What moved from which class to which, from the first run to each of the others."""
    from harness.runs import listed
    from harness.runs.attribution import moves

    if len(found) < 2:
        return
    first = {(one.task_id, one.trial): one for one in found[0].run.results}
    for other in found[1:]:
        both = [(first[key], one) for one in other.run.results if (key := (one.task_id, one.trial)) in first]
        same = [(old, new) for old, new in both if old.digest == new.digest]
        console.say(f"{other.name} against {found[0].name}, {len(same)} episodes of the same tasks in both:")
        moved = moves((old.name, old.verdict, new.verdict) for old, new in same)
        for move in moved:
            console.say(f"{len(move.tasks)} {move.before} → {move.after}: {listed(move.tasks)}")
        if not moved:
            console.say("none moved to another class")
