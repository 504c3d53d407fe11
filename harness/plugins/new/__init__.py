"""`harness new`: packages to begin a plug-in with."""
