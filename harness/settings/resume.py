"""How interrupted episodes go on."""

from dataclasses import dataclass

from harness.choices import SHARE, InDoubtPolicy, OnDivergence, Strategy, ValueRange
from harness.settings.fields import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeSettings:
    """How interrupted episodes go on."""

    # A checkpoint is faster, but holds neither the history of the tabs nor the memory of scripts.
    strategy: Strategy = Strategy.auto
    """How an interrupted episode is restored; see docs/pages/resume.md."""
    # To repeat the action is wrong if it was performed; to skip it without notice is wrong if it was not.
    in_doubt: InDoubtPolicy = InDoubtPolicy.ask_page
    """What becomes of an action that was interrupted on a site which cannot be reset; see docs/pages/resume.md."""
    # For text that is only read: at 0.9 an emptied field passed, so what an agent can act on has to be equal.
    min_similarity: float = setting(0.9, bounds=SHARE)
    """A restored page this similar to the recorded one counts as the same: twice the common lines divided by all."""
    on_divergence: OnDivergence = OnDivergence.restart
    """What becomes of an attempt whose agent's process, started again, does something else than is recorded."""
    max_attempts: int = setting(3, bounds=ValueRange(1, 1000))
    """Infrastructure failures of one task before it is left unscored."""
    accept_drift: bool = setting(False, named=False)
    """Go on in a run folder made with other measuring settings, versions or references (`eval`) of tasks; what changed
    is kept in its `drift.jsonl`."""

    @property
    def keeps_sites(self) -> bool:
        """Episodes go on from checkpoints, with what they left on their sites."""
        return self.strategy is Strategy.checkpoint
