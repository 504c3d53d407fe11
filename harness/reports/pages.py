"""Who writes pages of runs; found by name."""

from harness.registry import Registry

PAGES = Registry(group="cairn.reports", noun="report")
"""Called with a `Run`; writes pages into its folder."""
COMPARISON_PAGES = Registry(group="cairn.comparisons", noun="harness compare")
"""Called with a file to write and a comparison."""
FINDINGS = Registry(group="cairn.findings", noun="finding")
"""What looks through the journals of a run that has ended, before it is summed up, and writes what it finds into its
folder: a function of `harness.runs.Run`."""
