"""A benchmark's own stop rule goes beside the limits of the settings."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from harness.actions import Action, CairnActionSet, GoBack, NewTab
from harness.api import Benchmark, CloseReason, PluginFailed, Task
from harness.episode.attempt import Termination
from harness.evaluation.action_classes import action_set_of
from harness.evaluation.suite import Suite
from harness.evaluation.worker_pool import _stop_rules_of
from harness.records import EpisodeLimits
from tests.journal.episodes import task


class Patient(Benchmark):
    """Ends after as many actions as its task's id says."""

    said: Any = "enough\nof it"

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        return ()

    def stop(self, task: Task, actions: Sequence[Action], /) -> str | None:
        return self.said if len(actions) >= int(task.task_id) else None


def ended(benchmark: Benchmark | None, task_id: str, *actions: Action) -> Termination | None:
    rules = _stop_rules_of(benchmark, CairnActionSet())(task(task_id))
    return rules(actions, EpisodeLimits(max_steps=9, repeated_actions=3))


def test_the_benchmarks_rule_ends_an_episode_before_the_limits_do() -> None:
    end = ended(Patient(), "3", GoBack(), GoBack(), GoBack())
    assert end == Termination(reason=CloseReason.DONE, detail="enough of it")
    assert ended(Patient(), "3", GoBack(), NewTab()) is None


@pytest.mark.parametrize("benchmark", [None, Patient()])
def test_the_limits_hold_beside_it(benchmark: Benchmark | None) -> None:
    end = ended(benchmark, "4", GoBack(), GoBack(), GoBack())
    assert end == Termination(reason=CloseReason.REPEATED, detail="Same action for 3 times")


def test_in_a_suite_it_is_the_rule_of_the_tasks_benchmark_which_sees_its_own_id() -> None:
    suite = Suite({"a": Patient(), "b": None}, {})
    assert ended(suite, "a.1", GoBack()) is not None and ended(suite, "b.1", GoBack()) is None


def test_what_is_no_sentence_fails_the_attempt() -> None:
    benchmark = Patient()
    benchmark.said = True
    with pytest.raises(PluginFailed, match=r"Patient\.stop returned bool, not a sentence"):
        ended(benchmark, "0")


def test_webarenas_action_sets_bring_webarenas_rule() -> None:
    rules = _stop_rules_of(None, action_set_of("playwright"))(task())
    clicks = [action_set_of("playwright").parse(f'page.get_by_label("{name}").click()') for name in "abc"]
    end = rules(clicks, EpisodeLimits(repeated_actions=3))
    assert end is not None and end.reason is CloseReason.REPEATED
