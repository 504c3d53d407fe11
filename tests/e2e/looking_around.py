"""An agent that looks for references: in what it is given, and in the memory of the browser that it drives."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from harness.api import ChatModel, Decision, Episode, LiveObservation, Stop, Task

_DEEPEST = 12
_PIECE = 1 << 24


class LooksAround:
    """Answers with the places where it found what it looks for.

    Args:
        model: Looked through too.
        backwards: What it looks for, written backwards so that its own arguments do not hold it.
    """

    def __init__(self, model: ChatModel, backwards: str) -> None:
        self._model = model
        self._sought = backwards[::-1]

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        given = {"task": task, "episode": episode, "observation": observation, "model": self._model}
        found = [place for place, text in texts(given) if self._sought in text]
        browser = [one for one in psutil.Process().children(recursive=True) if "chrom" in one.name()]
        for process in browser:
            for piece in memory(process):
                if self._sought.encode() in piece or self._sought.encode("utf-16-le") in piece:
                    found.append(f"memory of {process.name()}")
        title = observation.observation.title.encode()
        is_read = any(title in piece for process in browser for piece in memory(process))
        return Decision(action=Stop(answer=f"found: {found}; the page's title is in the browser's memory: {is_read}"))


def texts(value: Any, place: str = "", depth: int = 0, known: set[int] | None = None) -> Iterator[tuple[str, str]]:
    """All texts that a value leads to, by attributes, slots, mappings and sequences."""
    known = set() if known is None else known
    if isinstance(value, str | bytes):
        yield place, value if isinstance(value, str) else value.decode(errors="replace")
        return
    if depth > _DEEPEST or id(value) in known:
        return
    known.add(id(value))
    if isinstance(value, dict) or hasattr(value, "items"):
        with contextlib.suppress(TypeError):
            for key, one in list(value.items()):
                yield from texts(key, f"{place}.{key}", depth + 1, known)
                yield from texts(one, f"{place}.{key}", depth + 1, known)
    elif isinstance(value, list | tuple | set | frozenset):
        for index, one in enumerate(value):
            yield from texts(one, f"{place}[{index}]", depth + 1, known)
    names = [*getattr(value, "__dict__", {}), *(name for one in type(value).__mro__ for name in slots(one))]
    for name in names:
        with contextlib.suppress(AttributeError):
            yield from texts(getattr(value, name), f"{place}.{name}", depth + 1, known)
    if (bound := getattr(value, "__self__", None)) is not None:
        yield from texts(bound, f"{place}.__self__", depth + 1, known)
    for cell in getattr(value, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            yield from texts(cell.cell_contents, f"{place}.cell", depth + 1, known)


def slots(cls: type) -> tuple[str, ...]:
    named = getattr(cls, "__slots__", ())
    return (named,) if isinstance(named, str) else tuple(named)


def memory(process: psutil.Process) -> Iterator[bytes]:
    """What a process has written, command line and environment included."""
    at = Path("/proc") / str(process.pid)
    with contextlib.suppress(OSError):
        yield (at / "cmdline").read_bytes() + (at / "environ").read_bytes()
        with (at / "mem").open("rb", buffering=0) as held:
            for line in (at / "maps").read_text().splitlines():
                where, rights, *_ = line.split()
                if not rights.startswith("rw") or "/dev/" in line:
                    continue
                begin, end = (int(one, 16) for one in where.split("-"))
                yield from pieces(held, begin, end)


def pieces(held: Any, begin: int, end: int) -> Iterator[bytes]:
    """Of one mapping, with some overlap; a hole ends it."""
    while begin < end:
        try:
            held.seek(begin)
            piece = held.read(min(_PIECE, end - begin))
        except (OSError, OverflowError):
            return
        if not piece:
            return
        yield piece
        begin += max(1, len(piece) - 64) if begin + len(piece) < end else len(piece)
