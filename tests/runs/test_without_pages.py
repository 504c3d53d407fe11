"""The HTML report, the viewer and their templates can be taken away: what the core prints does not need them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reports.runs import Shape, fill

WITHOUT = """
import sys
for name in ("harness.plugins.html_report", "harness.api.templates", "jinja2", "starlette"):
    sys.modules[name] = None
from pathlib import Path
from rich.console import Console
from harness.journal.store import RunFolder
from harness.main import main
from harness.reports.write_all import write_reports
from harness.runs import Run
run = Run(sys.argv[1])
for command in (["show", sys.argv[1]], ["show", sys.argv[1], "0"], ["show", sys.argv[1], "0", "1"],
                ["compare", sys.argv[1], sys.argv[1]]):
    try:
        code = main(command)
    except SystemExit as ended:
        code = ended.code
    assert not code, (command, code)
with RunFolder.open(Path(sys.argv[1])) as opened:
    write_reports(opened, run.about, run, console=Console())
import harness.evaluation.orchestrator, harness.evaluation.summary_cache, harness.plugins.bundles.verification
"""


@pytest.mark.slow
@pytest.mark.integration
def test_the_core_prints_runs_without_them(tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", [Shape(), Shape(score=0.0)], screenshots=False)
    done = subprocess.run([sys.executable, "-c", WITHOUT, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 passed, 1 failed, 0 unscored of 2 tasks" in done.stdout
    assert "1 passed, 1 failed" in (folder / "summary.md").read_text()
