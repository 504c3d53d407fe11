"""What plug-ins measure of a run beside its success rate, by name: shown beside the rate, compared, and a condition of
`fail_under.NAME`.

An entry point of `cairn.measures` has the name of the key of tasks that it is about: runs without a task that has the
key cost nothing, as `run.json` says so. Its value is a class like `MeasureSource`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from harness.errors import ConfigError, HarnessError
from harness.escape import one_line
from harness.registry import Registry
from harness.runs.format import percent, percent_within
from harness.runs.intervals import Interval
from harness.runs.trials import amount

if TYPE_CHECKING:
    from harness.runs.run import Run

TASK_KEYS = "task_keys"
"""Key of `run.json`: the keys of plug-ins that its tasks have."""
_SOURCES = Registry(group="cairn.measures", noun="measure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One figure of a run."""

    name: str
    """As in `fail_under.NAME`; "" = it is only shown."""
    label: str
    value: float
    """A share, in [0, 1]."""
    low: float
    """Of its 95% interval; so `high`."""
    high: float
    at_most: float
    """Its value if all that is unknown were good; `value` where nothing is."""


def measure_of(name: str, label: str, found: Interval, *, at_most: float | None = None) -> Measure:
    """A rate as a figure; without `at_most`, nothing of it is unknown."""
    most = found.value if at_most is None else at_most
    return Measure(name=name, label=label, value=found.value, low=found.low, high=found.high, at_most=most)


def rest_of(found: Interval, *, value: float) -> Interval:
    """What a rate of harm leaves; `value` counts what is unknown as harm, which the rate does not."""
    low, high = 1 - found.high, 1 - found.low
    return Interval(value=value, low=min(low, value), high=max(high, value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """An agent whose figures are known beforehand: `harness audit --controls` plays it, and sees whether they come
    out.
    """

    name: str
    about: str
    """What it does, in a few words."""
    overrides: tuple[str, ...]
    """Settings that choose it, as `agent=null`."""
    # Ranges, as an agent that acts at random has no exact rate.
    expected: Mapping[str, tuple[float, float]]
    """Name of a measure to the least and the most that it may be."""
    why: str
    """What is wrong if a figure is another one, in a sentence."""
    same_rate_with: tuple[str, ...] = ()
    """Settings with which it has to pass the same tasks; () = it is played once."""
    follows_plans: bool = False
    """It can only be played where the tasks have plans (`task.plans`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one plug-in measures of a run."""

    title: str
    """One or two words: `Policies`."""
    headline: str
    """One sentence for the lines below the table."""
    measures: tuple[Measure, ...]


class MeasureSource(Protocol):
    """What measures a run."""

    names: ClassVar[Collection[str]]
    """Of the measures that can be a condition."""
    controls: ClassVar[Collection[Control]]
    """Agents with which it is tried out; a source may leave it out."""

    @staticmethod
    def measured(run: "Run", tasks: Collection[str] | None, /) -> Measured | None:
        """The figures of a run, of damaged journals nothing.

        Args:
            run: The run.
            tasks: Ids of the tasks to measure; None = all.

        Raises:
            HarnessError: What is recorded cannot be understood.
        """
        ...


def measures_of(run: "Run", tasks: Collection[str] | None = None) -> tuple[Measured, ...]:
    """What plug-ins measure of a run, in the order of the registry; () for most runs.

    What cannot be measured, as a policy that was recorded by other rules, is said in the headline.
    """
    keys = run.description.get(TASK_KEYS)
    asked = [name for name in _SOURCES.names() if isinstance(keys, list) and name in keys]
    return tuple(one for name in asked if (one := _measured(name, run, tasks)) is not None)


def _measured(name: str, run: "Run", tasks: Collection[str] | None) -> Measured | None:
    try:
        with _SOURCES.running(name):
            source: type[MeasureSource] = _SOURCES.find(name)
            found = source.measured(run, tasks)
        if not isinstance(found, Measured | None):
            raise ConfigError(f"its `measured` returned {type(found).__name__}, not Measured or None")
    except HarnessError as error:
        return Measured(title=name, headline=f"{name} cannot be measured: {one_line(str(error), 300)}", measures=())
    if found is None or not run.left_out:
        return found
    without = f"without {amount(len(run.left_out), 'damaged journal')} ({one_line(str(run.left_out[0]), 300)})"
    return replace(found, headline=f"{found.headline}; {without}")


def controls_of(keys: Collection[str]) -> Mapping[str, tuple[Control, ...]]:
    """The agents to try measures out with, by the key of tasks that they are about."""
    asked = [name for name in _SOURCES.names() if name in keys]
    return {name: tuple(getattr(_SOURCES.find(name), "controls", ())) for name in asked}


def measure_names() -> tuple[str, ...]:
    """All measures that can be a condition."""
    found: list[str] = []
    for source in _SOURCES.names():
        with _SOURCES.running(source):
            found.extend(_SOURCES.find(source).names)
    return tuple(found)


def measure_text(found: Measure | None) -> str:
    """`40.0% (26.3% to 55.4%)`, with the other end where something is unknown; `-` where there is none."""
    if found is None:
        return "-"
    most = f", up to {percent(found.at_most)}" if found.at_most > found.value else ""
    return percent_within(found.value, found.low, found.high) + most


def is_below(value: float, wanted: float) -> bool:
    """Whether a share does not reach a condition; 1 - 0.32 does reach 0.68, from which it differs in its last digit."""
    return value < wanted - 1e-9


def below(measured: Collection[Measured], least: Mapping[str, float]) -> tuple[str, ...]:
    """A sentence for each condition that is not met; what is unknown counts for the run, as it does for the rate."""
    known = {measure.name: measure for one in measured for measure in one.measures}
    return tuple(
        f"below fail_under.{name}={wanted:g}: "
        + (f"{known[name].label} is {percent(known[name].value)}" if name in known else "the run has no such figure")
        for name, wanted in least.items()
        if name not in known or is_below(known[name].at_most, wanted)
    )
