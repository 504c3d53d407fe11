"""How the applications of the set `apps` are filled and served, each by its own tools.

What an application writes while it runs without being changed (configuration, templates, outgoing mail) is made anew in
the scratch folder at each start; the data folder has only what a reset must restore.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.errors import HarnessError
from harness.plugins.site_sets.apps.installing import installed

PASSWORD = "lantern.42"
"""Of the account `nora` on all sites; it is published like the accounts of WebArena, and opens nothing else."""
_FILES = Path(__file__).with_name("files")
_COMMAND_S = 3600.0
"""A database that is filled in half a minute takes ten on a machine that others use."""
_WRITTEN_AT = 1_790_000_000
"""When the pages of the wiki were written, in seconds since the epoch."""


class ProgramFailed(HarnessError):
    """A tool of an application failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folders and the port of one instance."""

    data: Path
    scratch: Path
    port: int


Started = tuple[list[str], Mapping[str, str]]
"""The command of a server, and the variables that it gets beside ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    fill: Callable[[Place], None]
    """Makes the first state in an empty folder; raises `ProgramFailed`."""
    serve: Callable[[Place], Started]
    """Writes what the server reads; what to run."""


def fill_tracker(place: Place) -> None:
    home = _tracker_home(place)
    (place.data / "db").mkdir(parents=True, exist_ok=True)
    admin = [str(installed("tracker") / "roundup-admin"), "-i", str(home)]
    _run([*admin, "initialise", PASSWORD])
    _run([*admin, "-u", "admin"], said="".join(f"{line}\n" for line in _tracker_commands()))
    found = _run([*admin, "-u", "admin", "list", "issue"]).count("\n")
    if found != (wanted := len(_seed("tracker")["issues"])):
        raise ProgramFailed(f"roundup-admin has made {found} of {wanted} issues; run it by hand in {home}")


def serve_tracker(place: Place) -> Started:
    home = _tracker_home(place)
    _write("tracker_app.py", place.scratch / "tracker_app.py", place)
    variables = {**_own_python(place.scratch), "APP_HOME": str(home)}
    return _waitress("tracker", place, "tracker_app:application"), variables


def _tracker_home(place: Place) -> Path:
    """Roundup's own template with our configuration."""
    home = place.scratch / "tracker"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(_tracker_template(), home)
    _write("tracker.ini", home / "config.ini", place)
    return home


def _tracker_template() -> Path:
    """Made by its own tool once for an installation, as that takes as long as its server to start."""
    programs = installed("tracker")
    template = programs.parent / "template"
    if not template.is_dir():
        with tempfile.TemporaryDirectory(prefix=".template-", dir=programs.parent) as place:
            made = Path(place) / "tracker"
            _run([str(programs / "roundup-admin"), "-i", str(made), "install", "classic", "sqlite"])
            with suppress(OSError):  # another instance was first
                made.rename(template)
    return template


def _tracker_commands() -> list[str]:
    """What roundup-admin reads; it numbers messages and issues from 1."""
    seed, lines, messages = _seed("tracker"), [], 0
    for user in seed["users"]:
        lines.append(_create("user", {**user, "password": PASSWORD, "roles": "User"}))
    lines += [_create("keyword", {"name": name}) for name in seed["keywords"]]
    for issue in seed["issues"]:
        numbers = []
        for message in issue["messages"]:
            messages += 1
            numbers.append(str(messages))
            lines.append(_create("msg", {**message, "summary": message["content"].split(". ")[0]}))
        lists = {"keyword": ",".join(issue["keyword"]), "messages": ",".join(numbers)}
        lines.append(_create("issue", {**issue, **lists}))
    return [*lines, "commit", "quit"]


def _create(kind: str, values: Mapping[str, object]) -> str:
    given = (f'"{name}={_quoted(str(value))}"' for name, value in values.items() if value)
    return f"create {kind} {' '.join(given)}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def fill_wiki(place: Place) -> None:
    moin, variables = str(installed("wiki") / "moin"), _wiki_variables(place)
    _run([moin, "index-create"], variables)
    account = ["--name", "Nora", "--email", "nora@example.org", "--password", PASSWORD]
    _run([moin, "account-create", *account], variables)
    pages = place.scratch / "pages" / "default"
    pages.mkdir(parents=True)
    for name, text in json.loads((_FILES / "wiki.json").read_bytes()).items():
        meta, data = _page(name, text)
        (pages / f"{name}.meta").write_text(json.dumps(meta), "utf-8")
        (pages / f"{name}.data").write_bytes(data)
    _run([moin, "load-help", "--namespace", "default", "--path", str(pages.parent)], variables)


