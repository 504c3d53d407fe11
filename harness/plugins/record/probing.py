"""What is on the pages that a person opened, with what they did and without it.

The pages are opened again when an episode of a probe ends, and a script of ours lists their texts and the values of
their fields, each with a selector that finds it. Lists come from pages, so nothing in them is trusted: a selector has
the few characters that ours have, and a property is one of five.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.api import CodecError, JsonObject, loads
from harness.errors import JournalError
from harness.runs import Episode

MOST_PAGES = 12
_MOST_ROWS = 5000
_LONGEST = 300
_SELECTOR = re.compile(
    r'(?:[A-Za-z][\w-]*+|#[A-Za-z][\w-]*+|\[name="[\w.-]++"\]|:nth-of-type\(\d++\)|>| )++', re.ASCII
)  # possessive: a page may have written it to be slow
PROPERTIES = ("outerText", "value", "checked", "getAttribute('aria-pressed')", "getAttribute('aria-checked')")
"""What a locator reads of the element that its selector finds."""
SCRIPT = """[...document.querySelectorAll('body *')].flatMap(e => {
  const rows = [], is = (s) => e.matches(s), simple = /^[A-Za-z][\\w-]*$/;
  const only = (s) => document.querySelectorAll(s).length === 1;
  const path = (one) => {
    if (simple.test(one.id) && only('#' + one.id)) return '#' + one.id;
    if (/^[\\w.-]+$/.test(one.getAttribute('name') || '') && only(`[name="${one.getAttribute('name')}"]`))
      return `[name="${one.getAttribute('name')}"]`;
    if (one === document.body || !one.parentElement) return 'body';
    const same = [...one.parentElement.children].filter(c => c.localName === one.localName);
    const step = one.localName + (same.length > 1 ? `:nth-of-type(${same.indexOf(one) + 1})` : '');
    return path(one.parentElement) + ' > ' + step;
  };
  if (is('script, style, template, option, noscript')) return rows;
  if (is('input[type=checkbox], input[type=radio]')) rows.push([path(e), 'checked', String(e.checked)]);
  else if (is('input:not([type=hidden], [type=password], [type=file]), select, textarea'))
    rows.push([path(e), 'value', String(e.value)]);
  for (const name of ['aria-pressed', 'aria-checked'])
    if (e.hasAttribute(name)) rows.push([path(e), `getAttribute('${name}')`, e.getAttribute(name)]);
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (own && !is('textarea') && e.getClientRects().length) rows.push([path(e), 'outerText', e.outerText]);
  return rows;
}).slice(0, 5000)"""

Place = tuple[str, str, str]
"""Page, selector, property."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """What is on pages, in their order."""

    values: Mapping[Place, str]
    address: str
    """Canonical, of the agent's page at the end."""


def targets_of(urls: Sequence[str]) -> list[JsonObject]:
    """The `program_html` of a probe that looks at these addresses."""
    return [{"url": url, "locator": SCRIPT, "required_contents": {"exact_match": ""}} for url in urls]


def pages_of(episode: Episode, urls: Sequence[str]) -> Pages:
    """What a probe found at these addresses; a page that could not be looked at has no values.

    Raises:
        JournalError: An artifact is missing or damaged.
    """
    closed = episode.record.closed
    if closed is None:
        return Pages(values={}, address="")
    values = dict[Place, str]()
    for selected in closed.evidence.selected:
        if selected.content is None or not selected.index < len(urls):
            continue
        try:
            rows = loads(episode.artifacts.read(selected.content))
        except CodecError as error:
            raise JournalError(f"what was read of {selected.url} is damaged") from error
        for selector, name, text in _rows(rows):
            values.setdefault((urls[selected.index], selector, name), text)
    return Pages(values=values, address=closed.evidence.url)


def _rows(found: Any) -> Iterator[tuple[str, str, str]]:
    for row in found[:_MOST_ROWS] if isinstance(found, list) else ():
        match row:
            case [str(selector), str(name), str(text)] if (
                name in PROPERTIES and len(text) <= _LONGEST and len(selector) <= _LONGEST
            ):
                if _SELECTOR.fullmatch(selector):
                    yield selector, name, text.strip()


def locator_of(place: Place) -> str:
    """The locator that reads a value again."""
    _, selector, name = place
    return f"document.querySelector('{selector}').{name}"
