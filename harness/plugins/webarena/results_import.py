"""WebArena's result folders as runs of ours: journals with what its `render_*.html` files tell, and no more.

What they do not tell is said, per folder: which pages the `program_html` targets would have seen, what the model was
asked and what it cost, when anything happened, and whether an action worked. Scores are ours, from the evidence there
is; WebArena's own verdict, where its log is at hand, is kept beside the task and compared.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.api import (
    Action,
    Closed,
    CloseReason,
    Evidence,
    InvalidAction,
    JsonObject,
    Node,
    Observation,
    Stop,
    Task,
    Usage,
    digest,
    dumps,
    extract,
    loads,
    resolve,
)
from harness.api.files import safe_files
from harness.api.journals import RunFolder
from harness.api.records import MAX_TIMESTAMP_S, Acted, Decided, Done, Opened, Record, TabRecord, fingerprint
from harness.api.scoring import Scorer
from harness.api.tasks import TaskEntry, build_task
from harness.errors import ActionSyntaxError, ConfigError, TaskError, UnsafeFile
from harness.plugins.webarena.id_action_set import IdActionSet
from harness.plugins.webarena.playwright_action_set import PlaywrightActionSet
from harness.plugins.webarena.render_file import RenderedStep, RenderedTask, read_render

_VERDICT = re.compile(r"\[Result\] \((PASS|FAIL)\) \S*?(?<!\d)(\d+)\.json")
_TAB = re.compile(r"Tab \d+( \(current\))?: (.*)")
_NODE = re.compile(r"^\t*\[(\d+)\] (\S+) (.*)$", re.MULTILINE)
_EARLY = "Early stop: "
_EARLY_REASONS = {
    "Reach max steps ": CloseReason.MAX_STEPS,
    "Failed to parse actions ": CloseReason.PARSE_FAILURES,
    "Same ": CloseReason.REPEATED,
}
"""How WebArena's sentences on an early stop begin."""
VERDICT_KEY = "webarena.verdict"


@dataclass
class ImportReport:
    """What came of a folder."""

    episodes: int = 0
    skipped: list[str] = field(default_factory=list)
    """A sentence for each file that could not be taken."""
    missing: Counter[str] = field(default_factory=Counter)
    """What the files do not tell, and of how many episodes."""
    disagreements: list[str] = field(default_factory=list)
    """Tasks whose score in the webarena dialect is not WebArena's verdict."""
    verdicts: int = 0


def import_results(source: Path, target: Path, logs: Sequence[Path] = ()) -> ImportReport:
    """Write the run folder `target` from the result folder `source`.

    Raises:
        ConfigError: `source` holds nothing of WebArena's, or `target` holds something already.
    """
    files = sorted(source.glob("render_*.html"), key=lambda path: (len(path.name), path.name))
    if not files:
        raise ConfigError(f"{source}: contains no render_*.html; give the folder that WebArena got as --result_dir")
    if target.exists() and any(target.iterdir()):
        raise ConfigError(f"{target} is not empty; give another folder with --to")
    settings = _settings(source)
    verdicts = _verdicts(logs)
    report = ImportReport()
    scorers = [Scorer("corrected"), Scorer("webarena")]
    tasks: list[str] = []
    with RunFolder.open(target) as run:
        for path in files:
            try:
                rendered = read_render(safe_files.read(path).decode("utf-8", "replace"))
                task = _task(path, rendered, verdicts)
            except (TaskError, UnsafeFile) as exc:
                report.skipped.append(str(exc))
                continue
            assert rendered is not None
            episode = _Episode(run, task, model=str(settings.get("model", "")), at=_written_at(path))
            records = episode.records(rendered.steps)
            with run.journal(task.task_id) as journal:
                for record in records:
                    journal.append(record)
                closed = records[-1]
                if isinstance(closed, Closed):
                    for scorer in scorers:
                        scored = asyncio.run(scorer.score(task, closed, run.artifacts))
                        journal.append(replace(scored, at=episode.at))
                    _compare(task, scored.value, report)
            tasks.append(task.task_id)
            _count_missing(task, isinstance(closed, Closed), report)
        report.episodes = len(tasks)
        run.write("run.json", dumps(_described(source, settings, tasks)) + b"\n")
    return report


def _task(path: Path, rendered: RenderedTask | None, verdicts: dict[str, str]) -> Task:
    if rendered is None:
        raise TaskError(f"{path}: is not a WebArena render file; it was left out")
    task_id = str(rendered.task.get("task_id", ""))
    if not re.fullmatch("[0-9]{1,9}", task_id):
        raise TaskError(f"{path}: has no task_id; it was left out")
    entry = TaskEntry(task_id=task_id, place=str(path), file=path, fields=rendered.task)
    task = build_task(entry, {})
    if task_id in verdicts:
        return replace(task, metadata={**task.metadata, VERDICT_KEY: verdicts[task_id]})
    return task


