"""What is asked, before anybody knows how it is judged: the entry of a task file, of an address or of a task."""

import os.path
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.api import CodecError, ConfigError, JsonObject, dumps, loads
from harness.api.configuration import SitesSettings
from harness.api.files import safe_files, write_atomic
from harness.api.tasks import read_task_file

NAME = "draft.json"
NOT_YET = {"url": "last", "locator": "document.title", "required_contents": {"exact_match": ""}}
"""A draft has to be judged by something; its score is of no interest."""
_PLACE = re.compile(r"__([A-Z][A-Z0-9_]*)__")


def is_address(text: str) -> bool:
    """Whether a person means an address, or a placeholder of one, and not a file."""
    return re.match(r"https?://|__[A-Z][A-Z0-9_]*__", text) is not None


def draft_of_address(
    url: str, sites: SitesSettings, *, intent: str, task_id: str, logins: tuple[str, ...]
) -> JsonObject:
    """The entry of a task that begins at an address.

    Raises:
        ConfigError: The address is of no site of the settings, or a login is wanted that they do not have.
    """
    start, site = _start(url, sites)
    names = tuple(dict.fromkeys((site, *logins)))
    for name in logins:
        if name not in sites.by_name or sites.by_name[name].login is None:
            raise ConfigError(f"--login {name[:60]}: the settings have no sites.{name[:60]}.login; configure it")
    return {
        "task_id": int(task_id) if task_id.isascii() and task_id.isdigit() else task_id,
        "sites": list(names),
        "intent": intent,
        "start_url": start,
        "require_login": bool(logins),
        "storage_state": f"./.auth/{'.'.join(logins)}_state.json" if logins else None,
        "intent_template_id": None,
    }


def _start(url: str, sites: SitesSettings) -> tuple[str, str]:
    """With the placeholder of its site, and the name of that site."""
    if (named := _PLACE.match(url)) is not None and named[1].lower() in sites.by_name:
        return url, named[1].lower()
    for name, site in sites.by_name.items():
        for base in (site.canonical, *site.instances):
            if _is_below(url, base):
                return f"{placeholder(name)}{url[len(base.rstrip('/')) :]}", name
    known = ", ".join(f"{name} ({site.canonical})" for name, site in sites.by_name.items()) or "none"
    raise ConfigError(
        f"{url[:200]} is on none of your sites: {known}; give an address of one of them, or configure its site"
        " (sites=NAME, or +sites.NAME.url=http://…)"
    )


def _is_below(url: str, base: str) -> bool:
    base = base.rstrip("/")
    return url == base or url.startswith((f"{base}/", f"{base}?", f"{base}#"))


def placeholder(site: str) -> str:
    """Of a site in task files."""
    return f"__{site.upper()}__"


def with_placeholders(url: str, sites: SitesSettings) -> str:
    """A canonical address as task files write it."""
    for name, site in sites.by_name.items():
        base = site.canonical.rstrip("/")
        if _is_below(url, base):
            return placeholder(name) + url[len(base) :]
    return url


def site_of(url: str, sites: SitesSettings) -> str | None:
    """The site that a canonical address is on."""
    return next((name for name, site in sites.by_name.items() if _is_below(url, site.canonical)), None)


def draft_of_task(file: Path, task_id: str | None, out: Path) -> JsonObject:
    """The entry of a task that is there already, without how it is judged.

    Raises:
        ConfigError: The file has no such task, or several of which none was chosen.
        TaskError: The file is none of tasks.
    """
    entries = {one.task_id: one for one in read_task_file(file)}
    if task_id is None and len(entries) > 1:
        raise ConfigError(f"{file} has {len(entries)} tasks; choose one with --task ID")
    entry = entries.get(task_id) if task_id is not None else next(iter(entries.values()), None)
    if entry is None:
        raise ConfigError(f"{file} has no task {str(task_id)[:80]}; --task names one of its ids")
    kept = {key: value for key, value in entry.fields.items() if key != "eval"}
    for key in ("storage_state", "image"):
        kept |= {key: _from(out, entry.file.parent, kept[key])} if key in kept else {}
    return kept


def _from(out: Path, folder: Path, value: Any) -> Any:
    """Paths as they are from another folder; what is not a file stays as it is."""
    if isinstance(value, list):
        return [_from(out, folder, one) for one in value]
    if not isinstance(value, str) or urlsplit(value).scheme or not (folder / value).is_file():
        return value
    return os.path.relpath((folder / value).absolute(), out.absolute())


def keep_draft(out: Path, entry: Mapping[str, Any]) -> Path:
    """Write the task file that the person plays, in the folder of their choice, or find it there.

    Raises:
        ConfigError: The folder is of something else.
        StorageError: The disk refuses.
    """
    path = out / NAME
    whole = {**entry, "eval": {"eval_types": ["program_html"], "program_html": [NOT_YET]}}
    if path.is_file():
        try:
            is_same = loads(safe_files.read_named(path)) == [loads(dumps(whole))]
        except CodecError:
            is_same = False
        if not is_same:
            raise ConfigError(f"{out} holds the recording of another task; give another folder with --out")
        return path
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is not empty, and no recording; give a new folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(path, dumps([whole], pretty=True) + b"\n")
    return path
