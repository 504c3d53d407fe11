"""docs/pages/settings.md: `make docs` writes it, and nobody else."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from harness.plugins.settings_reference.group_files import Choice
from harness.plugins.settings_reference.setting_catalog import group_words
from harness.plugins.settings_reference.setting_reference import DescribedSetting

_HEAD = """\
<!-- Written by `make docs` from harness/config and configs; change it there. -->
# Settings

Every setting, as the fields in `harness/config` declare it. `harness settings` prints the same in a terminal; with an
argument (`harness settings timeout`) it prints only the settings that have the word in their name, and with `--json` it
prints for programs. A setting is given as `KEY=VALUE` (`browser.width=1600`), a file of a group as `GROUP=NAME`
(`llm=openai`). A key that does not exist yet takes a plus, as a site of your own does:
`sites.embedded=false +sites.mysite.url=http://host:7770`; so does a mapping in braces, as in
`'+browser.geolocation={latitude: 48.9, longitude: 2.4}'`. `python run.py --cfg job` prints the settings of a run
without running it.

- In *italics*: which values a setting may have, and whether it is **measured**, that is, changes what is measured. A
  run folder holds one value of each measured setting; a start with another one is refused, or accepted by
  `resume.accept_drift=true` and recorded.
- **default**: the value that `python run.py` has without arguments, and below it the files of groups that give another
  one.
- `NAME` in a setting stands for a name that you choose; `null` is not a value.
"""


def page(settings: Iterable[DescribedSetting], files: Sequence[Choice]) -> str:
    """The whole page, in Markdown."""
    words = group_words()
    parts = [_HEAD]
    by_group = sorted(settings, key=lambda one: one.setting.group == "")  # the ungrouped ones last
    for group, members in groupby(by_group, key=lambda one: one.setting.group):
        parts.append(f"## {group or 'Without a group'}\n")
        parts.append(f"{words.get(group, 'What holds for the whole run.')}\n")
        if chosen := [one for one in files if one.group == group]:
            parts.append("".join(f"- `{one.said}`: {one.about}\n" for one in chosen))
        parts.append("".join(_table(members)))
    return "\n".join(parts)


def _table(members: Iterable[DescribedSetting]) -> Iterator[str]:
    yield "| setting | meaning | default |\n| --- | --- | --- |\n"
    for one in members:
        said = [one.setting.words, *(f"`{word}`: {text}" for word, text in one.setting.choices.items() if text)]
        measured = "; measured" if one.setting.is_measured else ""
        default = [_code(one.default_text), *(f"{_code(name)}: {_code(value)}" for name, value in one.given)]
        yield _row(
            _code(one.name),
            " ".join((*(f"{text.rstrip('.')}." for text in said), f"*{one.values}{measured}*")),
            "<br>".join(default),
        )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def _code(text: str) -> str:
    """Between backticks, whatever is in it."""
    return f"``` {text} ```" if "`" in text else f"`{text}`"
