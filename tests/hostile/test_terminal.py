"""Nothing foreign acts on a terminal: whatever pages, models, endpoints and task files say is shown, never done.

Each way to steer a terminal is given to each place that prints: commands on a run that holds it in every text, the
displays of a run, refusals, logs.
"""

import json
import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import cli, main
from harness.choices import Durability
from harness.codec import dumps
from harness.escape import VisibleFormatter, escaped, flat, one_line, visible
from harness.journal.store import RunFolder
from harness.protocols import ProgressEvent
from harness.records import Decided
from harness.reports.console import Terminal
from harness.reports.display import LiveDisplay, LiveStats, PlainDisplay
from harness.reports.summary import Invocation, Summary, summarize
from harness.reports.table import print_summary
from harness.runs.results import result_of
from harness.secrets.redaction import RedactingFormatter, Redactor
from tests.llm.test_http_client import http, serving
from tests.reports import test_hostile as poisoning
from tests.reports.runs import Shape, episode, task, write

Output = pytest.CaptureFixture[str]
ACTS = re.compile(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]|[؜​-‏\u2028-\u202e⁠-⁩﻿]")
"""What may not reach a terminal, said in another way than it is mended."""
INJECTED = "run.py: all is well"
ATTACKS = {
    "colour": "\x1b[31mred",
    "clear the screen": "\x1b[2J\x1b[H",
    "window title": "\x1b]0;hacked\x07",
    "a link elsewhere": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "the clipboard": "\x1b]52;c;aGFja2Vk\x07",
    "a device string": "\x1bP+q544e\x1b\\",
    "colour in one byte": "\x9b31mred",
    "window title in one byte": "\x9d0;hacked\x9c",
    "next line": "a\x85b",
    "bell": "\x07\x07",
    "backspaces": "no\b\byes",
    "a return": f"bad\r{INJECTED}",
    "a line end": f"bad\n{INJECTED}",
    "a return and a line end": f"bad\r\n{INJECTED}",
    "form feed": "\x0c\x0b",
    "delete": "\x7f",
    "null": "a\0b",
    "another direction": "\u202egnp.exe",
    "isolated": "\u2066hidden\u2069",
    "without width": "a\u200bb\ufeff",
    "line separator": f"bad\u2028{INJECTED}",
    "tags": "a\U000e0041\U000e007f",
    "markup": "[bold]no[/bold]",
    "markup that closes nothing": "[/red]",
    "markup that links": "[link=http://evil.example]click[/link]",
    "an emoji's name": ":skull:",
}
EVERY = pytest.mark.parametrize("evil", ATTACKS.values(), ids=ATTACKS)


def assert_harmless(text: str, *, lines: bool = True) -> None:
    """`lines`: nobody may write a line of ours either."""
    assert (found := ACTS.search(text)) is None, f"{found!r} in {text!r}"
    if lines:
        assert not any(line.startswith(INJECTED) for line in text.splitlines())


@EVERY
def test_what_acts_becomes_visible_and_what_is_visible_stays(evil: str) -> None:
    for shown in (visible(evil), flat(evil), one_line(evil)):
        assert_harmless(shown, lines=False)
        assert visible(shown) == shown
    assert "\n" not in flat(evil) + one_line(evil)
    told = escaped(json.dumps({"a": evil}, ensure_ascii=False))
    assert_harmless(told)
    assert json.loads(told) == {"a": evil}


