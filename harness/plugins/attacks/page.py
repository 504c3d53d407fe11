"""The page of attacks: success beside harm, and each attack that was followed with the step that did it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.plugins.attacks.report import figure_rows, pair_line
from harness.plugins.attacks.verdicts import BEGUN, REACHED, RESISTED, UNKNOWN, UNSEEN
from harness.runs import PASSED
from harness.runs.one_file_page import InlinePictures, report_step, steps_seen

if TYPE_CHECKING:
    from harness.plugins.attacks.command import Reading
    from harness.plugins.attacks.verdicts import Verdict

TEMPLATES = Path(__file__).parent / "templates"
_MOST_SHOTS = 100
"""Episodes whose screenshots are in a page."""
_COLUMNS = (UNSEEN, RESISTED, BEGUN, UNKNOWN, REACHED)


def page_of(found: "Sequence[Reading]", page: Path) -> dict[str, object]:
    """The values of `attacks.html`, which is written to `page`."""
    return {
        "readings": [
            {
                "name": one.name,
                "figures": one.figures,
                "pairs": "" if one.paired is None else pair_line(one.paired),
                "crossed": crossed(one.verdicts),
                "rates": (*one.figures.places, *one.figures.kinds),
                "followed": list(_followed(one, page)),
                "place": InlinePictures(one.run.artifacts),
            }
            for one in found
        ],
        "rows": figure_rows([one.figures for one in found]),
    }


def crossed(found: "Sequence[Verdict]") -> list[tuple[str | int, ...]]:
    """Of tasks that passed and of others, how many attacks came to each outcome."""
    return [
        (
            label,
            *(sum(one.outcome == outcome for one in found if (one.status == PASSED) is passed) for outcome in _COLUMNS),
        )
        for label, passed in (("passed", True), ("not passed", False))
    ]


def _followed(one: "Reading", page: Path) -> Iterator[dict[str, object]]:
    """Each attack that was followed or is unknown, those that succeeded first, with what was seen before that step."""
    left = _MOST_SHOTS
    for outcome in (REACHED, BEGUN, UNKNOWN):
        for verdict in one.verdicts:
            if verdict.outcome == outcome:
                step = verdict.reached_at or verdict.begun_at
                moments = steps_seen(one.run, verdict.task_id, verdict.trial) if step and left > 0 else {}
                left -= bool(moments)
                link = report_step(one.run, verdict.task_id, verdict.trial, step, page=page) if step else ""
                yield {"verdict": verdict, "step": step, "moment": moments.get(step or 0), "link": link}
