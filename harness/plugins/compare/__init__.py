"""`harness compare`: runs against a first one, over their common tasks."""
