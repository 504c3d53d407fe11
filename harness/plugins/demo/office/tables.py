"""Shared parts of the back office's tables: sort order, page size, date range, prices.

All input comes from an address or a form and is untrusted; what cannot be parsed is replaced by the default.
"""

import re
from collections.abc import Mapping
from datetime import date

from harness.plugins.demo.web import Visit

SIZES = (20, 50, 100)
EARLIEST, LATEST = "0001-01-01", "9999-12-31"


def ordering(visit: Visit, columns: Mapping[str, str], default: str, *, descending: bool = False) -> str:
    """The ORDER BY term for `?sort=NAME&dir=asc|desc`; only the SQL in `columns` can come out."""
    name = visit.query("sort")
    if name not in columns:
        return f"{columns[default]} {'DESC' if descending else 'ASC'}"
    return f"{columns[name]} {'DESC' if visit.query('dir') == 'desc' else 'ASC'}"


def page_size(visit: Visit) -> int:
    """How many rows a page has."""
    size = visit.number(visit.query("size"))
    return size if size in SIZES else SIZES[0]


def since_and_until(visit: Visit) -> tuple[str, str]:
    """The dates `?from=` and `?to=`, both inclusive; a date that is none is not a limit."""
    return _date(visit.query("from")) or EARLIEST, _date(visit.query("to")) or LATEST


def cents(text: str) -> int | None:
    """A price as people write it (`12`, `12.5`, `$1,012.50`) in cents; None when it is none."""
    match = re.fullmatch(r"\$?([0-9]{1,7})(?:\.([0-9]{1,2}))?", text.replace(",", ""), re.ASCII)
    return int(match[1]) * 100 + int((match[2] or "0").ljust(2, "0")) if match else None


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        return ""