def _page(name: str, text: str) -> tuple[dict[str, object], bytes]:
    """What MoinMoin's own tool reads of a page."""
    data = text.replace("\n", "\r\n").encode()  # as its form sends text
    meta = {
        "name": [name],
        "namespace": "",
        "itemtype": "default",
        "contenttype": "text/x-markdown;charset=utf-8",
        "size": len(data),
        "mtime": _WRITTEN_AT,
        "rev_number": 1,
        **{field: hashlib.md5(f"{field} {name}".encode()).hexdigest() for field in ("itemid", "revid", "dataid")},
    }
    return meta, data


def serve_wiki(place: Place) -> Started:
    return _waitress("wiki", place, "--call", "moin.app:create_app"), _wiki_variables(place)


def _wiki_variables(place: Place) -> dict[str, str]:
    home = place.scratch / "wiki"
    (home / "wiki_local").mkdir(parents=True, exist_ok=True)
    _write("wiki_config.py", home / "wikiconfig.py", place)
    return {
        **_own_python(home),
        "APP_DATA": str(place.data),
        "MOINCFG": str(home / "wikiconfig.py"),
        "FLASK_APP": "moin",
    }


def fill_store(place: Place) -> None:
    variables = _store_variables(place)
    script = place.scratch / "store" / "store_fill.py"
    _write("store_fill.py", script, place)
    _run([str(installed("store") / "python"), str(script), str(_FILES / "store.json"), PASSWORD], variables)


def serve_store(place: Place) -> Started:
    return _waitress("store", place, "--call", "django.core.wsgi:get_wsgi_application"), _store_variables(place)


def _store_variables(place: Place) -> dict[str, str]:
    home = place.scratch / "store"
    home.mkdir(parents=True, exist_ok=True)
    for name in ("store_settings.py", "store_urls.py"):
        _write(name, home / name, place)
    return {**_own_python(home), "APP_DATA": str(place.data), "DJANGO_SETTINGS_MODULE": "store_settings"}


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        "tracker": Program(fill=fill_tracker, serve=serve_tracker),
        "wiki": Program(fill=fill_wiki, serve=serve_wiki),
        "store": Program(fill=fill_store, serve=serve_store),
    }
)
"""By name of the service in the set `apps`."""


def _waitress(name: str, place: Place, *application: str) -> list[str]:
    """One server for all: those of the applications are for development, or refuse to run as root."""
    return [str(installed(name) / "waitress-serve"), f"--listen=127.0.0.1:{place.port}", *application]


def _own_python(home: Path) -> dict[str, str]:
    """It finds our configuration, and writes no compiled modules beside it."""
    return {"PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}


def _seed(name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((_FILES / f"{name}.json").read_bytes())
    return found


def _write(template: str, to: Path, place: Place) -> None:
    text = (_FILES / f"{template}.template").read_text(encoding="utf-8")
    for name, value in (("DATA", place.data), ("SCRATCH", place.scratch), ("PORT", place.port)):
        text = text.replace(f"@{name}@", str(value))
    to.write_text(text, encoding="utf-8")


def _run(command: Sequence[str], variables: Mapping[str, str] | None = None, *, said: str = "") -> str:
    """Run a tool; what it printed.

    Raises:
        ProgramFailed: It ended with another code than 0, or not in time.
    """
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            input=said.encode(),
            capture_output=True,
            timeout=_COMMAND_S,
            check=False,
            env={**os.environ, **(variables or {})},
        )
    except subprocess.TimeoutExpired:
        raise ProgramFailed(
            f"{name} did not end within {_COMMAND_S:g} s; run this again when less is going on"
        ) from None
    if done.returncode:
        lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise ProgramFailed(f"{name} ended with code {done.returncode}: {(lines or ['nothing said'])[-1]}")
    return done.stdout.decode("utf-8", "replace")
