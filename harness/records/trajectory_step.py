"""What an episode did, step by step, as a judge is shown it; part of the evidence, so that scoring needs no journal."""

from dataclasses import dataclass

from harness.records.optional import optional


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryStep:
    """One step and the page it led to; the first is the arrival at the start pages."""

    action: str
    """History string; "" for the arrival."""
    why_not: str = optional("")
    """Why the action was refused; "" = it was performed, or it is not known."""
    url: str
    """Canonical address of the page after it."""
    title: str
    """Of the page after the step."""
    screenshot: str | None = optional(None)
    """Artifact hash of a PNG or JPEG of the page after it; None = there is none."""
    thought: str = optional("")
    """What the agent wrote beside its action; only of trajectories that others recorded."""
