"""Agents whose figures are known beforehand, played on tasks with policies or attacks: do the figures come out?

What is measured, and which agents try it out, is said by whoever measures it (`harness.runs.measures.Control`). A
figure that comes out otherwise is a fault of the tasks, of the attack or of the measure, never of an agent.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import Task
from harness.api.command_line import quoted
from harness.api.journals import is_run_folder
from harness.api.terminal import Terminal
from harness.errors import ConfigError
from harness.plugins.audit.task_audit import play_quietly, run_settings
from harness.runs import PASSED, UNSCORED, Run, listed, one_line
from harness.runs.format import percent
from harness.runs.measures import Control, Measure, controls_of

if TYPE_CHECKING:
    from harness.api.configuration import Config

_SAME = "same rate"
_SHOWN = 5
"""Ids of tasks that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure of one control."""

    key: str
    """Of tasks: what is measured."""
    control: Control
    figure: str
    """Name of the measure."""
    found: Measure | None
    """None = the run has no such figure."""
    expected: tuple[float, float]
    unscored: int
    """Episodes of the run without a score."""
    differing: tuple[str, ...] = ()
    """Of a rate that has to be the same: tasks that it does not have, each trial by itself."""

    @property
    def is_expected(self) -> bool:
        """What is unknown may be all that is wrong: only what is outside whatever it is counts as wrong."""
        if self.found is None:
            return False
        least, most = self.expected
        if self.figure == _SAME:
            return not self.differing
        return self.found.at_most >= least and self.found.value <= most

    @property
    def is_known(self) -> bool:
        """Whether nothing of it is unknown."""
        return self.found is not None and self.found.at_most <= self.found.value and not self.unscored


def played_controls(options: argparse.Namespace, console: Terminal) -> list[Compared]:
    """Play each control in a separate run; one that was interrupted goes on.

    Raises:
        UsageError: There are no such tasks, none of them has policies or attacks, or the settings are wrong.
    """
    from harness.api.evaluation import configured, load_tasks

    if is_run_folder(options.of):
        raise ConfigError(f"{options.of} is a run folder; --controls needs the task file that its tasks are from")
    config = configured(_overrides(options, ("agent=null",), "null"), options.config_dir)
    tasks = load_tasks(config)
    controls = controls_of({key for task in tasks for key in task.metadata})
    if not any(controls.values()):
        raise ConfigError(
            f"no task of {options.of} has policies or an attack; give settings that bring them, as"
            " task=demo_policies or attack=inject"
        )
    found, has_plans = list[Compared](), _has_plans(options, config)
    for key, several in controls.items():
        asked = [task for task in tasks if key in task.metadata]
        for control in several:
            if control.follows_plans and not has_plans:
                console.say(f"{key}: {control.name} is left out, as the tasks have no plans (task.plans)")
                continue
            if not options.json:
                console.say(f"{key}: {control.name}, which {control.about}: {len(asked)} tasks")
            found += _compared(options, key, control, asked)
    return found


def _has_plans(options: argparse.Namespace, config: "Config") -> bool:
    """Whether the tasks have plans: those that a choice of `task=` brings are of its own file."""
    from harness.api.evaluation import configured

    if config.task.plans is None or any(one.partition("=")[0] == "task.plans" for one in options.overrides):
        return config.task.plans is not None
    chosen = configured(options.overrides, options.config_dir).task.path
    return chosen is not None and Path(chosen).resolve() == options.of.resolve()


def _compared(options: argparse.Namespace, key: str, control: Control, tasks: Sequence[Task]) -> Iterator[Compared]:
    ids = f"task.ids=[{','.join(quoted(task.task_id) for task in tasks)}]"

    def play(overrides: Sequence[str], name: str) -> Run:
        return Run(play_quietly([*_overrides(options, overrides, f"{key}-{name}"), ids], options.config_dir))

    run = play(control.overrides, control.name)
    measures = {measure.name: measure for one in run.measured for measure in one.measures}
    unscored = sum(one.status == UNSCORED for one in run.results)
    for name, expected in control.expected.items():
        yield Compared(
            key=key,
            control=control,
            figure=name,
            found=measures.get(name),
            expected=expected,
            unscored=unscored,
        )
    if control.same_rate_with:
        other = play((*control.overrides, *control.same_rate_with), f"{control.name}-without")
        yield _same_rate(key, control, run, other)


def _same_rate(key: str, control: Control, run: Run, other: Run) -> Compared:
    with_it, without = (_statuses(one) for one in (run, other))
    differing = tuple(
        task
        for task, status in with_it.items()
        if UNSCORED not in (status, before := without.get(task, UNSCORED)) and before != status
    )
    passed = sum(status == PASSED for status in with_it.values()) / (len(with_it) or 1)
    wanted = sum(status == PASSED for status in without.values()) / (len(without) or 1)
    rate = Measure(name=_SAME, label="passed tasks", value=passed, low=passed, high=passed, at_most=passed)
    return Compared(
        key=key,
        control=control,
        figure=_SAME,
        found=rate,
        expected=(wanted, wanted),
        unscored=sum(status == UNSCORED for status in (*with_it.values(), *without.values())),
        differing=differing,
    )


def _statuses(run: Run) -> Mapping[str, str]:
    return {one.name: one.status for one in run.results}


def _overrides(options: argparse.Namespace, chosen: Sequence[str], name: str) -> list[str]:
    """What a control chooses takes the place of the person's own choice, with all its settings."""
    path = options.of.absolute()
    groups = {group for group, _, _ in (one.partition("=") for one in chosen) if "." not in group}
    return [
        *(one for one in options.overrides if one.lstrip("+~").partition("=")[0].partition(".")[0] not in groups),
        f"task.path={quoted(str(path))}",
        *chosen,
        *run_settings(options, name),
    ]


