"""What `harness plot` draws, as numbers.

Made of the results of runs; only effort by step reads journals, one at a time. An episode without a score counts as not
passed, as in the rate of a run. Knows nothing of how figures are drawn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from harness.errors import JournalError
from harness.runs import FAILED, PASSED, UNSCORED, Run
from harness.runs.intervals import Interval, clustered_bootstrap, median_interval, pass_at_k, pass_hat_k
from harness.runs.results import NOT_BEGUN, Result
from harness.runs.statistics import Group, statistics_of

_FEWEST = 5
"""Episodes that a median is made of; of fewer, all."""
_MOST_ROWS = 30
"""Of sites or templates."""
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One value with its 95% interval."""

    x: float
    """On the axis; of categories, their place in `Panel.categories`."""
    y: Interval
    across: Interval | None = None
    """Of x; None = x is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What one run comes to."""

    run: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes."""

    kind: str
    """`stairs`, `line`, `scatter`, or `rows`: categories below each other."""
    x: str
    """What the axis shows, with its unit; so `y`."""
    y: str
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()
    is_share: bool = False
    """Whether y is from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One figure."""

    name: str
    """Of its files."""
    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    """What a reader has to know, a sentence each."""


@dataclass(frozen=True, slots=True)
class Named:
    """A run by the name it has in figures."""

    name: str
    run: Run


def success_by_steps(runs: Sequence[Named]) -> Plot | None:
    """The share of episodes that passed within so many steps."""
    most = max((result.steps for one in runs for result in one.run.results), default=0)

    def curve(results: Sequence[Result]) -> Iterator[Point]:
        for budget in range(most + 2):  # one more, in which the last step is seen
            within = [one if one.steps <= budget else _failed(one) for one in results]
            yield Point(x=budget, y=statistics_of(within).all.rate)

    series = tuple(Series(run=one.name, points=tuple(curve(one.run.results))) for one in runs)
    panel = Panel(kind="stairs", x="step budget", y="episodes passed", series=series, is_share=True)
    return Plot(name="success_by_steps", title="Success by step budget", panels=(panel,)) if most else None


def _failed(result: Result) -> Result:
    return replace(result, status=FAILED) if result.status == PASSED else result


def cost_and_success(runs: Sequence[Named]) -> Plot:
    """What an episode costs on average, against the rate; a point for each run."""
    is_priced = all(result.priced for one in runs for result in one.run.results) and any(
        result.cost_usd for one in runs for result in one.run.results
    )

    def point(results: Sequence[Result]) -> Point:
        spent: dict[str, list[float]] = {}
        for one in results:
            if one.cause != NOT_BEGUN:
                spent.setdefault(one.cluster, []).append(one.cost_usd if is_priced else float(one.tokens))
        most = max((value for values in spent.values() for value in values), default=0.0)
        across = clustered_bootstrap(spent, bounds=(0.0, most), resamples=_RESAMPLES)
        return Point(x=across.value, y=statistics_of(results).all.rate, across=across)

    panel = Panel(
        kind="scatter",
        x="cost of an episode (USD, mean)" if is_priced else "tokens of an episode (mean)",
        y="episodes passed",
        series=tuple(Series(run=one.name, points=(point(one.run.results),)) for one in runs),
        is_share=True,
    )
    notes = () if is_priced else ("without a price for all of it, tokens stand for cost",)
    return Plot(name="cost_and_success", title="Cost against success", panels=(panel,), notes=notes)


def effort_by_step(runs: Sequence[Named]) -> Plot | None:
    """Time and tokens of each step: medians over episodes."""
    measured = [(one.name, _effort(one.run)) for one in runs]
    panels = tuple(
        Panel(
            kind="line",
            x="step",
            y=label,
            series=tuple(Series(run=name, points=tuple(_medians(found[at]))) for name, found in measured),
        )
        for at, label in enumerate(("seconds (median)", "tokens (median)"))
    )
    notes = (f"steps that fewer than {_FEWEST} episodes of a run reached are left out",)
    is_there = any(one.points for panel in panels for one in panel.series)
    return (
        Plot(name="effort_by_step", title="Time and tokens by step", panels=panels, notes=notes) if is_there else None
    )


def _effort(run: Run) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Step to the seconds and to the tokens that it took in each episode; inherited steps took another run's."""
    seconds: dict[int, list[float]] = {}
    tokens: dict[int, list[float]] = {}
    for episode in run.readable():
        try:
            steps = episode.steps
        except JournalError as error:  # damaged since it was looked at
            run.leave_out(error)
            continue
        for step in steps:
            if step.is_inherited:  # by the run that this one is a fork of
                continue
            if not step.decided.is_cached:  # what the cache answered took no time that says anything
                took = step.decided.elapsed_ms + (step.acted.elapsed_ms if step.acted else 0.0)
                seconds.setdefault(step.number, []).append(took / 1000)
            tokens.setdefault(step.number, []).append(float(step.usage.tokens))
    return seconds, tokens


