"""Plans for the scripted endpoint: what to do for each task, written down beside the tasks.

A plan file is a JSON array of `{"task_id": …, "steps": [{"do": …, …}]}`; steps name their targets by role, name and
occurrence, never by id. Everything is checked here with file, entry and field in the message, so that the policy only
meets steps it can write as actions. Plans are found by the task's intent, because that is all a prompt tells.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from harness.api import loads
from harness.errors import TaskError

SECRETS_VARIABLE = "CAIRN_SCRIPTED_SECRETS"
"""Of the environment: secrets that a run took out of the files it wrote for the endpoint, by name, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptStep:
    """One step of a plan; which fields mean something depends on `do`."""

    do: str
    role: str | None = None
    """None = any."""
    name: str | None = None
    """Accessible name; None = any."""
    exact: bool = True
    """False = `name` is a substring."""
    nth: int = 0
    """0-based among the matches in the observation."""
    text: str = ""
    enter: bool = False
    clear: bool = False
    """Replace what the field holds."""
    option: str = ""
    key: str = ""
    direction: str = "down"
    url: str = ""
    index: int = 0
    answer: str = ""
    question: str = ""
    """To the user, in a task that has one."""
    file: str = ""
    """Plain name of a file in the folder `browser.uploads`."""
    to_role: str | None = None
    """Of a drag: what the element is dropped on, named like the element itself."""
    to_name: str | None = None
    to_exact: bool = True
    to_nth: int = 0

    @property
    def drop(self) -> "ScriptStep":
        """Of a drag: the same, aimed at what the element is dropped on."""
        return replace(self, role=self.to_role, name=self.to_name, exact=self.to_exact, nth=self.to_nth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    task_id: str
    steps: tuple[ScriptStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripts:
    """Plans by intent."""

    by_intent: Mapping[str, Script] = field(default_factory=dict)

    def find(self, intent: str) -> Script | None:
        """The plan for the task with this intent; blanks and line breaks do not matter."""
        return self.by_intent.get(_key(intent))


_AIM = frozenset({"role", "name", "exact", "nth"})
_FORMS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    # do: (required fields, further fields)
    "click": (frozenset(), _AIM),
    "dblclick": (frozenset(), _AIM),
    "hover": (frozenset(), _AIM),
    "check": (frozenset(), _AIM),
    "uncheck": (frozenset(), _AIM),
    "drag": (frozenset(), _AIM | {f"to_{name}" for name in _AIM}),
    "upload": (frozenset({"file"}), _AIM),
    "type": (frozenset({"text"}), _AIM | {"enter", "clear"}),
    "select": (frozenset({"option"}), _AIM),
    "press": (frozenset({"key"}), frozenset()),
    "wait": (frozenset(), frozenset()),
    "scroll": (frozenset({"direction"}), frozenset()),
    "goto": (frozenset({"url"}), frozenset()),
    "go_back": (frozenset(), frozenset()),
    "go_forward": (frozenset(), frozenset()),
    "new_tab": (frozenset(), frozenset()),
    "tab_focus": (frozenset({"index"}), frozenset()),
    "close_tab": (frozenset(), frozenset()),
    "ask_user": (frozenset({"question"}), frozenset()),
    "stop": (frozenset(), frozenset({"answer"})),
}
_TYPES: Mapping[str, type] = {one.name: str for one in fields(ScriptStep)} | {
    **dict.fromkeys(("exact", "to_exact", "enter", "clear"), bool),
    **dict.fromkeys(("nth", "to_nth", "index"), int),
}
_MAY_BE_EMPTY = frozenset({"answer", "name", "to_name"})
_KINDS = {str: "a text", bool: "true or false", int: "a whole number of at least 0"}


def read_plans(
    path: Path,
    intents: Mapping[str, str],
    *,
    placeholders: Mapping[str, str] | None = None,
    reveal: Callable[[bytes], bytes] = bytes,
) -> Scripts:
    """Read a plan file for the tasks at hand.

    Args:
        path: The plan file.
        intents: Task id to intent, as the agent will be given it; plans of other tasks are checked and left out.
        placeholders: Replaced in every text, such as `__SHOP__` by the shop's canonical address.
        reveal: Puts secrets back into the file, if a run has written it.
    Raises:
        TaskError: A field is wrong or missing, a task has two plans, or two tasks with one intent differ in their plan.
    """
    plans: dict[str, Script] = {}
    for number, entry in enumerate(plan_entries(path, reveal), start=1):
        plan = _plan(entry, f"{path}: entry {number}", placeholders or {})
        if plan.task_id in plans:
            raise TaskError(f"{path}: entry {number}: task_id {plan.task_id} has a plan already; remove one of the two")
        plans[plan.task_id] = plan
    return Scripts(by_intent=_by_intent(path, plans, intents))


def _by_intent(path: Path, plans: Mapping[str, Script], intents: Mapping[str, str]) -> dict[str, Script]:
    found: dict[str, Script] = {}
    for task_id, intent in intents.items():
        plan = plans.get(task_id)
        if plan is None:
            continue
        other = found.setdefault(_key(intent), plan)
        if other.steps != plan.steps:
            raise TaskError(
                f"{path}: tasks {other.task_id} and {task_id} have the same intent but different plans, "
                "and a prompt tells only the intent; give them different intents or the same plan"
            )
    return found


def plan_entries(path: Path, reveal: Callable[[bytes], bytes] = bytes) -> list[Any]:
    """What a plan file lists, of which nothing is checked.

    Args:
        path: The plan file.
        reveal: See `read_plans`.
    Raises:
        TaskError: It is not a list, or cannot be read.
    """
    try:
        data = loads(reveal(path.read_bytes()))
    except OSError as exc:
        raise TaskError(f"{path}: cannot read the plan file: {exc.strerror}") from exc
    except ValueError as exc:
        raise TaskError(f"{path}: the plan file is not JSON: {exc}") from exc
    if not isinstance(data, list):
        raise TaskError(f"{path}: the plan file must be a JSON array of plans")
    return data


def _plan(entry: Any, place: str, placeholders: Mapping[str, str]) -> Script:
    if not isinstance(entry, dict) or set(entry) != {"task_id", "steps"}:
        raise TaskError(f"{place}: a plan has exactly the fields task_id and steps")
    task_id = entry["task_id"]
    if isinstance(task_id, bool) or not isinstance(task_id, str | int) or task_id == "":
        raise TaskError(f"{place}: task_id must be a text or a whole number, not {task_id!r}")
    steps = entry["steps"]
    if not isinstance(steps, list) or not steps:
        raise TaskError(f"{place} (task {task_id}): steps must be a list of at least one step")
    read = [_step(step, f"{place} (task {task_id}): step {n}", placeholders) for n, step in enumerate(steps, start=1)]
    return Script(task_id=str(task_id), steps=tuple(read))


def _step(step: Any, place: str, placeholders: Mapping[str, str]) -> ScriptStep:
    # What is not text may not even be looked up: a list has no hash.
    if not isinstance(step, dict) or not isinstance(step.get("do"), str) or step["do"] not in _FORMS:
        raise TaskError(f"{place}: field do must be one of {', '.join(_FORMS)}")
    do = step["do"]
    required, further = _FORMS[do]
    given = set(step) - {"do"}
    if do == "drag" and not given & {"to_role", "to_name"}:
        raise TaskError(f"{place}: drag needs the field to_role or to_name")
    if missing := sorted(required - given):
        raise TaskError(f"{place}: {do} needs the field {missing[0]}")
    if unknown := sorted(given - required - further):
        raise TaskError(
            f"{place}: {do} does not know the field {unknown[0]}; it has {_listed(required | further) or 'none'}"
        )
    values = {name: _value(name, step[name], place, placeholders) for name in given}
    return ScriptStep(do=do, **values)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _value(name: str, value: Any, place: str, placeholders: Mapping[str, str]) -> Any:
    wanted = _TYPES[name]
    # bool is an int in Python: `type` rather than `isinstance`.
    if type(value) is not wanted or (isinstance(value, int) and value < 0):
        raise TaskError(f"{place}: field {name} must be {_KINDS[wanted]}, not {value!r}")
    if not isinstance(value, str):
        return value
    if not value and name not in _MAY_BE_EMPTY:
        raise TaskError(f"{place}: field {name} must not be empty")
    if "\n" in value or "```" in value:
        raise TaskError(f"{place}: field {name} must not hold a line break or ```, which no action can carry")
    if name == "direction" and value not in ("up", "down"):
        raise TaskError(f"{place}: field direction must be up or down, not {value!r}")
    for placeholder, text in placeholders.items():
        value = value.replace(placeholder, text)
    return value


def _key(intent: str) -> str:
    return " ".join(intent.split())
