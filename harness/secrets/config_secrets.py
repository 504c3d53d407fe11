"""Which settings and which parts of tasks must never be written, and settings as they may be shown.

Secret are: values whose names say so (keys, passwords); headers sent to a model; all values of a login except user
names; passwords and tokens in addresses, before the host or in the query; and in commands what
`secret_detection.in_command` recognises. Only the first word of a command is shown, because the rest may hold a secret
in an unknown form. Of a model that the run does not ask, short values are not secrets.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.secrets.secret_detection import (
    MIN_ENVIRONMENT_CHARS,
    in_addresses,
    in_command,
    in_header,
    in_login,
    in_login_headers,
    in_text,
    is_secret_name,
    numbered,
)
from harness.settings.fields import Tree
from harness.trees import leaves

if TYPE_CHECKING:
    from harness.records import Task

REDACTED = "[redacted]"
"""What is shown instead of a secret setting."""
ConfigPath = tuple[str, ...]
_HEADERS = {("llm", "headers"), ("judge", "headers")}
_SBATCH = ("executor", "sbatch")
_OF_LOGINS = (("login", "fields"), ("login", "headers"))
_NO_ENDPOINT = frozenset({"scripted", "none"})
_WORDS = frozenset({"agent"})
"""Groups whose values are prompt text, so are never secret; `_NO_WORDS` are the exceptions."""
_NO_WORDS = frozenset({"arguments", "command", "env"})
_FIRST_WORD = re.compile(r"\s*([\w./+~-]+)(?=\s|$)")


def config_secrets(tree: Mapping[str, Any]) -> dict[str, str]:
    """The secrets in a tree of settings, by the name they are replaced with."""
    found: dict[str, str] = {}
    for path, value in leaves(tree):
        least = MIN_ENVIRONMENT_CHARS if _is_unused(tree, path) else 1
        found |= numbered(".".join(path), (part for part in secret_parts(path, value) if len(part) >= least))
    for name, site in tree.get("sites", {}).items():
        in_form, in_headers = _of_login(site, "fields"), _of_login(site, "headers")
        parts = [*(in_login(in_form) if in_form else ()), *in_login_headers(in_headers)]
        found |= numbered(f"sites.{name}.login", filter(None, parts))
    return found


def task_secrets(tasks: "Iterable[Task]") -> dict[str, str]:
    """Passwords in the addresses of tasks, by task."""
    from harness.codec import may_hold, plain  # `--help` must not wait for it

    found: dict[str, str] = {}
    for task in tasks:
        if may_hold(task, b"://", b"@"):
            texts = (value for _, value in leaves(plain(task)) if isinstance(value, str))
            found |= numbered(f"task.{task.task_id}", (part for text in texts for part in in_addresses(text)))
    return found


def secret_parts(path: ConfigPath, value: Any) -> Iterator[str]:
    """What of the setting at `path` is secret, but for login fields, which are judged together."""
    if value is None or _is_words(path) or is_login_field(path):
        return
    if path[:2] in _HEADERS:
        yield from in_header(path[-1], str(value))
    elif is_secret_name(path[-1]):
        yield str(value)
    elif isinstance(value, str) and path[:2] == _SBATCH:
        yield from in_command(value.replace(",", " "))  # as in `--export=ALL,NAME=value`
    elif isinstance(value, str):
        yield from in_command(value) if _is_command(path) else in_text(value)


def redacted_settings(tree: Tree) -> Tree:
    """The tree without anything that may be secret."""
    return {name: _shown((name,), value) for name, value in tree.items()}


def _is_unused(tree: Mapping[str, Any], path: ConfigPath) -> bool:
    """Whether it belongs to a model that this run does not ask: such a key is one among others of the environment."""
    settings = tree.get(path[0])
    if not isinstance(settings, Mapping):
        return False
    if path[0] == "llm":
        return settings.get("kind") in _NO_ENDPOINT and not settings.get("base_url")
    return path[0] == "judge" and not (settings.get("model") or settings.get("_target_"))


def is_login_field(path: ConfigPath) -> bool:
    """Whether it is a value that is typed into the login form of a site, or sent to it in a header."""
    return path[0] == "sites" and path[2:4] in _OF_LOGINS and len(path) > 4


def _shown(path: ConfigPath, value: Any) -> Any:
    match value:
        case dict():
            return {key: _shown((*path, key), item) for key, item in value.items()}
        case list():
            return [_shown((*path, str(number)), item) for number, item in enumerate(value)]
        case None:
            return None
    if is_login_field(path) or path[:2] in _HEADERS or (is_secret_name(path[-1]) and not _is_words(path)):
        return REDACTED
    if isinstance(value, str) and _is_command(path):
        first = _FIRST_WORD.match(value)
        return f"{first[1]} {REDACTED}" if first and first[0] != value else value if first else REDACTED
    return _without(value, secret_parts(path, value)) if isinstance(value, str) else value


def _without(text: str, parts: Iterable[str]) -> str:
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, REDACTED) if part else text
    return text


def _is_words(path: ConfigPath) -> bool:
    return path[0] in _WORDS and _NO_WORDS.isdisjoint(path[1:2])


def _is_command(path: ConfigPath) -> bool:
    return path[0] == "sites" and (path[-1] == "reset_command" or path[1:] == ("reset", "command"))


def _of_login(site: Any, key: str) -> Mapping[str, Any]:
    login = site.get("login") if isinstance(site, Mapping) else None
    found = login.get(key) if isinstance(login, Mapping) else None
    return found if isinstance(found, Mapping) else {}
