"""`harness score`: scores a run again from its evidence."""

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.own_settings import add_own_settings
from harness.commands.scoring_option import add_scoring
from harness.errors import ConfigError, ExitCode
from harness.escape import listed
from harness.registry import Registry
from harness.runs.notes import rescored_name, surplus_notes
from harness.runs.trials import amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.config import Config
    from harness.records import Scored
    from harness.reports.console import Terminal
    from harness.runner.rescore import References, RescoreResult
    from harness.runs.run import Run
    from harness.secrets.redaction import Redactor

HELP = "score a run again from its recorded evidence, without browser or sites; journals do not change"
EXAMPLE = "harness score results/demo-prompt-scripted --scoring webarena --judge gpt-4o-mini"
DIALECTS = ("corrected", "webarena")
SCORERS = Registry(group="cairn.scorers", noun="harness score")
"""Name to what stores and tells somebody else's verdicts on a run. Called with run folder, `task.arguments`, the
scoring to compare with (None = that of the run) and the terminal; gives the exit code."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="run folder")
    add_own_settings(
        parser,
        "your own settings, for a judge (judge=anthropic), evaluators of your own (task=mine,"
        " evaluators.NAME._target_=…) and corrected references (task.path=fixed.json); settings stored in the run"
        " folder are not used",
    )
    add_scoring(parser, "scoring to use (default: both; that of the run is shown)", also=("--dialect",))
    parser.add_argument(
        "--judge", metavar="MODEL", help="model for fuzzy_match (default: the recorded replies of the run's judge)"
    )
    parser.add_argument(
        "--verified",
        action="store_true",
        help="ask the scorer of webarena-verified, in its own environment (task.arguments.package=FOLDER), and store"
        " its verdicts beside the run's scores",
    )
    parser.add_argument("--judge-url", metavar="URL", help="endpoint of the judge; its key is JUDGE_API_KEY")


def run(options: argparse.Namespace) -> int:
    import asyncio

    from harness import EVALUATOR_VERSION
    from harness.codec import dumps
    from harness.commands.run_redactor import run_redactor
    from harness.config.config_tree import all_secrets
    from harness.files.disk import Within, write_atomic
    from harness.reports.console import Terminal
    from harness.runner.rescore import references_of
    from harness.runs.baselines import baselines_of_run, sentence
    from harness.runs.results import episodes_of
    from harness.runs.run import Run

    run, console = Run(options.run, scoring=options.scoring), Terminal(highlight=False)
    folder, shown = run.folder, run.scoring
    dialects = (options.scoring,) if options.scoring else DIALECTS
    config = _settings(options)
    if options.verified:
        arguments = {} if config is None else config.task.arguments
        return int(SCORERS.find("verified")(folder, arguments, options.scoring, console))
    redactor = run_redactor(folder, all_secrets({} if config is None else config.tree()))
    references = _references(folder, config, options.overrides, redactor=redactor, console=console)
    found = asyncio.run(_rescored(run, dialects, config, console, redactor=redactor, references=references))
    for dialect, results in found.items():
        content = {
            "dialect": dialect,
            "evaluator_version": f"{EVALUATOR_VERSION}-{dialect}",
            "judge": _judge_name(config),
            **({"references": known} if (known := references_of(results)) else {}),
            "results": results,
        }
        path = folder / rescored_name(dialect)
        # Beside the journals: with further lines in them, a reader would see a run that never happened.
        write_atomic(path, redactor.data(dumps(content, pretty=True), for_good=True), within=Within(folder))
        console.print(str(path), markup=False, soft_wrap=True)
    begun = {(one.task_id, one.trial) for one in found[shown]}
    code = _tell(console, found, shown, not_begun=sum(one not in begun for one in episodes_of(run.about)))
    notes = (*_known(found), *surplus_notes(run.surplus))
    if compared := sentence(baselines_of_run(folder, shown), run.about.agent):
        notes = (compared, *notes)
    for note in notes:
        console.print(note, markup=False, soft_wrap=True)
    return code


def _references(
    folder: Path, config: "Config | None", overrides: "Sequence[str]", *, redactor: "Redactor", console: "Terminal"
) -> "References":
    """Of the task file that was given: what it corrects is told; {} = there is none."""
    from harness.episode.references import corrected_references
    from harness.evaluation.builder import read_tasks

    if config is None or not any(one.lstrip("+").startswith("task.path=") for one in overrides):
        return {}
    found = corrected_references(folder, read_tasks(config), redactor)
    if corrected := list(dict.fromkeys(task for (task, _), reference in found.items() if reference is not None)):
        several = "s" * (len(corrected) > 1)
        console.say(f"scored with another reference (eval) than the one played: task{several} {listed(corrected)}")
    if not found:
        console.say(f"no task of {folder} is among those of task.path; they are scored with the references played")
    return found


async def _rescored(  # noqa: PLR0913 (what scoring takes)
    run: "Run",
    dialects: "Sequence[str]",
    config: "Config | None",
    console: "Terminal",
    *,
    redactor: "Redactor",
    references: "References",
) -> "dict[str, list[RescoreResult]]":
    from contextlib import AsyncExitStack

    from harness.commands.configured_judge import keeping_replies, open_judge
    from harness.evaluation.builder import build_benchmark, build_evaluators
    from harness.runner.rescore import rescore
    from harness.runs.results import is_selected

    folder, is_wanted = run.folder, is_selected(run.about)
    if config is None:
        return await rescore(folder, dialects, is_wanted=is_wanted)
    async with AsyncExitStack() as closing:
        settings = keeping_replies(config.judge, config.llm, console.say)
        judge = await open_judge(settings, config.llm, redactor, closing, say=console.say)
        evaluators = build_evaluators(config, build_benchmark(config.task))
        return await rescore(folder, dialects, judge, evaluators, references=references, is_wanted=is_wanted)


def _settings(options: argparse.Namespace) -> "Config | None":
    """The person's own; None = none are needed."""
    from harness.cli import configured
    from harness.config.config_validation import check_address

    if options.judge_url is not None and options.judge is None:
        raise ConfigError("--judge-url needs --judge MODEL; give the model too")
    if options.judge is not None and not options.judge.strip():
        raise ConfigError("--judge is empty; give the name of a model")
    if not options.overrides and options.config_dir is None and options.judge is None:
        return None
    config = configured(options.overrides, options.config_dir)
    if options.judge is None:
        return config
    judge = replace(config.judge, model=options.judge, _target_=None)
    if options.judge_url is not None:  # a key that was meant for another address does not go there
        check_address("--judge-url", options.judge_url)
        judge = replace(judge, base_url=options.judge_url, api_key=None)
    return replace(config, judge=replace(judge, api_key=os.environ.get("JUDGE_API_KEY") or judge.api_key))


