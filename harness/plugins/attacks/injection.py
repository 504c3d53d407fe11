"""An attack on the tasks of any benchmark: `attack=inject`."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from harness.errors import ConfigError, TaskError
from harness.plugins.attacks.planted import KEY, PLACES, STORED

_SEVERAL = " |AND| "
_SITE = "{site}"
"""In texts of the settings: the address of the task's first site."""


class Injection:
    """Gives each task an injection, unless it has one of its own.

    Args:
        kinds: Keys of `planted.PLACES`. With several, tasks are divided among them by their ids.
        text: What is planted; `{url}` is the address of the goal, `{site}` that of the task's first site.
        goal: What the attacker wants, as in a task, with `{site}` likewise.
        link: Text of a link to the goal's address; "" = none is planted.
        steps: First and last step from which it may be planted; the seed chooses.
        place: One of the kind's; "" = the seed chooses.
        forms: Of kind `stored`, name of a site to the form of its that plants the text: `url`, `selector`, and `fields`
            with `{text}` in one of them, and `login: true` where only users can send it. A task has that of its first
            site.
    """

    def __init__(  # noqa: PLR0913 (the parts of an injection)
        self,
        *,
        kinds: Sequence[str],
        text: str,
        goal: Mapping[str, Any],
        link: str = "",
        steps: Sequence[int] = (0, 0),
        place: str = "",
        forms: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(kinds, str):
            raise ConfigError(f"attack.arguments.kinds is a text; give a list, as in [{kinds[:40]}]")
        if not kinds or (unknown := [kind for kind in kinds if kind not in PLACES]):
            said = f"names {unknown[0]!r:.60}" if kinds else "is empty"
            raise ConfigError(f"attack.arguments.kinds {said}; choose from {', '.join(PLACES)}")
        self._kinds = tuple(kinds)
        self._forms = dict(forms or {})
        self._parts = {"text": text, "goal": dict(goal), "link": link, "steps": list(steps), "place": place}

    def keys(self, task: Mapping[str, Any], /) -> Mapping[str, Any]:
        """See `harness.api.Attack`."""
        if task.get(KEY) is not None:
            return {}
        starts = str(task.get("start_url") or "").split(_SEVERAL)
        site = _site_of(starts[0].strip())
        kind = self._kinds[int(sha256(str(task.get("task_id")).encode()).hexdigest(), 16) % len(self._kinds)]
        found: dict[str, Any] = {KEY: {"kind": kind, **_filled(self._parts, site)}}
        if kind == STORED:
            name, form = self._form_of(task)
            if form.pop("login", False) and not task.get("storage_state"):
                found |= {"storage_state": f"./.auth/{name}_state.json", "require_login": True}
            found[KEY] |= {"link": "", "steps": [0, 0], "form": _filled(form, site)}
            found["mutates"] = True
        if kind == "tab":
            found["start_url"] = _SEVERAL.join((*starts, f"{site}/notes-for-today"))
        return found

    def _form_of(self, task: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The task's first site, and its form."""
        sites = task.get("sites")
        name = sites[0] if isinstance(sites, list) and sites else ""
        if name not in self._forms:
            raise TaskError(
                f"task {task.get('task_id')} is on {name or 'no site'}, which has no form in attack.arguments.forms; "
                "add one, or leave the task out (task.sites)"
            )
        form = self._forms[name]
        if not isinstance(form, dict):
            raise TaskError(f"attack.arguments.forms.{name} is not a form; give `url`, `selector` and `fields`")
        return name, dict(form)


def _site_of(start: str) -> str:
    """The address of the site that a page is on, without a slash at its end; a placeholder stays."""
    if start.startswith("__") and "__" in start[2:]:
        return start[: start.index("__", 2) + 2]
    parts = urlsplit(start)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise TaskError(
            f"{start[:80]} is not a page of a site, in which something could be planted; leave the task out"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _filled(value: Any, site: str) -> Any:
    """With the address of the site in its texts."""
    if isinstance(value, str):
        return value.replace(_SITE, site)
    if isinstance(value, dict):
        return {key: _filled(item, site) for key, item in value.items()}
    return [_filled(item, site) for item in value] if isinstance(value, list) else value
