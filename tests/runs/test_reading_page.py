"""The examples of docs/pages/reading_runs.md, run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import PROJECT, command, environment
from tests.forked import Forks

pytestmark = [pytest.mark.browser, pytest.mark.integration]
PAGE = (PROJECT / "docs" / "pages" / "reading_runs.md").read_text()
EXAMPLES = re.findall(r"^(?:## )?([^\n]*)\n\n```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
RIGHT = "The compartment door that would not lock"
SAYS = {
    "A data frame": ("shop     1.0", "click ["),
    "The steps before a failure": ("1 wrong result", "not performed"),
    "All requests of a model": ("0 1 scripted", "asked:", "said:"),
    "Results of a run": ("1 passed, 1 failed, 0 unscored of 2 tasks; 50.0%", "shop 100%", "1 failed wrong result"),
    "`statistics_of` computes them for any selection of its `results`:": ("of at most five steps: ",),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, forked: Forks) -> Path:
    """A folder with the run that the examples name: task 0 passed, task 1 failed."""
    root = tmp_path_factory.mktemp("reading")
    plans = (PROJECT / "tasks" / "demo.plans.json").read_text().replace(RIGHT, "no idea")
    (root / "plans.json").write_text(plans)
    settings = ("task=demo", "task.ids=[0,1]", "agent=prompt", f"task.plans={root / 'plans.json'}")
    done = forked.run("run.py", *command(*settings, root=root / "results")[2:], cwd=root, env=environment())
    assert done.returncode == 0, done.stderr
    (root / "results" / "run").rename(root / "results" / "demo-prompt-scripted")
    return root


@pytest.mark.slow
@pytest.mark.parametrize(("title", "example"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_an_example_prints_what_it_says(place: Path, title: str, example: str) -> None:
    assert example.count("\n") <= 10
    ran = subprocess.run(
        [sys.executable, "-c", example], cwd=place, env=environment(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert all(said in ran.stdout for said in SAYS[title]), ran.stdout


def test_each_example_is_run() -> None:
    assert [title for title, _ in EXAMPLES] == list(SAYS)
