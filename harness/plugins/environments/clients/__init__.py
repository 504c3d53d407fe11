"""Thin clients of the environment server, for the programs that train; each needs no more than its own program."""
