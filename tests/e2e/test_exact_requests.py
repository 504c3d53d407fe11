"""The exact request of each decision, made again from the run folder alone and held against what the endpoint received."""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from harness.journal.log import read
from harness.journal.prompt_store import read_messages
from harness.journal.store import ArtifactStore
from harness.llm.request_frame import body_of
from harness.main import main
from tests.e2e.conftest import Start
from tests.e2e.trouble import endpoint
from tests.stub_endpoint import Said, Sent, stub_endpoint

pytestmark = [pytest.mark.browser, pytest.mark.asyncio]
REASONING, CLAUDE = "llm.model=gpt-5", "llm.model=claude-sonnet-4-5"
COMPUTER = ("agent=computer",)
OPTIONS = ("llm.max_tokens=777", "+llm.extra_body.user=somebody")
COMBINATIONS = [
    ("agent=prompt", "agent.history=30", "agent.memory=true", "llm.api=chat", "llm.temperature=0.3", *OPTIONS),
    ("agent=vision", "llm.api=messages", CLAUDE),
    (*COMPUTER, "llm.api=responses", "llm.model=gpt-5.4"),
]
MORE = [
    ("agent=tools", "agent.memory=true", "llm.api=chat", REASONING, "llm.reasoning_effort=low", *OPTIONS),
    ("agent=vision", "llm.api=chat"),
    ("agent=prompt", "llm.api=responses", REASONING, *OPTIONS),
    ("agent=tools", "llm.api=responses", REASONING),
    ("agent=vision", "llm.api=responses", REASONING),
    (*COMPUTER, "llm.api=responses", "llm.model=computer-use-preview"),
    ("agent=prompt", "llm.api=messages", CLAUDE),
    ("agent=tools", "llm.api=messages", CLAUDE),
    (*COMPUTER, "llm.api=messages", CLAUDE),
]


def rebuilt(folder: Path) -> list[bytes]:
    """The body of each request that a decision was read from, in no particular order."""
    artifacts = ArtifactStore(folder / "artifacts")
    decided = [step.decided for path in folder.glob("*.traj.jsonl") for step in read(path).steps]
    decided += [one for path in folder.glob("*.traj.jsonl") if (one := read(path).pending) is not None]
    asked = [one for one in decided if one.usage.requests]
    assert len({one.request for one in asked}) == 1, "stored once"
    return [body_of(artifacts.read(one.request or ""), read_messages(one.prompt, artifacts)) for one in asked]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "settings", [*COMBINATIONS, *(pytest.param(one, marks=pytest.mark.slow) for one in MORE)], ids=" ".join
)
async def test_the_exact_request_of_each_decision_is_in_the_run_folder(
    start: Callable[..., Start], settings: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    async with endpoint() as port:

        def pass_on(sent: Sent) -> Said:
            with closing(HTTPConnection("127.0.0.1", port)) as upstream:
                upstream.request("POST", sent.path, sent.body, {"content-type": "application/json"})
                answer = upstream.getresponse()
                return Said(answer.read(), answer.status)

        with stub_endpoint(pass_on) as recorder:
            where = (
                f"llm.base_url={recorder.url}",
                "task=demo",
                "task.ids=[0,2]",
                "executor=inline",
                "run.report=false",
            )
            done = await asyncio.to_thread(start, *where, *settings)
    assert done.code == 0, done.out + done.err
    assert done.summary["passed"] == 2 and len(recorder.sent) >= 4
    assert sorted(rebuilt(done.folder)) == sorted(sent.body for sent in recorder.sent)
    capsys.readouterr()
    assert main(["show", str(done.folder), "0", "1", "--request", "--raw"]) == 0
    raw = capsys.readouterr().out
    assert raw.encode() in [sent.body + b"\n" for sent in recorder.sent]
    assert main(["show", str(done.folder), "0", "1", "--request"]) == 0
    pretty = capsys.readouterr().out
    assert json.loads(pretty) == json.loads(raw) and pretty.startswith("{\n  ") and pretty.count("\n") > 10
