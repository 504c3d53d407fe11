"""What the files in `configs/` say: the choices of each group (`llm=openai`), and which settings each of them gives a
value other than the schema's.

They are read as they are written, so that no secret of the environment is in an answer; what a file itself has as a
secret is redacted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from harness.api.composition import flat, register, search_plugins, sentence
from harness.api.configuration import PROJECT
from harness.api.secrets import REDACTED, redacted_settings
from harness.api.settings import Tree
from harness.errors import ConfigError

_GLOBAL = "@package _global_"
_FROM_ELSEWHERE = re.compile(r"\$\{(oc\.env:\w+(,null)?|openai_key:\$\{judge\.base_url\},\$\{judge\.api\})\}")
"""A secret that is not in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One file of a group."""

    group: str
    name: str
    about: str
    """The first sentence of its comments, in which is how it is chosen."""
    values: Tree
    """Dotted name of a setting to what the file gives it; what a file that it begins with gives is included."""

    @property
    def said(self) -> str:
        return f"{self.group}={self.name}"


def choices(folders: Iterable[Path]) -> tuple[Choice, ...]:
    """Of all groups, in the order of their names; of two files of one name, the first folder's."""
    found: dict[tuple[str, str], Path] = {}
    groups = {one.name for one in (PROJECT / "configs").iterdir() if one.is_dir()}
    for folder in folders:
        for path in sorted(folder.glob("*/*.yaml")):
            if path.parent.name in groups:
                found.setdefault((path.parent.name, path.stem), path)
    read = {key: _read(path) for key, path in sorted(found.items())}
    return tuple(
        Choice(group=group, name=name, about=_about(text), values=_values((group, name), read, frozenset()))
        for (group, name), (text, _) in read.items()
    )


def _read(path: Path) -> tuple[str, Tree]:
    """The text of a file, and the settings in it.

    Raises:
        ConfigError: There are none.
    """
    try:
        text = path.read_text("utf-8")
        tree: Any = OmegaConf.to_container(OmegaConf.create(text), resolve=False)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (YAMLError, OmegaConfBaseException, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid YAML: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} must contain one mapping of settings to values")
    return text, tree


def defaults(config_dir: Path | None = None) -> Tree:
    """Dotted name of a setting to its value where no argument is given, `${…}` as they are written.

    Raises:
        ConfigError: Files of the person's own make that impossible.
    """
    register()
    search_plugins(config_dir)
    try:
        with initialize_config_dir(str(PROJECT / "configs"), version_base="1.3"):
            return _flat(OmegaConf.to_container(compose("config"), resolve=False, enum_to_str=True))
    except (HydraException, OmegaConfBaseException, ValueError, RecursionError) as error:
        raise ConfigError(sentence(error)) from error


def _flat(tree: Any) -> Tree:
    """Dotted names to values, without secrets."""
    shown = redacted_settings(tree)
    given = {name: value for key, group in tree.items() for name, value in flat(str(key), group).items()}
    found = {name: value for key, group in shown.items() for name, value in flat(str(key), group).items()}
    return {
        name: given[name] if value == REDACTED and _FROM_ELSEWHERE.fullmatch(str(given[name])) else value
        for name, value in found.items()
    }


def _about(text: str) -> str:
    lines = [line.lstrip("# ").rstrip() for line in text.splitlines() if line.startswith("#")]
    first = next((line for line in lines if line and _GLOBAL not in line), "")
    return first.partition(": ")[0].rstrip(":.")


def _values(
    key: tuple[str, str], read: Mapping[tuple[str, str], tuple[str, Tree]], within: Set[tuple[str, str]]
) -> Tree:
    """What a file gives, and below that what it begins with.

    Args:
        key: Group and name of the file.
        read: Text and settings of all files.
        within: Those that begin with this one: a file that begins with itself is hydra's to refuse.
    """
    group, (text, tree) = key[0], read[key]
    values: Tree = {}
    for one in tree.get("defaults") or ():
        if isinstance(one, Mapping):
            values |= {str(at).removeprefix("override /"): choice for at, choice in one.items()}
            continue
        first = (group, str(one).partition("@")[0].rpartition("/")[2])
        if first in read and first != key and first not in within:
            values |= _values(first, read, within | {key})
    own = {str(at): value for at, value in tree.items() if at != "defaults"}
    return values | _flat(own if _GLOBAL in text else {group: own})


def below(values: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """What is given to a setting, or to parts of it: the rest of the name, "" = the setting itself, and the value.

    `NAME` in the name stands for any one part, with which the rest then begins.
    """
    parts = name.split(".")
    for key, value in values.items():
        given = key.split(".")
        if len(given) >= len(parts) and all(part in ("NAME", one) for part, one in zip(parts, given, strict=False)):
            free = [one for part, one in zip(parts, given, strict=False) if part == "NAME"]
            yield ".".join([*free, *given[len(parts) :]]), value
