"""A run on a site of one's own is judged by the site's log: evidence is doctored, one thing at a time. Servers and
kills are real.
"""

import asyncio
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import chaos_own
import psutil
import pytest
from chaos_aiming import DECIDED, EFFECT, RESET, Endpoint, Strike, Watch, strikes
from chaos_judge import Case, Story, counted_doubts, judge, uncounted, verdict
from chaos_site import Effect, Site
from chaos_tasks import KINDS, posed, write
from chaos_victims import PARENT, Family, go_on, kill, kind_of, stop

from harness.browser.network.http import fetch
from harness.loopback_server import serving
from harness.plugins.demo.model.scripts import Scripts, read_plans
from harness.tasks import load
from tests.waiting import wait_until

Line = dict[str, Any]
PLACE = "i0.own.localhost"
LABEL = {
    "order": "Place order",
    "two sites": "Place order",
    "vote": "Vote 5",
    "link by GET": "Subscribe",
    "visits are counted": "Visit",
}


def opened(attempt: int, at: float) -> Line:
    return {"kind": "opened", "attempt": attempt, "at": at}


def decided(name: str, at: float) -> Line:
    return {"kind": "decided", "at": at, "action": {"kind": "click", "target": {"id": "7", "name": name}}}


def effect(label: str, at: float, *, epoch: int = 1, place: str = PLACE, method: str = "POST") -> Effect:
    return Effect(at=at, place=place, epoch=epoch, task="t1", label=label, value="", method=method)


DOUBT: Line = {"kind": "doubt", "step": 1, "reason": "…", "resolution": "…"}
FAILED: Line = {"kind": "failed", "attempt": 1, "type": "BrowserCrashed", "message": ""}
RESUMED: Line = {"kind": "resumed", "step": 0}


def case(
    kind: str,
    effects: Sequence[Effect],
    *more: Line,
    hook: bool = True,
    score: float | None = 1.0,
    recorded: int | None = None,
) -> Case:
    """A journal of one attempt that decided upon the kind's element at 1.0, and what came after.

    `recorded`: how many requests its records hold; None = all that the site saw.
    """
    (task,) = posed([one for one in KINDS if one.name == kind], hook=hook)
    acted: Line = {"kind": "acted", "effects": [{}] * (len(effects) if recorded is None else recorded)}
    return judge(task, Story([opened(1, 0.0), decided(LABEL[kind], 1.0), acted, *more]), effects, score)


ONCE = [effect("Place order", 2.0)]
TWICE = [*ONCE, effect("Place order", 3.0)]
GET = [effect("Subscribe", at, method="GET") for at in (2.0, 3.0)]
VISITS = [effect("Visit", at, place="i0.old.localhost") for at in (2.0, 3.0)]
AGAIN = (FAILED, opened(2, 2.5), decided("Place order", 2.6))

