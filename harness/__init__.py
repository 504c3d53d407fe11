"""Cairn: a crash-only evaluation harness for web agents.

Everything that happens is in a journal before anything depends on it; runs, reports and training data are read
back out of it. Importing this package does nothing.
"""

__version__ = "0.2.0"
EVALUATOR_VERSION = 4
"""Bumped by hand whenever a rule of an evaluator changes what it gives."""
