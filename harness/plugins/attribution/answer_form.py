"""Whether an answer holds the reference in another form than the evaluator accepts: `44.5 dollars` for `$44.50`."""

import re
from collections.abc import Iterable, Mapping

from harness.runs import Episode

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w])")
_MOST = 4000
"""Characters of an answer that are looked at."""
_MOST_DIGITS = 15
_FILLERS = frozenset({"the", "a", "an", "is", "are", "usd", "dollars", "dollar", "euro", "eur"})


def references_of(episode: Episode) -> tuple[str, ...]:
    """What `string_match` wants in the answer, where it names texts; () where it asks a judge, or wants N/A."""
    record = episode.record
    scored = record.scores.get(episode.scoring)
    if record.opened is None:
        return ()
    judged = scored.reference.eval if scored is not None and scored.reference is not None else record.opened.task.eval
    answers = judged.reference_answers if "string_match" in judged.eval_types else None
    wanted = [*_texts(answers, "exact_match"), *_texts(answers, "must_include")]
    return tuple(text for text in wanted if text.casefold() != "n/a")


def is_wrong_form(answer: str, references: Iterable[str]) -> bool:
    """Whether all references are in the answer, but for how they are written."""
    words = _words(answer[:_MOST])
    return all(wanted and _holds(words, wanted) for wanted in map(_words, references))


def _texts(answers: Mapping[str, object] | None, kind: str) -> list[str]:
    found = (answers or {}).get(kind)
    return (
        [found]
        if isinstance(found, str)
        else [one for one in found or () if isinstance(one, str)]
        if isinstance(found, list | tuple)
        else []
    )


def _words(text: str) -> list[str]:
    """Numbers as numbers, words in small letters, without signs and fillers."""
    text = _NUMBER.sub(lambda found: f" {_number(found[0])} ", text.casefold())
    words = (word.strip(".-") for word in re.findall(r"[\w.+-]+", text))
    return [word for word in words if word and word not in _FILLERS]


def _number(digits: str) -> str:
    """`44.50` and `44.5` alike; one with more digits than a float has stays as it is."""
    return f"{float(digits.replace(',', '')):.15g}" if len(digits) <= _MOST_DIGITS else digits


def _holds(words: list[str], wanted: list[str]) -> bool:
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))
