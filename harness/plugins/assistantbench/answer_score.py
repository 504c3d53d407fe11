"""AssistantBench's score of an answer, by its rule: numbers by their ratio, texts by common words, objects by fields.

- A number scores 1 - |ln(answer / reference)|, at least 0.
- A text scores the F1 of its set of words, without case, punctuation and articles; if the reference has numbers, one of
  them must be in it. Several lines are a list: texts are paired so that the sum is largest, and it is divided by the
  longer list.
- Objects (JSON, one a line) are paired likewise; a pair scores the F1 of its fields, each scored as above.

What the benchmark's own code fails on (`true`, an integer of 400 digits, a pair with an empty object) scores 0. What it
gives more than 1 for, a negative number that is not the negative reference, scores by the formula above. Pure.

Source: Yoran et al. 2024, "AssistantBench", and the code of `browsergym-assistantbench` 0.14, which tests score beside.
"""

import heapq
import json
import math
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

from harness.api import EvaluatorError, JsonObject

MOST_LINES = 300
"""Limit for a reference: the time that pairing takes grows with the square of the shorter list."""
MOST_CHARS = 1_000_000
"""Limit for an answer; a longer one scores 0."""
_TINY = 1e-4
"""In the place of 0, of which there is no ratio."""
_ARTICLES = re.compile(r"\b(a|an|the)\b")
Rule = Callable[[Any, Any], float]


class _Undefined(Exception):
    """The benchmark's own code gives no number above 0 here: it raises, or divides nothing by nothing."""


def score(answer: str, reference: str) -> float:
    """The score, from 0 to 1.

    Raises:
        EvaluatorError: As `check_reference`.
    """
    wanted, rule = _reference(reference)
    if len(answer) > MOST_CHARS:
        return 0.0
    try:
        value = rule(_answer(answer, rule), wanted)
    except (_Undefined, OverflowError, RecursionError):
        return 0.0
    return min(1.0, max(0.0, value))


def check_reference(text: str) -> None:
    """See that an answer can score above 0.

    Raises:
        EvaluatorError: The reference is empty, is JSON but no object with fields, or has too many lines.
    """
    _reference(text)


def _reference(text: str) -> tuple[Any, Rule]:
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise EvaluatorError("the reference answer is empty")
    if len(lines) > MOST_LINES:
        raise EvaluatorError(f"the reference answer has {len(lines)} lines; the limit is {MOST_LINES}")
    if len(lines) == 1 and (number := _number(lines[0])) is not None:
        return number, _number_score
    parsed = [_parsed(_with_double_quotes(line)) for line in lines]
    if all(found is not None for found in parsed):
        values = [found[0] for found in parsed if found is not None]
        if not all(isinstance(value, dict) and value for value in values):
            raise EvaluatorError("the reference answer is JSON, but no object with fields: no answer scores above 0")
        return values, _objects_score
    return lines, _texts_score


def _answer(text: str, rule: Rule) -> Any:
    """What a rule is given: a list, an object, a number or a text."""
    found = _parsed(text)
    value = text if found is None else found[0]
    if isinstance(value, list) and len(value) == 1 and (type(value[0]) is int or _is_numeral(value[0])):
        number = _number(value[0])
        value = str((value[0], False) if number is None else (number, True))  # as there, the text of a Python tuple
    if value is None or isinstance(value, bool) or (isinstance(value, str | list | dict) and not value):
        raise _Undefined
    if (number := _number(value)) is not None:
        value = number
    if rule is not _objects_score or isinstance(value, list):
        return value
    parsed = [_parsed(line) for line in value.split("\n")] if isinstance(value, str) else [None]
    return [value] if None in parsed else [one[0] for one in parsed if one is not None]


def _is_numeral(value: Any) -> bool:
    return isinstance(value, str) and value.isnumeric()


def _parsed(text: str) -> tuple[Any] | None:
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def _with_double_quotes(text: str) -> str:
    """A Python dict as it is printed, as JSON: references are written so."""
    for old, new in (("{'", '{"'), ("', '", '", "'), ("': '", '": "'), ("'}", '"}'), ("': ", '": ')):
        text = text.replace(old, new)
    return text


