"""`agent.memory` of agents that call functions, over real HTTP: kept, killed, gone on with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.journal.log import read
from tests.e2e.conftest import Start
from tests.e2e.test_run import running
from tests.stub_endpoint import Said, Sent, calls, said, stub_endpoint
from tests.waiting import wait_until

pytestmark = pytest.mark.browser
DOWN = ("scroll", {"direction": "down"})


@pytest.mark.slow
def test_the_note_of_a_killed_episode_is_shown_to_the_model_after_the_resume(
    start: Callable[..., Start], tmp_path: Path
) -> None:
    """The stub answers with what stands under NOTE, so the answer is right only if the note outlived the process."""

    def answer(sent: Sent) -> Said:
        shown = str(sent.json["messages"][1]["content"])
        noted = shown.partition("\nNOTE:\n| ")[2].partition("\n")[0]
        if noted:
            return said(calls(("stop", {"answer": noted})))
        return said(calls(("keep_note", {"text": "the cheapest is 8.90"}), DOWN, ("wait", {}), DOWN))

    with stub_endpoint(answer) as endpoint:
        settings = ("agent=tools", "agent.memory=true", "agent.history=0", "workers=1", "task=demo", "task.ids=[0]")
        model = ("llm=openai", "llm.model=m", f"llm.base_url={endpoint.url}")
        journal = tmp_path / "results" / "run" / "0.traj.jsonl"
        with running(*settings, *model, root=tmp_path / "results") as process:
            wait_until(lambda: journal.exists() and b'"kind":"decided"' in journal.read_bytes())
            process.kill()
            process.wait()
        before = read(journal)
        assert before.closed is None and len(endpoint.sent) == 1
        done = start(*settings, *model)
        assert len(endpoint.sent) == 2, done.out + done.err
    episode = read(journal)
    assert episode.closed is not None and episode.closed.answer == "the cheapest is 8.90"
    assert [step.decided.action.kind for step in episode.steps] == ["scroll", "wait", "scroll"]
    assert episode.steps[0].decided.memory["note"] == "the cheapest is 8.90"
