"""AssistantBench's score of an answer, by its rule: numbers by their ratio, texts by common words, objects by fields.

- A number scores 1 - |ln(answer / reference)|, at least 0.
- A text scores the F1 of its set of words, without case, punctuation and articles; if the reference has numbers, one of
  them must be in it. Several lines are a list: texts are paired so that the sum is largest, and it is divided by the
  longer list.
- Objects (JSON, one a line) are paired likewise; a pair scores the F1 of its fields, each scored as above.

Source: Yoran et al. 2024, "AssistantBench", and the code of `browsergym-assistantbench` 0.14, with whose
recorded results the tests compare. Where that code fails (a list with one number, `null`), an answer scores what its
number scores, and 0 without one. Pure.
"""

import json
import math
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

from harness.api import EvaluatorError
from harness.codec import JsonObject

_TINY = 1e-4
"""In the place of 0, of which there is no ratio."""
_MOST_ITEMS = 200
_MOST_CHARS = 20_000
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def score(answer: str, reference: str) -> float:
    """From 0 to 1.

    Raises:
        EvaluatorError: The reference is empty, or JSON that is no object.
    """
    wanted, rule = _reference(reference)
    found = _answer(answer[:_MOST_CHARS], rule)
    if _is_empty(found) or (rule is _number_score and isinstance(found, list) and len(found) > 1):
        return 0.0
    return min(1.0, max(0.0, float(rule(found, wanted))))


def _reference(text: str) -> tuple[Any, Callable[[Any, Any], float]]:
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise EvaluatorError("the reference answer is empty")
    if len(lines) == 1 and (number := _number(lines[0])) is not None:
        return number, _number_score
    parsed = [_parsed(_with_double_quotes(line)) for line in lines]
    if all(found is not None for found in parsed):
        values = [found[0] for found in parsed if found is not None]
        if not all(isinstance(value, dict) for value in values):
            raise EvaluatorError("the reference answer is JSON, but no object")
        return values, _objects_score
    return (lines[0] if len(lines) == 1 else lines), _texts_score


def _answer(text: str, rule: Callable[[Any, Any], float]) -> Any:
    found = _parsed(text)
    value = text if found is None else found[0]
    if isinstance(value, list):
        one = _number(value[0]) if len(value) == 1 and not isinstance(value[0], float | bool) else None
        is_plain = len(value) == 1 and (isinstance(value[0], int) or str(value[0]).isnumeric())
        return one if one is not None and is_plain else value[:_MOST_ITEMS]
    if (number := _number(value)) is not None and not isinstance(value, bool):
        value = number
    if rule is not _objects_score:
        return value
    if isinstance(value, str):
        parsed = [_parsed(line) for line in value.split("\n")]
        if all(one is not None for one in parsed):
            return [one[0] for one in parsed if one is not None][:_MOST_ITEMS]
    return [value]


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


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
    """The number that a value is, without units; a comma is a decimal point, as in the benchmark's code."""
    if isinstance(value, int | float):
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
    number = _plain_number(found) if isinstance(found, str) else found
    if not isinstance(number, int | float) or not math.isfinite(number):
        return 0.0
    if number == wanted:
        return 1.0
    ratio = (number or _TINY) / (wanted or _TINY)
    return max(0.0, 1.0 - abs(math.log(ratio))) if ratio > 0 else 0.0


def _texts_score(found: Any, wanted: str | Sequence[str]) -> float:
    answers = found if isinstance(found, list) else [found if isinstance(found, str) else str(found)]
    if not all(isinstance(one, str) for one in answers):
        return 0.0
    references = [wanted] if isinstance(wanted, str) else [str(one) for one in wanted]
    return _paired([_words(one) for one in answers], [_words(one) for one in references], _words_score)


def _words(text: str) -> frozenset[str]:
    words: list[str] = []
    for token in re.split(" |-", text.lower()):
        bare = token if _plain_number(token) is not None else "".join(c for c in token if c not in string.punctuation)
        number = _plain_number(bare)
        words += _ARTICLES.sub(" ", bare if number is None else str(number)).split()
    return frozenset(words)


def _words_score(found: frozenset[str], wanted: frozenset[str]) -> float:
    numbers = {word for word in wanted if _plain_number(word) is not None}
    if numbers and not numbers & found:
        return 0.0
    common = len(wanted & found)
    return _f1(common / len(found) if found else 1.0, common / len(wanted) if wanted else 1.0)


def _objects_score(found: Any, wanted: Sequence[JsonObject]) -> float:
    if not isinstance(found, list) or not found or not isinstance(found[0], dict):
        return 0.0
    if not all(isinstance(one, dict) for one in found):
        return 0.0
    return _paired(found, list(wanted), _object_score)


def _object_score(found: JsonObject, wanted: JsonObject) -> float:
    if not found or not wanted:
        return 0.0
    return _f1(_share(wanted, found), _share(found, wanted))


def _share(fields: JsonObject, of: JsonObject) -> float:
    """How much of these fields the other object has."""
    return sum(_field_score(of[key], value) if key in of else 0.0 for key, value in fields.items()) / len(fields)


def _field_score(found: Any, wanted: Any) -> float:
    one, other = (_field(value) for value in (found, wanted))
    if type(one) is not type(other):
        return 0.0
    if isinstance(other, float) and isinstance(one, float):
        return _number_score(one, other)
    return _texts_score(one, other if isinstance(other, str | list) else str(other))


def _field(value: Any) -> Any:
    """Of an object: its numbers carry no unit of area."""
    number = None if isinstance(value, bool) else _number(value, area="")
    return value if number is None else number


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _paired(found: Sequence[Any], wanted: Sequence[Any], rule: Callable[[Any, Any], float]) -> float:
    """The largest sum over pairs, divided by the longer list."""
    rows, columns = list(wanted)[:_MOST_ITEMS], list(found)[:_MOST_ITEMS]
    size = max(len(rows), len(columns))
    values = [[rule(one, other) for one in columns] + [0.0] * (size - len(columns)) for other in rows]
    values += [[0.0] * size for _ in range(size - len(rows))]
    return best_sum(values) / size


def best_sum(values: Sequence[Sequence[float]]) -> float:
    """Of a square table: the largest sum of one value in each row and column (the Hungarian method).

    Source: Kuhn 1955; with potentials, as in Jonker and Volgenant 1987.
    """
    size = len(values)
    rows, columns = [0.0] * (size + 1), [0.0] * (size + 1)
    chosen = [0] * (size + 1)
    for row in range(1, size + 1):
        chosen[0], column = row, 0
        least, back, used = [math.inf] * (size + 1), [0] * (size + 1), [False] * (size + 1)
        while chosen[column]:
            used[column] = True
            column = _step(values, column, (rows, columns, chosen), (least, back, used))
        while column:
            chosen[column] = chosen[back[column]]
            column = back[column]
    return sum(values[chosen[column] - 1][column - 1] for column in range(1, size + 1))


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
