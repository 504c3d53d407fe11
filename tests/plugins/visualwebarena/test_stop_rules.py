"""Where an episode of VisualWebArena ends, beside its own runner: the package's actions, and `run.py` of a checkout."""

import json
import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from harness.actions import Action, InvalidAction
from harness.cli import configured
from harness.episode.attempt import stop_rules
from harness.evaluation.action_classes import action_set_of
from harness.plugins.webarena.same_action import equivalent
from harness.records import EpisodeLimits
from tests.e2e.conftest import PROJECT
from tests.plugins.visualwebarena import reference_sequences

PYTHON = PROJECT / ".venv-visualwebarena/bin/python"
RUNNER = Path(os.environ.get("JUDGES_DIR", "nowhere")) / "visualwebarena" / "run.py"
MAX_STEPS, PARSING, REPEATED = 30, 3, 5
"""Defaults of the runner's arguments."""
TEXTS = (
    *("click [1]", "click [2]", "hover [1]", "type [1] [a] [0]", "type [1] [b]", "type [2] [a]", "press [Enter]"),
    *("press [ctrl+a]", "scroll [down]", "scroll [up]", "new_tab", "tab_focus [0]", "tab_focus [1]", "close_tab"),
    *("go_back", "go_forward", "goto [http://a.test]", "goto [http://b.test]", None),
)


def sequences(seed: int, count: int) -> list[list[str | None]]:
    """Sequences that go on for long: few different actions, and runs of one."""
    draw, found = Random(seed), []
    for _ in range(count):
        few, longest, length = (
            draw.sample(TEXTS, draw.choice((1, 2, 4, 15))),
            draw.choice((1, 2, 5)),
            draw.randint(4, 34),
        )
        sequence: list[str | None] = []
        while len(sequence) < length:
            sequence += [draw.choice(few)] * draw.randint(1, longest)
        found.append(sequence)
    return found


def ours(sequence: list[str | None], limits: EpisodeLimits) -> list[object] | None:
    parse = action_set_of("id_accessibility_tree").parse
    taken: list[Action] = []
    for number, text in enumerate(sequence, 1):
        taken.append(InvalidAction(why="unreadable") if text is None else parse(text))
        if stop := stop_rules(taken, limits, equivalent):
            return [number, stop.detail]
    return None


@pytest.mark.skipif(not PYTHON.exists(), reason="make test-visualwebarena builds the environment of the package")
@pytest.mark.skipif(not RUNNER.exists(), reason="JUDGES_DIR names no folder with a checkout of visualwebarena")
def test_episodes_end_where_its_own_runner_ends_them() -> None:
    chosen = sequences(11, 500)
    thresholds = {"parsing_failure": PARSING, "repeating_action": REPEATED}
    given = {"runner": str(RUNNER), "max_steps": MAX_STEPS, "thresholds": thresholds, "sequences": chosen}
    done = subprocess.run(
        [str(PYTHON), "-m", reference_sequences.__name__],
        input=json.dumps(given),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = json.loads(done.stdout)
    assert len({why for _, why in filter(None, theirs)}) == 4 and None in theirs, "every rule is met"
    limits = configured(["task=visualwebarena"]).limits
    assert [ours(sequence, limits) for sequence in chosen] == theirs
