"""All settings there are, with the words, values and defaults that their fields declare. Nothing is said here itself.

`NAME` in a name stands for one of the person's choosing: `sites.NAME.url` is the address of a site.
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from omegaconf import MISSING as NOT_GIVEN

from harness.api.composition import (
    COUNT,
    MEASURED_PLUGINS,
    TIME,
    ConfigSchema,
    Declared,
    PluginSettings,
    ResetSettings,
    SiteSettings,
    as_plain,
    declared,
    group_of,
    visit_policy,
)
from harness.api.configuration import SitesSettings
from harness.api.records import Login
from harness.api.settings import ValueRange
from harness.plugins.settings_reference.words import words_of

_KINDS = {str: "text", int: "whole number", float: "number", bool: "true or false", list: "list", tuple: "list"}
_POLICIES = {name: visit_policy.policy_class(name) for name in visit_policy.POLICIES.names()}
"""Of visits; all that they say is measured."""
_GROUPS_OF_SITES = (
    ("sites.", SitesSettings),
    ("sites.reset.", ResetSettings),
    *((f"sites.{name}.", policy) for name, policy in _POLICIES.items()),
    ("sites.NAME.", SiteSettings),
    ("sites.NAME.login.", Login),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting."""

    name: str
    """Dotted."""
    words: str
    """What it means, in Markdown; "" = nobody has said it."""
    kind: str
    """Kind of its values: `text`, `whole number`, `number`, `true or false`, `list` or `mapping`."""
    default: Any
    """Of the schema, as a plain value; a file in `configs/` may say another."""
    is_required: bool
    """It has no default."""
    may_be_null: bool
    bounds: ValueRange | None
    """Range of a number."""
    choices: dict[str, str]
    """The words that there are, each with what it means if that is said; {} = any value of its kind."""
    is_measured: bool
    """A run folder holds one value of it."""

    @property
    def group(self) -> str:
        """What it stands below; "" = nothing."""
        return self.name.partition(".")[0] if "." in self.name else ""


def catalog() -> tuple[Setting, ...]:
    """Every setting, group by group in the order of the schema."""
    return tuple(_settings())


def group_words() -> dict[str, str]:
    """What each group is for: the docstring of its field, else the first paragraph of that of its class."""
    kinds = get_type_hints(ConfigSchema) | {"sites": SitesSettings, "evaluators": PluginSettings}
    found = {one.name: group_of(kinds[one.name]) for one in fields(ConfigSchema)}
    said = words_of(ConfigSchema)
    return {name: said.get(name) or _first_paragraph(group) for name, group in found.items() if group is not None}


def _settings() -> Iterator[Setting]:
    for one in declared(ConfigSchema):
        if one.name == "sites":
            for prefix, owner in _GROUPS_OF_SITES:
                yield from _of_sites(prefix, owner)
        elif one.name == "evaluators":
            for part in fields(PluginSettings):
                kind = get_type_hints(PluginSettings)[part.name]
                yield _setting(Declared(f"evaluators.NAME.{part.name}", PluginSettings, part, kind, measured=True))
        else:
            plugin = one.field.name in ("_target_", "arguments") and one.name.partition(".")[0] in MEASURED_PLUGINS
            yield _setting(one._replace(measured=one.measured or plugin))


def _of_sites(prefix: str, owner: type) -> Iterator[Setting]:
    kinds = get_type_hints(owner, localns={"Login": Login})
    for one in fields(owner):
        if not one.metadata.get("derived") and group_of(kinds[one.name]) is None:
            yield _setting(Declared(prefix + one.name, owner, one, kinds[one.name], owner in _POLICIES.values()))


def _setting(found: Declared) -> Setting:
    one, kind = found.field, found.kind
    kinds = [part for part in (get_args(kind) if isinstance(kind, UnionType) else (kind,)) if part is not NoneType]
    default = one.default if one.default_factory is MISSING else one.default_factory()
    said = _kind(kinds[0])
    by_kind = TIME if one.name.endswith("_s") else COUNT
    return Setting(
        name=found.name,
        words=words_of(found.owner).get(one.name, ""),
        kind=said,
        default=None if default in (MISSING, NOT_GIVEN) else as_plain(default),
        is_required=default in (MISSING, NOT_GIVEN),
        may_be_null=len(kinds) < len(get_args(kind)) if isinstance(kind, UnionType) else kind is Any,
        bounds=(one.metadata.get("bounds") or by_kind) if "number" in said else None,
        choices=_choices(found.name, kinds[0]) or dict.fromkeys(one.metadata.get("choices", ()), ""),
        is_measured=found.measured,
    )


def _choices(name: str, kind: Any) -> dict[str, str]:
    """Of an enum: settings of sites are written by its values, others by its names."""
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        return {}
    said = words_of(kind)
    return {
        str(one.value) if name.startswith("sites.") else member: said.get(member, "")
        for member, one in kind.__members__.items()
    }


def _kind(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "text"
    return _KINDS.get(get_origin(kind) or kind, "list" if kind is Any else "mapping")


def _first_paragraph(owner: type) -> str:
    return " ".join(cleandoc(owner.__doc__ or "").partition("\n\n")[0].split())
