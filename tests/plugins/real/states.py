"""Made-up end states of REAL's replicas: such that hold a task's own queries, and such that do not."""

import re
from copy import deepcopy
from random import Random
from typing import Any

_PART = re.compile(r'"([^"]*)"|\[(\d+)\]|(\*)|([A-Za-z_]\w*)')


def holding(checks: list[dict[str, Any]]) -> dict[str, Any]:
    """A state in which the queries that are plain paths, or a length of one, have their values."""
    state: dict[str, Any] = {}
    for check in checks:
        query, value = check.get("query", ""), check.get("expected_value")
        if found := re.fullmatch(r'length\(([\w."*]+)\)', query):
            query, value = found[1], {str(number): {} for number in range(value)} if isinstance(value, int) else value
        if found := re.fullmatch(r'\(?([\w."*\[\]]+?)\)?(?:\[0\])?', query):
            put(state, found[1], value)
    return state


def put(state: Any, path: str, value: Any) -> None:
    keys = [int(one[1]) if one[1] else "0" if one[2] else one[0] or one[3] for one in _PART.findall(path)]
    for key, after in zip(keys, [*keys[1:], None], strict=True):
        inner: Any = value if after is None else [] if isinstance(after, int) else {}
        if isinstance(key, int):
            if not isinstance(state, list):
                return
            state.extend({} for _ in range(key + 1 - len(state)))
            if after is None or not state[key]:
                state[key] = inner
        elif not isinstance(state, dict):
            return
        elif after is None:
            state.setdefault(key, inner)
        elif not state.get(key):
            state[key] = inner
        state = state[key]


def changed(state: Any, draw: Random) -> Any:
    """With one value less, or another."""
    state = deepcopy(state)
    place = state
    while isinstance(place, dict | list) and place:
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.1:
            place[key] = draw.choice([None, "", "other", 0, 1, {}, [], place[key]])
            break
        place = place[key]
    return state


def odd_values() -> list[Any]:
    """Values that JSON tells apart, and Python sometimes not."""
    plain = [
        None,
        "",
        "1",
        0,
        1,
        -1,
        1.0,
        1.5,
        0.1 + 0.2,
        2**63 - 1,
        2**63,
        2**63 + 1,
        2**64 - 1,
        2**64,
        2**64 + 1,
        1e19,
    ]
    texts = ["a", "A", "ä", "\ud83d\ude00", " ", "null", "9223372036854775808"]
    return [
        *plain,
        *texts,
        True,
        False,
        [],
        {},
        [1],
        [True],
        [[]],
        {"b": 1},
        {"b": True},
        {"b": [2**64 + 1]},
        -(2**63) - 1,
    ]
