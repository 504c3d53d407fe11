"""Locks: shared or exclusive, all at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.runner.site_lock_table import SiteLockTable


def test_many_share_and_one_alone_has_no_company() -> None:
    locks = SiteLockTable()
    locks.hold(1, {"a": False})
    locks.hold(2, {"a": False, "b": True})
    assert (locks.load("a"), locks.load("b"), locks.load("c")) == (2, 1, 0)
    assert locks.allows("a", exclusive=False) and not locks.allows("a", exclusive=True)
    assert not locks.allows("b", exclusive=False)
    locks.release(2, ["a", "b"])
    locks.release(2, ["a", "b"])
    assert locks.allows("b", exclusive=True) and locks.load("a") == 1


def test_what_is_not_free_is_not_given_and_nothing_of_it() -> None:
    locks = SiteLockTable()
    locks.hold(1, {"b": True})
    with pytest.raises(AssertionError):
        locks.hold(2, {"a": True, "b": False})
    assert locks.load("a") == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.sets(st.sampled_from("abc"), min_size=1), st.booleans()), max_size=30))
def test_nobody_alone_ever_has_company(wishes: list[tuple[int, set[str], bool]]) -> None:
    locks = SiteLockTable()
    held: dict[int, dict[str, bool]] = {}
    for holder, instances, alone in wishes:
        locks.release(holder, held.pop(holder, ()))
        if all(locks.allows(instance, exclusive=alone) for instance in instances):
            held[holder] = dict.fromkeys(instances, alone)
            locks.hold(holder, held[holder])
        for instance in "abc":
            present = [mine[instance] for mine in held.values() if instance in mine]
            assert locks.load(instance) == len(present)
            assert len(present) < 2 or not any(present)
