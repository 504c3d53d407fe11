"""What follows from journals alone: scores by a corrected reference or another judge, and `summary.json`.

For plug-ins that check or complete what a run folder says.
"""

from harness.episode.references import as_asked, with_reference
from harness.journal.index import Outcomes
from harness.reports.basis import basis
from harness.reports.summary import Invocation, Summary, as_json, summarize
from harness.runner.rescore import RescoreResult, recorded_scorer, references_of, rescored

__all__ = [
    "Invocation",
    "Outcomes",
    "RescoreResult",
    "Summary",
    "as_asked",
    "as_json",
    "basis",
    "recorded_scorer",
    "references_of",
    "rescored",
    "summarize",
    "with_reference",
]
