"""Labelled trajectories in AgentRewardBench's layout: a CSV of annotations, and a JSON file for each trajectory.

    annotations.csv                                 annotator_name,benchmark,task_id,model_name,exp_name,
                                                    trajectory_success,…    Successful | Unsuccessful | Unsure
                                                    trajectory_looping      Yes | No | Unsure; if it is asked for
    trajectories/cleaned/**/<task_id>.json          goal, steps: [{url, action, reasoning, screenshot_path}, …]
    splits.csv                                      task_id,benchmark,split         dev | test; if a split is asked for

Screenshots are files below the folder of the CSV. As there, the first annotation of a trajectory is its label, and
unsure ones are left out. What a file says is data: paths that lead outside the folder are refused.

Source: https://github.com/McGill-NLP/agent-reward-bench (`scripts/score_judgments.py`, `data/annotations.csv`).
"""

import ast
import csv
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Any

from harness.api import CodecError, TrajectoryStep, loads
from harness.api.files import safe_files
from harness.api.tasks import Fields, read_bytes
from harness.errors import TaskError, UnsafeFile

SUCCESS, LOOPING = "trajectory_success", "trajectory_looping"
"""Columns of labels."""
_LABELS: Mapping[str, Mapping[str, bool | None]] = {
    SUCCESS: {"successful": True, "unsuccessful": False, "unsure": None, "": None},
    LOOPING: {"yes": True, "no": False, "unsure": None, "": None},
}
_COLUMNS = ("benchmark", "task_id", "model_name")
_PAGES = ("axtree_pruned", "axtree")
"""What a step's page says, where the file has it."""
_MOST_ROWS = 200_000
_MOST_STEPS = 1000
_MESSAGES = ("send_msg_to_user", "report_infeasible", "stop")
"""Actions of BrowserGym and WebArena that end a trajectory with an answer."""
_NO_PICTURE = ("", "None")
"""What a step without a screenshot has; the second is Python's None as a text, as in AgentRewardBench's own files."""
SPLITS = ("dev", "test")
_SPLIT_FILE = "splits.csv"
_PACKAGE = "agent_reward_bench"
_VARIANTS = (".resized", ".improved")
"""In ids of labels, but not of splits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What people say of one trajectory."""

    place: str
    """Where it is said, as a complaint names it."""
    benchmark: str
    task_id: str
    model_name: str
    exp_name: str
    says: bool
    """What people say: that it succeeded, or that it loops."""

    @property
    def key(self) -> str:
        return "/".join((self.benchmark, self.model_name, self.exp_name, self.task_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    """The labels of a file, and where their trajectories are."""

    folder: Path
    labels: tuple[Label, ...]
    unsure: int
    """Trajectories that people could not decide, which are left out."""
    files: Mapping[str, tuple[Path, ...]]
    """Name of a file without its ending to the trajectories of that name."""

    def trajectory(self, label: Label) -> "tuple[LabelledTrajectory, Path]":
        """The trajectory of a label, and its file.

        Raises:
            TaskError: It is missing or wrong.
        """
        found = [path for path in self.files.get(label.task_id, ()) if label.model_name in path.parts]
        if len(found) > 1:
            found = [path for path in found if label.exp_name in path.parts] or found
        if not found:
            raise TaskError(
                f"{label.place}: there is no trajectory {label.task_id}.json of {label.model_name} below {self.folder}"
            )
        return _trajectory(found[0], self.folder), found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTrajectory:
    goal: str
    answer: str
    """What the agent said at last; "" = nothing."""
    steps: tuple[TrajectoryStep, ...]
    """With names of screenshot files, below the folder, in the place of hashes."""
    moves: tuple[tuple[str, str, str], ...]
    """Of each action but messages: address and digest of the page that it is taken on, and its text."""
    ends_with_message: bool
    """Whether the agent ended it by saying something, and not a limit."""


def read_labels(path: Path, split: str | None = None, column: str = SUCCESS) -> LabelledSet:
    """The labels in a CSV file, or in the `annotations.csv` of a folder.

    Args:
        path: The file or folder.
        split: One of `SPLITS`; None = all labels.
        column: `SUCCESS` or `LOOPING`.
    Raises:
        TaskError: The file is missing or wrong; one sentence with file, line and column.
    """
    file = next((one for one in (path / "annotations.csv", path / "data" / "annotations.csv") if one.is_file()), path)
    if file.is_dir():
        raise TaskError(f"{path}: this folder contains no annotations.csv; give the file of annotations or its folder")
    folder = path if path.is_dir() else file.parent
    labels: dict[str, Label] = {}
    unsure: set[str] = set()
    of_task = None if split is None else _splits(file.parent)
    for label, says in _rows(file, column):
        if label.key in labels or label.key in unsure or (of_task is not None and _split(label, of_task) != split):
            continue
        if says is None:
            unsure.add(label.key)
        else:
            labels[label.key] = label
    if not labels:
        where = "" if split is None else f" of the split {split}"
        raise TaskError(
            f"{file}: no trajectory{where} is labelled {_choices(column, ' or ', 2)}; there is nothing to check"
        )
    files: dict[str, list[Path]] = {}
    for found in sorted(folder.rglob("*.json")):
        files.setdefault(found.stem, []).append(found)
    return LabelledSet(
        folder=folder,
        labels=tuple(labels.values()),
        unsure=len(unsure),
        files={name: tuple(paths) for name, paths in files.items()},
    )


def _splits(folder: Path) -> Mapping[str, str]:
    """Task id to split, from the file beside the labels or from the installed package, of which nothing is imported."""
    spec = find_spec(_PACKAGE)
    packages = [Path(one) / "data" for one in (spec and spec.submodule_search_locations) or ()]
    file = next((one / _SPLIT_FILE for one in (folder, *packages) if (one / _SPLIT_FILE).is_file()), None)
    if file is None:
        raise TaskError(
            f"{folder / _SPLIT_FILE}: there is no such file; the package agent-reward-bench has it in its folder data"
        )
    rows = csv.DictReader(StringIO(_text(file), newline=""))
    found = {str(row.get("task_id")): str(row.get("split")) for row in rows}
    if wrong := [name for name, split in found.items() if split not in SPLITS]:
        raise TaskError(f"{file}: task {wrong[0][:80]} is in the split {found[wrong[0]][:40]!r}; give dev or test")
    return found


def _split(label: Label, of_task: Mapping[str, str]) -> str:
    task_id = label.task_id
    for variant in _VARIANTS:
        task_id = task_id.replace(variant, "")
    if task_id not in of_task:
        raise TaskError(f"{label.place}: task {task_id[:80]} is in no split of {_SPLIT_FILE}")
    return of_task[task_id]


def _choices(column: str, between: str, most: int) -> str:
    return between.join(one.capitalize() for one in list(_LABELS[column])[:most])


def _rows(file: Path, column: str) -> Iterator[tuple[Label, bool | None]]:
    reader = csv.DictReader(StringIO(_text(file), newline=""))
    try:
        columns = (*_COLUMNS, column)
        if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
            raise TaskError(f"{file}:1: column `{missing[0]}` is missing; the columns are {', '.join(columns)}")
        for number, row in enumerate(reader):
            if number >= _MOST_ROWS:
                raise TaskError(f"{file}: more than {_MOST_ROWS} rows; divide the file")
            place = f"{file}:{reader.line_num}"
            values = {name: (row.get(name) or "").strip() for name in (*columns, "exp_name")}
            if empty := [name for name in ("task_id", "model_name") if not values[name]]:
                raise TaskError(f"{place}: column `{empty[0]}` is empty")
            said = values.pop(column)
            if said.lower() not in _LABELS[column]:
                first, last = _choices(column, ", ", 2), "Unsure"
                raise TaskError(f"{place}: column `{column}` is {said[:40]!r}; give {first} or {last}")
            says = _LABELS[column][said.lower()]
            yield Label(place=place, says=bool(says), **values), says
    except csv.Error as error:
        raise TaskError(f"{file}:{reader.line_num + 1}: is not valid CSV ({error})") from error


def _text(file: Path) -> str:
    try:
        return read_bytes(file, "there is no such file; give the file of annotations").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{file}: is not UTF-8 text") from error


def _trajectory(file: Path, folder: Path) -> LabelledTrajectory:
    try:
        tree = loads(safe_files.read_named(file))
    except (OSError, UnsafeFile, CodecError) as error:
        raise TaskError(f"{file}: not a trajectory in JSON ({error})") from error
    if not isinstance(tree, dict):
        raise TaskError(f"{file}: not a trajectory: expected a JSON object with goal and steps")
    fields = Fields(str(file), tree)
    inners = fields.inners("steps")
    if not 0 < len(inners) <= _MOST_STEPS:
        raise fields.wrong("steps", f"has {len(inners)} entries; give 1 to {_MOST_STEPS}")
    seen = [_Step.of(step, folder) for step in inners]
    said = [message for step in seen if (message := _without_message(step.action)[1]) is not None]
    acted = [(step, action) for step in seen if (action := _without_message(step.action)[0])]
    return LabelledTrajectory(
        goal=fields.text("goal"),
        answer=said[-1] if said else "",
        steps=_steps(seen),
        moves=tuple((step.url, step.page, action) for step, action in acted),
        ends_with_message=_without_message(seen[-1].action)[1] is not None,
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of the file: a page, and what was done on it."""

    url: str
    action: str
    reasoning: str
    screenshot: str | None
    page: str
    """Digest of its text; "" = the file does not say it."""

    @classmethod
    def of(cls, fields: Fields, folder: Path) -> "_Step":
        shot = fields.optional_text("screenshot_path")
        shot = None if shot in _NO_PICTURE else shot
        if shot is not None:
            path = PurePosixPath(shot)
            if path.is_absolute() or ".." in path.parts:
                raise fields.wrong("screenshot_path", f"leads outside {folder}: {shot[:80]!r}")
        text = next((said for name in _PAGES if isinstance(said := fields.get(name), str) and said), "")
        page = sha256(text.encode("utf-8", "replace")).hexdigest() if text else ""
        return cls(fields.text("url", ""), fields.text("action", ""), fields.text("reasoning", ""), shot, page)


def _steps(seen: Sequence[_Step]) -> tuple[TrajectoryStep, ...]:
    """Each action with the page it led to: the one that the next entry begins at."""
    first = seen[0]
    steps = [TrajectoryStep(action="", url=first.url, title="", screenshot=first.screenshot)]
    for step, after in zip(seen, (*seen[1:], None), strict=True):
        action = step.action if after is not None else _without_message(step.action)[0]
        if not action and after is None:
            continue
        steps.append(
            TrajectoryStep(
                action=action,
                thought=step.reasoning,
                url=step.url if after is None else after.url,
                title="",
                screenshot=None if after is None else after.screenshot,
            )
        )
    return tuple(steps)


def _without_message(action: str) -> tuple[str, str | None]:
    """An action, which may be several calls, without those that say something to the user; and the last thing said.

    None = nothing is said. Nothing is run: the text is only parsed.
    """
    text = action.strip()
    if not any(name in text for name in _MESSAGES) or len(text) > 100_000:
        return action, None
    try:
        with warnings.catch_warnings(action="ignore"):  # of strings as '\\d', which are valid
            calls: list[Any] = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ("", action) if text.startswith(_MESSAGES) else (action, None)
    said = [_said(one) for one in calls]
    lines = text.encode().splitlines(keepends=True)  # once, not for each statement
    others = [_source(lines, one) for one, message in zip(calls, said, strict=True) if message is None]
    return "\n".join(others), next((message for message in reversed(said) if message is not None), None)


def _source(lines: Sequence[bytes], statement: ast.stmt) -> str:
    """Its text; columns of `ast` are bytes."""
    begins, ends = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    if begins == ends:
        return lines[begins][statement.col_offset : statement.end_col_offset].decode()
    first, between, last = lines[begins][statement.col_offset :], lines[begins + 1 : ends], lines[ends]
    return b"".join((first, *between, last[: statement.end_col_offset])).decode()


def _said(statement: ast.stmt) -> str | None:
    """What a call says to the user, "" = nothing that can be read; None = it is another statement."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call) if name in _MESSAGES:
            given = [*call.args, *(one.value for one in call.keywords)]
            first = given[0] if given else None
            return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return None