def _medians(by_step: Mapping[int, Sequence[float]]) -> Iterator[Point]:
    fewest = min(_FEWEST, max(map(len, by_step.values()), default=0))
    for step, values in sorted(by_step.items()):
        if len(values) >= fewest:
            yield Point(x=step, y=median_interval(values))


def reliability(runs: Sequence[Named]) -> Plot | None:
    """pass^k and pass@k of repeated trials; None where no run has any."""
    series = [(one.name, _scored(one.run.results)) for one in runs]
    series = [(name, tasks) for name, tasks in series if any(len(values) > 1 for values in tasks.values())]
    kinds: tuple[tuple[str, Callable[[int, int, int], float]], ...] = (
        ("pass^k: all of k trials pass", pass_hat_k),
        ("pass@k: one of k trials passes", pass_at_k),
    )
    panels = tuple(
        Panel(
            kind="line",
            x="k",
            y=label,
            series=tuple(Series(run=name, points=tuple(_of_k(tasks, chance))) for name, tasks in series),
            is_share=True,
        )
        for label, chance in kinds
    )
    notes = ("of the tasks with the most scored trials",)
    return Plot(name="reliability", title="Repeated trials", panels=panels, notes=notes) if series else None


def _scored(results: Sequence[Result]) -> Mapping[tuple[str, str], list[bool]]:
    """Intent template and task to whether each scored trial passed."""
    found: dict[tuple[str, str], list[bool]] = {}
    for one in results:
        if one.status != UNSCORED:
            found.setdefault((one.cluster, one.task_id), []).append(one.status == PASSED)
    return found


def _of_k(tasks: Mapping[tuple[str, str], Sequence[bool]], chance: Callable[[int, int, int], float]) -> Iterator[Point]:
    trials = max(map(len, tasks.values()))
    for k in range(1, trials + 1):
        values: dict[str, list[float]] = {}
        for (cluster, _), passed in tasks.items():
            if len(passed) == trials:
                values.setdefault(cluster, []).append(chance(trials, sum(passed), k))
        yield Point(x=k, y=clustered_bootstrap(values, bounds=(0.0, 1.0), resamples=_RESAMPLES))


def success_by_site(runs: Sequence[Named]) -> Plot | None:
    """The rate on each combination of sites."""
    groups = {one.name: statistics_of(one.run.results).sites for one in runs}
    return _rows("success_by_site", "Success by site", groups)


def success_by_template(runs: Sequence[Named]) -> Plot | None:
    """The rate on each intent template with several episodes; None where there is none."""
    groups = {one.name: statistics_of(one.run.results).templates for one in runs}
    return _rows("success_by_template", "Success by intent template", groups)


def _rows(name: str, title: str, groups: Mapping[str, Sequence[Group]]) -> Plot | None:
    """Categories in the order of their mean rate, the lowest first."""
    rates: dict[str, list[float]] = {}
    for of in groups.values():
        for group in of:
            rates.setdefault(group.name, []).append(group.rate.value)
    order = sorted(rates, key=lambda one: (fmean(rates[one]), one))
    shown = order[:_MOST_ROWS]
    places = {category: float(place) for place, category in enumerate(shown)}
    series = tuple(
        Series(
            run=run,
            points=tuple(Point(x=places[group.name], y=group.rate) for group in of if group.name in places),
        )
        for run, of in groups.items()
    )
    panel = Panel(kind="rows", x="", y="episodes passed", series=series, categories=tuple(shown), is_share=True)
    notes = (f"the {_MOST_ROWS} lowest of {len(order)}",) if len(order) > _MOST_ROWS else ()
    return Plot(name=name, title=title, panels=(panel,), notes=notes) if shown else None


PLOTS: Mapping[str, Callable[[Sequence[Named]], Plot | None]] = {
    "success_by_steps": success_by_steps,
    "cost_and_success": cost_and_success,
    "effort_by_step": effort_by_step,
    "reliability": reliability,
    "success_by_site": success_by_site,
    "success_by_template": success_by_template,
}
"""By the names of their files; None = there is nothing to draw."""
