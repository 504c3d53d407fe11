"""Where the steps of an agent that drove the browser itself are told: in its words wherever there are some."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.actions import Cdp, Stop
from harness.choices import Durability
from harness.codec import dumps
from harness.episode.artifacts import trajectory_of
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.html_report.report import write_report
from harness.records import BrowserCommand, Commanded, Decided, Landed, Record
from harness.runs import Run, step_rows
from tests.reports.runs import Shape, episode, task, write

RAW = "Input.dispatchMouseEvent in tab 1 type=mouseMoved x=64"
TITLE = "click button '<b>Search</b>\x1b[31m\u202e'"
SHOWN = "click button '<b>Search</b>"


def _driven(records: list[Record], title: str) -> list[Record]:
    driven: list[Record] = []
    for one in records:
        if isinstance(one, Decided) and not isinstance(one.action, Stop):
            command = BrowserCommand(method="Input.dispatchMouseEvent", key="k", text=RAW)
            driven += [
                replace(one, action=Cdp(number=one.step, first=RAW)),
                Commanded(step=one.step, commands=(command,), at=one.at),
                Landed(step=one.step, count=1, title=title, at=one.at),
            ]
        else:
            driven.append(one)
    return driven


def _folder(path: Path, title: str) -> Path:
    with RunFolder.open(path, durability=Durability.none) as run:
        of = task(0)
        write(run, of, _driven(episode(run, of, Shape(steps=1), screenshots=False), title))
        about = {"scoring": "corrected", "tasks": ["0"], "trials": 1, "model": "gpt-4o", "agent": "process"}
        run.write("run.json", dumps(about))
    return path


@pytest.mark.parametrize(("title", "wanted"), [(TITLE, SHOWN), ("", f"cdp [{RAW}]")], ids=["new", "older"])
def test_a_step_is_told_in_words_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], title: str, wanted: str
) -> None:
    folder = _folder(tmp_path / "run", title)
    assert main(["show", str(folder), "0"]) == 0
    assert f"  1  {wanted}" in (listed := capsys.readouterr().out) and "\x1b[31m" not in listed
    assert main(["show", str(folder), "0", "1"]) == 0
    whole = capsys.readouterr().out
    assert f"step 1: {wanted}" in whole and f"1  {RAW}" in whole, "the commands are shown below"
    write_report(Run(folder))
    page = (folder / "report" / "tasks" / "0.html").read_text()
    escaped = wanted.replace("<", "&lt;").replace(">", "&gt;")
    assert escaped in page.replace("&#39;", "'") and "<b>Search" not in page
    assert f"<h3><code>{'cdp' if not title else 'click'}" in page and RAW in page
    (played,) = Run(folder).episodes()
    said = title or wanted
    assert played.steps[0].text == next(row["action"] for row in step_rows(played)) == said
    assert trajectory_of(played.record)[1].action == said
