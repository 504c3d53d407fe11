"""Services that are processes of this machine, started by a command of their set.

Each process that a service starts inherits the variable `CAIRN_SITE`, which names the state folder and the instance. By
it they are found whatever was written down, and nothing else is ever ended.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil

from harness.api.processes import find_marked
from harness.api.secrets import is_secret_name
from harness.plugins.site_sets import folder
from harness.plugins.site_sets.backend import Instance, SiteFailed, last_line

MARK = "CAIRN_SITE"
_MARKS_OF_RUNS = ("CAIRN_RUN", "CAIRN_WORKER", "CAIRN_HOOK")
"""A service outlives the run that resets it."""
_COMMAND_S = 3600.0
_MOST_SAID = 100_000
"""Bytes of what a command says that are read for its last line."""
_KILLED_S = 60.0
"""How long the kernel may take to end a process that was killed."""


class ProcessBackend:
    """See the module."""

    def is_running(self, one: Instance) -> bool:
        return bool(_processes(one))

    def start(self, one: Instance) -> None:
        one.unit.data.mkdir(parents=True, exist_ok=True)
        _empty_scratch(one)
        fd = os.open(one.unit.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            subprocess.Popen(
                ["/bin/sh", "-c", one.shell(one.service.command)],
                cwd=one.folder,
                env=environment(one),
                stdin=subprocess.DEVNULL,
                stdout=fd,
                stderr=fd,
                start_new_session=True,
            )
        except OSError as error:
            raise SiteFailed(f"{one.name}: its command cannot be started: {error.strerror}") from error
        finally:
            os.close(fd)

    def stop(self, one: Instance) -> None:
        until = time.monotonic() + one.service.stop_s
        asked: set[int] = set()
        while found := _processes(one):
            if time.monotonic() > until + _KILLED_S:
                raise SiteFailed(f"{one.name}: process {found[0].pid} cannot be ended; look at what it waits for")
            is_late = time.monotonic() >= until
            for process in found:
                with suppress(psutil.Error):
                    if is_late:
                        process.kill()
                    elif process.pid not in asked:
                        asked.add(process.pid)
                        process.terminate()
            psutil.wait_procs(found, timeout=0.05 if is_late else min(0.2, max(0.01, until - time.monotonic())))

    def fill(self, one: Instance, into: Path) -> None:
        if one.service.seed:
            seed = one.folder / one.service.seed[0]
            if not seed.is_dir():
                raise SiteFailed(f"{one.name}: its seed {seed} is not a folder; correct `seed` in the set file")
            folder.remove(into)
            folder.copy(seed, into)
        _empty_scratch(one)
        there = replace(one, words={**one.words, "data": str(into)})
        for command in one.service.prepare:
            code, said = _run(there.shell(command), environment(there), one.folder)
            if code != 0:
                raise SiteFailed(f"{one.name}: `prepare` ended with code {code}{f' ({said})' if said else ''}")

    def keep(self, one: Instance) -> str:
        self.stop(one)
        return ""

    def execute(self, one: Instance, command: str) -> tuple[int, str]:
        return _run(one.shell(command), environment(one), one.folder)

    def log(self, one: Instance) -> str:
        with suppress(FileNotFoundError), one.unit.log.open("rb") as file:
            file.seek(max(0, one.unit.log.stat().st_size - (1 << 20)))
            return file.read().decode("utf-8", "replace")
        return ""

    def memory(self, one: Instance) -> str:
        taken = 0
        for process in _processes(one):
            with suppress(psutil.Error):
                taken += process.memory_info().rss
        return f"{taken / 1e6:,.0f} MB" if taken else ""

    def image(self, one: Instance) -> str:
        return ""


def _empty_scratch(one: Instance) -> None:
    """What a program kept there, such as a cache, may be of another state."""
    folder.remove(one.unit.scratch)
    one.unit.scratch.mkdir(parents=True)


def environment(one: Instance) -> dict[str, str]:
    """Ours without secrets that the set does not name and the marks of a run, with what the set gives the instance."""
    ours = {
        name: value
        for name, value in clean_environment().items()
        if name in one.service.pass_environment or not is_secret_name(name.upper())
    }
    given = {name: one.said(value) for name, value in one.service.environment.items()}
    told = {f"CAIRN_{name.upper()}": value for name, value in one.words.items() if name in ("port", "data", "instance")}
    return {**ours, **told, **given, MARK: one.mark}


def clean_environment() -> dict[str, str]:
    """Ours, without the marks by which a run ends what it has started."""
    return {name: value for name, value in os.environ.items() if name not in _MARKS_OF_RUNS}


def _run(command: str, variables: Mapping[str, str], at: Path) -> tuple[int, str]:
    with tempfile.TemporaryFile() as said:  # not a pipe, whose end comes with that of the last background process
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=at,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=_COMMAND_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124, f"it did not end within {_COMMAND_S:.0f} s"
        said.seek(max(0, said.seek(0, os.SEEK_END) - _MOST_SAID))
        return done.returncode, last_line(said.read().decode("utf-8", "replace"))


def _processes(one: Instance) -> list[psutil.Process]:
    """Of an instance, without our parent: a service that runs `harness sites` passes its mark on."""
    return [process for process in find_marked({MARK: one.mark}) if process.pid != os.getppid()]
