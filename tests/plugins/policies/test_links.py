"""Violations lead to their step in the report of the run, where it has one."""

import re
from pathlib import Path
from urllib.parse import unquote

from harness.main import main
from harness.plugins.html_report.report import write_report
from harness.runs import Run
from tests.plugins.policies.test_policies import filled

LINK = re.compile(r'<a href="([^"#]+)#(step-\d+)">step \d+</a>')


def test_a_violation_leads_to_its_step(tmp_path: Path) -> None:
    run, page = filled(tmp_path / "a run"), tmp_path / "pages" / "policies.html"
    page.parent.mkdir()
    assert main(["policies", str(run), "--html", str(page), "--json"]) == 3
    assert not LINK.search(page.read_text()) and "step 1" in page.read_text(), "there is no report yet"
    write_report(Run(run))
    assert main(["policies", str(run), "--html", str(page), "--json"]) == 3
    found = LINK.findall(page.read_text())
    assert found
    for address, step in found:
        there = page.parent / unquote(address)
        assert f'id="{step}"' in there.read_text()
