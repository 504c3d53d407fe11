"""What the endpoint refuses an agent's process: its answer, and never the end of the run."""

from pathlib import Path
from typing import Any

import pytest

from harness.testing import MemoryJournal, play
from tests.plugins.process_agent.processes import HEAD, Model, agent_of

pytestmark = pytest.mark.integration
PAGES = ("[1] link 'one'", "[1] link 'two'", "[1] link 'three'", "[1] link 'four'")
ODD = (
    HEAD
    + """
first = post("/v1/chat/completions", {"model": "nope", "messages": []})
act("goto", url="http://site.test/0")
act("stop", answer="%d, %s" % (first[0], json.loads(first[1])["error"]["message"]))
"""
)


@pytest.mark.sample(2)
@pytest.mark.parametrize("status", [401, 402, 403, 404, 405, 410, 501])
async def test_a_refused_request_is_answered_recorded_and_gone_on_with(tmp_path: Path, status: int) -> None:
    class Error(Model):
        def _answer(self, path: str) -> dict[str, Any]:
            return {"error": {"message": "not here"}}

    journal = MemoryJournal()
    async with agent_of(ODD, tmp_path, Error(status=status)) as agent:
        episode = await play(agent, *PAGES, journal=journal)
    assert episode.closed is not None and episode.closed.answer == f"{status}, not here" and len(episode.steps) == 1
    assert episode.answered[1].status == status and b"not here" in journal.artifacts.read(episode.answered[1].response)


async def test_a_header_that_cannot_be_sent_is_a_bad_request(tmp_path: Path) -> None:
    script = (
        HEAD
        + """
import http.client
from urllib.parse import urlsplit
where = urlsplit(os.environ["CAIRN_URL"])
client = http.client.HTTPConnection(where.hostname, where.port)
headers = {"x-api-key": os.environ["CAIRN_TOKEN"], "anthropic-beta": "caf\\xe9"}
client.request("POST", "/v1/messages", b'{"model": "m", "messages": []}', headers)
said = client.getresponse()
act("stop", answer="%d %s" % (said.status, json.load(said)["error"]["message"]))
"""
    )
    async with agent_of(script, tmp_path, Model()) as agent:
        episode = await play(agent)
    assert episode.closed is not None and episode.asked == ()
    assert episode.closed.answer == "400 the header anthropic-beta contains characters that are not allowed in one"
