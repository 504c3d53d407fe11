"""Checks of settings that the schema cannot express: numbers are finite and in range, and words are known.

Every number in `config` is checked: also a field that is added later is finite and not negative. Narrower bounds, and
the words that there are, stand on the fields. Checked before anything is created or run.
"""

import json
import math
import resource
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from harness.actions.truncate import cut
from harness.choices import COUNT, SHARE, TIME, ObservationDialect, ObservationType, ValueRange
from harness.config import Config
from harness.errors import ConfigError
from harness.llm import providers
from harness.registry import installed
from harness.settings.browser import BrowserSettings
from harness.settings.executor import ExecutorSettings
from harness.settings.fields import declared
from harness.settings.observation import TEXTS, parts_of

_FEWEST_FILES = 256
"""As many as macOS grants; a Chromium takes some hundred, and asks for more itself."""
_ENOUGH_FILES = 4096
"""As many as the lanes of a large run open, and fewer than any system refuses."""
_MOST_TEXT = 1_000_000


_DECLARED = {one.name: one for one in declared(Config)}
BOUNDS: Mapping[str, ValueRange] = MappingProxyType(
    {name: bounds for name, one in _DECLARED.items() if (bounds := one.field.metadata.get("bounds"))}
)
"""Of numbers whose kind says too little."""
WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: words for name, one in _DECLARED.items() if (words := one.field.metadata.get("choices"))}
)
"""Settings that are one of a few words."""
_PLUGINS = {name: group for name, one in _DECLARED.items() if (group := one.field.metadata.get("plugins"))}
"""Those whose words may come from installed packages, to the group of entry points."""
ADDRESSES = tuple(name for name, one in _DECLARED.items() if one.field.metadata.get("address"))
NON_EMPTY = tuple(name for name, one in _DECLARED.items() if one.field.metadata.get("filled"))
"""Texts that cannot be empty."""
RESERVED = frozenset({"messages", "model", "stream", "input", "instructions", "system", "previous_response_id"})
"""Keys of a request that settings cannot replace: they are recorded in the journal."""


def check_values(config: object) -> None:
    """Refuse a value nothing can be done with.

    Raises:
        ConfigError: Naming the setting, its value and what would do.
    """
    for name, value in settings(config):
        if name == "task.ids" and not isinstance(value, str | int | list | tuple | None):
            raise ConfigError(
                f"task.ids={cut(str(value), 80)} cannot be used; give ids and ranges, as in task.ids=[0-99,120]"
            )
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if not (bounds := range_of(name)).hold(value):
                raise ConfigError(f"{name}={_shown(value)} cannot be used; give a number {bounds}")
        elif isinstance(value, str):
            _check_text(name, value)
            if name == "observation.type":
                _check_parts(value)
        else:
            _check_tree(name, value)
    known = dict(settings(config))
    _check_measures(known.get("fail_under_of") or {})
    if known.get("observation.dialect") is ObservationDialect.webarena and TEXTS <= parts_of(known["observation.type"]):
        raise ConfigError(
            f"observation.type={known['observation.type']} cannot be used with observation.dialect=webarena, which "
            "numbers the elements of both texts differently; give one of them, or observation.dialect=cairn"
        )
    by_template = known.get("agent._target_") is None and known.get("agent.kind") == "prompt"
    if by_template and not known.get("agent.template", "-").strip():
        raise ConfigError("agent.template is empty; give the user message, or a class of your own as agent._target_")


def check_inputs(browser: BrowserSettings, executor: ExecutorSettings) -> None:
    """See that this machine has what the settings ask of it, before its tasks fail one after the other.

    Raises:
        ConfigError: It has not.
    """
    _ask_for_files()
    _check_place(browser.geolocation)
    uploads = browser.uploads
    if uploads is not None and executor.kind in ("processes", "inline") and not Path(uploads).is_dir():
        raise ConfigError(
            f"browser.uploads={cut(str(uploads), 80)} is not a folder; give the folder of files that agents may upload"
        )


def _check_place(place: Mapping[str, float]) -> None:
    ranges = {"latitude": 90, "longitude": 180, "accuracy": 1_000_000_000}
    if place and not {"latitude", "longitude"} <= place.keys() <= ranges.keys():
        raise ConfigError("browser.geolocation must contain latitude and longitude, and may contain accuracy")
    for name, value in place.items():
        if not ValueRange(0 if name == "accuracy" else -ranges[name], ranges[name]).hold(value):
            raise ConfigError(f"browser.geolocation.{name}={_shown(value)} cannot be used")


