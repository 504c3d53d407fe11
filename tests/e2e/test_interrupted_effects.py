"""Real runs on a site that counts effects itself, killed at a certain moment: what the site got, what the score says."""

from collections import Counter
from pathlib import Path

import pytest
from chaos_aiming import DECIDED, EFFECT, SITE, THINKING, Strike
from chaos_judge import Case
from chaos_own import cases_of
from chaos_siege import DONE, Ended, Mode, Setting, play
from chaos_tasks import KINDS, posed

from tests.e2e.conftest import PROJECT

pytestmark = pytest.mark.browser
HOOK, NONE = Mode(strategy="auto", hook=True), Mode(strategy="auto", hook=False)
KEPT = Mode(strategy="checkpoint", hook=True)
HELD = "late, then left"
"""Its page sends something 1.5 s after a click, and is left after that."""


def strike(victim: str, aim: str, skip: int, *, at_once: bool = False) -> Strike:
    """`at_once`: before the answer to the request that is the event."""
    return Strike(aim=aim, skip=skip, delay_s=0.0, at_once=at_once, victim=victim, which=0.4)


async def struck(kind: str, mode: Mode, one: Strike, folder: Path) -> tuple[Case, Ended]:
    """One task, one kill."""
    setting = Setting(
        project=PROJECT, folder=folder, seed="0", deadline_s=200, workers=1, lanes=1, instances=1, longest_reset_s=0.0
    )
    ended = await play(mode, posed([next(each for each in KINDS if each.name == kind)], hook=mode.hook), [one], setting)
    (case,) = cases_of(ended)
    assert ended.code in DONE and len(ended.kills) == 1 and ended.kills[0].victim == one.victim
    return case, ended


def in_last_epoch(ended: Ended) -> Counter[str]:
    """What the site got since its last reset."""
    last = max((effect.epoch for effect in ended.site.effects), default=0)
    return Counter(effect.label for effect in ended.site.effects if effect.epoch == last)


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "skip", "victim", "label"),
    [
        (HELD, 2, "parent", "Send in 1500 ms"),
        pytest.param(HELD, 2, "worker", "Send in 1500 ms", marks=slow),
        pytest.param(HELD, 2, "browser", "Send in 1500 ms", marks=slow),
        pytest.param(HELD, 1, "browser", "Send in 1500 ms", marks=slow),
        pytest.param("draft, then left", 2, "parent", "Draft", marks=slow),
        pytest.param("late 2500 ms", 2, "parent", "Send in 2500 ms", marks=slow),
    ],
)
async def test_with_a_hook_what_a_page_sent_after_a_delay_is_on_the_site_once(
    *, tmp_path: Path, kind: str, skip: int, victim: str, label: str
) -> None:
    case, ended = await struck(kind, HOOK, strike(victim, THINKING, skip), tmp_path)
    assert case.score == 1.0, case.why
    assert in_last_epoch(ended) == {label: 1}
    assert (case.attempts, case.doubts) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "victim"),
    [
        ("visits are counted", "parent"),
        pytest.param("visits are counted", "browser", marks=slow),
        pytest.param("page of a link by GET", "parent", marks=slow),
        pytest.param("page of a link by GET", "browser", marks=slow),
    ],
)
async def test_without_a_hook_a_page_that_changes_something_when_it_is_opened_again_is_a_doubt(
    tmp_path: Path, kind: str, victim: str
) -> None:
    case, ended = await struck(kind, NONE, strike(victim, THINKING, 1), tmp_path)
    assert len(ended.site.effects) == 2 and case.attempts == 1, "opened again"
    assert case.has_doubt and ended.summary["doubts"] == 1


@pytest.mark.slow
async def test_with_a_hook_a_checkpoint_is_not_kept_whose_page_may_change_something(tmp_path: Path) -> None:
    for kind in ("page of a link by GET", "visits are counted"):
        case, ended = await struck(kind, KEPT, strike("parent", THINKING, 1), tmp_path / kind)
        assert (case.score, case.doubts, case.within) == (1.0, 0, ()), case.why
        assert in_last_epoch(ended).total() == 1
    case, ended = await struck("order", KEPT, strike("parent", THINKING, 2), tmp_path / "order")
    assert (case.score, len(ended.site.effects)) == (1.0, 1), "one whose page is safe to open is kept"


@pytest.mark.parametrize(
    ("kind", "victim"),
    [
        ("order", "browser"),
        pytest.param("order", SITE, marks=slow),
        pytest.param("like", SITE, marks=slow),
        pytest.param("note", "browser", marks=slow),
    ],
)
async def test_without_a_hook_an_action_that_was_not_sent_is_performed_again_and_in_no_doubt(
    tmp_path: Path, kind: str, victim: str
) -> None:
    """The browser is killed, or the site refuses connections, while the model thinks about its first action."""
    case, ended = await struck(kind, NONE, strike(victim, THINKING, 0), tmp_path)
    assert case.score == 1.0, case.why
    assert (len(ended.site.effects), case.doubts, case.attempts) == (1, 0, 1)
    assert case.has_failed, "it was interrupted"


@pytest.mark.slow
async def test_without_a_hook_an_interrupted_click_on_a_link_of_a_safe_site_is_repeated(tmp_path: Path) -> None:
    case, ended = await struck("harmless links", NONE, strike("parent", DECIDED, 1), tmp_path)
    assert case.score == 1.0 and not case.has_doubt and ended.summary.get("doubts", 0) == 0
    assert (case.harmless, case.harmless_in_doubt) in ((1, 0), (0, 0)), "if it fell between decision and result"


@pytest.mark.slow
async def test_without_a_hook_an_order_that_may_have_been_received_is_still_in_doubt(tmp_path: Path) -> None:
    # The worker, which records: killed with its parent, it would sometimes have recorded the answer before.
    case, ended = await struck("order", NONE, strike("worker", EFFECT, 0, at_once=True), tmp_path)
    assert len(ended.site.effects) == 1 and case.has_doubt
