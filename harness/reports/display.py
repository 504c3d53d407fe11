"""The display of a running evaluation: a live table, or plain lines without a terminal.

It only listens; nothing depends on it, and the truth stays in the journals.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from harness.escape import flat
from harness.llm.limiter import LimiterStats
from harness.protocols import Phase, ProgressEvent
from harness.records import Usage
from harness.runs.format import duration
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

    def tell(self, news: ProgressEvent) -> None:
        if news.phase == Phase.notice:
            return
        if not news.task_id and news.phase != Phase.idle and (known := self.lanes.get(news.lane)):
            news = replace(known, phase=news.phase, note=news.note)
        elif news.phase == Phase.spending and (known := self.lanes.get(news.lane)):
            news = replace(known, usage=news.usage)
        self.lanes[news.lane] = news
        if self.first is None and news.phase != Phase.idle:
            # Lanes on other machines tell only what has ended, which then began at some time since the start.
            self.first = self.created if news.phase == Phase.ended else self.clock()
        if news.phase == Phase.ended:
            self.ended += 1
            self.usage += news.usage
            self.scored += news.score is not None
            self.passed += news.score == 1.0

    def doings(self) -> list[ProgressEvent]:
        """What every lane is at now, by number."""
        waiting = {
            lane: ProgressEvent(lane=lane, task_id="", phase=Phase.waiting, note=why)
            for lane, why in self.waits().items()
        }
        return [news for _, news in sorted({**self.lanes, **waiting}.items())]

    def headline(self) -> str:
        """Progress, pass rate, tokens, cost and the time left at the present pace."""
        parts = [f"{self.ended}/{self.jobs} {self.what}"]
        if self.scored:
            parts.append(f"pass rate {self.passed / self.scored:.1%}")
        usage = sum(
            (news.usage for news in self.lanes.values() if news.phase not in (Phase.ended, Phase.idle)), self.usage
        )
        parts.append(f"{usage.prompt_tokens + usage.completion_tokens:,} tokens")
        parts.append(f"${usage.cost_usd:.4f}" if usage.priced else f"at least ${usage.cost_usd:.4f}")
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
        busy = sum(news.phase not in (Phase.ended, Phase.idle) for news in self.lanes.values())
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

    def tell(self, news: ProgressEvent) -> None:
        self._board.tell(news)
        if news.phase == Phase.notice and self._board.is_new(news.note):
            self._live.console.print(flat(news.note), markup=False, highlight=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        table = Table(expand=True, show_edge=False)
        for name in ("lane", "task", "step", "doing"):
            table.add_column(name, justify="right" if name in ("lane", "step") else "left", no_wrap=name != "doing")
        table.add_column("last action", ratio=1, no_wrap=True, overflow="ellipsis")
        for news in self._board.doings():
            doing = news.phase + (f": {news.note}" if news.note else "")
            table.add_row(str(news.lane), news.task_id, str(news.step or ""), Text(doing), Text(news.action))
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

    def tell(self, news: ProgressEvent) -> None:
        self._board.tell(news)
        if news.phase == Phase.ended:
            verdict = "unscored" if news.score is None else "passed" if news.score == 1.0 else "failed"
            why = f" ({news.note})" if news.note else ""
            self._line(
                f"task {news.task_id}: {verdict} after {news.step} steps{why}; {self._board.headline()}{self._model()}"
            )
        elif news.phase == Phase.notice:
            if self._board.is_new(news.note):
                self._line(news.note)
        elif news.phase in (Phase.retrying, Phase.waiting):
            self._line(f"lane {news.lane}, task {self._board.lanes[news.lane].task_id}: {news.note}")

    def _model(self) -> str:
        flow = self._board.flow()
        return f"; model: {flow}" if flow.waiting else ""

    def _line(self, text: str) -> None:
        self._console.print(flat(text), markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        if said := self._board.start_up():
            self._line(said)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def _roughly(seconds: float) -> str:
    """An estimate, no more exact than it is: in steps of ten seconds, of minutes, or of tenths of an hour."""
    if seconds < 95:
        return f"{max(10, round(seconds / 10) * 10)} s"
    return f"{round(seconds / 60)} min" if seconds < 3_570 else f"{seconds / 3600:.1f} h"
