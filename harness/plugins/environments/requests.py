"""What clients ask for, read from JSON: unknown members and wrong types are refused by name."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.api import ActionSet
from harness.plugins.environments.agent import named_of
from harness.plugins.environments.problem import VALIDATION_ERROR, Problem
from harness.plugins.environments.wire import Order

ID = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
"""What names an episode or a request, as a regular expression."""
MAX_SEED = 2**31 - 1
MAX_TRIAL = 999_999
MAX_TIMEOUT_S = 3600
MAX_TEXT = 100_000
"""Characters."""
_MOST_NESTED = 16
"""Levels of an argument; the encoder recurses for each."""
_MOST_NAMED = 200
"""Characters of a name, or of why a call cannot be read, that an answer repeats."""
MAX_FORKS = 256
"""Of one request."""
_RESET = ("task", "seed", "trial", "episode_id", "resume")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Which episode is wanted."""

    task: str | None = None
    """None = the tasks in turn."""
    seed: int | None = None
    trial: int | None = None
    """None = the next one of the task."""
    episode_id: str | None = None
    """None = the server chooses one that cannot be guessed."""
    resume: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Which step further episodes are to begin at."""

    episode_id: str
    step: int
    """The last one that they have in common; 0 = only the start page."""
    n: int = 1
    """How many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """What is to be done."""

    order: Order
    request_id: str | None = None
    timeout_s: float | None = None
    """How long the client waits for the answer; the step goes on after that."""

    @property
    def digest(self) -> str:
        """Of the action: one request id stands for one action."""
        return hashlib.sha256((self.order.said + self.order.unread).encode()).hexdigest()[:32]


def read_reset(data: object) -> Reset:
    """Raises: Problem: It cannot be used."""
    given = _members(data, "reset", _RESET)
    task = given.get("task")
    if isinstance(task, int) and not isinstance(task, bool):
        task = str(task)
    return Reset(
        task=None if task is None else _text("task", task),
        seed=_whole("seed", given.get("seed"), MAX_SEED),
        trial=_whole("trial", given.get("trial"), MAX_TRIAL),
        episode_id=_id("episode_id", given.get("episode_id")),
        resume=_flag("resume", given.get("resume")),
    )


def read_row(data: object) -> Reset:
    """The same in a row of NeMo Gym's data, which has the model's parameters and columns of its own beside it.

    Raises:
        Problem: It cannot be used.
    """
    if isinstance(data, dict) and "responses_create_params" in data:
        data = {name: data[name] for name in _RESET if name in data}
    return read_reset(data)


def read_fork(data: object) -> Fork:
    """Raises: Problem: It cannot be used."""
    given = _members(data, "fork", ("episode_id", "step", "n"))
    for name in ("episode_id", "step"):
        if given.get(name) is None:
            raise _wrong(f"fork: {name} is missing")
    episode_id, step = _id("episode_id", given["episode_id"]), _whole("step", given["step"], MAX_TRIAL)
    n = _whole("n", given.get("n"), MAX_FORKS)
    if n == 0:
        raise _wrong(f"n must be a whole number from 1 to {MAX_FORKS}, not 0")
    return Fork(episode_id=episode_id or "", step=step or 0, n=n or 1)


def read_step(data: object, action_set: ActionSet) -> StepRequest:
    """The action in `data`, with `request_id` and `timeout_s` beside it or in its `metadata`.

    Raises:
        Problem: It cannot be used.
    """
    if not isinstance(data, dict):
        raise _wrong(f"step: data must be an object, not {_kind(data)}")
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise _wrong(f"step: metadata must be an object, not {_kind(metadata)}")
    beside = {key: value for key, value in (metadata or {}).items() if key in ("request_id", "timeout_s")}
    beside |= {key: data[key] for key in ("request_id", "timeout_s") if data.get(key) is not None}
    action = {key: value for key, value in data.items() if key not in ("request_id", "timeout_s", "metadata")}
    request_id = _id("request_id", beside.get("request_id"))
    read = StepRequest(order=read_action(action, action_set), request_id=request_id, timeout_s=_timeout(beside))
    return read if request_id is None else _remembered(read)


def read_call(name: object, arguments: Mapping[str, Any], action_set: ActionSet, request_id: object) -> StepRequest:
    """A model's call of a function: all arguments are the action's, so a model cannot say how its step is treated.

    Raises:
        Problem: It cannot be used.
    """
    return of_order(read_action({**arguments, "kind": name}, action_set), request_id)


