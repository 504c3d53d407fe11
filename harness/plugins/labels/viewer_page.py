"""The queue of `harness label` as a page of the viewer: one episode at a time, with its story, saved as labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.api.command_line import PageAnswer, PageRequest
from harness.errors import ConfigError
from harness.plugins.labels.agreement import Waiting, agreements_of, disagreements_of, is_ended, opinions_of, queue_of
from harness.plugins.labels.book import FIELDS, NOTE, add_label, author_of, read_labels, values_of
from harness.runs import Run
from harness.runs.outcome import NOT_FINISHED
from harness.runs.results import Result

_MOST = 50
"""Of the queue, below the episode."""
_KEYS = {"success": "yxq", "side_effect": "s", "optimality": "1234", "looping": "l", "class": "c"}
"""A key for each value of a field, or one that goes through them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """One field of the form."""

    name: str
    title: str
    values: tuple[str, ...]
    keys: str
    chosen: str
    """"" = this author has not said."""


class LabelQueue:
    """Implements `harness.api.command_line.ViewerPage`."""

    title: ClassVar[str] = "Label episodes"
    is_of_run: ClassVar[bool] = True
    templates: ClassVar[Path] = Path(__file__).parent / "templates"
    saves: ClassVar[bool] = True

    def show(self, request: PageRequest, /) -> PageAnswer:
        """An episode of the queue and its form; without an author, the question who labels.

        Raises:
            ConfigError: There is no such author or episode.
        """
        (folder,), (rows,) = request.folders.values(), request.results.values()
        book = read_labels(Run(folder))
        author = author_of(request.field("author")) if request.field("author") else ""
        queue = queue_of(rows, book, author or None)
        asked = request.field("task")
        result = _result(rows, request) if asked else queue[0].result if queue else None
        values = {
            "author": author,
            "run_name": folder.name,
            "queue": queue[:_MOST],
            "waiting": len(queue),
            "ended": sum(map(is_ended, rows)),
            "labelled": sum(bool(book.latest(row.task_id, row.trial, row.attempts)) for row in rows),
            "agreements": agreements_of(rows, book),
            "notices": (*filter(None, (book.torn,)), *book.damaged),
            "result": result,
            "asked": asked,
        }
        if result is None or not author:
            return PageAnswer(template="label.html", values={**values, "choices": (), "note": "", "later": None})
        said = book.latest(result.task_id, result.trial, result.attempts)
        own = said.get(author, {})
        others = opinions_of(result, {name: of for name, of in said.items() if name != author})
        form = {
            "choices": [
                _Choice(name=name, title=_TITLES[name], values=of, keys=_KEYS[name], chosen=own.get(name, ""))
                for name, of in FIELDS.items()
            ],
            "note": own.get(NOTE, ""),
            "others": {field: of for field, of in others.items() if of},
            "notes": [(name, of[NOTE]) for name, of in said.items() if name != author and NOTE in of],
            "disagreements": disagreements_of(opinions_of(result, said)),
            "later": _after(queue, result.task_id, result.trial),
        }
        return PageAnswer(template="label.html", values=values | form, story=result.page)

    def save(self, request: PageRequest, /) -> Mapping[str, str]:
        """Keep what changed; the next episode of the queue follows.

        Raises:
            ConfigError: There is no such author, episode or value, or it was played again in the meantime.
            StorageError: The disk refuses.
        """
        (folder,), (rows,) = request.folders.values(), request.results.values()
        one, author = Run(folder), author_of(request.field("author"))
        episode = one.episode(request.field("task"), _number(request.field("trial")))
        if episode.cause == NOT_FINISHED:
            raise ConfigError(f"task {episode.task_id} is not finished; finish the run, then label it")
        if str(episode.attempt) != request.field("attempt"):
            raise ConfigError(
                f"task {episode.task_id} was played again since this page was opened; open it again and look at attempt"
                f" {episode.attempt}"
            )
        book = read_labels(one)
        own = book.latest(episode.task_id, episode.trial, episode.attempt).get(author, {})
        sent = {name: request.field(name).replace("\r\n", "\n") for name in (*FIELDS, NOTE) if name in request.fields}
        given = values_of([f"{name}={value}" for name, value in sent.items()])
        changed = {name: value for name, value in given.items() if value != own.get(name, "")}
        queue = queue_of(rows, book, author)
        if changed:
            add_label(one, episode, author, changed)
        later = _after(queue, episode.task_id, episode.trial)
        more = {} if later is None else {"task": later.task_id, "trial": str(later.trial)}
        return {"author": author, **more}


_TITLES = {
    "success": "Was the task done?",
    "side_effect": "Was something done that nobody asked for?",
    "optimality": "How well, from 1 (complete failure) to 4 (completely optimal)?",
    "looping": "Did it do the same again and again?",
    "class": "Whose failure is it?",
}


def _result(rows: Sequence[Result], request: PageRequest) -> Result:
    task, trial = request.field("task"), _number(request.field("trial") or "0")
    found = next((row for row in rows if (row.task_id, row.trial) == (task, trial)), None)
    if found is None or not is_ended(found):
        raise ConfigError(f"task {task[:80]}, trial {trial} has not ended; finish the run, then label it")
    return found


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 8):
        raise ConfigError(f"trial {text[:20]!r} is not a number; give one from 0")
    return int(text)


def _after(queue: Sequence[Waiting], task_id: str, trial: int) -> Result | None:
    """Which episode of a queue follows this one; the first, where this one is not in it."""
    places = [(one.result.task_id, one.result.trial) for one in queue]
    others = [one.result for one in queue]
    at = places.index((task_id, trial)) + 1 if (task_id, trial) in places else 0
    return others[at] if at < len(others) else None