def _judge_name(config: "Config | None") -> str:
    """Who judged, for the file."""
    if config is None:
        return "recorded"
    return config.judge._target_ or config.judge.model or "recorded"


def _tell(console: "Terminal", found: "dict[str, list[RescoreResult]]", shown: str, *, not_begun: int) -> int:
    """What changed, what the dialects disagree on, and the two means, of which those not begun are unscored."""
    for dialect, results in found.items():
        for one in results:
            if one.changed:
                console.print(
                    f"{dialect}: task {_name(one)}: {_said(one.before)} in the journal, now {_said(one.scored)}",
                    markup=False,
                    soft_wrap=True,
                )
    if len(found) > 1:
        pairs = zip(*found.values(), strict=True)
        differ = [_name(one) for one, other in pairs if _said(one.scored) != _said(other.scored)]
        if differ:
            console.print(f"the two scoring dialects disagree on: {', '.join(differ)}", markup=False)
    results = found[shown]
    values = [one.scored.value for one in results if one.scored is not None and one.scored.value is not None]
    passed = sum(value == 1.0 for value in values)
    episodes = len(results) + not_begun
    unscored = episodes - len(values)
    of_all = f"{passed / episodes:.1%}" if episodes else "-"
    of_scored = f"{passed / len(values):.1%}" if values else "-"
    console.print(
        f"{shown}: {amount(episodes, 'episode')}, {passed} passed, {len(values) - passed} failed, {unscored} unscored"
        f"{f' ({not_begun} not begun)' if not_begun else ''}; rate {of_all}, of the scored {of_scored}",
        markup=False,
        soft_wrap=True,
    )
    return ExitCode.UNSCORED if unscored else ExitCode.DONE


def _known(found: "dict[str, list[RescoreResult]]") -> "Iterator[str]":
    """That not every reply is a new one: who wants to know how steady a judge is has to ask it again."""
    scores = [one.scored for results in found.values() for one in results if one.scored is not None]
    if known := sum(verdict.usage.from_cache for score in scores for verdict in score.verdicts):
        asked = sum(verdict.usage.requests for score in scores for verdict in score.verdicts)
        yield (
            f"the judge's replies: {known:,} from the reply cache, {amount(asked, 'new request')};"
            " judge.cache=off asks for all of them again"
        )


def _name(one: "RescoreResult") -> str:
    return f"{one.task_id} trial {one.trial}" if one.trial else one.task_id


def _said(scored: "Scored | None") -> str:
    from harness.runs.format import graded

    if scored is None:
        return "not scored"
    if scored.value is None:
        why = next((verdict.why for verdict in scored.verdicts if verdict.value is None), "")
        return f"unscored ({why})"
    return graded(scored.value)