FINE: Mapping[str, Callable[[], Case]] = {
    "with a hook, undisturbed": lambda: case("order", ONCE),
    "without, undisturbed": lambda: case("order", ONCE, hook=False),
    "done again after a reset": lambda: case("order", [*ONCE, effect("Place order", 3.0, epoch=2)]),
    "the same on the other site": lambda: case("two sites", [*ONCE, effect("Place order", 3.0, place="i0.twin.localhost")]),
    "a page sent something twice without a hook, and a doubt says so": lambda: case(
        "visits are counted", VISITS, DOUBT, hook=False, score=0.0,
    ),
    "twice without a hook, in two attempts": lambda: case("order", TWICE, *AGAIN, hook=False, score=0.0),
    "in no record, of an episode that was interrupted": lambda: case("order", ONCE, RESUMED, recorded=0),
    "not done, and a doubt says so": lambda: case("order", [], DOUBT, hook=False, score=0.0),
    "unscored": lambda: case("order", [], FAILED, score=None),
}  # fmt: skip
WRONG: Mapping[str, tuple[Callable[[], Case], str]] = {
    "twice with a hook": (lambda: case("order", TWICE, DOUBT, score=0.0), "1 times too often in attempt 1, epoch 1"),
    "a button twice, and a doubt says so": (
        lambda: case("order", TWICE, DOUBT, hook=False, score=0.0), "by a button that was pressed again",
    ),
    "twice without a word": (lambda: case("order", TWICE, hook=False), "and no doubt is recorded"),
    "twice in the attempt after the one with the doubt": (
        lambda: case("order", [effect("Place order", 3.0), effect("Place order", 4.0)], DOUBT, *AGAIN, hook=False),
        "1 times too often in attempt 2, epoch 1, and no doubt is recorded",
    ),
    "a link by GET twice with a hook": (lambda: case("link by GET", GET), "GET 'Subscribe' 1 times too often"),
    "a link by GET twice without a hook": (lambda: case("link by GET", GET, hook=False), "and no doubt is recorded"),
    "in no record": (lambda: case("order", ONCE, recorded=0), "1 requests that the site saw are in no record"),
    "another score without a word": (lambda: case("order", ONCE, score=0.0), "and nothing is recorded"),
    "the same without a hook": (lambda: case("order", ONCE, hook=False, score=0.0), "and nothing is recorded"),
    "another score after a failure": (
        lambda: case("order", ONCE, FAILED, score=0.0), "a failure, but no doubt and no new attempt is recorded",
    ),
    "another element": (lambda: case("vote", [effect("Vote 7", 2.0)]), "'Vote 7' (POST) was done, and not decided upon"),
    "an element decided upon later": (
        lambda: case("vote", [effect("Vote 7", 2.0)], decided("Vote 7", 3.0)), "'Vote 7' (POST) was done",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_what_may_be_is_no_fault(name: str) -> None:
    assert list(FINE[name]().faults()) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_must_not_be_is_one_fault_and_says_what(name: str) -> None:
    judged, words = WRONG[name]
    (fault,) = judged().faults()
    assert words in fault


def test_a_row_counts_posts_and_links_apart_and_silence_by_degrees() -> None:
    cases = [
        case("order", TWICE, FAILED, hook=False, score=0.0),
        case("order", TWICE, *AGAIN, hook=False, score=0.0),
        case("link by GET", GET, hook=False),
        case("vote", [effect("Vote 7", 2.0)], hook=False, score=0.0),
        case("order", ONCE, DOUBT, DOUBT, hook=False),
    ]
    row = verdict("auto-none", cases, kills=3, faults=["left"])
    assert (row.episodes, row.kills, row.doubts) == (5, 3, 2)
    assert (row.within, row.by_get, row.at_all) == (1, 1, 3)
    assert (row.differing, row.unsaid, row.silent, row.wrong) == (3, 2, 1, 1)
    assert row.faults[0] == "left" and len(row.faults) == 6


def test_every_doubt_stands_in_the_summary() -> None:
    cases = [case("order", ONCE, DOUBT, hook=False), case("order", [], DOUBT, hook=False, score=None)]
    assert list(uncounted(cases, {"doubts": 1})) == []
    assert list(uncounted(cases, {"doubts": 2})) == ["1 scores carry a doubt, and the summary says 2"]
    assert list(uncounted(cases, {})) == ["1 scores carry a doubt, and the summary says None"]
    assert counted_doubts({"overall": {"doubts": 3}}) == 3


def test_strikes_are_the_same_for_the_same_seed_and_aim_at_resets_where_there_are_some() -> None:
    drawn = strikes("7", 300, hook=True)
    assert drawn == strikes("7", 300, hook=True) != strikes("8", 300, hook=True)
    assert {one.aim for one in drawn} == {EFFECT, DECIDED, "thinking", RESET}
    assert RESET not in {one.aim for one in strikes("7", 300, hook=False)}
    assert all(one.delay_s <= 0.02 for one in drawn if one.aim == DECIDED)
    assert any(one.at_once for one in drawn if one.aim == EFFECT)


def test_modes_share_the_episodes_and_no_other_are_known() -> None:
    assert chaos_own.share(200, 8) == [25] * 8
    assert sum(chaos_own.share(13, 3)) == 13
    assert [one.name for one in chaos_own.modes_of("auto-hook, replay-none")] == ["auto-hook", "replay-none"]
    assert chaos_own.modes_of("") == chaos_own.MODES
    with pytest.raises(ArgumentTypeError, match="there is no auto-maybe"):
        chaos_own.modes_of("auto-maybe")
    had = [kind for first in range(0, len(KINDS), 9) for kind in chaos_own.kinds_for(9, first, "0")]
    assert {kind.name for kind in had} == {kind.name for kind in KINDS}


def test_the_harness_reads_every_task_and_plan(tmp_path: Path) -> None:
    tasks = posed(KINDS, hook=True)
    paths = write(tasks, tmp_path)
    loaded = load(paths[0], {"own": "http://own.test", "twin": "http://twin.test"})
    plans = read_plans(paths[1], {one.task_id: one.intent for one in loaded})
    assert all(plans.find(one.intent) is not None for one in loaded)


async def test_the_site_counts_on_its_side_and_a_reset_begins_an_epoch() -> None:
    site = Site(seed=0)
    async with serving(site) as port:
        base = f"http://{PLACE}:{port}"
        for _ in range(2):
            answer = await fetch(f"{base}/t1/do?label=Place+order&next=done", method="POST")
            assert answer.url == f"{base}/t1/done"
        await fetch(f"{base}/t2/do?label=Subscribe")
        assert "Place order=2 | others: t2 Subscribe" in (await fetch(f"{base}/t1/state?whole")).text
        await fetch(f"{base}/__reset__", method="POST")
        assert ">nothing | others: nothing<" in (await fetch(f"{base}/t1/state?whole")).text
        await fetch(f"{base}/t1/do?label=Note", method="POST", body=b"value=low+tide")
        assert ">Note low tide=1<" in (await fetch(f"{base}/t1/state")).text
        assert (await fetch(f"{base}/t1/cellar")).status == 404
    assert [(one.task, one.key, one.epoch, one.method) for one in site.effects] == [
        ("t1", "Place order", 0, "POST"), ("t1", "Place order", 0, "POST"), ("t2", "Subscribe", 0, "GET"),
        ("t1", "Note low tide", 1, "POST"),
    ]  # fmt: skip


async def test_the_votes_are_not_alike_at_every_visit() -> None:
    async with serving(Site(seed=0)) as port:
        pages = {(await fetch(f"http://{PLACE}:{port}/t1/votes")).text for _ in range(20)}
    assert len(pages) > 2 and all(page.count("<button") >= 8 for page in pages)


async def test_a_strike_at_once_falls_before_the_answer_and_lets_go_what_was_to_be_skipped() -> None:
    watch = Watch()
    found = watch.arm(Strike(aim=EFFECT, skip=1, delay_s=0, at_once=True, victim=PARENT, which=0))
    await watch.happened(DECIDED, "t1")
    await watch.happened(EFFECT, "t1")
    assert not found.done()
    answering = asyncio.create_task(watch.happened(EFFECT, "t2"))
    event = await found
    assert event.task == "t2" and not answering.done()
    event.struck.set()
    await answering


async def test_a_spared_task_is_no_event_any_more() -> None:
    watch = Watch()
    watch.spare("t1")
    found = watch.arm(Strike(aim=EFFECT, skip=0, delay_s=0, at_once=False, victim=PARENT, which=0))
    await watch.happened(EFFECT, "t1")
    assert not found.done()
    await watch.happened(EFFECT, "t2")
    assert found.done()


async def test_a_decision_that_is_written_is_an_event(tmp_path: Path) -> None:
    watch = Watch()
    (tmp_path / "3.traj.jsonl").write_bytes(b'{"kind":"decided"}\n')
    found = watch.arm(Strike(aim=DECIDED, skip=0, delay_s=0, at_once=False, victim=PARENT, which=0))
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        looking = group.create_task(watch.watch_journals(tmp_path))
        await asyncio.sleep(0)
        with (tmp_path / "4.traj.jsonl").open("wb") as journal:
            journal.write(b'{"kind":"opened"}\n{"kind":"decided"}\n')
        assert (await found).task == "t4"
        looking.cancel()


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["python", "-m", "harness.evaluation.worker_main"], "worker"),
        (["/usr/lib/chromium/chromium-headless-shell", "--headless"], "browser"),
        (["/usr/lib/chromium/chromium --type=renderer --lang=en"], "renderer"),
        (["chromium", "--type=utility", "--utility-sub-type=network.mojom.NetworkService"], "network"),
        (["chromium", "--type=utility", "--utility-sub-type=audio.mojom.AudioService"], ""),
        (["chromium", "--type=zygote"], ""),
        (["/usr/lib/chromium/chrome_crashpad_handler", "--monitor-self"], ""),
        ([], ""),
    ],
)
def test_processes_are_told_by_their_command_lines(command: list[str], kind: str) -> None:
    assert kind_of(command) == kind


