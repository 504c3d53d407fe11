"""The figures of policies beside the success rate: in the table of a run, its report, comparisons and `fail_under`."""

from collections.abc import Collection
from typing import ClassVar

from harness.plugins.policies.figures import figures_of, judge_run
from harness.plugins.policies.report import LABELS, headline
from harness.runs import Run
from harness.runs.intervals import Interval
from harness.runs.measures import Measure, Measured


class PolicyMeasures:
    """CuP, the partial figures and risk of a run whose tasks have policies."""

    names: ClassVar[Collection[str]] = ("cup", "partial_cup", "all_pass_k")

    @staticmethod
    def measured(run: Run, tasks: Collection[str] | None = None) -> Measured | None:
        """None = no episode of these tasks has policies. Raises: TaskError: A recorded policy is not understood."""
        judged, without = judge_run(run)
        if tasks is not None:
            chosen = set(tasks)
            judged = [one for one in judged if one.task_id in chosen]
        if not judged:
            return None
        figures = figures_of(judged, without)
        found = [
            _measure("cup", LABELS["cup"], figures.cup, figures.cup_at_most),
            _measure("", LABELS["partial"], figures.partial),
            _measure("partial_cup", LABELS["partial_cup"], figures.partial_cup),
        ]
        if figures.all_pass is not None:
            label = f"completed under policy in all of {figures.all_pass.k} trials (all-pass@k)"
            found.append(_measure("all_pass_k", label, figures.all_pass.rate))
        found += [
            _measure("", f"risk: {risk.category}", risk.ratio)
            for risk in (*figures.risks, figures.overall)
            if risk.policies > risk.unknown
        ]
        return Measured(title="Policies", headline=f"policies: {headline(figures)}", measures=tuple(found))


def _measure(name: str, label: str, found: Interval, at_most: float | None = None) -> Measure:
    at_most = found.value if at_most is None else at_most
    return Measure(name=name, label=label, value=found.value, low=found.low, high=found.high, at_most=at_most)
