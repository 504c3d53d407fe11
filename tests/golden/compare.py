"""Compare Cairn with recorded outputs of WebArena's own code, file by file.

Reads the folder GOLDEN_DIR (default `../shared/golden`), prints agreed/total per file and what was decided to be
different, and exits 1 on any other disagreement. A case that cannot be read or compared is one. Run as
`python -m tests.golden.compare`.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HarnessError
from tests.golden.actions import compare_action, compare_early_stop, compare_equivalence
from tests.golden.evaluators import compare_program_html, compare_string_match, compare_url_match
from tests.golden.observations import compare_ax_text, compare_html_text
from tests.golden.outcome import Comparer, Decision, Outcome
from tests.golden.tab_header import compare_tab_header

COMPARERS: Mapping[str, Comparer] = {
    "actions": compare_action,
    "early_stop": compare_early_stop,
    "equivalence": compare_equivalence,
    "string_match": compare_string_match,
    "string_match_judge": compare_string_match,
    "string_match_sentence_split": compare_string_match,
    "url_match": compare_url_match,
    "program_html": compare_program_html,
    "ax_text": compare_ax_text,
    "html_text": compare_html_text,
    "tab_header": compare_tab_header,
}
"""File name without `.jsonl` to what compares one of its lines."""

_RAISED = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    HarnessError,
)
"""What code raises that is given data of another shape than it was written for."""


@dataclass
class Tally:
    """What came of one file."""

    total: int = 0
    agreed: int = 0
    decided: Counter[Decision] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def golden_dir() -> Path:
    return Path(os.environ.get("GOLDEN_DIR", "../shared/golden"))


def tally(file: Path, comparer: Comparer) -> Tally:
    result = Tally()
    for number, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        result.total += 1
        outcome = _compared(line, comparer)
        if outcome is None:
            result.agreed += 1
        elif isinstance(outcome, Decision):
            result.decided[outcome] += 1
        else:
            shown = line[:400].decode("utf-8", "replace")
            result.differences.append(f"{file.name}:{number}: {outcome}\n    {shown}")
    return result


def _compared(line: bytes, comparer: Comparer) -> Outcome:
    """What came of one line; whatever is wrong with it is a difference."""
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as exc:
        return f"the line is not JSON ({exc})"
    if not isinstance(case, dict):
        return f"the line holds a {type(case).__name__}, but a case is an object"
    try:
        return comparer(case)
    except _RAISED as exc:
        said = " ".join(str(exc).split())
        return f"the case cannot be compared: {type(exc).__name__}: {said[:300]}"


def main() -> int:
    folder = golden_dir()
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        sys.stdout.write(f"{folder.absolute()}: holds no .jsonl files; set GOLDEN_DIR\n")
        return 2
    failed = False
    for file in files:
        comparer = COMPARERS.get(file.stem)
        if comparer is None:
            sys.stdout.write(f"{file.name}: no comparer\n")
            failed = True
            continue
        result = tally(file, comparer)
        failed = failed or bool(result.differences)
        _report(file.name, result)
    return 1 if failed else 0


def _report(name: str, result: Tally) -> None:
    decided = result.decided.total()
    extra = f", {decided} decided otherwise" if decided else "" if result.total else " (the file is empty)"
    sys.stdout.write(f"{name}: {result.agreed}/{result.total} agreed{extra}\n")
    for decision, count in sorted(result.decided.items(), key=lambda item: item[0].name):
        sys.stdout.write(f"    {count} {decision.name}: {decision.because}\n")
    for difference in result.differences[:20]:
        sys.stdout.write(f"  DIFFERS {difference}\n")
    if len(result.differences) > 20:
        sys.stdout.write(f"  and {len(result.differences) - 20} more\n")


if __name__ == "__main__":
    sys.exit(main())
