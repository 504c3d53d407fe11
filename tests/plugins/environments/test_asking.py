"""The user of a task, for clients: who may be asked, and how the answer comes back."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from harness.actions import AskUser, CairnActionSet, Click, Stop
from harness.errors import ActionSyntaxError
from harness.evaluation.action_classes import action_set_of
from harness.plugins.environments.agent import action_of, actions_for, actions_of, goal_of, named_of
from harness.plugins.environments.clients.trl import CairnTools, CairnToolsWithUser
from harness.plugins.environments.requests import read_action
from harness.plugins.environments.wire import Order
from harness.records import ScriptedUser, UserAnswer
from harness.runs import Run
from tests.plugins.environments.conftest import Server, client
from tests.plugins.policies.played import task

USER = ScriptedUser(answers=(UserAnswer(says="No.", consents=False),))
QUESTION = "May I delete it?"
ASKED = AskUser(question=QUESTION)


@pytest.mark.parametrize("name", ["cairn", "id_accessibility_tree"])
def test_a_task_with_a_user_has_one_action_more(name: str) -> None:
    known = action_set_of(name)
    with_user = actions_for(replace(task([]), user=USER), known)
    assert actions_for(task([]), known) is known
    assert action_of(Order(text=f"ask_user [{QUESTION}]"), with_user) == ASKED
    assert action_of(Order(name="ask_user", arguments={"question": QUESTION}), with_user) == ASKED
    assert action_of(Order(text="stop [done]"), with_user) == Stop(answer="done")
    assert read_action({"kind": "ask_user", "question": QUESTION}, with_user).name == "ask_user"
    with pytest.raises(ValueError, match="there is no action 'ask_user'"):
        action_of(Order(name="ask_user", arguments={"question": QUESTION}), known)
    with pytest.raises(ActionSyntaxError):
        action_of(Order(text=f"ask_user [{QUESTION}]"), known)
    assert with_user.name == known.name and with_user.same(ASKED, ASKED)
    assert with_user.render(Stop(answer="x")) == known.render(Stop(answer="x"))


def test_it_is_among_the_functions_and_in_the_goal() -> None:
    known = CairnActionSet()
    with_user = actions_for(replace(task([]), user=USER), known)
    assert actions_of(with_user) == (*actions_of(known), AskUser) and Click in actions_of(with_user)
    assert list(named_of(with_user)) == [*named_of(known), "ask_user"]
    plain = task([])
    assert goal_of(plain) == plain.intent
    assert goal_of(replace(plain, user=USER)) == f"{plain.intent}\n\n{AskUser.prompt}"


def test_trl_offers_it_by_a_class_of_its_own() -> None:
    assert not hasattr(CairnTools, "ask_user") and CairnToolsWithUser.ask_user.__doc__


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.browser
async def test_a_client_asks_over_each_protocol(tmp_path: Path) -> None:
    served = Server(tmp_path, given=("task=demo_policies", "task.ids=[0]", "environments=1"))
    try:
        served.start()
        async with client(served) as one:
            first = (await one.reset(task="0"))["observation"]
            assert first["goal"].endswith(AskUser.prompt)
            seen = (await one.step(f"ask_user [{QUESTION}]"))["observation"]
            assert seen["notices"] == ["the user answers: Yes, go ahead."] and not seen["last_action_error"]
            again = await one.ask("step", {"kind": "ask_user", "question": "And now?"})
            assert again["data"]["observation"]["step"] == 2
            listed = await one.ask("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            assert "ask_user" in [tool["name"] for tool in listed["data"]["result"]["tools"]]
            call = {"name": "ask_user", "arguments": {"question": QUESTION}}
            told = await one.ask("mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
            assert told["data"]["result"]["content"][0]["text"] == "the user answers: Yes, go ahead."
            await one.step("stop [nothing]")
        async with httpx.AsyncClient(base_url=served.url, timeout=120) as http:
            spawned = await http.post("/cube", json=_rpc("cube/spawn", task_config={"metadata": {"id": "0"}}))
            where = spawned.json()["result"]
            await http.post(where, json=_rpc("cube/reset"))
            tools = (await http.post(where, json=_rpc("tools/list"))).json()["result"]
            assert "ask_user" in [tool["name"] for tool in tools]
            call = {"name": "ask_user", "arguments": {"question": QUESTION}}
            shown = (await http.post(where, json=_rpc("tools/call", **call))).json()["result"]
            named = {one["name"]: one["data"] for one in shown["contents"]}
            assert named["notices"] == "the user answers: Yes, go ahead."
            await http.post(where, json=_rpc("cube/close"))
    finally:
        served.kill()
    assert [step.action.kind for step in Run(served.folder).episode("0", 0).steps] == [*["ask_user"] * 3, "stop"]


def _rpc(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
