"""The secrets of a run, and which of them are not taken out of what it writes, because they are words of it.

Why: docs/decisions/security.md#a-word-is-no-secret
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.codec import dumps
from harness.config import Config
from harness.config.config_tree import all_secrets
from harness.errors import UnsafeFile
from harness.files import safe_files
from harness.records import Task
from harness.secrets.config_secrets import redacted_settings, task_secrets
from harness.secrets.redaction import MIN_LENGTH, Redactor
from harness.secrets.secret_detection import readable, without_passwords

SHORT = 8
"""Fewer characters are likely to be found by chance."""


@dataclass(frozen=True, kw_only=True)
class RunSecrets:
    config: Config
    tasks: Sequence[Task] = ()

    @cached_property
    def of_tasks(self) -> Mapping[str, str]:
        """Secrets of the tasks by the name that replaces them."""
        return task_secrets(self.tasks)

    @cached_property
    def readable(self) -> Mapping[str, str]:
        """Names of those that stay readable, and why."""
        names = (*(task.task_id for task in self.tasks), *self.config.sites.by_name)
        # A login admin/admin would make a run unreadable and hide nothing.
        return readable(self._all, self._texts(), names)

    def redactor(self) -> Redactor:
        return Redactor(self._all, readable=self.readable)

    def announce(self, say: Callable[[str], None]) -> None:
        """Say what the person should know of secrets that look like words, in one line, if there is something."""
        last = {value: name for name, value in self._all.items()}
        open_ones = [f"{name} ({why})" for name, why in self.readable.items() if last[self._all[name]] == name]
        weak = [f"{name} ({why})" for value, name in last.items() if (why := self._weakness(name, value))]
        said = []
        if open_ones:
            said.append(
                f"secrets that are words stay readable in all output: {', '.join(open_ones)}; choose other values if"
                " they are to be hidden"
            )
        if weak:
            said.append(
                f"secrets that may occur by chance: {', '.join(weak)}; wherever they do, files and logs show the name"
                " instead. Scores do not depend on it"
            )
        if said:
            say("; ".join(said))

    def _weakness(self, name: str, value: str) -> str:
        """Why a secret that is hidden may be met where it is none."""
        if name in self.readable or len(value) < MIN_LENGTH or value in self.of_tasks.values():
            return ""
        if value.casefold() in self._of_tasks_and_plans:
            return "in the tasks or plans"
        return "short" if len(value) < SHORT else ""

    @cached_property
    def _all(self) -> Mapping[str, str]:
        return all_secrets(self.config.tree(), self.of_tasks)

    @cached_property
    def _of_tasks_and_plans(self) -> str:
        plans = (self.config.llm.plans, *(member.get("plans") for member in self.config.task.members.values()))
        told = "\n".join(without_passwords(dumps(task).decode()) for task in self.tasks)
        return "\n".join((told, *map(_content, filter(None, plans)))).casefold()

    def _texts(self) -> Iterator[str]:
        yield self._of_tasks_and_plans
        yield dumps(redacted_settings(self.config.tree())).decode()


def _content(path: str) -> str:
    """The content of a plan file; errors in it are reported where it is read."""
    try:
        return safe_files.read_named(Path(path)).decode("utf-8", "replace")
    except (OSError, UnsafeFile):
        return ""