def is_known(found: Sequence[Compared]) -> bool:
    return all(one.is_known for one in found)


def print_controls(console: Terminal, found: Sequence[Compared]) -> None:
    """A table of all figures, and a sentence for each that came out otherwise."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("of tasks with", "agent", "figure", "found", "expected", ""):
        table.add_column(name, no_wrap=True)
    for one in found:
        cells = (one.key, one.control.name, one.figure, _found(one.found), _expected(one.expected), _said(one))
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    console.print(table)
    for one in found:
        if not one.is_expected:
            console.say(f"{one.key}, {one.control.name}: {_why(one)}")
    wrong = sum(not one.is_expected for one in found)
    console.say(f"{len(found)} figures of {len({(one.key, one.control.name) for one in found})} agents, {wrong} wrong")


def _said(one: Compared) -> str:
    if not one.is_expected:
        return "WRONG"
    return "as expected" if one.is_known else "as expected, as far as it is known"


def _why(one: Compared) -> str:
    if one.found is None:
        return f"the run has no figure {one.figure}"
    tasks = f" (tasks {listed(one.differing, _SHOWN)})" if one.differing else ""
    return f"{one.figure} is {_found(one.found)}, not {_expected(one.expected)}{tasks}: {one.control.why}"


def _found(measure: Measure | None) -> str:
    if measure is None:
        return "-"
    most = f" to {percent(measure.at_most)}" if measure.at_most > measure.value else ""
    return f"{percent(measure.value)}{most}"


def _expected(expected: tuple[float, float]) -> str:
    least, most = expected
    return percent(least) if least == most else f"{percent(least)} to {percent(most)}"


def as_data(options: argparse.Namespace, found: Sequence[Compared]) -> dict[str, object]:
    """Everything, with stable keys."""
    return {
        "of": str(options.of),
        "mode": "controls",
        "controls": [
            {
                "key": one.key,
                "agent": one.control.name,
                "about": one.control.about,
                "figure": one.figure,
                "found": None if one.found is None else one.found.value,
                "at_most": None if one.found is None else one.found.at_most,
                "expected": list(one.expected),
                "is_expected": one.is_expected,
                "is_known": one.is_known,
                "differing": list(one.differing),
                "why": "" if one.is_expected else _why(one),
            }
            for one in found
        ],
    }
