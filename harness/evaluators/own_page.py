"""What the agent's own page may prove: it is a page of a site, and does not only repeat what the agent gave it.

Pages that the evaluator opens itself are not in question here.
Why: docs/decisions/scoring.md#a-page-proves-nothing-that-its-address-says
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import accumulate
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from harness.errors import EvaluatorError
from harness.evaluators.result import shown
from harness.evaluators.text_match import OR, clean
from harness.records import HtmlTarget

LAST = "last"
# A `data:` page holds what the agent writes, `file:` whatever lies on this machine: neither proves a task.
_WEB = ("http", "https")


def not_of_a_site(target: HtmlTarget, url: str) -> str:
    """Why a target that reads the agent's page reads no page of a site, such as `data:` or `file:`; "" = it does."""
    if target.url != LAST or target.locator.startswith("func:"):
        return ""
    return "" if _parts(url).scheme.lower() in _WEB else f"the agent's page {shown(url)} is not a page of a site"


def without_echo(text: str, url: str, target: HtmlTarget) -> str:
    """The page without what it repeats of its own address: values of query and fragment that hold a wanted text."""
    given = target.must_include or ((target.exact_match,) if target.exact_match is not None else ())
    wanted = [clean(alternative) for phrase in given for alternative in phrase.split(OR)]
    values = [value for value in _values(url) if any(one in clean(value) for one in wanted)]
    return _without(text, dict.fromkeys(" ".join(_lower(value).split()) for value in values))


def _without(text: str, values: Iterable[str]) -> str:
    """The text without these values, in any case and with any blanks: for `q=mouth+guard`, a page may say `Mouth
    Guard`.
    """
    # Not a pattern of their words: tried at each place of a page, it takes the page's length times the value's.
    words = list(re.finditer(r"\S+", _lower(text)))
    starts = [0, *accumulate(len(word[0]) + 1 for word in words)]
    plain = " ".join(word[0] for word in words)
    spans: list[tuple[int, int]] = []
    for wanted in filter(None, values):
        at = plain.find(wanted)
        while at >= 0:
            spans.append((at, at + len(wanted)))
            at = plain.find(wanted, at + len(wanted))
        # Nothing of it is found again, and the words are split once for all values: an address may have thousands.
        plain = plain.replace(wanted, "\0" * len(wanted))
    kept, end = [], 0
    for at, until in sorted(spans):
        first, last = bisect(starts, at) - 1, bisect(starts, until - 1) - 1
        kept.append(text[end : words[first].start() + at - starts[first]])
        end = words[last].start() + until - starts[last]
    return " ".join((*kept, text[end:]))


def _lower(text: str) -> str:
    """In small letters, of which each stands where it stood."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(one if len(one.lower()) != 1 else one.lower() for one in text)


def _values(url: str) -> Iterator[str]:
    parts = _parts(url)
    # Not of the path: the page of a product may well be `/mouth-guard.html`.
    yield from (value for _, value in parse_qsl(parts.query))
    if parts.fragment:
        yield unquote(parts.fragment)


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as exc:
        raise EvaluatorError(f"the address {shown(url)} cannot be read ({exc})") from exc
