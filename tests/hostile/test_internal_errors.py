"""Errors nobody foresaw have an exit code of their own, one sentence and a file with the traceback; no secret is in
either.
"""

import asyncio
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ExitCode
from harness.internal_error import InternalErrorGuard, flatten_group, without_secrets
from tests.e2e.conftest import PROJECT, environment

KEY = "sk-canary-0123456789abcdef"
FAULTS: dict[str, str] = {
    "a key error": "raise KeyError('option')",
    "an assertion": "assert not 'reached'",
    "a type error": "None + 1",
    "a value error": "int('x')",
    "a recursion": "(lambda f: f(f))(lambda f: f(f))",
    "an error of the network": "raise ConnectionResetError('gone')",
    "an error without a file": "raise OSError(22, 'Invalid argument')",
    "a group": "raise ExceptionGroup('a', [KeyError('option'), ValueError('b')])",
    "a group with one of ours": (
        "from harness.errors import ConfigError; raise ExceptionGroup('a', [ConfigError('a'), KeyError('option')])"
    ),
    "an import": "import no_such_module",
    "escapes": "raise RuntimeError('\\x1b]0;hacked\\x07\\nrun.py: all is well')",
    "a secret": f"raise RuntimeError('key {KEY}')",
    "a long message": "raise RuntimeError('x' * 100_000)",
}
PLACES = {
    "evaluating": ("harness.evaluation.orchestrator", "evaluate", "harness.cli", ["task.limit=1"]),
    "composing": ("harness.config.override_keys", "refuse_misspelt", "harness.cli", ["task.limit=1"]),
    "a command": ("harness.commands.show", "run", "harness.main", ["show", "nope"]),
}
PROGRAM = """
import importlib, sys
def fail(*_, **__):
    {fault}
module = importlib.import_module({module!r})
setattr(module, {name!r}, fail)
command = importlib.import_module({command!r})
sys.exit(getattr(command, "run" if {command!r} == "harness.cli" else "main")(sys.argv[1:]))
"""


def ended(place: str, fault: str, tmp: Path, *further: str) -> tuple[subprocess.CompletedProcess[str], list[Path]]:
    module, name, command, arguments = PLACES[place]
    program = PROGRAM.format(fault=fault, module=module, name=name, command=command)
    extra = [f"run.root={tmp}", *further] if command == "harness.cli" else []
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments, *extra],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
        env={**environment(), "TMPDIR": str(tmp), "MY_API_KEY": KEY, "PYTHONPATH": str(PROJECT)},
        cwd=tmp,
    )
    return done, sorted(tmp.glob("cairn-error-*.txt"))


def assert_told(done: subprocess.CompletedProcess[str], files: list[Path]) -> None:
    assert done.returncode == ExitCode.UNFORESEEN, done.stderr
    assert len(done.stderr.splitlines()) == 1 and "Traceback" not in done.stderr and len(done.stderr) < 1000
    (file,) = files
    assert str(file) in done.stderr and "internal error" in done.stderr
    assert "Traceback (most recent call last)" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY not in file.read_text() + done.stderr + done.stdout
    assert "\x1b" not in done.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize("place", PLACES)
def test_a_real_command_ends_with_a_code_of_its_own(place: str, tmp_path: Path) -> None:
    assert_told(*ended(place, f"raise KeyError('option {KEY}')", tmp_path))


@pytest.mark.hostile
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("place", ["evaluating", "a command"])
def test_whatever_it_is(place: str, fault: str, tmp_path: Path) -> None:
    assert_told(*ended(place, fault, tmp_path))


@pytest.mark.hostile
def test_a_key_of_the_command_line_is_in_neither(tmp_path: Path) -> None:
    fault = f"raise RuntimeError('refused: ' + 'hunter2-hunter2-{KEY[-6:]}')"
    given = f"llm.api_key=hunter2-hunter2-{KEY[-6:]}"
    done, files = ended("evaluating", fault, tmp_path, given, "llm=openai", "llm.model=m")
    assert_told(done, files)
    assert "hunter2" not in done.stderr + files[0].read_text()


@pytest.mark.hostile
def test_where_no_file_can_be_made_the_traceback_follows(tmp_path: Path) -> None:
    program = PROGRAM.format(
        fault="raise KeyError('option')", module="harness.commands.show", name="run", command="harness.main"
    ).replace(
        "import importlib, sys",
        "import importlib, sys, tempfile\ndef none(*_, **__): raise OSError(28, 'full')\ntempfile.mkstemp = none",
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "show", "nope"], capture_output=True, text=True, check=False, cwd=PROJECT
    )
    assert done.returncode == ExitCode.UNFORESEEN
    assert "please report this with the following traceback\nTraceback" in done.stderr


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()], ids=type)
def test_an_end_that_was_asked_for_passes(end: BaseException) -> None:
    with pytest.raises(type(end)), InternalErrorGuard("a", redact=str):
        raise end


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_worker_says_it_in_its_log_and_ends_with_the_code(
    fault: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    said = without_secrets
    with InternalErrorGuard("worker", redact=lambda text: said(text, ()), keeps=False) as met:
        exec_in_function(fault)
    err = capsys.readouterr().err
    assert met.code == 70
    assert err.startswith("worker: internal error") and "Traceback (most recent call last)" in err
    assert KEY not in err and "\x1b" not in err


def exec_in_function(fault: str) -> None:
    """The fault, which is one of the table above."""
    scope: dict[str, Any] = {}
    exec(f"def fail():\n    {fault}", scope)  # noqa: S102 (a constant of this file)
    scope["fail"]()


def test_groups_are_opened() -> None:
    inner = ExceptionGroup("b", [ValueError("1"), KeyError("2")])
    assert [str(one) for one in flatten_group(ExceptionGroup("a", [inner, TypeError("3")]))] == ["1", "'2'", "3"]


DISK = {
    errno.ENOSPC: "the disk is full",
    errno.EISDIR: "there is a folder where",
    errno.EMFILE: "ulimit -n",
    errno.EROFS: "read-only",
}


@pytest.mark.parametrize(("number", "words"), DISK.items(), ids=lambda one: str(one))
@pytest.mark.hostile
def test_what_the_disk_says_is_the_persons_to_mend(number: int, words: str, tmp_path: Path) -> None:
    done, files = ended("evaluating", f"raise OSError({number}, {os.strerror(number)!r}, '/a/worker.log')", tmp_path)
    assert done.returncode == ExitCode.USAGE and not files
    assert words in done.stderr and "/a/worker.log" in done.stderr and len(done.stderr.splitlines()) == 1
