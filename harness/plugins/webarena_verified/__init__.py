"""ServiceNow's WebArena-Verified as a benchmark: its tasks, and its own scorer's verdict as the score."""
