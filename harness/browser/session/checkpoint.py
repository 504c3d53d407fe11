"""What a new window begins with: the storage state that a task names, or the storage and tabs of a recorded step."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.api import Artifacts
from harness.browser import text_limits
from harness.browser.network.addresses import Addresses
from harness.browser.rendering.similarity import entries
from harness.browser.session import login
from harness.browser.tabs.storage import real_state
from harness.codec import loads
from harness.errors import EnvironmentDiverged, JournalError, TaskError
from harness.records import Acted, Episode, Step, Task

_SHOWN = 200


def recorded_state(steps: Sequence[Step], checkpoints: Artifacts | None, addresses: Addresses) -> Any:
    """The storage after the last of the steps, for the lane; None = it was never another than at the beginning.

    Raises:
        EnvironmentDiverged: It cannot be read.
    """
    # A step that changed nothing in the storage has none.
    digests = [step.acted.checkpoint for step in steps if step.acted.checkpoint is not None]
    if not digests:
        return None
    if checkpoints is None:
        raise EnvironmentDiverged("the recorded storage state is not available")
    try:
        state = checkpoints.read(digests[-1])
    except JournalError as error:
        raise EnvironmentDiverged(f"the recorded storage state cannot be used: {error}") from error
    return real_state(state, addresses)


def recorded_tabs(acted: Acted) -> tuple[tuple[str, ...], int]:
    """Canonical addresses of the tabs there were, and which of them was current.

    Raises:
        EnvironmentDiverged: The record does not say, or a page cannot be opened again by its address.
    """
    tabs = acted.observation.tabs
    for tab in tabs:
        if not text_limits.is_complete_url(tab.url):
            raise EnvironmentDiverged("the address of a page was too long to record, so the page cannot be reopened")
        if not tab.url.startswith(("http:", "https:", "about:blank")):
            raise EnvironmentDiverged(f"{tab.url[:_SHOWN]} existed only in the browser that made it")
    current = next((number for number, tab in enumerate(tabs) if tab.current), None)
    if current is None:
        raise EnvironmentDiverged("the record does not name a current tab")
    return tuple(tab.url for tab in tabs), current


def state_of_task(task: Task) -> Any:
    """The task's storage state file, read; None when there is none.

    Raises:
        TaskError: It cannot be read.
    """
    if (path := login.state_file(task)) is None:
        return None
    try:
        return loads(Path(path).read_bytes())
    except (OSError, ValueError) as exc:
        raise TaskError(
            f"{path} (storage_state of task {task.task_id}) cannot be read: {exc}; create it again"
        ) from exc


def used_ids(episode: Episode) -> set[str]:
    """Every element id that the attempt has shown."""
    seen = [step.acted for step in episode.steps] + ([episode.arrival] if episode.arrival else [])
    return {id for acted in seen for id, _ in entries(acted.observation.text)}
