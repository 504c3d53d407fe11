"""`harness clean`: what a run does not need is removed."""
