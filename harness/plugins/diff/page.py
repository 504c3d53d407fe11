"""The page of one task: its episodes side by side, with screenshots, in one file; of the viewer, too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.api.command_line import write_further_page
from harness.errors import JournalError
from harness.plugins.diff.alignment import Move, Parting, moves_of, parting_of, rows_of
from harness.runs import Episode
from harness.runs.one_file_page import InlinePictures
from harness.runs.task_page import StepView, TaskPageModel, story_of

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """One step of one episode."""

    view: StepView
    place: InlinePictures
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """One row of the page."""

    cells: tuple[_Cell | None, ...]
    is_same: bool
    """Before the parting."""
    is_parting: bool


def page_of(
    named: Sequence[tuple[str, Episode]], moves: Sequence[Sequence[Move]], parting: Parting | None, notes: Sequence[str]
) -> dict[str, object]:
    """The values of `diff.html`.

    Raises:
        JournalError: A journal is damaged.
    """
    stories = [_story(episode) for _, episode in named]
    places = [InlinePictures(episode.artifacts) for _, episode in named]
    return {
        "task": named[0][1].task_id,
        "intent": named[0][1].intent,
        "columns": [
            _column(name, episode, story, place)
            for (name, episode), story, place in zip(named, stories, places, strict=True)
        ],
        "parting": parting,
        "other_text": parting.other_text_from if parting else None,
        "rows": list(_rows([name for name, _ in named], stories, places, moves=moves, parting=parting)),
        "notes": notes,
    }


def write_diff(path: Path, named: Sequence[tuple[str, Episode]], notes: Sequence[str] = ()) -> None:
    """Write the page of one task.

    Args:
        path: The file.
        named: Names and episodes, at most seven.
        notes: What a reader has to know, a sentence each.

    Raises:
        JournalError: A journal is damaged.
        StorageError: The file cannot be written.
    """
    moves = [moves_of(episode) for _, episode in named]
    write_further_page(path, TEMPLATES, "diff.html", **page_of(named, moves, parting_of(moves), notes))


def _story(episode: Episode) -> TaskPageModel:
    story = story_of(episode)
    if story is None:
        raise JournalError(f"task {episode.task_id}: its journal is empty; read the run again")
    return story


def _rows(
    names: Sequence[str],
    stories: Sequence[TaskPageModel],
    places: Sequence[InlinePictures],
    *,
    moves: Sequence[Sequence[Move]],
    parting: Parting | None,
) -> Iterator[_Shown]:
    begun = parting.step - 1 if parting else None
    for number, row in enumerate(rows_of(moves, parting)):
        cells = tuple(
            None
            if at is None
            else _Cell(view=story.moments[at], place=place, label=f"{name}, step {story.moments[at].number}")
            for name, story, place, at in zip(names, stories, places, row, strict=True)
        )
        yield _Shown(cells=cells, is_same=begun is None or number < begun, is_parting=number == begun)


def _column(name: str, episode: Episode, story: TaskPageModel, place: InlinePictures) -> dict[str, object]:
    closed = episode.record.closed
    return {
        "name": name,
        "status": episode.status,
        "steps": len(story.moments),
        "cause": episode.cause,
        "ended": f"ended: {closed.reason}" if closed else "not ended",
        "answer": closed.answer if closed else "",
        "final": story.final,
        "shot": story.final_shot,
        "place": place,
    }
