"""Conditions on the figures that plug-ins measure of a run: `fail_under.NAME`."""

from collections.abc import Mapping

from harness.runs.measures import below
from harness.runs.run import Run


def below_least(run: Run, least: Mapping[str, float]) -> tuple[str, ...]:
    """A sentence for each figure that is below what `fail_under_of` asks for; without one, no journal is read."""
    return below(run.measured, least) if least else ()
