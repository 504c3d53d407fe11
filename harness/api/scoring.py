"""How the shipped evaluators score, word their findings and call their dialects.

For evaluators that go with the shipped ones, and for plug-ins that score without a run.
"""

from harness.evaluators import DIALECTS, Scorer
from harness.evaluators.result import CORRECTED, WEBARENA, finding, shown
from harness.evaluators.scorer import SHIPPED, answer_of
from harness.evaluators.text_match import OR, clean

__all__ = ["CORRECTED", "DIALECTS", "OR", "SHIPPED", "WEBARENA", "Scorer", "answer_of", "clean", "finding", "shown"]
