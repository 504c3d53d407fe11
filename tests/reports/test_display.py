"""What a person sees of waiting while a run goes on: frames of the real live table, and the plain lines."""

import asyncio
from io import StringIO

from rich.console import Console

from harness.protocols import Phase, ProgressEvent
from harness.reports.display import LiveDisplay, LiveStats, PlainDisplay
from harness.runner.scheduler import Scheduler
from tests.runner.sites import Journals, writer

AWAY = "shop does not answer; waiting up to 30 s"


def frame(board: LiveStats, *news: ProgressEvent) -> list[str]:
    """The lines of the last frame of the live table."""
    terminal = StringIO()
    with LiveDisplay(Console(file=terminal, force_terminal=True, color_system=None, width=140), board) as display:
        for one in news:
            display.tell(one)
        terminal.seek(0)
        terminal.truncate()
    return terminal.getvalue().splitlines()


def row(lines: list[str], lane: int) -> str:
    (found,) = [line for line in lines if line.split("│")[0].strip() == str(lane)]
    return " ".join(found.split())


def test_a_lane_whose_site_is_gone_says_so_beside_its_task_and_no_longer_than_that() -> None:
    acting = ProgressEvent(lane=3, task_id="12", phase=Phase.acting, step=4, action="click [1]")
    gone = ProgressEvent(lane=3, task_id="", phase=Phase.waiting, note=AWAY)
    lines = frame(LiveStats(2), acting, gone)
    assert row(lines, 3) == f"3 │ 12 │ 4 │ waiting: {AWAY} │ click [1]"
    back = ProgressEvent(lane=3, task_id="", phase=Phase.restoring)
    assert row(frame(LiveStats(2), acting, gone, back), 3) == "3 │ 12 │ 4 │ restoring │ click [1]"


async def test_a_lane_that_can_be_given_nothing_says_who_is_on_the_site() -> None:
    schedule = Scheduler([writer("7"), writer("8"), writer("9", "shop", "forum")], Journals().sharing())
    board = LiveStats(3, waits=lambda: schedule.waits)
    assert await schedule.take(0) is not None
    ended = ProgressEvent(lane=1, task_id="6", phase=Phase.ended, step=3, score=1.0)
    async with asyncio.TaskGroup() as lanes:
        waiting = lanes.create_task(schedule.take(1))
        await asyncio.sleep(0)
        lines = frame(board, ended)
        assert row(lines, 1) == "1 │ │ │ waiting: task 7 uses shop │"
        assert any("1 lane waiting for sites" in line for line in lines)
        await schedule.settle(0, schedule.held[0], over=True)
    assert waiting.result() is not None
    assert row(frame(board), 1) == "1 │ 6 │ 3 │ ended │"


def test_without_a_terminal_a_site_that_is_gone_is_one_line_with_its_task() -> None:
    console = Console(record=True, width=200)
    with PlainDisplay(console, LiveStats(2)) as display:
        display.tell(ProgressEvent(lane=0, task_id="7", phase=Phase.acting))
        display.tell(ProgressEvent(lane=0, task_id="", phase=Phase.waiting, note=AWAY))
        display.tell(ProgressEvent(lane=0, task_id="", phase=Phase.restoring))
    assert console.export_text().splitlines() == [f"lane 0, task 7: {AWAY}"]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_not_said_before_every_lane_has_ended_a_task_and_start_up_is_no_part_of_the_pace() -> None:
    clock = Clock()
    board = LiveStats(20, clock=clock)
    clock.now = 90.0  # Ray was starting
    for lane in (0, 1):
        board.tell(ProgressEvent(lane=lane, task_id=str(lane), phase=Phase.acting))
    clock.now = 100.0
    board.tell(ProgressEvent(lane=0, task_id="0", phase=Phase.ended, score=1.0))
    assert "left" not in board.headline(), "the shortest task alone is not a pace"
    board.tell(ProgressEvent(lane=0, task_id="2", phase=Phase.acting))
    clock.now = 120.0
    board.tell(ProgressEvent(lane=0, task_id="2", phase=Phase.ended, score=1.0))
    # Two are done and one is half done in 30 s; 17.5 are left.
    assert board.left_s() == 30 / 2.5 * 17.5
    assert board.headline().endswith("about 4 min left")
    for task in range(3, 21):
        board.tell(ProgressEvent(lane=0, task_id=str(task), phase=Phase.ended, score=1.0))
    assert "left" not in board.headline()


def test_of_lanes_that_tell_only_what_has_ended_the_pace_is_that_since_the_start() -> None:
    clock = Clock()
    board = LiveStats(10, clock=clock)
    clock.now = 60.0
    for task in range(2):
        board.tell(ProgressEvent(lane=0, task_id=str(task), phase=Phase.ended, score=1.0))
    assert board.left_s() == 60 / 2 * 8


def test_before_the_first_task_it_says_what_it_waits_for() -> None:
    board = LiveStats(3, starting="Ray and its workers")
    assert any("starting Ray and its workers for 3 tasks (" in line for line in frame(board))
    assert not any("starting" in line for line in frame(board, ProgressEvent(lane=0, task_id="1", phase=Phase.acting)))
    console = Console(record=True, width=200)
    with PlainDisplay(console, LiveStats(1, starting="the browsers")):
        pass
    assert console.export_text().splitlines() == ["starting the browsers for 1 task"]
