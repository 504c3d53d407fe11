"""What a confined process sees of the file system: a list of what it may read, and what is hidden in that.

Readable are the folders of the system, the program with the environment it belongs to, the folder it runs in, and what
the command, `agent.env` and `agent.readable` name. All else is not there. Reads the file system, changes nothing.
"""

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError

# What may be read, not what may not: there is no list of all places of secrets and of copies of tasks.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store")
ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "fonts", "group", "ld.so.cache"),
    *("ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "mime.types", "nsswitch.conf", "os-release"),
    *("passwd", "pki/ca-trust", "pki/tls/certs", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone"),
)
"""The parts of /etc that programs need; none holds a key."""
_SECRET = frozenset(
    {
        *(
            ".auth",
            ".aws",
            ".azure",
            ".bash_history",
            ".config",
            ".docker",
            ".env",
            ".envrc",
            ".git",
            ".git-credentials",
        ),
        *(".gnupg", ".hg", ".kube", ".netrc", ".npmrc", ".pypirc", ".ssh"),
    }
)
"""Hidden wherever they are at the top of a readable folder. A repository may hold task files, in any of its commits."""
_PROGRAMS = frozenset({"bin", "sbin", "shims"})
_OF_USER = frozenset({".local", ".cargo"})
"""Folders in a home folder with programs and with secrets."""
_LONGEST_LINKS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """The files that the process of one command sees."""

    readable: tuple[Path, ...]
    """Absolute; as they were named, and where that leads to over links."""
    hidden: tuple[Path, ...]
    """Real paths; of them, those below no readable folder are not there anyway."""
    home: Path
    """Home of the user, which is hidden except for what is readable in it."""
    cwd: Path
    given: tuple[Path, ...]
    """Of `readable`, what a person has named; the rest belongs to programs."""


def view_of(
    command: Sequence[str],
    *,
    cwd: str | None,
    environment: Mapping[str, str] | None = None,
    readable: Sequence[str] = (),
    hidden: Iterable[Path] = (),
) -> FileView:
    """The view of a command.

    Args:
        command: Its program as a path.
        cwd: None = where the run was started.
        environment: Variables that a person has given; paths in them are readable.
        readable: Further paths.
        hidden: Files and folders; of a folder that the process needs only what else is named here in it.
    Raises:
        ConfigError: A folder is too wide, or `cwd` is to be hidden.
    """
    place, home = Path(cwd or ".").absolute(), Path.home().resolve()
    named = [place, *_files(command[1:], place, home), *_existing(environment or {})]
    named += [Path(one).expanduser().absolute() for one in readable]
    for one in named:
        _check_width(one.resolve(), home)
    secret = {one.resolve() for one in hidden if one.exists()}
    innermost = {one for one in secret if not any(other != one and other.is_relative_to(one) for other in secret)}
    if any(place.resolve().is_relative_to(one) for one in innermost):
        raise ConfigError(f"agent.cwd={place} is what the agent must not read; give a separate folder")
    named = [one for one in named if not any(one.resolve().is_relative_to(other) for other in innermost)]
    # An argument may be a program, too; with our interpreter, a client starts the MCP server over stdio.
    started = [command[0], *(one for one in command[1:] if _is_program(place / one)), os.path.realpath(sys.executable)]
    programs = [folder for one in started for each in _programs(place / one) for folder in _belonging(each, home)]
    roots = [path for one in (*named, *programs) for path in (one, one.resolve())]
    needed = {one.resolve() for one in named}
    wide = {one for one in secret if any(root.is_relative_to(one) for root in needed)}
    return FileView(
        readable=tuple(dict.fromkeys(roots)),
        hidden=tuple(sorted((secret - wide) | set(_secrets(needed, home)))),
        home=home,
        cwd=place,
        given=tuple(sorted(needed)),
    )


def _is_wide(path: Path, home: Path) -> bool:
    temporary = Path(tempfile.gettempdir()).resolve()
    return home.parent.is_relative_to(path) or temporary.is_relative_to(path)


def _check_width(path: Path, home: Path) -> None:
    if _is_wide(path, home):
        raise ConfigError(
            f"{path} is too wide a folder for an agent that is to be confined; set agent.cwd to the agent's own folder"
            " (or agent.sandbox=none)"
        )


def _files(arguments: Sequence[str], place: Path, home: Path) -> Iterator[Path]:
    """The files among the arguments of a command, with the folders they are in."""
    for argument in arguments:
        with suppress(OSError, ValueError):
            # `--config=agent.toml` names a file, too.
            path = place / argument.rpartition("=")[2]
            if argument and path.is_file():
                folder = path.parent.resolve()
                yield path if folder == home or _is_wide(folder, home) else path.parent
            elif "/" in argument and path.is_dir():
                yield path


def _existing(environment: Mapping[str, str]) -> Iterator[Path]:
    for value in environment.values():
        for part in value.split(os.pathsep):
            with suppress(OSError, ValueError):
                if part.startswith("/") and (path := Path(part)).exists():
                    yield path


def _is_program(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False


def _programs(program: Path) -> Iterator[Path]:
    """The program, what it links to, and the interpreter that its first line names."""
    for _ in range(_LONGEST_LINKS):
        yield program
        if not program.is_symlink():
            break
        program = program.parent / program.readlink()
    with suppress(OSError):
        with program.open("rb") as file:
            first = file.readline(500)
        words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
        if words and words[0].startswith("/") and not words[0].startswith("/usr/bin/env"):
            yield from _programs(Path(words[0]))


def _belonging(program: Path, home: Path) -> Iterator[Path]:
    """What a program needs beside it: its environment (`venv`, prefix) or its tree of node modules."""
    folder = Path(os.path.normpath(program.parent))
    if "node_modules" in folder.parts:
        yield Path(*folder.parts[: folder.parts.index("node_modules") + 1])
        return
    wide = folder.parent
    if folder.name not in _PROGRAMS or home.is_relative_to(wide.resolve()):
        yield folder
    elif wide.name in _OF_USER and wide.parent.resolve() == home:
        parts = (folder, wide / "lib", wide / "share" / "uv", wide / "share" / "pipx")
        yield from (one for one in parts if one.is_dir())
    else:
        yield wide
        with suppress(OSError):
            for line in (wide / "pyvenv.cfg").read_text("utf-8", "replace").splitlines():
                name, _, value = line.partition("=")
                if name.strip() == "home" and value.strip().startswith("/"):
                    yield from _belonging(Path(value.strip()) / "python3", home)


def _secrets(needed: Iterable[Path], home: Path) -> Iterator[Path]:
    """Files and folders with names of secrets in the folders that are needed; of a home folder all with a dot."""
    needed = set(needed)
    for folder in needed:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                is_secret = entry.name in _SECRET or entry.name.startswith(".env.")
                if (is_secret or (folder == home and entry.name.startswith("."))) and _may_be_masked(Path(entry.path)):
                    path = Path(entry.path)
                    # What a person has named stays readable, also within such a folder.
                    if not any(one.is_relative_to(path) for one in needed):
                        yield path


def _may_be_masked(path: Path) -> bool:
    """A link needs no mask of its own, as its target is hidden or not; a mask needs a file or a folder."""
    kind = path.lstat().st_mode
    return stat.S_ISREG(kind) or stat.S_ISDIR(kind)
