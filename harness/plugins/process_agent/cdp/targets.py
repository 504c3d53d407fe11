"""The targets of one episode as a client of the relay sees them: those of its browser context, and no others. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.api import JsonObject

_DEFAULT_FILTER: "Filter" = ({"type": "browser", "exclude": True}, {"type": "tab", "exclude": True}, {})
"""The same filter as Chromium's default."""
Filter = Sequence[Mapping[str, Any]]


def filter_of(params: Mapping[str, Any]) -> Filter:
    """The filter that a command names, or the usual one."""
    given = params.get("filter")
    if isinstance(given, list) and all(isinstance(one, dict) for one in given):
        return given
    return _DEFAULT_FILTER


def fits(info: Mapping[str, Any], wanted: Filter) -> bool:
    """Whether a filter lets a target through: its first entry of that type decides."""
    for entry in wanted:
        if "type" not in entry or entry["type"] == info.get("type"):
            return not entry.get("exclude", False)
    return False


class TabNumbers:
    """Names of targets that are the same in each start of a process: `tab 1` is the first that was opened."""

    def __init__(self, known: Sequence[str]) -> None:
        """`known`: target ids of the tabs there are, in the order of opening."""
        self._numbers = {target: number for number, target in enumerate(known, start=1)}

    def name(self, target: str, kind: str) -> str:
        """The name of a target; a new one is the next."""
        if kind != "page":
            return kind
        return f"tab {self.number(target)}"

    def number(self, target: str) -> int:
        """Number of a page, from 1."""
        return self._numbers.setdefault(target, len(self._numbers) + 1)


@dataclass(frozen=True, slots=True)
class Session:
    """A flat session of a client with one target."""

    target: str
    name: str


class Targets:
    """What one client knows."""

    def __init__(self, context: str, numbers: TabNumbers) -> None:
        self._context = context
        self._numbers = numbers
        self._known: dict[str, JsonObject] = {}
        self.sessions: dict[str, Session] = {}

    def is_ours(self, info: Mapping[str, Any]) -> bool:
        return info.get("browserContextId") == self._context

    def learn(self, info: JsonObject) -> None:
        """A target of the episode, new or changed."""
        self._known[info["targetId"]] = info
        self._numbers.name(info["targetId"], info.get("type", ""))

    def forget(self, target: str) -> bool:
        """It is gone; whether it was known."""
        return self._known.pop(target, None) is not None

    def knows(self, target: object) -> bool:
        return isinstance(target, str) and target in self._known

    def listed(self, wanted: Filter) -> list[JsonObject]:
        """Pages first, in the order of opening: Chromium lists them in any, and a process may take the first."""
        infos = [info for info in self._known.values() if fits(info, wanted)]
        return sorted(infos, key=self._place)

    def _place(self, info: Mapping[str, Any]) -> tuple[bool, int]:
        is_page = info.get("type") == "page"
        return not is_page, self._numbers.number(info["targetId"]) if is_page else 0

    def info(self, target: str) -> JsonObject:
        return self._known[target]

    def name(self, target: str) -> str:
        """See `TabNumbers.name`."""
        kind = self._known.get(target, {}).get("type", "page")
        return self._numbers.name(target, kind)

    def attached(self, session: str, info: JsonObject, parent: str) -> None:
        """A session has begun; `parent`: that in whose target it was found, "" = the browser's."""
        target, kind = info["targetId"], info.get("type", "")
        name = self._numbers.name(target, kind)
        above = self.sessions.get(parent)
        if above is not None and kind not in ("page", "tab"):
            name = f"{kind} of {above.name}"
        self.sessions[session] = Session(target, name)

    def detached(self, session: str) -> bool:
        """It has ended; whether it was known."""
        return self.sessions.pop(session, None) is not None
