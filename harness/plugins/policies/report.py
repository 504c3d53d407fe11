"""The figures of policies as rows, Markdown, JSON and a page."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api.text import markdown_cell, markdown_table
from harness.plugins.policies.verdicts import KEPT, UNKNOWN, VIOLATED
from harness.runs import PASSED, one_line
from harness.runs.format import percent, rate_within
from harness.runs.judged import missing_said
from harness.runs.one_file_page import InlinePictures, report_step, steps_seen

if TYPE_CHECKING:
    from harness.plugins.policies.command import Reading
    from harness.plugins.policies.figures import Figures, Judged
    from harness.plugins.policies.verdicts import Verdict

TEMPLATES = Path(__file__).parent / "templates"
_MOST_SHOTS = 100
"""Episodes whose screenshots are in a page."""
RISK_HEADS = ("category", "policies", "violated", "unknown", "dormant", "risk", "active risk")
VERDICT_HEADS = ("task", "step", "verdict", "policy", "set by", "why", "what was done")
LABELS = {
    "completion": "completed",
    "cup": "completed under policy (CuP)",
    "partial": "partly completed",
    "partial_cup": "partly completed under policy (pCuP)",
}
"""Figure to its words."""


def headline(figures: "Figures") -> str:
    """One sentence."""
    risk = figures.overall
    said = (
        f"{percent(figures.completion.value)} completed, {percent(figures.cup.value)} under policy; "
        f"{risk.violated} of {risk.policies} policies violated in {figures.violating} of {figures.episodes} episodes"
    )
    if risk.unknown:
        said += f"; {risk.unknown} verdicts are unknown"
    return f"{said}; {missing_said(figures.missing)}" if figures.missing else said


def figure_rows(found: "Sequence[Figures]") -> list[tuple[str, ...]]:
    """A row for each figure, a column for each run."""
    rows = [(label, *(rate_within(getattr(one, key)) for one in found)) for key, label in LABELS.items()]
    if any(one.cup_at_most > one.cup.value for one in found):
        rows.insert(2, ("CuP if all that is unknown were good", *(percent(one.cup_at_most) for one in found)))
    if any(one.all_pass for one in found):
        rows.append(("all-pass@k", *(_all_pass(one) for one in found)))
    rows += [
        ("risk, all categories", *(rate_within(one.overall.ratio) for one in found)),
        ("episodes with a violation", *(f"{one.violating} of {one.episodes}" for one in found)),
        ("episodes that are unknown", *(str(one.unknown) for one in found)),
        ("questions to the user", *(str(one.questions) for one in found)),
    ]
    if any(one.without for one in found):
        rows.append(("episodes without policies", *(str(one.without) for one in found)))
    if any(one.missing for one in found):
        rows.append(("episodes left out: not begun, or damaged", *(str(one.missing) for one in found)))
    return rows


def _all_pass(figures: "Figures") -> str:
    found = figures.all_pass
    return f"{rate_within(found.rate)}, k={found.k}, {found.tasks} tasks" if found else "-"


def risk_rows(figures: "Figures") -> list[tuple[str, ...]]:
    """A row for each category."""
    return [
        (
            risk.category,
            *map(str, (risk.policies, risk.violated, risk.unknown, risk.dormant)),
            rate_within(risk.ratio),
            rate_within(risk.active_ratio),
        )
        for risk in (*figures.risks, figures.overall)
    ]


def verdict_rows(judged: "Sequence[Judged]") -> Iterator[tuple[str, ...]]:
    """A row for each policy that is not kept, violations first."""
    found = [(one, verdict) for one in judged for verdict in one.verdicts if verdict.status != KEPT]
    for one, verdict in sorted(found, key=lambda pair: pair[1].status != VIOLATED):
        policy = verdict.policy
        said = f"{policy.name}: {policy.description}" if policy.description else policy.name
        yield (
            one.name,
            str(verdict.step or "-"),
            verdict.status,
            one_line(said, 120),
            policy.source,
            one_line(verdict.why, 200),
            one_line(verdict.quote, 120),
        )


def markdown(found: "Sequence[Reading]") -> str:
    """Tables for a page beside the code; text of pages is shown, never followed."""
    lines = ["## Policies", ""]
    lines += [f"- {markdown_cell(one.name)}: {markdown_cell(headline(one.figures))}" for one in found]
    lines += ["", *markdown_table(("", *(one.name for one in found)), figure_rows([one.figures for one in found]))]
    for one in found:
        lines += ["", f"### {markdown_cell(one.name)}", "", *markdown_table(RISK_HEADS, risk_rows(one.figures))]
        if rows := list(verdict_rows(one.judged)):
            lines += ["", *markdown_table(VERDICT_HEADS, rows[:100])]
            lines += ["", f"and {len(rows) - 100} more"] if len(rows) > 100 else []
    return "\n".join(lines) + "\n"


def as_data(one: "Reading") -> dict[str, object]:
    """Everything, with stable keys."""
    figures = one.figures
    return {
        "run": one.name,
        "figures": figures,
        "episodes": [
            {
                "task_id": judged.task_id,
                "trial": judged.trial,
                "status": judged.status,
                "compliance": judged.compliance,
                "completed_under_policy": judged.is_completed,
                "partial": judged.partial,
                "questions": judged.questions,
                "policies": [_verdict(verdict) for verdict in judged.verdicts],
            }
            for judged in one.judged
        ],
    }


def _verdict(verdict: "Verdict") -> dict[str, object]:
    policy = verdict.policy
    return {
        "number": policy.number,
        "name": policy.name,
        "category": policy.category,
        "source": policy.source,
        "evaluator": policy.kind,
        "status": verdict.status,
        "dormant": verdict.is_dormant,
        "step": verdict.step,
        "why": verdict.why,
        "quote": verdict.quote,
    }


def page_of(found: "Sequence[Reading]", page: Path) -> dict[str, object]:
    """The values of `policies.html`, which is written to `page`."""
    return {
        "readings": [
            {
                "name": one.name,
                "figures": one.figures,
                "headline": headline(one.figures),
                "rates": [(label, getattr(one.figures, key)) for key, label in LABELS.items()],
                "crossed": crossed(one.judged),
                "broken": list(_shown(one, page)),
                "place": InlinePictures(one.run.artifacts),
            }
            for one in found
        ],
        "rows": figure_rows([one.figures for one in found]),
    }


def crossed(judged: "Sequence[Judged]") -> list[tuple[str, int, int, int]]:
    """Success beside harm: of completed and of other episodes, how many kept all, are unknown, and violated one."""

    def count(passed: bool, status: str) -> int:
        return sum(one.compliance == status for one in judged if (one.status == PASSED) is passed)

    return [
        (label, count(passed, KEPT), count(passed, UNKNOWN), count(passed, VIOLATED))
        for label, passed in (("completed", True), ("not completed", False))
    ]


def _shown(one: "Reading", page: Path) -> Iterator[dict[str, object]]:
    """Each verdict that is not kept, violations first, with the step and what was seen there."""
    left = _MOST_SHOTS
    for judged in one.judged:
        found = [verdict for verdict in judged.verdicts if verdict.status != KEPT]
        is_shown = left > 0 and any(verdict.step for verdict in found)
        moments = steps_seen(one.run, judged.task_id, judged.trial) if is_shown else {}
        left -= bool(moments)
        for verdict in found:
            step = verdict.step or 0
            link = report_step(one.run, judged.task_id, judged.trial, step, page=page) if step else ""
            yield {"of": judged, "verdict": verdict, "moment": moments.get(step), "link": link}
