"""A plug-in as a stranger would write it; `tests/e2e/test_plugins.py` makes a wheel of it."""
