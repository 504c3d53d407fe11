"""What a job needs of the sites, and why."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest

from harness.journal.index import EpisodeResult
from harness.records import Acted, Record, SideEffect
from harness.runner.site_locks import LockPlanner
from tests.journal.episodes import acted, closed, decided, failed, opened, scored
from tests.runner.sites import FOUR, Journals, a_job


def an_attempt(job_id: str = "1", *, trial: int = 0, effects: tuple[str, ...] = (), ended: bool = True) -> list[Record]:
    """The records of an attempt at a task on the shop and the forum."""
    task = a_job(job_id, "shop", "forum").task
    sent = tuple(SideEffect(method="POST", url=url, status=200) for url in effects)
    step: Acted = replace(acted(1), effects=sent)
    begun: list[Record] = [opened(of=task, trial=trial), acted(0), decided(1), step]
    return [*begun, replace(closed(), reason="MAX_STEPS")] if ended else begun


@pytest.mark.parametrize(
    ("mutates", "alone"),
    [
        (True, {"shop": True, "forum": True}),
        (False, {"shop": False, "forum": False}),
        (("forum",), {"shop": False, "forum": True}),
        (None, {"shop": True, "forum": True}),
    ],
)
def test_a_task_that_says_what_it_changes_is_believed_and_one_that_does_not_is_not_trusted(
    mutates: object, alone: dict[str, bool]
) -> None:
    journals = Journals()
    if mutates is not None:
        journals.write(*an_attempt(effects=("http://shop.localhost/cart",)))
    assert journals.sharing().need(a_job("1", "shop", "forum", mutates=mutates, reopen_at=1)).exclusive == alone


def test_what_was_recorded_of_a_task_says_what_it_changes() -> None:
    journals = Journals()
    journals.write(*an_attempt("1", effects=("http://shop.localhost/cart", "http://elsewhere.test/beacon")))
    journals.write(*an_attempt("2"))
    sharing = journals.sharing()
    again = {"reopen_at": 1}
    assert sharing.need(a_job("1", "shop", "forum", **again)).exclusive == {"shop": True, "forum": False}
    assert sharing.need(a_job("2", "shop", "forum", **again)).exclusive == {"shop": False, "forum": False}
    assert sharing.need(a_job("2", "shop", "forum", trial=1)).exclusive == {"shop": False, "forum": False}
    assert sharing.need(a_job("3", "shop", "forum")).exclusive == {"shop": True, "forum": True}, "of another task"


def test_tasks_of_which_nothing_is_known_are_told_apart() -> None:
    journals = Journals()
    journals.write(*an_attempt("2"))
    sharing = journals.sharing(read_only={"forum"})
    assert sharing.is_believed(a_job("1"))
    known = (a_job("4", mutates=True), a_job("5", require_reset=True), a_job("2", trial=1), a_job("6", "forum"))
    assert not any(map(sharing.is_believed, known))
    assert not journals.sharing(lenient=True).is_believed(a_job("1"))


def test_an_attempt_that_has_not_ended_may_still_change_its_sites() -> None:
    journals = Journals()
    journals.write(*an_attempt(ended=False))
    assert journals.sharing().need(a_job("1", "shop")).exclusive == {"shop": True}


def test_a_site_that_was_changed_although_the_task_does_not_name_it_is_needed_alone_too() -> None:
    journals = Journals()
    journals.write(*an_attempt(effects=("http://forum.localhost/b/tea",)))
    assert journals.sharing().need(a_job("1", "shop", trial=1)).exclusive == {"shop": False, "forum": True}


def test_what_is_learnt_on_the_way_counts_for_the_next_trial() -> None:
    journals = Journals()
    sharing = journals.sharing()
    first, second = a_job("1"), a_job("1", trial=1)
    assert sharing.need(second).exclusive == {"shop": True}
    journals.write(*an_attempt())
    sharing.learn(first)
    assert sharing.need(second).exclusive == {"shop": False}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_of_trials_says_the_same_as_all_their_journals(seed: int) -> None:
    random, journals = Random(seed), Journals()
    sharing, lengths = journals.sharing(), dict[int, int]()
    for _ in range(30):
        trial = random.randrange(6)
        effects = ("http://shop.localhost/cart", "http://forum.localhost/b", "http://else.test/")[trial % 3 :]
        first = an_attempt(trial=trial, effects=effects if trial < 3 else ())
        again = replace(opened(2, why="retry", of=a_job("1", "shop", "forum").task, trial=trial))
        course = [*first, scored(), again, acted(0), replace(failed(2), type="EnvironmentDiverged")]
        lengths[trial] = min(len(course), lengths.get(trial, 0) + random.randrange(1, 4))
        journals.write(*course[: lengths[trial]])
        sharing.learn(a_job("1", "shop", "forum", trial=trial), over=random.random() < 0.5)
        changes = changed_by(sharing, journals.outcomes.values())
        for asked in range(7):
            job = a_job("1", "shop", "forum", trial=asked, reopen_at=random.choice([None, 1, 2]))
            need = sharing.need(job)
            assert need == journals.sharing().need(job)
            assert need.exclusive in ({}, {site: site in changes for site in ("shop", "forum")})


def changed_by(sharing: LockPlanner, outcomes: Iterable[EpisodeResult]) -> set[str]:
    changes = {site for outcome in outcomes for site in sharing.changed(outcome)}
    return changes if any(outcome.closed for outcome in outcomes) else {*changes, "shop", "forum"}


def test_of_trials_that_are_over_little_is_kept_however_many_they_are() -> None:
    journals = Journals()
    sharing = journals.sharing()
    for trial in range(1000):
        journals.write(*an_attempt(trial=trial), scored())
        sharing.learn(a_job("1", "shop", "forum", trial=trial), over=True)
    [kept] = sharing._trials.values()
    assert not kept.results and not kept.used and not kept.changed
    assert sharing.need(a_job("1", "shop", "forum", trial=1000)).exclusive == {"shop": False, "forum": False}
    assert sharing.need(a_job("1", "shop", "forum", trial=7)).exclusive == {}, "only its score may be asked for"


def test_sites_nobody_can_change_and_deployments_that_do_not_mind_are_shared() -> None:
    journals = Journals()
    assert journals.sharing(read_only={"forum"}).need(a_job("1", "shop", "forum")).exclusive == {
        "shop": True,
        "forum": False,
    }
    lenient = journals.sharing(lenient=True)
    assert lenient.need(a_job("1", mutates=True)).exclusive == {"shop": False}
    assert lenient.need(a_job("2", require_reset=True)).exclusive == {"shop": True}


def test_what_only_owes_its_score_needs_no_site_and_sites_without_an_address_are_no_matter() -> None:
    journals = Journals()
    journals.write(*an_attempt())
    assert journals.sharing().need(a_job("1", "shop", "forum")).exclusive == {}
    assert journals.sharing().need(a_job("2", "shop", "map")).exclusive == {"shop": True}


def test_an_attempt_goes_on_where_it_was() -> None:
    journals = Journals()
    begun, *rest = an_attempt(ended=False)
    assert isinstance(begun, type(opened()))
    journals.write(replace(begun, instances={"shop": "http://shop.c"}), *rest)
    assert journals.sharing(FOUR).need(a_job("1")).at == {"shop": "http://shop.c"}
    journals.write(begun, *rest)
    assert journals.sharing(FOUR).need(a_job("1")).at == {"shop": "http://shop.a"}, "there was but one of each"
    journals.write(begun, *rest, replace(failed(), type="EnvironmentDiverged"))
    assert journals.sharing(FOUR).need(a_job("1")).at == {}, "a new attempt begins anywhere"


def test_instances_are_recorded_where_there_are_several_or_were() -> None:
    journals = Journals()
    chosen = {"shop": "http://shop.b", "forum": "http://forum.a"}
    assert journals.sharing(FOUR).played_at(a_job("1", "shop", "forum"), chosen) == {"shop": "http://shop.b"}
    begun, *rest = an_attempt(ended=False)
    assert isinstance(begun, type(opened()))
    journals.write(replace(begun, instances={"forum": "http://forum.b"}), *rest)
    assert journals.sharing(FOUR).played_at(a_job("1", "shop", "forum"), chosen) == chosen


def test_a_site_that_another_job_changed_since_an_interruption_says_nothing_of_it() -> None:
    order = ("http://shop.localhost/order",)
    job, other = a_job("1", "shop", "forum"), a_job("2", "shop", "forum")
    for at, since in ((40.0, ()), (60.0, ("shop",))):  # of jobs of an earlier start the clock tells
        journals = Journals()
        journals.write(*an_attempt("1", effects=order, ended=False), replace(decided(2), at=50.0))
        *begun, step, end = an_attempt("2", effects=order)
        assert isinstance(step, Acted)
        journals.write(*begun, replace(step, at=at), end)
        assert journals.sharing().used_since(job) == since
    sharing = journals.sharing()
    sharing.learn(job)
    assert sharing.used_since(job) == ()
    sharing.learn(other, over=True)
    assert sharing.used_since(job) == ("shop",)
    assert sharing.used_since(other) == (), "it has ended"
