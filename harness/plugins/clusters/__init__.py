"""Runs on a Ray cluster (`executor=ray`) or as Slurm jobs (`executor=slurm`)."""
