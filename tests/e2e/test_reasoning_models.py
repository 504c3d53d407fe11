"""OpenAI's reasoning models as agent and as judge, with no setting but their names, against endpoints as strict as theirs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PROJECT
from tests.e2e.test_crashes import PRICE, a_reply
from tests.e2e.trouble import TroubledSites, World, endpoint, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.asyncio]


class StrictJudge:
    """Refuses what gpt-5 refuses; agrees with every answer."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        data, more = b"", True
        while more:
            event = await receive()
            data, more = data + event.get("body", b""), event.get("more_body", False)
        self.bodies.append(body := json.loads(data))
        refused = {"temperature", "top_p", "max_tokens"} & body.keys()
        answer = (
            json.dumps({"error": {"message": f"Unsupported: {refused}"}}).encode() if refused else a_reply("correct")
        )
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 400 if refused else 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


async def test_gpt_5_is_agent_and_judge_without_further_settings(tmp_path: Path) -> None:
    task = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())[PRICE]
    task["eval"]["reference_answers"] = {"fuzzy_match": ["$44.50"]}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    judge, sites = StrictJudge(), TroubledSites()
    async with serving(sites) as sites_port, endpoint() as endpoint_port, serving(judge) as port:
        world = World(tmp_path, sites, sites_port, endpoint_port)
        models = ("llm=openai", "llm.model=gpt-5", "judge.model=gpt-5", f"judge.base_url=http://127.0.0.1:{port}/v1")
        async with world.playing("task=demo", f"task.path={tmp_path}/tasks.json", *models) as play:
            assert await play.ended() == 0, play.text
    assert play.summary["passed"] == 1
    assert {"model", "messages", "max_completion_tokens"} == set(judge.bodies[0])
    assert judge.bodies[0]["max_completion_tokens"] > 20_000, "room for the reasoning"
