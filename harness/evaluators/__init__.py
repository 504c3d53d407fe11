"""Evidence in, score out: no browser, no site, no clock but the score's own stamp.

Two dialects judge the same evidence: `webarena` (for other benchmarks called `published`) gives the score of the
benchmark's own code bug for bug, `corrected` the one its rules were meant to give. docs/scoring.md lists every
difference.
"""

from harness.evaluators.judge import ModelJudge
from harness.evaluators.result import DIALECTS
from harness.evaluators.scorer import Scorer

__all__ = ["DIALECTS", "ModelJudge", "Scorer"]
