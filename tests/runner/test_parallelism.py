"""Workers and lanes: as said, or as chosen, with a reason."""

import pytest

from harness.runner.capacity import MachineCapacity, Parallelism, parallelism_for, resolve_parallelism

THERE = MachineCapacity(2, 24_000)


@pytest.mark.parametrize(
    ("workers", "lanes", "size", "said"),
    [
        (None, None, (2, 4), "2 workers × 4 lanes: 2 cores and 23.4 GB free; set workers= and executor.lanes="),
        (1, None, (1, 1), ""),
        (3, 5, (3, 5), ""),
        (None, 1, (2, 1), "2 workers × 1 lane: 2 cores; set workers="),
    ],
)
def test_what_is_said_is_done_and_the_rest_is_chosen(
    workers: int | None, lanes: int | None, size: tuple[int, int], said: str
) -> None:
    found = resolve_parallelism(workers, lanes, (THERE,), 40)
    assert (found.workers, found.lanes) == size
    assert found.why == said


def test_lanes_that_grow_say_from_where_to_where() -> None:
    found = resolve_parallelism(None, None, (THERE,), 40, grows=True)
    assert found.why == "2 workers × 4 to 20 lanes: 2 cores and 23.4 GB free; set workers= and executor.lanes="
    assert resolve_parallelism(2, 3, (THERE,), 40, grows=True) == Parallelism(2, 3, ""), "what is set stays"


def test_on_a_cluster_lanes_that_are_said_are_put_on_every_core_of_its_nodes() -> None:
    found = resolve_parallelism(None, 3, (THERE, MachineCapacity(6, 9_000)), 40)
    assert (found.workers, found.lanes) == (8, 3)
    assert found.why == "8 workers × 3 lanes: 8 cores on 2 nodes; set workers="


@pytest.mark.parametrize(
    ("episodes", "workers", "lanes", "size"),
    [
        (64, None, None, (8, 8)),
        (3, None, None, (3, 1)),
        (9, None, None, (8, 2)),
        (64, 4, None, (4, 16)),
        (9, None, 4, (3, 4)),
        (4, 2, 5, (2, 5)),
    ],
)
def test_episodes_on_demand_are_spread_over_the_cores_of_all_nodes(
    episodes: int, workers: int | None, lanes: int | None, size: tuple[int, int]
) -> None:
    found = parallelism_for(episodes, workers, lanes, (THERE, MachineCapacity(6, 9_000)))
    assert (found.workers, found.lanes) == size and found.workers * found.lanes >= episodes
    assert (alone := parallelism_for(4, None, None, ())).workers * alone.lanes == 4, "nodes may still join"
