"""The measured error of a judge, as `harness judge-check` left it beside the runs: read for reports, made from counts.

An error belongs to a judge and a prompt. One that was measured with another model or another prompt says nothing, so it
is not shown. Only reads.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.files.side_file import SideFile
from harness.records.optional import optional
from harness.runs.intervals import Interval, kappa_of, wilson

FOLDER = "judge-check"
"""The folder beside the run folders."""
RESULT = "judge-check.json"
_MOST_CHECKS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How often a judge and people said success or failure of the same trajectories."""

    both: int = 0
    """Success, say both."""
    judge_only: int = 0
    """Success, says the judge alone."""
    people_only: int = 0
    neither: int = 0

    @property
    def total(self) -> int:
        return self.both + self.judge_only + self.people_only + self.neither

    @property
    def precision(self) -> Interval | None:
        """The share of what the judge passes that did succeed; None when it passes nothing."""
        passed = self.both + self.judge_only
        return wilson(self.both, passed) if passed else None

    @property
    def recall(self) -> Interval | None:
        """The share of what did succeed that the judge passes; None when nothing did."""
        succeeded = self.both + self.people_only
        return wilson(self.both, succeeded) if succeeded else None

    @property
    def accuracy(self) -> Interval | None:
        return wilson(self.both + self.neither, self.total) if self.total else None

    @property
    def kappa(self) -> Interval | None:
        """Cohen's; None when judge and people always say the same one thing."""
        return kappa_of(((self.both, self.judge_only), (self.people_only, self.neither)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeError:
    """What one check found."""

    judge: str
    prompt: str
    """Digest of the prompt."""
    method: str
    """Eval type whose prompt it was."""
    labels: str
    """Name of the file of labels."""
    labels_digest: str
    split: str = optional("")
    """Of the labels, `dev` or `test`, where a verdict that cannot be read is failure; "" = all of them."""
    counts: Agreement
    unjudged: int
    """Trajectories that the judge gave no verdict on; in none of the counts."""
    unsure: int
    day: str
    """Of the check, as 2026-11-22 (UTC)."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUse:
    """How many scores of a run a judge decided with one prompt."""

    judge: str
    """"" = an older version did not record it."""
    prompt: str
    episodes: int
    error: JudgeError | None = None
    """None = it is not known."""


def counted_uses(judged: Iterable[tuple[str, str]]) -> tuple[JudgeUse, ...]:
    """From judge and prompt of each score that a judge decided; errors are not looked up."""
    counts = Counter(judged)
    return tuple(
        JudgeUse(judge=judge, prompt=prompt, episodes=count) for (judge, prompt), count in sorted(counts.items())
    )


_RESULT = SideFile(RESULT, JudgeError, most=1 << 20)


def with_errors(uses: Sequence[JudgeUse], folder: Path) -> tuple[JudgeUse, ...]:
    """The uses with the error of each judge that is known beside this run folder."""
    # Looked up beside the run, not copied into it, so that a check that is made later is shown, too.
    known = known_errors(folder) if uses else {}
    return tuple(replace(one, error=known.get((one.judge, one.prompt))) for one in uses)


def known_errors(folder: Path) -> Mapping[tuple[str, str], JudgeError]:
    """By judge and prompt, the newest of the checks beside a run folder."""
    found: dict[tuple[str, str], JudgeError] = {}
    for file in check_files(folder):
        if (error := _RESULT.glimpse(file.parent)) is None:
            continue
        key = error.judge, error.prompt
        if key not in found or found[key].at <= error.at:
            found[key] = error
    return found


def check_files(folder: Path) -> tuple[Path, ...]:
    """Where the checks beside a run folder have, or will have, their results."""
    try:
        places = sorted(path for path in (folder.resolve().parent / FOLDER).iterdir() if path.is_dir())
    except (OSError, ValueError):  # ValueError: its name holds what no name can
        return ()
    return tuple(place / RESULT for place in places[:_MOST_CHECKS])


def judge_sentence(use: JudgeUse) -> str:
    """What is known of the judge of a rate, in one sentence."""
    scores = f"{use.episodes} score{'' if use.episodes == 1 else 's'}"
    if not use.judge:
        return f"{scores} by a judge that is not recorded: its error is not known"
    who = f"{scores} by the judge {use.judge} (prompt {use.prompt[:12]})"
    if use.error is None:
        return f"{who}: its error is not known; harness judge-check measures it"
    found = use.error.counts
    return (
        f"{who}: precision {shown(found.precision)}, recall {shown(found.recall)}, accuracy {shown(found.accuracy)},"
        f" kappa {shown(found.kappa, percent=False)} on {found.total} labelled trajectories"
        f"{use.error.split and f' of the split {use.error.split}'} ({use.error.day})"
    )


def shown(found: Interval | None, *, percent: bool = True) -> str:
    """A value with its interval; `-` where it is not defined."""
    if found is None:
        return "-"
    if found.is_point:
        return f"{found.value:.2f} (no interval: the standard error is 0)"
    if not percent:
        return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"