class _Episode:
    """One render file on its way into a journal."""

    def __init__(self, run: RunFolder, task: Task, *, model: str, at: float) -> None:
        self.at = at
        self._run = run
        self._task = task
        self._model = model

    def records(self, steps: Sequence[RenderedStep]) -> list[Record]:
        """A legal journal; it ends with `Closed` when the agent, or WebArena for it, ended the task."""
        records: list[Record] = [
            Opened(
                attempt=1,
                trial=0,
                task=self._task,
                task_digest=digest(self._task),
                config_digest="",
                seed=0,
                at=self.at,
            )
        ]
        for number, step in enumerate(steps):
            records.append(self._acted(number, step))
            action = _action(step)
            if isinstance(action, Stop) and action.answer.startswith(_EARLY):
                return [*records, self._closed(step, detail=action.answer.removeprefix(_EARLY))]
            records.append(self._decided(number + 1, step, action))
            if isinstance(action, Stop):
                return [*records, self._closed(step, answer=action.answer)]
        return records

    def _acted(self, number: int, step: RenderedStep) -> Acted:
        tabs = _tabs(step)
        current = next((tab for tab in tabs if tab.current), TabRecord(url=step.url, title="", current=True))
        seen = Observation(
            url=step.url,
            title=current.title,
            tabs=tabs,
            text=step.text,
            fingerprint=fingerprint(step.url, tabs, step.text),
            screenshot=None if step.picture is None else self._run.artifacts.put(step.picture),
        )
        return Acted(step=number, outcome=Done(), observation=seen, elapsed_ms=0.0, at=self.at)

    def _decided(self, number: int, step: RenderedStep, action: Action) -> Decided:
        return Decided(
            step=number,
            action=resolve(action, _nodes(step.text)),
            reply=step.reply,
            prompt=(),
            model=self._model,
            usage=Usage(priced=False),
            elapsed_ms=0.0,
            at=self.at,
        )

    def _closed(self, step: RenderedStep, *, answer: str = "", detail: str = "") -> Closed:
        reasons = (reason for begin, reason in _EARLY_REASONS.items() if detail.startswith(begin))
        reason = next(reasons, CloseReason.BUDGET) if detail else CloseReason.STOPPED
        evidence = Evidence(url=step.url, title="", html=None)
        return Closed(reason=reason, detail=detail, answer=answer, evidence=evidence, at=self.at)


def _action(step: RenderedStep) -> Action:
    """The model's reply read again; an ending that WebArena wrote itself is in its own words only."""
    if not step.reply and step.action.startswith("stop ["):
        return Stop(answer=step.action.removeprefix("stop [").removesuffix("]"))
    try:
        if step.reply:
            return IdActionSet().parse(extract(step.reply))
        return PlaywrightActionSet().parse(step.action)
    except ActionSyntaxError as exc:
        return InvalidAction(why=str(exc))


def _tabs(step: RenderedStep) -> tuple[TabRecord, ...]:
    """Of the other tabs only the titles are there."""
    items = (_TAB.match(item) for item in step.text.split("\n\n")[0].split(" | "))
    return tuple(
        TabRecord(url=step.url if item[1] else "", title=item[2], current=bool(item[1]))
        for item in items
        if item is not None
    )


def _nodes(text: str) -> dict[str, Node]:
    counts: Counter[tuple[str, str]] = Counter()
    nodes: dict[str, Node] = {}
    for id, role, rest in _NODE.findall(text):
        found = re.match(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", rest)
        name = (found[1] if found[1] is not None else found[2]) if found else ""
        nodes[id] = Node(role=role, name=name, nth=counts[role, name], line=f"{role} {rest}", box=None)
        counts[role, name] += 1
    return nodes


def _compare(task: Task, value: float | None, report: ImportReport) -> None:
    verdict = task.metadata.get(VERDICT_KEY)
    if verdict is None:
        return
    report.verdicts += 1
    if value is not None and (value == 1.0) != (verdict == "PASS"):
        report.disagreements.append(task.task_id)


def _count_missing(task: Task, ended: bool, report: ImportReport) -> None:
    report.missing["prompts, tokens, cost and times"] += 1
    report.missing["whether actions worked, and the addresses of other tabs"] += 1
    if not ended:
        report.missing["an end: WebArena was killed, crashed or lost it"] += 1
    if "program_html" in task.eval.eval_types:
        report.missing["the page contents for program_html"] += 1
    if "fuzzy_match" in (task.eval.reference_answers or {}):
        report.missing["a judge's verdict (get one with harness score RUN --judge MODEL)"] += 1


def _settings(source: Path) -> JsonObject:
    path = source / "config.json"
    try:
        found = loads(safe_files.read_if_there(path) or b"{}")
    except ValueError as exc:
        raise ConfigError(f"{path}: is not valid JSON ({exc}); fix it or move it away") from exc
    except UnsafeFile as exc:
        raise ConfigError(str(exc)) from exc
    return found if isinstance(found, dict) else {}


def _verdicts(logs: Iterable[Path]) -> dict[str, str]:
    """Task id to PASS or FAIL; the last word counts."""
    found: dict[str, str] = {}
    for path in logs:
        try:
            text = safe_files.read_named(path).decode("utf-8", "replace")
        except OSError as exc:
            raise ConfigError(f"{path}: cannot be read ({exc.strerror})") from exc
        except UnsafeFile as exc:
            raise ConfigError(str(exc)) from exc
        found.update(verdicts_in(text))
    return found


def verdicts_in(log: str) -> Iterator[tuple[str, str]]:
    """Task id and verdict of every result that a log tells."""
    return ((task_id, verdict) for verdict, task_id in _VERDICT.findall(log))


def _written_at(path: Path) -> float:
    """When a file was written, as a journal can say it."""
    return min(max(path.lstat().st_mtime, 0.0), MAX_TIMESTAMP_S - 1)


def _described(source: Path, settings: JsonObject, tasks: list[str]) -> JsonObject:
    return {
        "imported_from": source.resolve().name,
        "scoring": "webarena",
        "model": str(settings.get("model", "")),
        "agent": Path(str(settings.get("instruction_path", "webarena"))).stem,
        "trials": 1,
        "tasks": tasks,
    }
