"""Compares a text with the text that a task expects, in both dialects.

WebArena's rules are cleaning (strip, one layer of quotes, lower case), equality, substring, and the token rule for a
single character. The corrected rules know numbers: "12" is not in "112", but "12" is in "12.00". Of answers
they know that "not Bergen" does not say "Bergen".
"""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache

from harness.errors import EvaluatorError

MAX_TOKENIZED = 50_000
"""Characters the token rule reads; the sentence splitter's time grows with their square."""

OR = " |OR| "
"""Between the alternatives of a reference answer."""
YES_NO = ("yes", "no")

_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
# "X is wrong" still passes: to tell needs a judge, and whoever writes that has found X.
_NEGATED = re.compile(r"(?:\bnot|n't|\bneither|\bnor)\s+(?:(?:the|an?|at|in|on|called|named)\s+)?[\"'*`“‘(]*$")
# Searches from the beginning of the text, one for each match in it, would take quadratic time.
_LONGEST_NEGATION = 40
_WHOLE_NUMBER = re.compile(_NUMBER, re.ASCII)
# WebArena finds 12 as a substring of 112, 12.5, 12:30, A12 and 2023-12-01, which all say something else.
_NUMBER_IN_TEXT = re.compile(rf"(?<!\w)(?<!\d[.:/])(?<!\w-)(?<![-+]){_NUMBER}(?!\w)(?![.:/-]\d)")


def clean(text: str) -> str:
    """Strip, take one layer of quotes off, lower-case; lower() and not casefold(), as WebArena does."""
    text = text.strip()
    for quote in ("'", '"'):
        # A lone quote both starts and ends the text and becomes "", as in WebArena.
        if text.startswith(quote) and text.endswith(quote):
            text = text[1:-1]
            break
    return text.lower()


def includes_token(phrase: str, text: str) -> bool:
    """WebArena's rule for a lone one-character phrase: a token of the text if it is a token itself, else a substring.

    Both are expected clean.
    """
    if len(text) > MAX_TOKENIZED:
        raise EvaluatorError(f"the answer has {len(text)} characters; the token rule reads at most {MAX_TOKENIZED}")
    if phrase not in text:
        return False  # as no token of one character is
    if phrase.isascii() and phrase.isalnum() and phrase in text.split():
        return (
            True  # the rule never changes such a word; so most answers do without the second that NLTK's import takes
        )
    tokenize = _tokenizer()
    if len(tokenize(phrase)) == 1:
        return phrase in tokenize(text)
    return True


@cache
def _tokenizer() -> Callable[[str], list[str]]:
    """NLTK's word_tokenize without its data: an untrained sentence splitter decides as the trained one does here."""
    from nltk.tokenize.destructive import NLTKWordTokenizer  # heavy, and few tasks need it
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    # All 31 tasks of this rule ask for a digit, after which trained and untrained splitters decide alike.
    sentences, words = PunktSentenceTokenizer(), NLTKWordTokenizer()
    # Without the split into sentences, 151 of 3441 recorded answers score otherwise.
    return lambda text: [word for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)]


def includes(phrase: str, text: str) -> bool:
    """The corrected rule: any ` |OR| ` alternative, a number as a number, anything else as a substring.

    `text` is expected clean.
    """
    return any(next(_found(clean(one), text), None) is not None for one in phrase.split(OR))


def says(phrase: str, answer: str) -> bool:
    """As `includes`, for what an agent says: "yes" and "no" are words, and a "not" before it says something else."""
    return any(not _is_not_said(found, answer) for one in phrase.split(OR) for found in _found(clean(one), answer))


def is_number(phrase: str) -> bool:
    """Whether a clean text is a number and nothing else."""
    return _WHOLE_NUMBER.fullmatch(phrase) is not None


def numbers_in(text: str) -> list[str]:
    """The numbers of a text in its order, as they are written there."""
    return _NUMBER_IN_TEXT.findall(text)


def _found(phrase: str, text: str) -> Iterator[re.Match[str]]:
    if is_number(phrase):
        wanted = phrase.replace(",", "")
        return (one for one in _NUMBER_IN_TEXT.finditer(text) if _same_number(wanted, one[0].replace(",", "")))
    return re.finditer(re.escape(phrase), text)


def _is_not_said(found: re.Match[str], text: str) -> bool:
    start, end = found.span()
    if found[0] in YES_NO and (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
        return True  # a part of another word
    return _NEGATED.search(text, max(0, start - _LONGEST_NEGATION), start) is not None


def _same_number(wanted: str, number: str) -> bool:
    """Equal in value; a wanted fraction may also go on with more digits (40.442 is met by 40.4427)."""
    return Decimal(number) == Decimal(wanted) or ("." in wanted and number.startswith(wanted))
