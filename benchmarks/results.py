"""The row all benchmarks share: what we take, what the reference takes, and the ratio of the two, always ours /
reference.

`results.json` holds `{name: {ours, reference, ratio, unit, runs}}` and nothing else. What machine it was, and when,
stands beside it in `machine.json`. Rows of one machine are merged by name; on another machine the file begins anew,
because a table of two machines compares nothing. A row's name begins with the benchmark's and holds the sizes, so that
a small measurement never replaces a large one.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import psutil

from harness.browser.driver import executable
from harness.errors import ConfigError

READING = "ratio = ours / reference: below 1, we take less"
UNITS_S = {"s": 1.0, "ms": 1e3, "us": 1e6}
"""How many make a second."""


class Row(TypedDict):
    """Medians."""

    ours: float
    reference: float
    ratio: float | None
    """ours / reference; None where the reference is nothing."""
    unit: str
    runs: int
    """How often both were measured, at least."""


Rows = dict[str, Row]


class MisnamedRows(Exception):
    """Rows that a later run of the same benchmark would not replace."""


class NotInstalled(Exception):
    """What a benchmark measures is not on this machine; the message says how to install it."""


def row(ours: Sequence[float], reference: Sequence[float], unit: str) -> Row:
    """Of all runs of either side, in `unit`."""
    a, b = statistics.median(ours), statistics.median(reference)
    ratio = round(a / b, 5) if b else None
    return Row(ours=round(a, 5), reference=round(b, 5), ratio=ratio, unit=unit, runs=min(len(ours), len(reference)))


def timed(ours_s: Sequence[float], reference_s: Sequence[float], unit: str = "ms") -> Row:
    """Of seconds, told in another unit."""
    scale = UNITS_S[unit]
    return row([one * scale for one in ours_s], [one * scale for one in reference_s], unit)


def line(name: str, one: Row) -> str:
    """For people, with the ratio in words."""
    return (
        f"{name:96} {_number(one['ours']):>9}  reference {_number(one['reference']):>9} {one['unit']:12}"
        f" {said(one['ratio'])}"
    )


def said(ratio: float | None) -> str:
    if ratio is None:
        return "no ratio (the reference is 0)"
    if 0.95 <= ratio <= 1.05:
        return f"{ratio:.2f} x (about the same)"
    if ratio <= 0:
        return f"{ratio:.2f} x ({'nothing' if ratio == 0 else 'less than nothing'})"
    number = f"{ratio:.3f}" if ratio < 0.1 else f"{ratio:.2f}"
    factor = 1 / ratio if ratio < 1 else ratio
    return f"{number} x ({factor:.{0 if factor >= 10 else 1}f} x {'less' if ratio < 1 else 'as much'})"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tell(rows: Rows) -> None:
    for name, one in rows.items():
        say(line(name, one))


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Of a benchmark with this docstring."""
    return argparse.ArgumentParser(description=(doc or "").partition("\n")[0])


def machine() -> dict[str, Any]:
    """What times depend on."""
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "chromium": _chromium(),
    }


def _chromium() -> str:
    try:
        found = executable.find()
    except ConfigError:
        return "none"
    return subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()


class Results:
    """A results file and what stands beside it, both written again whenever rows are added.

    Args:
        path: Of `results.json`; what it holds of this machine stays.
        here: Facts of this machine.
    """

    def __init__(self, path: Path, here: dict[str, Any]) -> None:
        self._path = path
        self._beside = path.with_name("machine.json")
        self._here = here
        self._rows: Rows = {}
        self._measured: dict[str, str] = {}
        self.begins_anew = path.exists() and not self._resume()
        """Whether there was a file, of another machine."""

    def _resume(self) -> bool:
        beside = json.loads(self._beside.read_text()) if self._beside.exists() else {}
        measured = beside.pop("measured", {})
        if beside != self._here:
            return False
        self._rows, self._measured = json.loads(self._path.read_text()), measured
        return True

    def add(self, benchmark: str, rows: Rows) -> None:
        """Keep `rows`, each instead of the one with its name.

        Raises:
            MisnamedRows: A row's name does not begin with the benchmark's.
        """
        if strange := [name for name in rows if not name.startswith(_beginning(benchmark))]:
            raise MisnamedRows(f"rows of {benchmark} begin with {_beginning(benchmark)!r}, unlike {strange}")
        self._rows |= rows
        self._measured[benchmark] = datetime.now(UTC).isoformat(timespec="seconds")
        self._write()

    def leave_only(self, benchmark: str, names: Collection[str]) -> None:
        """Forget the benchmark's other rows, which it gives no more."""
        mine = _beginning(benchmark)
        self._rows = {name: one for name, one in self._rows.items() if name in names or not name.startswith(mine)}
        self._write()

    def _write(self) -> None:
        _replace(self._beside, {**self._here, "measured": self._measured})
        _replace(self._path, self._rows)


def _beginning(benchmark: str) -> str:
    return benchmark.replace("_", " ") + ", "


def _replace(path: Path, tree: Any) -> None:
    """At once, so that no reader sees half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(tree, indent=2) + "\n")
    new.replace(path)
