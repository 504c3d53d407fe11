"""Every setting beside what it is where no argument is given, and what the files in `configs/` give it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import MISSING as NOT_GIVEN

from harness.api import dumps
from harness.api.composition import MAX_NUMBER, RESERVED
from harness.api.settings import Tree, ValueRange
from harness.plugins.settings_reference.group_files import Choice, below, defaults
from harness.plugins.settings_reference.setting_catalog import Setting, catalog

_LONGEST = 80
"""Of a value that is shown among words, in characters."""
_NOTHING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedSetting:
    """One setting."""

    setting: Setting
    default: Any
    """Where no argument is given; None also where there is none."""
    is_required: bool
    """There is no default: it must be given."""
    given_by: Tree
    """Choice (`llm=openai`) to what its file gives it, where that is another value; of a setting of any name
    (`sites.NAME.url`) the names."""

    @property
    def name(self) -> str:
        """Dotted."""
        return self.setting.name

    @property
    def default_text(self) -> str:
        """Short."""
        return value_text(NOT_GIVEN if self.is_required else self.default)

    @property
    def values(self) -> str:
        """Which values it may have, in words."""
        said = self.setting.kind
        if self.setting.choices:
            said = f"one of {', '.join(self.setting.choices)}"
        elif self.setting.bounds is not None:
            said = f"{said} {_range(self.setting.bounds)}".rstrip()
        return f"{said}, or null" if self.setting.may_be_null else said

    @property
    def explanation(self) -> str:
        """All of it in one paragraph."""
        words = self.setting.words
        parts = [words if words.endswith((".", "…")) else f"{words}."]
        parts += [f"{word}: {said}" for word, said in self.setting.choices.items() if said]
        parts.append(f"{self.values[:1].upper()}{self.values[1:]}.")
        parts.append("Measured." if self.setting.is_measured else "Not measured.")
        if self.given_by:
            parts.append(f"Otherwise {'; '.join(f'{choice}: {value}' for choice, value in self.given)}.")
        return " ".join(parts)

    @property
    def given(self) -> tuple[tuple[str, str], ...]:
        """Choices, those with the same value together, and the value."""
        same: dict[str, list[str]] = {}
        for choice, value in self.given_by.items():
            text = ", ".join(value) if "NAME" in self.name else value_text(value)
            same.setdefault(text, []).append(choice)
        return tuple((", ".join(choices), value) for value, choices in same.items())

    def is_called(self, text: str) -> bool:
        """Whether a text in small letters is in its name, or is it with a name of the person's own in it."""
        pattern = "[^.]+".join(map(re.escape, self.name.lower().split("name")))  # sites.NAME.url
        is_own = ".NAME" in self.name and re.fullmatch(pattern, text) is not None
        return is_own or text in self.name.lower()

    def plain(self) -> Tree:
        """The value as plain JSON."""
        bounds = self.setting.bounds
        return {
            "name": self.name,
            "meaning": self.setting.words,
            "type": self.setting.kind,
            "choices": self.setting.choices,
            "null": self.setting.may_be_null,
            "bounds": None if bounds is None else {"least": bounds.least, "most": bounds.most, "above": bounds.above},
            "default": self.default,
            "required": self.is_required,
            "measured": self.setting.is_measured,
            "given_by": self.given_by,
        }


def described(files: Sequence[Choice], config_dir: Path | None = None) -> tuple[DescribedSetting, ...]:
    """All settings."""
    composed = defaults(config_dir)
    return tuple(_described(one, composed, files) for one in catalog())


def value_text(value: Any) -> str:
    """The value as written on the command line, if it is short."""
    if isinstance(value, str):
        is_short = len(value) <= _LONGEST and "\n" not in value
        text = (value or "''") if is_short else f"(a text of {len(value):,} characters)"
        return "(must be given)" if value == NOT_GIVEN else text
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping) and value:
        text = ", ".join(f"{key}={value_text(one)}" for key, one in value.items())
        return text if len(text) <= 2 * _LONGEST else f"(a mapping of {len(value)})"
    text = dumps(value).decode()
    return text if len(text) <= _LONGEST else f"(a list of {len(value)})"


def _described(one: Setting, composed: Tree, files: Sequence[Choice]) -> DescribedSetting:
    default = _given(composed, one.name)
    is_of_any_name = "NAME" in one.name
    if default is _NOTHING or is_of_any_name:
        default = one.default
    given = {choice.said: _given(choice.values, one.name) for choice in files}
    return DescribedSetting(
        setting=one,
        default=None if default == NOT_GIVEN else default,
        is_required=default == NOT_GIVEN or (default is None and one.is_required),
        given_by={
            choice: value
            for choice, value in given.items()
            if value is not _NOTHING and value != default and not (is_of_any_name and not value)
        },
    )


def _given(values: Mapping[str, Any], name: str) -> Any:
    """What is given to a setting; of one of any name, the names that have it."""
    found = dict(below(values, name))
    if not found:
        return _NOTHING
    if "NAME" in name:
        names = dict.fromkeys(rest.partition(".")[0] for rest in found)
        return [one for one in names if one not in RESERVED]
    return found.get("", found)


def _range(bounds: ValueRange) -> str:
    if bounds.most < MAX_NUMBER or bounds.least < 0:
        return str(bounds) if bounds.least > -MAX_NUMBER else ""
    return f"above {bounds.least:g}" if bounds.above else f"from {bounds.least:g} on"
