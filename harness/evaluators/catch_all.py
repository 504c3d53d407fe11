"""Answers that name everything: a list of all numbers includes the right one, and so does all text of a page.

`must_include` looks for texts in an answer, so it says nothing about what else the answer holds. The corrected rules
bound that: an answer is at most so long, and at most so many numbers are given where a number is asked for. The bounds
are wide, so that a sentence that explains its answer is not refused.
Why: docs/decisions/scoring.md#an-answer-that-names-everything-names-nothing
"""

import re
from collections.abc import Sequence
from decimal import Decimal

from harness.evaluators.text_match import OR, YES_NO, clean, is_number, numbers_in

# A detailed answer has some hundred characters, the page of a shop more than 1200.
FREE_CHARS = 1000
CHARS_PER_CHAR = 2
"""An answer has at most `FREE_CHARS`, and so many more for each character that is asked for."""
# Of 3326 recorded answers, all these bounds change one verdict: of an answer that belongs to another task.
FREE_NUMBERS = 30
NUMBERS_PER_NUMBER = 4
"""It has at most so many other numbers, and so many more for each further number that is asked for."""
# Prices have the wider bound: the breakdown of a sum names more of them than this.
FREE_SMALL = 8
"""As many other whole numbers below 100 where one of them is asked for: these can be guessed."""
# Without bounds an answer of all numbers, or of a page's text, passes 171 of WebArena's 335 tasks with answers.
_SMALL = 100
FREE_IN_ROW = 5
"""Numbers in a row without a word between them, and one more for each further number that is asked for."""
# A year of four digits is required, or the list `1-2-3, 4-5-6` would be read as dates.
_DATE = re.compile(r"\b(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4})\b")
# At most five groups of digits, so that a longer row behind `+1` still counts as numbers.
_PHONE = re.compile(r"\+\d{1,3}(?:[ .-]?\(\d{1,4}\))?(?:[ .-]?\d\b)?(?:[ .-]?\d{2,4}\b){2,5}|\b0\d(?:[ .-]\d\d){4}\b")
"""Each is one thing that is said, not several numbers in a row."""
_BETWEEN = r"(?:[\s,;/|&.()\[\]{}$€£%*#_-]|\bor\b|\band\b)+"

# A role and a quote must follow, as `within [45] days` is an answer.
_COPIED_ID = re.compile(r"\[\d{1,9}\](?=[ \t]+[a-z]+[ \t]+')")
"""An element's id in a line that was copied from an observation, as `[45] button 'Categories'`."""
_ITEM = re.compile(r"^[ \t]*(\d{1,2})[.)](?=[ \t])", re.MULTILINE)
# `3. that is all` is an answer, not an item of a list.
_FEWEST_ITEMS = 3
_VERDICT = re.compile(r"\b(yes|no)\b(?!\.\s*\d)(?=[\"'*_`”’]*\s*(?:$|[.!?;:,)\]/|&\n-]|\b(?:and|but|or)\b))")


def without_labels(text: str) -> str:
    """An answer without ids of copied observation lines and numbers of list items: they were not found out."""
    text = _COPIED_ID.sub("", text)
    items = [int(number) for number in _ITEM.findall(text)]
    is_list = len(items) >= _FEWEST_ITEMS and items == list(range(items[0], items[0] + len(items)))
    return _ITEM.sub("", text) if is_list else text


def names_everything(phrases: Sequence[str], text: str, intent: str) -> str:
    """Why an answer is too wide to be one; "" = it is not.

    Args:
        phrases: What must be included, with their alternatives.
        text: The answer, clean and without labels.
        intent: Of the task: its numbers are not counted.
    """
    wanted = [[clean(alternative) for alternative in phrase.split(OR)] for phrase in phrases]
    texts = [one for alternatives in wanted for one in alternatives]
    most = FREE_CHARS + CHARS_PER_CHAR * sum(map(len, texts))
    if len(text) > most:
        return f"the answer has {len(text)} characters; one to this question has at most {most}"
    further = sum(any(map(is_number, alternatives)) for alternatives in wanted) - 1
    # Where no number is asked for, dates and times may explain an answer.
    if further < 0:
        return ""
    others = set(numbers_in(text)) - set(numbers_in(intent.lower())) - set(numbers_in(" ".join(texts)))
    most = FREE_NUMBERS + NUMBERS_PER_NUMBER * further
    if len(others) > most:
        return f"the answer names {len(others)} other numbers; one to this question names at most {most}"
    most = FREE_SMALL + NUMBERS_PER_NUMBER * further
    has_small = any(is_number(one) and _is_small(one) for one in texts)
    if has_small and (small := sum(map(_is_small, others))) > most:
        return f"the answer names {small} other numbers below {_SMALL}; one to this question names at most {most}"
    most = FREE_IN_ROW + further
    if (longest := _longest_row(text)) > most:
        return f"the answer lists {longest} numbers in a row; one to this question lists at most {most}"
    return ""


def says_both(phrases: Sequence[str], text: str) -> str:
    """Why an answer to a question of yes or no is none: it says both. "" = it does not.

    A word counts where it is said for itself, as in "No.", and not as in "no traffic" or "No. 61".
    """
    if not any(clean(phrase) in YES_NO for phrase in phrases):
        return ""
    # "Yes. No." passed five tasks.
    return "the answer says yes and no" if set(_VERDICT.findall(text)) == set(YES_NO) else ""


def _is_small(number: str) -> bool:
    value = Decimal(number.replace(",", ""))
    return abs(value) < _SMALL and value == value.to_integral_value()


def _longest_row(text: str) -> int:
    """Numbers with nothing but separators between them; `text` is bounded."""
    text = _PHONE.sub("phone", _DATE.sub("date", text))
    row, longest, end = 0, 0, -1
    for found in re.finditer(r"\d[\d,.]*", text):
        between = text[end : found.start()] if end >= 0 else "x"
        row = row + 1 if not between or re.fullmatch(_BETWEEN, between) else 1
        longest, end = max(longest, row), found.end()
    return longest
