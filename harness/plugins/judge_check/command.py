"""`harness judge-check`: measures a judge against trajectories that people have labelled."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api.command_line import Registry, add_own_settings
from harness.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from harness.api import Judge, JudgedEvaluator
    from harness.api.configuration import Config
    from harness.api.terminal import Terminal
    from harness.plugins.judge_check.check import Judgment
    from harness.plugins.judge_check.labelled_set import LabelledSet
    from harness.runs.judge_error import JudgeError

HELP = "measure a judge against labelled trajectories: precision, recall, accuracy and Cohen's kappa with intervals"
EXAMPLE = "harness judge-check annotations.csv judge=openai judge.model=gpt-5 --method webjudge"
JUDGES = Registry(group="cairn.judges", noun="--method")
"""Name to the class of a `JudgedEvaluator`."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "labels", type=Path, metavar="LABELS", help="annotations.csv of AgentRewardBench's layout, or its folder"
    )
    add_own_settings(
        parser, "your settings: judge=openai judge.model=NAME, scoring=published for the published prompt, task=mine"
    )
    parser.add_argument(
        "--method",
        default="webjudge",
        metavar="NAME",
        help=f"whose prompt is checked: {', '.join(JUDGES.names())}, or an eval type of your own (default: webjudge)",
    )
    parser.add_argument(
        "--root", type=Path, default=Path("results"), help="where the runs are; results go to judge-check/ in it"
    )
    parser.add_argument(
        "--split",
        choices=("dev", "test"),
        help="only trajectories of this split of AgentRewardBench; as there, a verdict that cannot be read is failure",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N labelled trajectories")
    parser.add_argument(
        "--looping",
        action="store_true",
        help="compare harness attribute's loop rule with the column trajectory_looping; no judge is asked",
    )


def run(options: argparse.Namespace) -> int:
    import asyncio

    from harness.api.evaluation import configured
    from harness.api.terminal import Terminal
    from harness.plugins.judge_check.labelled_set import read_labels

    if options.limit is not None and options.limit < 1:
        raise ConfigError(f"--limit {options.limit} leaves no trajectory; give a number from 1")
    if options.looping:
        return _print_loops(options)
    labels = read_labels(options.labels, options.split)
    config = configured(options.overrides, options.config_dir)
    method = _method(config, options.method)
    console = Terminal(highlight=False)
    error, spent = asyncio.run(_checked(options, config, labels, method))
    _print(console, error, spent)
    return ExitCode.UNSCORED if error.unjudged else ExitCode.DONE


def _print_loops(options: argparse.Namespace) -> int:
    from harness.api.terminal import Terminal
    from harness.plugins.judge_check.labelled_set import LOOPING, read_labels
    from harness.plugins.judge_check.looping import check_loops
    from harness.runs.judge_error import shown

    if options.overrides:
        raise ConfigError(f"--looping asks no judge; leave {options.overrides[0][:60]} out")
    labels = read_labels(options.labels, options.split, LOOPING)
    checked, console = check_loops(labels, options.limit), Terminal(highlight=False)
    found = checked.counts
    console.say("the loop rule of harness attribute, compared with the column trajectory_looping")
    console.say(f"agreement  {shown(found.accuracy)}  of {found.total} trajectories")
    console.say(f"kappa      {shown(found.kappa, percent=False)}  Cohen's")
    console.say(
        f"both loop {found.both}, rule only {found.judge_only}, people only {found.people_only}, neither"
        f" {found.neither}; {labels.unsure} that people could not decide"
    )
    if checked.without_pages:
        console.say(
            f"{checked.without_pages} trajectories have no text of their pages (axtree): the same action at the same"
            " address counts as the same"
        )
    return ExitCode.DONE


def _method(config: "Config", name: str) -> "JudgedEvaluator":
    from harness.api import JudgedEvaluator
    from harness.api.evaluation import build_benchmark, build_evaluators

    shipped = JUDGES.names()
    found = build_evaluators(config, build_benchmark(config.task)).get(name) or (
        JUDGES.find(name)() if name in shipped else None
    )
    if found is None:
        raise ConfigError(f"--method {name}: there is no such evaluator; choose one of {', '.join(shipped)}")
    if not isinstance(found, JudgedEvaluator):
        raise ConfigError(f"--method {name}: this evaluator asks no judge; choose one of {', '.join(shipped)}")
    return found.in_dialect(config.scoring.value)


async def _checked(
    options: argparse.Namespace, config: "Config", labels: "LabelledSet", method: "JudgedEvaluator"
) -> "tuple[JudgeError, str]":
    from contextlib import AsyncExitStack, closing

    from harness.api.evaluation import build_redactor, open_judge
    from harness.api.journals import RunLock
    from harness.plugins.judge_check.check import JudgeCheck, JudgmentLog

    async with AsyncExitStack() as stack:
        redactor = build_redactor(config.tree())
        judge = await open_judge(config.judge, config.llm, redactor, stack)
        if judge is None:
            raise ConfigError("no judge is set; give one, as in judge=openai judge.model=NAME")
        folder = _folder(options.root, judge, method, options.method)
        stack.callback(RunLock.acquire(folder / ".lock", redactor).release)
        log = stack.enter_context(closing(JudgmentLog(folder, redactor)))
        known = len(log.judgments)
        judged = await JudgeCheck(judge=judge, method=method, labels=labels, log=log).run(options.limit)
        error = _result(options, judge.name, method.prompt_digest, labels, judged=judged)
        _write(folder, error)
    said = f"{len(judged)} trajectories, {len(log.judgments) - known} of them judged now; {folder}"
    return error, said


def _folder(root: Path, judge: "Judge", method: "JudgedEvaluator", name: str) -> Path:
    """One for each judge and prompt; it is made."""
    from harness.api import digest
    from harness.api.configuration import slug
    from harness.api.files import translate_os_errors
    from harness.runs.judge_error import FOLDER

    own = digest([judge.name, method.prompt_digest])[:12]
    folder = root / FOLDER / f"{slug(judge.name)[:80]}-{slug(name)[:40]}-{own}"
    with translate_os_errors(folder, "make"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _result(
    options: argparse.Namespace,
    judge: str,
    prompt: str,
    labels: "LabelledSet",
    *,
    judged: "tuple[Judgment, ...]",
) -> "JudgeError":
    import time

    from harness.api import digest
    from harness.plugins.judge_check.check import agreement
    from harness.runs.judge_error import JudgeError

    now = time.time()
    return JudgeError(
        judge=judge,
        prompt=prompt,
        method=options.method,
        labels=options.labels.resolve().name,
        labels_digest=digest([[label.key, label.says] for label in labels.labels[: options.limit]]),
        split=options.split or "",
        counts=(counts := agreement(judged, unread_fails=options.split is not None)),
        unjudged=len(judged) - counts.total,
        unsure=labels.unsure,
        day=time.strftime("%Y-%m-%d", time.gmtime(now)),
        at=now,
    )


def _write(folder: Path, error: "JudgeError") -> None:
    from harness.api import dumps
    from harness.api.files import write_atomic
    from harness.runs.judge_error import RESULT

    write_atomic(folder / RESULT, dumps(error, pretty=True) + b"\n")


def _print(console: "Terminal", error: "JudgeError", spent: str) -> None:
    from harness.runs.judge_error import shown

    found = error.counts
    console.say(f"judge {error.judge}, method {error.method}, prompt {error.prompt[:12]}")
    console.say(f"precision  {shown(found.precision)}  success, of {found.both + found.judge_only} the judge passes")
    console.say(f"recall     {shown(found.recall)}  passed, of {found.both + found.people_only} that succeeded")
    console.say(f"accuracy   {shown(found.accuracy)}  of {found.total} judged as people did")
    console.say(f"kappa      {shown(found.kappa, percent=False)}  Cohen's")
    console.say(
        f"both success {found.both}, judge only {found.judge_only}, people only {found.people_only}, neither"
        f" {found.neither}; {error.unjudged} without a verdict, {error.unsure} that people could not decide"
    )
    console.say("95% intervals: Wilson for rates; for kappa the standard error of Fleiss, Cohen and Everitt (1969)")
    console.say(spent)