def test_only_what_is_below_the_run_is_struck_and_the_parent_where_there_is_nobody_else() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()', 'harness.evaluation.worker_main'])"
    family = Family()
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as parent:
        while not (found := [one for one in family.look(parent.pid) if one.kind == "worker"]):
            assert parent.poll() is None
        (worker,) = found
        assert family.choose(parent.pid, "worker", 0.9, port=None) == worker
        stranger = family.choose(parent.pid, "browser", 0.0, port=4711)
        assert stranger is not None and (stranger.kind, stranger.process.pid) == (PARENT, parent.pid)
        assert kill(worker)
        assert parent.wait() == 0
        assert not kill(stranger)


async def test_a_question_that_was_cut_off_by_a_kill_is_no_question() -> None:
    watch = Watch()
    found = watch.arm(Strike(aim="thinking", skip=0, delay_s=0, at_once=False, victim=PARENT, which=0))
    endpoint = Endpoint(Scripts(), (), site=Site(seed=0), watch=watch, latency_s=0.0)
    heard = iter([{"type": "http.request", "body": b'{"mess', "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Line:
        return next(heard)

    async def send(message: Line) -> None:
        raise AssertionError(f"nobody is there to be told {message}")

    await endpoint({"type": "http", "path": "/v1/chat/completions"}, receive, send)
    assert not found.done()


def test_a_run_is_stopped_with_its_workers_and_goes_on() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()', 'harness.evaluation.worker_main'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as parent:
        wait_until(lambda: "worker" in {one.kind for one in Family().look(parent.pid)})
        stopped = stop(parent.pid, whole=False)
        assert stopped[0].pid == parent.pid and len(stopped) == 2
        wait_until(lambda: {one.status() for one in stopped} == {psutil.STATUS_STOPPED})
        go_on(stopped)
        wait_until(lambda: psutil.STATUS_STOPPED not in {one.status() for one in stopped})
        parent.communicate(b"\n")


def test_a_restore_that_is_refused_for_want_of_a_reset_is_a_fault_where_there_is_a_hook() -> None:
    why = "a replay would repeat step 2, and a site that is not configured was not reset before it (sites.X.reset_url)"
    refused: Line = {**FAILED, "type": "EnvironmentDiverged", "message": why}
    (fault,) = case("order", ONCE, refused, opened(2, 5.0)).faults()
    assert "1 restores were refused for want of a reset" in fault
    assert list(case("order", ONCE, refused, opened(2, 5.0), hook=False).faults()) == []


def test_the_table_tells_how_many_harmless_clicks_are_in_doubt() -> None:
    row = verdict("auto-none", [case("order", ONCE, hook=False)], kills=0)
    (told,) = [line for line in chaos_own.table([row]) if "harmless links" in line]
    assert told == "0 of 0 interrupted clicks on harmless links in doubt (at most 10%)"


@pytest.mark.parametrize(("kind", "counted"), [("order", (1, 1)), ("draft, then left", (0, 0))])
def test_a_doubt_about_what_a_page_sends_later_is_not_one_about_a_click(kind: str, counted: tuple[int, int]) -> None:
    target = {"role": "link", "name": "Continue"}
    lines: list[Line] = [opened(1, 0.0), {"kind": "decided", "at": 1.0, "action": {"kind": "click", "target": target}}]
    (task,) = posed([one for one in KINDS if one.name == kind], hook=False)
    found = judge(task, Story([*lines, FAILED, RESUMED, DOUBT, {"kind": "acted", "effects": []}]), [], 1.0)
    assert (found.harmless, found.harmless_in_doubt) == counted