def order_of_text(text: str) -> Order:
    """What a model wrote; what is no text that can be kept is a step that is refused."""
    try:
        return Order(text=_text("the action", text))
    except Problem as problem:
        return Order(text=_kept(text, MAX_TEXT), unread=str(problem))


def order_of_call(name: str, arguments: object, action_set: ActionSet) -> Order:
    """A model's call of a function; one that cannot be read is a step that is refused, as in a run of the harness.

    Args:
        name: Perhaps of no action.
        arguments: As decoded from JSON: anything at all.
        action_set: What there is to do.
    """
    if name not in named_of(action_set):  # whoever performs the step says what there is
        return Order(name=_kept(name, _MOST_NAMED), arguments={})
    if not isinstance(arguments, dict):
        return Order(name=name, arguments={}, unread=f"the arguments of {name} must be one JSON object")
    try:
        return read_action({**arguments, "kind": name}, action_set)
    except Problem as problem:
        return Order(name=name, arguments={}, unread=_kept(str(problem).removeprefix("step: "), _MOST_NAMED))


def of_order(order: Order, request_id: object) -> StepRequest:
    """An order that is performed once for its request id; None = each time. Raises: Problem: That is not an id."""
    read = StepRequest(order=order, request_id=_id("request_id", request_id))
    return read if request_id is None else _remembered(read)


def read_action(action: object, action_set: ActionSet) -> Order:
    """`{"action_str": TEXT}`, or `{"kind": NAME, …}` with the arguments of that action.

    Raises:
        Problem: It is neither.
    """
    kinds = named_of(action_set)
    if isinstance(action, dict) and "kind" in action:
        name = _text("kind", action["kind"])
        if name not in kinds:
            known = ", ".join(sorted(kinds)) + ("" if len(kinds) > 1 else "; others are written as text, in action_str")
            raise _wrong(f"step: there is no action {name[:80]!r}; there are {known}")
        arguments = {key: value for key, value in action.items() if key != "kind"}
        for key, value in arguments.items():
            if isinstance(value, str):
                _text(key[:80], value)
            if not _is_shallow(value, _MOST_NESTED):
                raise _wrong(f"step: {key[:80]!r} is nested more than {_MOST_NESTED} levels deep")
        return Order(name=name, arguments=arguments)
    given = _members(action, "step", ("action_str",))
    if "action_str" not in given:
        raise _wrong('step: the action is missing; give {"action_str": "…"} or {"kind": "…", …}')
    return Order(text=_text("action_str", given["action_str"]))


def _remembered(read: StepRequest) -> StepRequest:
    memory = {"request_id": read.request_id, "action": read.digest}
    return replace(read, order=replace(read.order, memory=memory))


def _members(data: object, what: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _wrong(f"{what}: data must be an object, not {_kind(data)}")
    if unknown := sorted(data.keys() - set(known)):
        raise _wrong(f"{what}: {unknown[0][:80]!r} is unknown; there are {', '.join(known)}", unknown=unknown[0][:80])
    return data


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(f"{name} must be a text, not {_kind(value)}")
    if len(value) > MAX_TEXT:
        raise _wrong(f"{name} has {len(value):,} characters; {MAX_TEXT:,} are allowed")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _wrong(f"{name} holds half of a surrogate pair, which is not text") from None
    return value


def _kept(text: str, most: int) -> str:
    """Its beginning, without halves of surrogate pairs."""
    return text[:most].encode(errors="replace").decode()


def _is_shallow(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(one, levels - 1) for one in inner)


def _whole(name: str, value: object, most: int) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise _wrong(f"{name} must be a whole number from 0 to {most}, not {_kind(value)}")
    return value


def _id(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch(ID, value):
        raise _wrong(f"{name} must be 1 to 128 letters, digits, '.', '_', ':' or '-', not {_kind(value)}")
    return value


def _flag(name: str, value: object) -> bool:
    if value is not None and not isinstance(value, bool):
        raise _wrong(f"{name} must be true or false, not {_kind(value)}")
    return bool(value)


def _timeout(beside: Mapping[str, Any]) -> float | None:
    value = beside.get("timeout_s")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_TIMEOUT_S:
        raise _wrong(f"timeout_s must be a number of seconds, above 0 and up to {MAX_TIMEOUT_S}, not {_kind(value)}")
    return float(value)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    if type(value) in names:
        return names[type(value)]
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"


def _wrong(message: str, **more: Any) -> Problem:
    return Problem(VALIDATION_ERROR, message, more)
