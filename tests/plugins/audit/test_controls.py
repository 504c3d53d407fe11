"""`harness audit --controls`: agents whose figures are known, played on tasks with policies or attacks."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.api import dumps, loads
from harness.errors import ExitCode
from harness.main import main
from harness.plugins.audit import controls
from tests.e2e.conftest import PROJECT
from tests.played import Do, goto, write
from tests.plugins.attacks.played import ATTACK, records, task

DEMO = str(PROJECT / "tasks" / "demo.json")
CONFIRM = "http://shop.localhost/?confirm"
FOLLOWS = [Do(action=goto(CONFIRM), url=CONFIRM)]
Played = Callable[..., list[list[str]]]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Played:
    """Nothing is played: an agent that is no other's does its task, and all do as they should."""

    def put(
        *,
        obedient: Sequence[Do] = FOLLOWS,
        careful: bool = True,
        ends: bool = True,
        earlier: bool = False,
        trials: int = 1,
    ) -> list[list[str]]:
        asked = list[list[str]]()

        def play_quietly(overrides: Sequence[str], config_dir: Path | None) -> Path:
            asked.append(list(overrides))
            is_careful = "agent=prompt" in overrides
            passes = is_careful and (careful or "attack=none" in overrides)
            steps = obedient if "agent=obedient" in overrides else [Do()] * is_careful
            of = [task(number, None if "attack=none" in overrides else ATTACK) for number in range(2)]
            episodes = [
                # Only a first trial may be kept from passing by an attack.
                records(
                    one, steps, passed=passes or (is_careful and trial > 0), is_over=ends or not is_careful, trial=trial
                )
                for one in of
                for trial in range(trials)
            ]
            folder = write(tmp_path / str(len(asked)), episodes)
            if earlier:
                about = loads((folder / "run.json").read_bytes())
                write(folder, [records(task("9", ATTACK), [Do()], passed=False)])
                (folder / "run.json").write_bytes(dumps(about))
            return folder

        monkeypatch.setattr(controls, "play_quietly", play_quietly)
        return asked

    return put


def audit(*more: str) -> int:
    return int(main(["audit", DEMO, "attack=inject", "task.ids=[0,7]", *more, "--controls"]))


def test_what_comes_out_as_expected_is_exit_code_0(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    asked = played()
    assert audit("agent=tools", "agent.history=3", "attack.arguments.kinds=[banner]", "--json") == ExitCode.DONE
    found = loads(capsys.readouterr().out.encode())["controls"]
    assert {(one["key"], one["agent"]) for one in found} == {
        ("attack", name) for name in ("null", "obedient", "careful", "random")
    }
    figures = {(one["agent"], one["figure"]): one["found"] for one in found}
    assert figures["obedient", "resisted"] == 0.0 and figures["null", "safe"] == 0.0
    assert figures["careful", "resisted"] == figures["careful", "same rate"] == 1.0
    assert not any("agent=tools" in one or "agent.history=3" in one for one in asked), "the control chooses the agent"
    (without,) = [one for one in asked if "attack=none" in one]
    assert not any(one.startswith("attack.") for one in without) and "agent=prompt" in without
    assert all("task.ids=['0','7']" in one for one in asked)


def test_tasks_that_an_earlier_audit_asked_for_do_not_count(played: Played) -> None:
    played(earlier=True)
    assert audit() == ExitCode.DONE


def test_the_names_of_its_runs_begin_as_asked_for(played: Played) -> None:
    """Another attack on the same tasks needs other folders, and is told to give a `run.id`."""
    asked = played()
    assert audit("run.id=mine") == ExitCode.DONE
    names = [[one for one in overrides if one.startswith("run.id=")][-1] for overrides in asked]
    agents = ("null", "obedient", "careful", "careful-without", "random")
    assert names == [f"run.id='mine-attack-{agent}'" for agent in agents]


@pytest.mark.parametrize(
    ("more", "follows"), [((), False), ((f"task.plans={PROJECT / 'tasks' / 'demo.plans.json'}",), True)]
)
def test_plans_of_the_demo_are_not_those_of_another_file(
    played: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], follows: bool
) -> None:
    asked, mine = played(), tmp_path / "mine.json"
    mine.write_bytes(Path(DEMO).read_bytes())
    assert main(["audit", str(mine), "attack=inject", "task.ids=[0,7]", *more, "--controls"]) == ExitCode.DONE
    assert any("agent=prompt" in one for one in asked) is follows
    assert ("careful is left out, as the tasks have no plans" in capsys.readouterr().out) is not follows


def test_an_attack_that_cannot_be_followed_is_found(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    played(obedient=())
    assert audit() == ExitCode.BELOW
    said = capsys.readouterr().out
    assert "attack, obedient: resisted is 100.0%, not 0.0%: an attack is not seen or cannot be followed" in said
    assert "1 wrong" in said


def test_an_attack_that_keeps_a_task_from_being_done_is_found(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    played(careful=False)
    assert audit() == ExitCode.BELOW
    said = capsys.readouterr().out
    assert "attack, careful: same rate is 0.0%, not 100.0% (tasks 0, 1): a task itself needs" in said


def test_each_trial_counts(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    played(careful=False, trials=2)
    assert audit("trials=2") == ExitCode.BELOW
    assert "same rate is 50.0%, not 100.0% (tasks 0, 1): a task itself needs" in capsys.readouterr().out


def test_what_is_unknown_is_neither(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    played(ends=False)
    assert audit() == ExitCode.UNSCORED
    said = capsys.readouterr().out
    assert "0 wrong" in said and "as expected, as far as it is known" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([DEMO], "no task of .*demo.json has policies or an attack; give settings that bring them"),
        ([DEMO, "attack=inject", "--play"], "--controls plays agents and no exploits; leave --play and --exploit out"),
    ],
)
def test_what_has_nothing_to_measure_is_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["audit", *arguments, "--controls"]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and re.search(said, error)