def _number(value: Any, *, area: str = " square kilometers") -> float | None:
    """The number that a value is, without units; a comma is a decimal point, as in the benchmark's code.

    Raises:
        OverflowError: An integer is too large for a float.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    for unit in ("$", "%", "sqft"):
        value = value.replace(unit, " ")
    return _plain_number(value.strip().replace(",", ".").replace(area, "") if area else value.strip().replace(",", "."))


def _plain_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number_score(found: Any, wanted: float) -> float:
    if not isinstance(found, float):
        return 0.0
    if found == wanted == 0:
        return 1.0
    low, high = sorted((found or _TINY, wanted or _TINY))
    ratio = high / low
    return max(0.0, 1.0 - abs(math.log(ratio))) if 0 < ratio < math.inf else 0.0


def _texts_score(found: Any, wanted: Any) -> float:
    """A list or a text beside another; anything else is the text that Python prints for it."""
    return _bags_score(_bags(found), _bags(wanted))


Bag = tuple[frozenset[str], frozenset[str]]
"""The words of a text, and the numbers among them."""


def _bags(value: Any) -> list[Bag] | None:
    """Of each text; None = not all are texts."""
    texts = value if isinstance(value, list) else [str(value)]
    return [_bag(one) for one in texts] if all(isinstance(one, str) for one in texts) else None


def _bag(text: str) -> Bag:
    words: list[str] = []
    for token in re.split(" |-", text.lower()):
        bare = token if _plain_number(token) is not None else "".join(c for c in token if c not in string.punctuation)
        number = _plain_number(bare)
        words += _ARTICLES.sub(" ", bare if number is None else str(number)).split()
    return frozenset(words), frozenset(word for word in words if _plain_number(word) is not None)


def _bags_score(found: list[Bag] | None, wanted: list[Bag] | None) -> float:
    return 0.0 if found is None or wanted is None else _paired(found, wanted, _bag_score)


def _bag_score(found: Bag, wanted: Bag) -> float:
    (words, _), (others, numbers) = found, wanted
    if numbers and not numbers & words:
        return 0.0
    common = len(words & others)
    return _f1(common / len(words) if words else 1.0, common / len(others) if others else 1.0)


def _objects_score(found: Any, wanted: Sequence[JsonObject]) -> float:
    if not found or not isinstance(found[0], dict):
        return 0.0
    if not all(isinstance(one, dict) and one for one in found):
        raise _Undefined
    return _paired([_fields(one) for one in found], [_fields(one) for one in wanted], _object_score)


Fields = dict[str, tuple[type, Any]]
"""The fields of an object: what they are, and the number, or the bags of the texts."""


def _fields(one: JsonObject) -> Fields:
    return {key: _field(value) for key, value in one.items()}


def _field(value: Any) -> tuple[type, Any]:
    if (number := _number(value, area="")) is not None:  # in objects, numbers carry no unit of area
        return float, number
    return type(value), None if value is None or isinstance(value, dict) else _bags(value)


def _object_score(found: Fields, wanted: Fields) -> float:
    shared = found.keys() & wanted.keys()
    if any(wanted[key][0] in (type(None), dict) for key in shared):
        raise _Undefined
    recall = sum(_field_score(found[key], wanted[key]) for key in shared) / len(wanted)
    return _f1(sum(_field_score(wanted[key], found[key]) for key in shared) / len(found), recall)


def _field_score(found: tuple[type, Any], wanted: tuple[type, Any]) -> float:
    (kind, one), (other_kind, other) = found, wanted
    if kind is not other_kind:
        return 0.0
    return _number_score(one, other) if kind is float else _bags_score(one, other)


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _paired(found: Sequence[Any], wanted: Sequence[Any], rule: Rule) -> float:
    """The largest sum over pairs, divided by the longer list."""
    if not found and not wanted:
        raise _Undefined
    if len(found) == len(wanted) == 1:
        return rule(found[0], wanted[0])
    return best_sum([[rule(one, other) for one in found] for other in wanted]) / max(len(found), len(wanted))


def best_sum(values: Sequence[Sequence[float]]) -> float:
    """Of a table: the largest sum of values of which no two have the same row or column (the Hungarian method).

    Source: Kuhn 1955; with potentials, as in Jonker and Volgenant 1987.
    """
    table = list(values)
    if table and len(table) > len(table[0]):
        table = [list(column) for column in zip(*table, strict=True)]
    if not table:
        return 0.0
    size = len(table)
    # A row whose column is none of its `size` best could change to one of those: other rows do not take all of them.
    best = set().union(*(heapq.nlargest(size, range(len(row)), key=row.__getitem__) for row in table))
    table = [[row[column] for column in sorted(best)] for row in table]
    rows, columns = [0.0] * (size + 1), [0.0] * (len(best) + 1)
    chosen = [0] * len(columns)
    for row in range(1, size + 1):
        chosen[0], column = row, 0
        least, back, used = [math.inf] * len(columns), [0] * len(columns), [False] * len(columns)
        while chosen[column]:
            used[column] = True
            column = _step(table, column, (rows, columns, chosen), (least, back, used))
        while column:
            chosen[column] = chosen[back[column]]
            column = back[column]
    return sum(table[row - 1][column - 1] for column, row in enumerate(chosen) if column and row)


def _step(
    values: Sequence[Sequence[float]],
    column: int,
    found: tuple[list[float], list[float], list[int]],
    search: tuple[list[float], list[int], list[bool]],
) -> int:
    """Follow the cheapest edge from the row of `column`; gives the next column."""
    (rows, columns, chosen), (least, back, used) = found, search
    row, delta, nearest = chosen[column], math.inf, 0
    for other in range(1, len(columns)):
        if used[other]:
            continue
        cost = -values[row - 1][other - 1] - rows[row] - columns[other]
        if cost < least[other]:
            least[other], back[other] = cost, column
        if least[other] < delta:
            delta, nearest = least[other], other
    for other in range(len(columns)):
        if used[other]:
            rows[chosen[other]] += delta
            columns[other] -= delta
        else:
            least[other] -= delta
    return nearest