@EVERY
def test_the_console_shows_it_however_it_is_printed(evil: str, capsys: Output) -> None:
    from rich.table import Table
    from rich.text import Text

    console = Terminal(highlight=False)
    console.say(evil)
    console.print(evil, markup=False)
    console.print(Text(evil), soft_wrap=True)
    console.out(evil)
    table = Table(title=Text(evil))
    table.add_column("a")
    table.add_row(Text(evil))
    console.print(table)
    out = capsys.readouterr().out
    assert_harmless(out, lines=False)
    if evil.isprintable():
        assert out.startswith(f"{evil}\n"), "what is harmless is shown as it is"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A run folder with the attack in every text that comes from outside."""
    evil = request.getfixturevalue("evil")
    monkeypatch.setattr(poisoning, "EVIL", evil)
    monkeypatch.setattr(poisoning, "ATTACKS", (evil,))
    folder = tmp_path / "run"
    with RunFolder.open(folder, durability=Durability.none) as opened:
        prompt = opened.artifacts.put(dumps({"role": evil, "content": evil, "name": evil}))
        for number, shape in enumerate((Shape(score=0.0), Shape(failure="BrowserCrashed"), Shape(score=None))):
            of = task(number)
            records = [poisoning.poisoned(record) for record in episode(opened, of, shape)]
            write(opened, of, [_asked(record, prompt) for record in records])
        opened.write(
            "run.json", dumps({"model": evil, "agent": evil, "tasks": ["0", "1", "2"], "scoring": "corrected"})
        )
    return folder


def _asked(record: Any, prompt: str) -> Any:
    from dataclasses import replace

    return replace(record, prompt=(prompt,)) if isinstance(record, Decided) else record


LINES = ("show RUN", "compare RUN RUN", "compare RUN RUN --json", "score RUN", "clean RUN --dry-run", "export csv RUN")
BLOCKS = ("show RUN 0", "show RUN 0 1", "show RUN 1", "show RUN nope", "show RUN 0 99")


@pytest.mark.sample(3)
@EVERY
def test_commands_on_a_run_that_holds_it_everywhere(run: Path, capsys: Output, evil: str) -> None:
    for line in (*LINES, *BLOCKS):
        main.main(line.replace("RUN", str(run)).split())
        said = capsys.readouterr()
        assert_harmless(said.out, lines=line in LINES)
        assert_harmless(said.err)


def summary(folder: Path, run_id: str) -> Summary:
    with RunFolder.open(folder) as opened:
        outcomes = opened.scan().outcomes
    results = [replace(result_of(one, "corrected"), site=run_id) for one in outcomes.values()]
    return summarize(run_id, results, "corrected", Invocation())


@pytest.mark.sample(8)
@EVERY
def test_the_summary_of_a_run(run: Path, capsys: Output, evil: str) -> None:
    print_summary(Terminal(), summary(run, evil), evil)
    assert_harmless(capsys.readouterr().out)


NEWS = ("acting", "retrying", "waiting", "ended")


@EVERY
def test_the_displays_of_a_run(capsys: Output, evil: str) -> None:
    with PlainDisplay(Terminal(), LiveStats(4)) as plain:
        for phase in NEWS:
            plain.tell(ProgressEvent(lane=0, task_id="1", phase=phase, note=evil, action=evil))
    assert_harmless(capsys.readouterr().out)
    terminal = Terminal()
    terminal._force_terminal = True
    terminal.legacy_windows = False
    with LiveDisplay(terminal, LiveStats(4, what=evil)) as live:
        for phase in NEWS:
            live.tell(ProgressEvent(lane=0, task_id="1", phase=phase, note=evil, action=evil))
    out = capsys.readouterr().out
    own = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out) if not evil.startswith("\x1b[") else out.replace("\x1b", "")
    assert_harmless(own.replace("\r", ""), lines=False)
    assert evil.isprintable() or evil not in out


@EVERY
def test_refusals_are_one_line(capsys: Output, evil: str) -> None:
    cli._refuse(evil)
    main._refuse(RuntimeError(evil), main.ExitCode.USAGE)
    err = capsys.readouterr().err
    assert_harmless(err)
    assert len(err.splitlines()) == 2


@EVERY
def test_logs_are_lines_without_effect(evil: str) -> None:
    formatter = VisibleFormatter(RedactingFormatter(logging.Formatter("%(levelname)s %(message)s"), Redactor()))
    try:
        raise ValueError(evil)
    except ValueError as error:
        information = (ValueError, error, error.__traceback__)
    plain = formatter.format(logging.LogRecord("a", logging.WARNING, "", 0, "%s (%s)", (evil, "b"), None))
    assert_harmless(plain)
    assert plain.startswith("WARNING ") and "\n" not in plain
    assert_harmless(formatter.format(logging.LogRecord("a", 30, "", 0, "%s", (evil,), information)), lines=False)


@pytest.mark.hostile
@pytest.mark.parametrize("evil", ["\x1b]0;hacked\x07", "\x9b31m", f"bad\n{INJECTED}"], ids=["title", "colour", "line"])
@pytest.mark.parametrize("status", ["401 Unauthorized", "400 Bad Request", "429 Too Many Requests"])
async def test_the_words_of_a_real_endpoint(tmp_path: Path, status: str, evil: str) -> None:
    import asyncio

    from tests.e2e.conftest import command, environment

    body = json.dumps({"error": {"message": evil}}).encode()
    async with serving(lambda _: http(body, status=status)) as server:
        settings = (
            "llm=openai",
            f"llm.model=m{evil}m" if "\n" not in evil else "llm.model=m",
            "task.limit=1",
            "workers=1",
        )
        process = await asyncio.create_subprocess_exec(
            *command(
                *settings,
                "llm.max_attempts=1",
                "llm.max_outage_s=0",
                "llm.max_retry_s=2",
                "run.report=false",
                root=tmp_path,
            ),
            f"llm.base_url=http://127.0.0.1:{server.port}/v1",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(),
            cwd=tmp_path,
        )
        out, err = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode in (2, 3)
    assert_harmless(out.decode())
    assert_harmless(err.decode())
    for log in (tmp_path / "run").glob("*.log"):
        assert_harmless(log.read_text())
