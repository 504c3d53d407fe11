"""Search over the recorded steps of runs, without an index."""