def _ask_for_files() -> None:
    """See that a run may open as many files as it needs: more are asked for, up to what the system grants this process.

    Raises:
        ConfigError: It does not grant them.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < _ENOUGH_FILES:
        granted = _ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
        if granted < _FEWEST_FILES:
            raise ConfigError(
                f"this process may open only {granted} files, but a run with its browsers needs {_FEWEST_FILES}; "
                "raise the limit (ulimit -n 1024), then run again"
            )


def settings(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting the schema knows by name, and its value; what is free by design is not gone into."""
    for one in fields(tree):
        value = getattr(tree, one.name)
        if is_dataclass(value) and not one.metadata.get("derived"):
            yield from settings(value, f"{prefix}{one.name}.")
        else:
            yield f"{prefix}{one.name}", value


def _check_tree(name: str, value: object) -> None:
    """What the schema knows no more of than that it is a mapping, a list or nothing."""
    if name in ("llm.extra_body", "judge.extra_body"):
        assert isinstance(value, Mapping)
        _check_request_keys(name, value)
    elif name != "fail_under_of" and (found := _endless(name, value)):
        raise ConfigError(f"{found} cannot be used, as no journal can hold it; give a finite number")


def _endless(place: str, value: object) -> str:
    """The first inf or nan in what is free by design, with its place, as in `agent.arguments.depth=inf`; "" = none."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{place}={value}"
    inner: Iterable[tuple[str, object]] = ()
    if isinstance(value, Mapping):
        inner = ((f"{place}.{key}", one) for key, one in value.items())
    elif isinstance(value, list | tuple):
        inner = ((f"{place}[{at}]", one) for at, one in enumerate(value))
    elif is_dataclass(value):
        inner = ((f"{place}.{one.name}", getattr(value, one.name)) for one in fields(value))
    return next((found for where, one in inner if (found := _endless(where, one))), "")


def range_of(name: str) -> ValueRange:
    """The range of a setting that is a number."""
    return BOUNDS.get(name) or (TIME if name.endswith("_s") else COUNT)


def _check_parts(said: str) -> None:
    try:
        parts_of(said)
    except ValueError as error:
        known = ", ".join(one.value for one in ObservationType)
        raise ConfigError(
            f"observation.type={cut(said, 80)} cannot be used; give one of {known}, or several, each once, joined "
            "with +, as in accessibility_tree+image"
        ) from error


def _check_request_keys(name: str, keys: Mapping[str, object]) -> None:
    """Keys that the journal records cannot be replaced; and a request is JSON."""
    if reserved := sorted(RESERVED.intersection(map(str, keys))):
        raise ConfigError(f"{name}.{reserved[0]} cannot be given: Cairn sets it itself; take it out")
    try:
        json.dumps(keys, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} cannot be sent as JSON: {error}; correct its value") from error


def _check_measures(least: Mapping[str, float]) -> None:
    """Each is a measure that there is, with a share."""
    if not least:
        return
    from harness.runs.measures import measure_names  # which imports all that has measures

    known = measure_names()
    for name, share in least.items():
        if name not in known:
            raise ConfigError(f"fail_under.{cut(str(name), 80)} is not a measure; choose one of {', '.join(known)}")
        if not SHARE.hold(share):
            raise ConfigError(f"fail_under.{name}={_shown(share)} cannot be used; give a number {SHARE}")


def _check_text(name: str, value: str) -> None:
    if name in NON_EMPTY and not value.strip():
        raise ConfigError(f"{name} is empty; give it a value, or leave it out for its default")
    if "\0" in value:
        raise ConfigError(f"{name} contains the character U+0000; remove it")
    if len(value) > _MOST_TEXT:
        raise ConfigError(f"{name} has {len(value):,} characters; give {_MOST_TEXT:,} at most")
    if name in ADDRESSES:
        check_address(name, value)
    if name == "run.id" and (Path(value).is_absolute() or not Path(value).parts or ".." in Path(value).parts):
        raise ConfigError(f"run.id={value[:200]} is not in run.root; give a name, and set run.root for another place")
    known = providers.names() if name in ("llm.api", "judge.api") else WORDS.get(name, (value,))
    if value not in known and (group := _PLUGINS.get(name)):
        known = (*known, *sorted(installed(group)))
    if value not in known:
        raise ConfigError(f"{name}={value[:80]} is unknown; choose one of {', '.join(known)}")


def check_address(name: str, value: str) -> None:
    """Raises ConfigError: It is not an address of a server."""
    try:
        parts = urlsplit(value)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and value.isprintable()
    except ValueError:
        fits = False
    if not fits or " " in value:
        raise ConfigError(
            f"{name}={value[:200]!r} is not an address; give one that begins with http:// or https:// and a host"
        )


def _shown(value: float) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if abs(value) < 10**30 else "a number of many digits"
