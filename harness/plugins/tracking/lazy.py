"""Optional libraries of tracking, imported when first used; one sentence if they are not installed."""

from importlib import import_module
from typing import Any

from harness.errors import TrackingError

EXTRA = "pip install 'cairn-harness[tracking]'"


def pyarrow() -> Any:
    """The package, its parquet part loaded."""
    try:
        import_module("pyarrow.parquet")
        return import_module("pyarrow")
    except ImportError as exc:
        raise TrackingError(f"parquet files need the package pyarrow, which is not installed: {EXTRA}") from exc
