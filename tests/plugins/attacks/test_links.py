"""Attacks that were followed lead to their step in the report of the run, where it has one."""

import re
from pathlib import Path
from urllib.parse import unquote

from harness.main import main
from harness.plugins.html_report.report import write_report
from harness.runs import Run
from tests.played import SHOP, Do, goto, write
from tests.plugins.attacks.played import records, task

LINK = re.compile(r'<a href="([^"#]+)#(step-\d+)">step \d+</a>')


def test_an_attack_leads_to_the_step_that_followed_it(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [records(task(1), [Do(action=goto(f"{SHOP}?confirm"), url=f"{SHOP}?confirm")])])
    page = tmp_path / "attacks.html"
    assert main(["attacks", str(run), "--html", str(page), "--json"]) == 0
    assert not LINK.search(page.read_text())
    write_report(Run(run))
    assert main(["attacks", str(run), "--html", str(page), "--json"]) == 0
    ((address, step),) = LINK.findall(page.read_text())
    assert step == "step-1" and 'id="step-1"' in (tmp_path / unquote(address)).read_text()
