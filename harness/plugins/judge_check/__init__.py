"""Measures a judge against trajectories that people have labelled: `harness judge-check`."""
