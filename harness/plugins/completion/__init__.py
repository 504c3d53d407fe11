"""`harness completion`: scripts by which a shell completes commands."""
