"""A failed verdict, and an ending that the agent did not choose, name the step to begin reading at."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.actions import Click, InvalidAction, Target
from harness.choices import Durability
from harness.journal.store import RunFolder
from harness.plugins.html_report.decisive_step import StepLink, ending_step, refusals, verdict_step
from harness.plugins.html_report.report import write_report
from harness.records import CloseReason, Decided, Record
from harness.runs.run import Run
from harness.runs.task_page import StepView, story_of
from tests.reports.runs import Shape, episode, task, write

AGAIN = Click(target=Target(id="3", role="link", name="Back", line="link 'Back'", box=None))


def moments(folder: Path, shape: Shape, *, tail: int = 0, action: object = AGAIN) -> tuple[StepView, ...]:
    """The steps of an episode of this shape, the last `tail` of which have this action."""
    with RunFolder.open(folder, durability=Durability.none) as run:
        of = task(0)
        records: list[Record] = episode(run, of, shape, screenshots=False)
        decided = [one for one in records if isinstance(one, Decided)]
        late = {one.step for one in decided[-tail:]} if tail else set()
        changed = [
            replace(one, action=action) if isinstance(one, Decided) and one.step in late else one  # type: ignore[arg-type]
            for one in records
        ]
        write(run, of, changed)
    story = story_of(Run(folder).episode(of.task_id))
    assert story is not None
    return story.moments


@pytest.mark.parametrize(
    ("evaluator", "step", "what"),
    [
        ("string_match", 7, "the answer was given here"),
        ("AgentResponseEvaluator", 7, "the answer was given here"),
        ("program_html", 1, "the last one that changed a site"),
        ("url_match", 6, "the last action performed"),
        ("webjudge", 6, "the last action performed"),
        ("page_reward", 6, "the last action performed"),
    ],
)
def test_a_verdict_leads_to_what_it_judged(tmp_path: Path, evaluator: str, step: int, what: str) -> None:
    found = moments(tmp_path / "run", Shape(steps=6, score=0.0))
    assert verdict_step(found, evaluator) == StepLink(step=step, what=what)


def test_a_refused_action_led_nowhere(tmp_path: Path) -> None:
    found = moments(tmp_path / "run", Shape(steps=3, score=0.0, refused=3))
    assert verdict_step(found, "url_match") == StepLink(step=2, what="the last action performed")
    assert refusals(found) == (3,)


@pytest.mark.parametrize(
    ("reason", "action", "step", "what"),
    [
        (CloseReason.REPEATED, AGAIN, 4, "the first of 3 equal actions"),
        (CloseReason.PARSE_FAILURES, InvalidAction(why="no block"), 4, "the first of 3 unreadable replies"),
        (CloseReason.MAX_STEPS, AGAIN, 6, "the last step"),
    ],
)
def test_an_ending_leads_to_where_it_began(
    tmp_path: Path, reason: CloseReason, action: object, step: int, what: str
) -> None:
    found = moments(tmp_path / "run", Shape(steps=6, score=0.0, reason=reason), tail=3, action=action)
    assert ending_step(found, reason) == StepLink(step=step, what=what)
    page = write_report(Run(tmp_path / "run")).index.parent / "tasks" / "0.html"
    assert f'{reason}: Reach max steps 6; <a href="#step-{step}">step {step}</a>, {what}' in page.read_text()


def test_a_reply_that_could_not_be_read_is_no_action_and_the_ending_matters_first(tmp_path: Path) -> None:
    shape = Shape(steps=6, score=0.0, reason=CloseReason.PARSE_FAILURES)
    found = moments(tmp_path / "run", shape, tail=3, action=InvalidAction(why="no block"))
    assert verdict_step(found, "url_match") == StepLink(step=3, what="the last action performed")
    page = (write_report(Run(tmp_path / "run")).index.parent / "tasks" / "0.html").read_text()
    assert page.count("the reply could not be read, so nothing was done") == 3
    assert page.count('<p class="ok">performed') == 3
    begun = ending_step(found, CloseReason.PARSE_FAILURES)
    assert begun is not None and begun.step == 4
    assert verdict_step(found, "string_match", CloseReason.PARSE_FAILURES) == begun
    stopped = moments(tmp_path / "other", Shape(steps=2, score=0.0))
    assert verdict_step(stopped, "string_match", CloseReason.STOPPED) == verdict_step(stopped, "string_match")


def test_the_head_of_a_page_names_cause_and_step(tmp_path: Path) -> None:
    for name, shape, said in (
        ("a", Shape(steps=2, score=0.0), 'is not &#39;$44.50&#39;; <a href="#step-3">step 3</a>, the answer was'),
        ("b", Shape(steps=2, failure="BrowserCrashed"), 'signal 9; <a href="#step-2">step 2</a>, the last step'),
        ("c", Shape(steps=2), '<p id="cause" class="cause"></p>'),
    ):
        with RunFolder.open(tmp_path / name, durability=Durability.none) as run:
            write(run, task(0), episode(run, task(0), shape, screenshots=False))
        page = write_report(Run(tmp_path / name)).index.parent / "tasks" / "0.html"
        assert said in page.read_text().replace("\n", "")


def test_where_nothing_was_done_there_is_nothing_to_read() -> None:
    assert verdict_step((), "string_match") is None and ending_step((), CloseReason.BUDGET) is None


def test_an_agent_that_stopped_chose_its_end(tmp_path: Path) -> None:
    assert ending_step(moments(tmp_path / "run", Shape()), CloseReason.STOPPED) is None
