"""Keeps Python's garbage collector from searching what a process has imported, again and again and at its end."""

import atexit
import gc
from functools import cache

_YOUNG = 10_000
"""New objects before they are searched. At Python's 700, imports and 16 lanes spend a tenth of their time on it;
without any, pages in reference cycles would stay."""


@cache
def collect_rarely() -> None:
    """For the whole process, from now on; called before its imports, which make up to a million objects."""
    gc.set_threshold(_YOUNG, 10, 10)
    # Else the interpreter searches all of them before it ends: 0.1 s and more, for memory that is freed anyway.
    atexit.register(gc.freeze)
