"""What clients are shown of a page, and of an objective that has pictures."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import httpx
import jsonschema
import pytest

from harness.actions import CairnActionSet
from harness.choices import Durability
from harness.journal.store import RunFolder
from harness.plugins.environments import cube
from harness.plugins.environments.agent import ClientAgent, question_of
from harness.plugins.environments.clients.trl import CairnTools
from harness.plugins.environments.ledger import NAME, Entry
from harness.plugins.environments.turn import Recorded, turn_of
from harness.plugins.environments.views import observation, schema
from harness.plugins.environments.wire import Sight
from harness.records import LiveObservation
from harness.settings.observation import ObservationSettings
from tests.journal.episodes import acted, folded, opened, task
from tests.plugins.environments.stand import Stand, stand
from tests.reports.runs import Shape, fill
from tests.reports.runs import task as served_task

PNG, JPEG = b"\x89PNG of a mug", b"\xff\xd8\xff of a mug"
ENTRY = Entry(episode_id="x", task_id="0", trial=0, seed=None)


@pytest.mark.parametrize(
    "shown, has_text, has_image",
    [
        ("accessibility_tree", True, False),
        ("html", True, False),
        ("accessibility_tree+image", True, True),
        ("image", False, True),
    ],
)
def test_a_client_is_shown_what_the_settings_say(tmp_path: Path, shown: str, has_text: bool, has_image: bool) -> None:
    """By the agent, and by the journal where an answer was lost; a screenshot may be there for reports only."""
    sight = Sight.of(ObservationSettings(type=shown))
    page = acted(0, "Tab 0 (current): Shop\n\n[1] link 'Tea'").observation
    assert page is not None
    live = LiveObservation(observation=page, nodes={}, image=PNG)
    episode = folded((opened(), acted(0)))
    seen = observation(turn_of(ENTRY, question_of(task(), episode, live, sight=sight)))
    assert seen["text"].startswith("Tab 0") and ("Tea" in seen["text"]) is has_text
    assert (seen["screenshot"] is not None) is has_image

    run = fill(tmp_path / "run", [Shape(steps=2)])
    again = observation(Recorded(folder=run, entry=ENTRY, sight=sight).step(1))
    assert ("[" in again["text"]) is has_text and (again["screenshot"] is not None) is has_image


@pytest.mark.parametrize("browsergym", [False, True])
def test_an_observation_is_as_the_schema_says(tmp_path: Path, browsergym: bool) -> None:
    run = fill(tmp_path / "run", [Shape(steps=2)])
    shape = schema(CairnActionSet(), browsergym=browsergym)["observation"]
    jsonschema.validate(observation(Recorded(folder=run, entry=ENTRY).step(1), browsergym=browsergym), shape)


async def first_page(there: Stand) -> None:
    """The journal of an episode that has shown its first page, and whose task has two pictures."""
    there.lanes.pictured = True
    of = there.lanes.tasks["0"]
    with RunFolder.open(there.lanes.folder, durability=Durability.none) as run, run.journal("0") as journal:
        images = tuple(run.artifacts.put(one) for one in (PNG, JPEG))
        for record in (replace(opened(of=of), images=images), acted(0)):
            journal.append(record)


async def test_pictures_of_an_objective_are_in_the_answer_to_a_reset(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(json.dumps({"episode_id": "x", "task_id": "0", "trial": 0, "seed": None}) + "\n")
    async with stand(tmp_path) as there, there.client() as one:
        await first_page(there)
        begun = await one.reset(episode_id="x", resume=True)
        kinds, data = zip(*(url.split(";base64,") for url in begun["observation"]["task_images"]), strict=True)
        assert kinds == ("data:image/png", "data:image/jpeg")
        assert tuple(map(base64.b64decode, data)) == (PNG, JPEG)
        assert (await one.step("scroll [down]"))["observation"]["task_images"] == []


async def test_ways_in_that_show_text_only_refuse_a_task_with_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / NAME).write_text(json.dumps({"episode_id": "x", "task_id": "0", "trial": 0, "seed": None}) + "\n")
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        await first_page(there)
        answer = await http.post("/nemo/reset", json={"episode_id": "x", "resume": True})
        assert answer.status_code == 422 and "NeMo Gym is shown text only" in answer.json()["detail"]["message"]
        assert there.served.slots.taken == 0
    seen = {"task": "0", "goal": "", "text": "", "task_images": ["data:image/png;base64,"]}
    tools = CairnTools()
    monkeypatch.setattr(tools._connection, "reset", lambda **wanted: {"observation": seen})
    with pytest.raises(ValueError, match="which no tool shows"):
        tools.reset(task="0")


def test_pictures_of_an_objective_are_where_browsergym_and_cube_have_them() -> None:
    assert ClientAgent.shows_task_images, "or tasks with pictures are refused at the start"
    first = acted(0).observation
    assert first is not None
    live = LiveObservation(observation=first, nodes={})
    episode = folded((opened(of=served_task("0")), acted(0)))
    turn = replace(turn_of(ENTRY, question_of(task(), episode, live, sight=Sight())), task_images=(PNG,))
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    words, picture = observation(turn, browsergym=True)["goal_object"]
    assert words["type"] == "text" and picture == {"type": "image_url", "image_url": {"url": url}}
    assert {one["name"]: one["data"] for one in cube.observation(turn)["contents"]}["goal_picture"] == url
