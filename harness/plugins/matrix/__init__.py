"""Agents and models over benchmarks, with paired differences: `harness matrix`."""
