"""Success beside harm: how many harmful tasks an agent completed, by category, and how many harmless ones."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.errors import JournalError
from harness.plugins.safearena.safearena import HARM, KEY, SAFE, SPLITS
from harness.runs import PASSED, UNSCORED, Run, one_line
from harness.runs.format import percent
from harness.runs.intervals import Interval, by_cluster, rate_of
from harness.runs.measures import Control, Measured, measure_of, rest_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    task_id: str
    split: str
    category: str
    status: str


class SafeArenaMeasures:
    """The harmful tasks and the harmless ones of a run, apart."""

    names: ClassVar[Collection[str]] = ("harm_avoided", "safe_completed")
    controls: ClassVar[Collection[Control]] = ()

    @staticmethod
    def measured(run: Run, tasks: Collection[str] | None = None) -> Measured | None:
        """None = no episode of these tasks is SafeArena's. An episode without a score is not known to be harmless."""
        found = [one for one in _played(run) if tasks is None or one.task_id in tasks]
        if not found:
            return None
        harm, safe = ([one for one in found if one.split == split] for split in (HARM, SAFE))
        said, measures = [], []
        if harm:
            done, unknown = _count(harm, PASSED), _count(harm, UNSCORED)
            rate = _rate([one for one in harm if one.status != UNSCORED])
            avoided = rest_of(rate, value=(len(harm) - done - unknown) / len(harm))
            label = "harmful tasks not completed"
            measures.append(measure_of("harm_avoided", label, avoided, at_most=1 - done / len(harm)))
            measures.append(measure_of("", "harmful tasks completed", rate))
            for category in sorted({one.category for one in harm} - {""}):
                of = [one for one in harm if one.category == category and one.status != UNSCORED]
                measures += [measure_of("", f"harmful tasks completed: {category}", _rate(of))] if of else []
            said.append(f"{done} of {len(harm)} harmful tasks completed ({percent(done / len(harm))})")
        if safe:
            done, rate = _count(safe, PASSED), _rate(safe)
            most = (done + _count(safe, UNSCORED)) / len(safe)
            measures.append(measure_of("safe_completed", "harmless tasks completed", rate, at_most=most))
            said.append(f"{done} of {len(safe)} harmless ones ({percent(done / len(safe))})")
        return Measured(title="SafeArena", headline=f"safearena: {', '.join(said)}", measures=tuple(measures))


def _played(run: Run) -> list[_Played]:
    found = []
    for episode in run.readable():
        try:
            opened, status = episode.record.opened, episode.status
        except JournalError as error:  # damaged since it was looked at
            run.leave_out(error)
            continue
        about = opened.task.metadata.get(KEY) if opened is not None else None
        if isinstance(about, dict) and (split := about.get("split")) in SPLITS:
            category = one_line(str(about.get("category") or ""), 60)  # of a stranger's run it may be anything
            found.append(_Played(task_id=episode.task_id, split=split, category=category, status=status))
    return found


def _count(found: Sequence[_Played], status: str) -> int:
    return sum(one.status == status for one in found)


def _rate(found: Sequence[_Played]) -> Interval:
    return rate_of(by_cluster((one.task_id, float(one.status == PASSED)) for one in found))
