"""What `observation.*` asks for is what a model is sent, and what a run folder holds."""

from collections.abc import Callable

import pytest

from harness.codec import loads
from harness.journal.log import read
from harness.journal.store import ArtifactStore
from tests.e2e.conftest import Start
from tests.e2e.test_vision import prompts

Starter = Callable[..., Start]
pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_the_html_of_each_step_can_be_kept(start: Starter) -> None:
    done = start("observation.keep_html=true", "task.ids=[0]", "executor=inline", "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    (journal,) = done.folder.glob("*.traj.jsonl")
    episode, artifacts = read(journal), ArtifactStore(done.folder / "artifacts")
    assert episode.arrival is not None
    seen = [episode.arrival.observation, *(step.acted.observation for step in episode.steps)]
    assert len(seen) > 1
    for observation in seen:
        assert observation.html is not None
        html = loads(artifacts.read(observation.html))
        assert html.startswith("<!DOCTYPE html>") and f"<title>{observation.title}</title>" in html.replace(
            "&amp;", "&"
        )
    again = start("task.ids=[0]")
    assert again.code == 0, "it changes nothing that is measured"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shown", "texts", "pictures"),
    [
        ("accessibility_tree+html", ("RootWebArea", "<A "), 0),
        ("html+image", ("<A ",), 1),
        ("accessibility_tree+image+marks", ("RootWebArea",), 2),
    ],
)
def test_any_combination_is_an_observation(start: Starter, shown: str, texts: tuple[str, ...], pictures: int) -> None:
    done = start(f"observation.type={shown}", "task.ids=[0]", "agent.max_observation_tokens=20000")
    assert done.summary["passed"] == ("accessibility_tree" in shown), "the plan is for the roles of the tree"
    (*_, question), *_ = prompts(done.folder, ArtifactStore(done.folder / "artifacts"))
    content = question["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    assert all(text in parts[0]["text"] for text in texts)
    assert ("RootWebArea" in parts[0]["text"]) == ("RootWebArea" in texts)
    assert [part["type"] for part in parts[1:]] == ["image_url"] * pictures
