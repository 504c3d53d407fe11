"""The display of a running evaluation: a live table, or plain lines without a terminal.

It only listens; nothing depends on it, and the truth stays in the journals.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from harness.escape import flat
from harness.llm.limiter import LimiterStats
from harness.protocols import Phase, ProgressEvent
from harness.records import Usage
from harness.reports.console import say
from harness.runs.format import duration, precise_cost
from harness.runs.trials import amount


@dataclass
class LiveStats:
    """The newest news of every lane, and sums over what has ended."""

    jobs: int
    """Jobs this start has to play."""
    flow: Callable[[], LimiterStats] = LimiterStats
    """What goes to the model and comes back."""
    waits: Callable[[], Mapping[int, str]] = dict
    """Lanes that have no task now because others are on the sites, and who is."""
    what: str = "tasks"
    """What jobs are called."""
    starting: str = ""
    """What has to be there before the first task begins; "" = it is not said."""
    clock: Callable[[], float] = time.monotonic
    """In seconds."""

    def __post_init__(self) -> None:
        self.lanes: dict[int, ProgressEvent] = {}
        self.ended = self.passed = self.scored = 0
        self.usage = Usage()
        self.created = self.clock()
        self.first: float | None = None
        """When a lane had something to do for the first time."""
        self._noticed: set[str] = set()

    def is_new(self, notice: str) -> bool:
        """Whether a sentence about the run was not shown yet: every worker process may report it."""
        if notice in self._noticed:
            return False
        self._noticed.add(notice)
        return True

    def tell(self, event: ProgressEvent) -> None:
        if event.phase == Phase.notice:
            return
        # A lane that waits for its site says only that: task and step are still those of before.
        if not event.task_id and event.phase != Phase.idle and (known := self.lanes.get(event.lane)):
            event = replace(known, phase=event.phase, note=event.note)
        elif event.phase == Phase.spending and (known := self.lanes.get(event.lane)):
            event = replace(known, usage=event.usage)
        self.lanes[event.lane] = event
        if self.first is None and event.phase != Phase.idle:
            # Lanes on other machines tell only what has ended, which then began at some time since the start.
            self.first = self.created if event.phase == Phase.ended else self.clock()
        if event.phase == Phase.ended:
            self.ended += 1
            self.usage += event.usage
            self.scored += event.score is not None
            self.passed += event.score == 1.0

    def doings(self) -> list[ProgressEvent]:
        """What every lane is at now, by number."""
        waiting = {
            lane: ProgressEvent(lane=lane, task_id="", phase=Phase.waiting, note=why)
            for lane, why in self.waits().items()
        }
        return [event for _, event in sorted({**self.lanes, **waiting}.items())]

    def headline(self) -> str:
        """Progress, pass rate, tokens, cost and the time left at the present pace."""
        parts = [f"{self.ended}/{self.jobs} {self.what}"]
        if self.scored:
            parts.append(f"pass rate {self.passed / self.scored:.1%}")
        usage = sum(
            (event.usage for event in self.lanes.values() if event.phase not in (Phase.ended, Phase.idle)), self.usage
        )
        parts.append(f"{usage.prompt_tokens + usage.completion_tokens:,} tokens")
        paid = precise_cost(usage.cost_usd, usage.priced)
        parts.append("cost unknown" if paid == "unknown" else paid)
        if idle := len(self.waits()):
            parts.append(f"{idle} lane{'s' * (idle > 1)} waiting for sites")
        if (left := self.left_s()) is not None:
            parts.append(f"about {_roughly(left)} left")
        return " · ".join(parts)

    def left_s(self) -> float | None:
        """Seconds that the rest will take at the pace since the first task began; None = too little is known, or
        nothing is left.

        A task that a lane is at counts as half done. Until every lane has ended one, a pace would be that of the
        shortest tasks.
        """
        if self.first is None or self.ended >= self.jobs or self.ended < max(2, len(self.lanes)):
            return None
        busy = sum(event.phase not in (Phase.ended, Phase.idle) for event in self.lanes.values())
        done = min(self.ended + busy / 2, self.jobs)
        return (self.clock() - self.first) / done * (self.jobs - done)

    def start_up(self) -> str:
        """What is waited for before any lane has a task; "" from then on."""
        played = amount(self.jobs, self.what.removesuffix("s"))
        return f"starting {self.starting} for {played}" if self.starting and not self.lanes else ""


class LiveDisplay:
    """A table that is redrawn in place."""

    def __init__(self, console: Console, board: LiveStats) -> None:
        self._board = board
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True)

    def tell(self, event: ProgressEvent) -> None:
        self._board.tell(event)
        if event.phase == Phase.notice and self._board.is_new(event.note):
            self._live.console.print(flat(event.note), markup=False, highlight=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        table = Table(expand=True, show_edge=False)
        for name in ("lane", "task", "step", "doing"):
            table.add_column(name, justify="right" if name in ("lane", "step") else "left", no_wrap=name != "doing")
        table.add_column("last action", ratio=1, no_wrap=True, overflow="ellipsis")
        for event in self._board.doings():
            doing = event.phase + (f": {event.note}" if event.note else "")
            table.add_row(str(event.lane), event.task_id, str(event.step or ""), Text(doing), Text(event.action))
        if said := self._board.start_up():
            waited = self._board.clock() - self._board.created
            return Text(f"{said} ({duration(waited)})")
        model = Text(f"model: {self._board.flow()}")
        return Group(table, model, Text(self._board.headline(), style="bold"))


class PlainDisplay:
    """One line per ended task, retry, failure or wait for a site."""

    def __init__(self, console: Console, board: LiveStats) -> None:
        self._console = console
        self._board = board

    def tell(self, event: ProgressEvent) -> None:
        self._board.tell(event)
        if event.phase == Phase.ended:
            verdict = "unscored" if event.score is None else "passed" if event.score == 1.0 else "failed"
            why = f" ({event.note})" if event.note else ""
            say(
                self._console,
                f"task {event.task_id}: {verdict} after {amount(event.step, 'step')}{why};"
                f" {self._board.headline()}{self._model()}",
            )
        elif event.phase == Phase.notice:
            if self._board.is_new(event.note):
                say(self._console, event.note)
        elif event.phase in (Phase.retrying, Phase.waiting):
            say(self._console, f"lane {event.lane}, task {self._board.lanes[event.lane].task_id}: {event.note}")

    def _model(self) -> str:
        flow = self._board.flow()
        return f"; model: {flow}" if flow.waiting else ""

    def __enter__(self) -> Self:
        if said := self._board.start_up():
            say(self._console, said)
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _roughly(seconds: float) -> str:
    """An estimate, no more exact than it is: in steps of ten seconds, of minutes, or of tenths of an hour."""
    if seconds < 95:
        return f"{max(10, round(seconds / 10) * 10)} s"
    return f"{round(seconds / 60)} min" if seconds < 3_570 else f"{seconds / 3600:.1f} h"
