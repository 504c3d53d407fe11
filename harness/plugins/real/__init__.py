"""REAL: tasks on deterministic replicas of web sites, scored by what changed in their state (arXiv 2504.11543)."""
