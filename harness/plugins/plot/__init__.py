"""Figures of runs as files, for papers and talks: `harness plot`."""
