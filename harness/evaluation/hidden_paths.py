"""What an agent's process must not read."""

from collections.abc import Iterator
from contextlib import suppress
from glob import escape
from pathlib import Path

from harness.settings.fields import as_plain
from harness.settings.run import RunSettings
from harness.settings.task import TaskSettings
from harness.settings.tracking import TrackingSettings
from harness.trees import leaves


def hidden_paths(
    run: RunSettings, task: TaskSettings, tracking: TrackingSettings, *caches: str | None
) -> Iterator[Path]:
    """What an agent must not read, wherever it may read around it: runs, tasks with their answers, and our own code.

    A folder is given with the files in it that matter, which are hidden also where the folder cannot be. `caches` are
    the folders of reply caches.
    """
    root = Path(run.root).expanduser().absolute()
    yield from (root, root / run.id, Path(__file__).resolve().parents[1])
    yield Path(tracking.base_path).expanduser().absolute()
    texts = (value for _, value in leaves(as_plain(task)) if isinstance(value, str))
    for text in (*texts, *caches):
        with suppress(OSError, ValueError):
            path = Path(text or "").expanduser().absolute()
            if text and ("/" in text or path.suffix) and path.exists():
                yield path
                if path.is_file():
                    yield path.parent
                    yield from path.parent.glob(f"{escape(path.stem)}.*")
