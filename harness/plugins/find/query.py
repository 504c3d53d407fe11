"""The language of `harness find`: words, and conditions on fields, all of which have to hold.

checkout                      the word in any text of the step, without regard to case
"add to cart"                 several words, as they stand
action.kind=type              a field is this (`*` and `?` stand for anything)
url~checkout                  a field contains this
outcome!=done  url!~login     the opposite
step>=10                      a number of a field: =, !=, <, <=, >, >=
label.success=no              what a plug-in knows of the episode (`harness.runs.episode_fields`)
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness.errors import ConfigError
from harness.runs.episode_fields import field_names

NUMBERS = ("step", "steps", "tokens", "cost", "trial")
TEXTS = (
    *("task", "site", "status", "class", "rule", "action", "action.kind", "target", "target.role", "outcome", "why"),
    *("url", "title", "page", "thought", "answer", "request", "effect"),
)
_TERM = re.compile(
    r'(?:(?P<field>[a-z]+(?:\.[a-z_]+)?)(?P<sign>!=|!~|>=|<=|=|~|<|>))?(?:"(?P<quoted>[^"]*)"|(?P<word>[^\s"]+))'
)
_LONGEST = 2000
_MOST_TERMS = 50
Value = Callable[[str], Sequence[str]]
"""Gives the texts of a field of a step: one, or what a plug-in knows, which may be several or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One condition."""

    field: str
    """"" = any text."""
    sign: str
    value: str
    """In small letters, but for numbers."""

    def holds(self, value: Value) -> bool:
        """Whether it holds for a step."""
        if not self.field:
            return any(self._fits(text) for one in TEXTS for text in value(one))
        if self.field in NUMBERS:
            return any(_compared(self.sign, float(text), float(self.value)) for text in value(self.field))
        return any(map(self._fits, value(self.field))) is not self.sign.startswith("!")

    def _fits(self, text: str) -> bool:
        said = text.casefold()
        return self.value in said if self.sign.endswith("~") else fnmatchcase(said, self.value)


def terms_of(query: str) -> tuple[Term, ...]:
    """Read a query.

    Raises:
        ConfigError: It cannot be read; the sentence names the term and the fix.
    """
    if len(query) > _LONGEST:
        raise ConfigError(f"the query has {len(query)} characters; give at most {_LONGEST}")
    found, at = list[Term](), 0
    while (rest := query[at:]).strip():
        at += len(rest) - len(rest.lstrip())
        match = _TERM.match(query, at)
        if match is None or (match.end() < len(query) and not query[match.end()].isspace()):
            raise ConfigError(f"the query cannot be read from {query[at : at + 40]!r} on; close its quotation marks")
        found.append(_term(match))
        at = match.end()
    if not found:
        raise ConfigError("the query is empty; give words, or a field like action.kind=click")
    if len(found) > _MOST_TERMS:
        raise ConfigError(f"the query has {len(found)} terms; give at most {_MOST_TERMS}")
    return tuple(found)


def holds(terms: Sequence[Term], value: Value) -> bool:
    """Whether all of them hold for a step."""
    return all(term.holds(value) for term in terms)


def _term(match: re.Match[str]) -> Term:
    field, sign = match["field"] or "", match["sign"] or ""
    value = match["quoted"] if match["quoted"] is not None else match["word"]
    if not field:
        return Term(field="", sign="~", value=value.casefold())
    if field not in (*TEXTS, *NUMBERS) and field not in (further := field_names()):
        known = ", ".join((*TEXTS, *NUMBERS, *further))
        raise ConfigError(f"{field} is not a field; use one of {known}, or put {match[0]!r} in quotes")
    if field in NUMBERS:
        if sign in ("~", "!~") or not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", value):
            raise ConfigError(f"{match[0]}: {field} is a number; write it like {field}>=10")
    elif sign in ("<", "<=", ">", ">="):
        raise ConfigError(f"{match[0]}: {field} is a text; write {field}={value} or {field}~{value}")
    return Term(field=field, sign=sign, value=value if field in NUMBERS else value.casefold())


def _compared(sign: str, value: float, wanted: float) -> bool:
    match sign:
        case "=":
            return value == wanted
        case "!=":
            return value != wanted
        case "<":
            return value < wanted
        case "<=":
            return value <= wanted
        case ">":
            return value > wanted
        case _:
            return value >= wanted
