"""How VisualWebArena compares a text with what a task expects, as its package's evaluators do. Pure.

They differ from WebArena's: nothing is stripped, every phrase of one word has to be a whole word, phrases may have
` |OR| ` alternatives, and there are `must_exclude`, `one_of` and `required_values`.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.api.scoring import shown
from harness.errors import EvaluatorError
from harness.plugins.visualwebarena.word_tokens import has_token, word_tokenizer

OR = " |OR| "
_TOLERANCE = 1e-8
_COMPARE: Mapping[str, tuple[Callable[[float, float], bool], float]] = {
    "<=": (operator.le, _TOLERANCE),
    ">=": (operator.ge, -_TOLERANCE),
    "==": (lambda value, number: abs(value - number) <= _TOLERANCE, 0.0),
    "<": (operator.lt, _TOLERANCE),
    ">": (operator.gt, -_TOLERANCE),
}
"""By operator, in the order in which they are looked for: what compares, and what is added to the number."""


def clean(text: str) -> str:
    """One layer of quotes off, lower case; blanks at the ends stay."""
    for quote in ("'", '"'):
        if text.startswith(quote) and text.endswith(quote):
            text = text[1:-1]
            break
    return text.lower()


def is_same(wanted: str, text: str | int) -> bool:
    return clean(str(text)) == clean(wanted)


def includes(phrase: str, text: str) -> bool:
    """A single word must be a word of the text, anything else a part of it."""
    wanted, cleaned = clean(phrase), clean(text)
    if len(word_tokenizer()(wanted)) == 1:
        return has_token(wanted, cleaned)
    return wanted in cleaned


def includes_any(phrase: str, text: str) -> bool:
    """Any of the ` |OR| ` alternatives."""
    return any(includes(alternative, text) for alternative in phrase.split(OR))


def whole_number(text: str) -> int | None:
    """Without commas between digits; None = it is not a whole number."""
    try:
        return int(text.strip().replace(",", ""))
    except ValueError:
        return None


def satisfies_any(condition: str, value: float) -> bool:
    """Any of the ` |OR| ` alternatives of a condition such as `>= 300`."""
    found = [_satisfies(alternative, value) for alternative in condition.split(OR)]  # each has to be a comparison
    return any(found)


def _satisfies(condition: str, value: float) -> bool:
    for name, (compare, added) in _COMPARE.items():
        if name in condition:
            numbers = condition.split(name)[1:]
            try:
                (number,) = numbers
                return compare(value, float(number.strip()) + added)
            except ValueError as error:
                raise EvaluatorError(f"the condition {shown(condition)} is not a comparison with a number") from error
    raise EvaluatorError(f"the condition {shown(condition)} has none of {', '.join(_COMPARE)}")


def text_of(value: Any, what: str) -> str:
    """Raises: EvaluatorError: It is not a text."""
    if not isinstance(value, str):
        raise EvaluatorError(f"{what} is {shown(value)}, not a string")
    return value


def texts_of(value: Any, what: str) -> Sequence[str]:
    """Raises: EvaluatorError: It is not a list of texts."""
    if not isinstance(value, list):
        raise EvaluatorError(f"{what} is {shown(value)}, not a list of strings")
    return [text_of(item, what) for item in value]
