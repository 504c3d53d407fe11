"""What plug-ins know of episodes, by name, for conditions such as `harness export sft --where label.success=yes`.

The part before the dot is the name of an entry point of `cairn.episode_fields`; its value is a class like
`EpisodeFields`.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from harness.registry import Registry
from harness.runs.episode import Episode
from harness.runs.run import Run

_FIELDS = Registry(group="cairn.episode_fields", noun="field")


class EpisodeFields(Protocol):
    """The fields of one plug-in."""

    names: ClassVar[Sequence[str]]
    """What may stand after the dot."""

    def __init__(self, run: Run, /) -> None:
        """Raises: HarnessError: What it knows of the run cannot be read."""

    def values(self, episode: Episode, name: str, /) -> Sequence[str]:
        """The values of one field of one episode; () = it has none. Of several, a condition holds for any."""
        ...


def field_names() -> tuple[str, ...]:
    """All that there are: `label.success`, …

    Raises:
        ConfigError: The package of one of them cannot be imported.
    """
    found: list[str] = []
    for group in _FIELDS.names():
        with _FIELDS.running(group):
            found.extend(f"{group}.{name}" for name in _FIELDS.find(group).names)
    return tuple(found)


def field_of(run: Run, name: str) -> Callable[[Episode], Sequence[str]]:
    """What gives the values of one of `field_names` for the episodes of a run.

    Raises:
        HarnessError: What the plug-in knows of the run cannot be read.
    """
    group, _, own = name.partition(".")
    with _FIELDS.running(group):
        fields: EpisodeFields = _FIELDS.find(group)(run)

    def values(episode: Episode) -> Sequence[str]:
        with _FIELDS.running(group):
            return fields.values(episode, own)

    return values
