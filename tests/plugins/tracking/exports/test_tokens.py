"""`harness export tokens` and the tokens of trajectories: every sampled token of a run is found, and spells its text."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from harness.actions import Stop
from harness.api import Tokens
from harness.choices import Durability
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.plugins.demo.model.token_bytes import text_of_ids
from harness.plugins.tracking.exports.formats import TokenIds
from harness.plugins.tracking.exports.token_ids import export_tokens
from harness.plugins.tracking.group_reader import read_groups
from harness.plugins.tracking.trajectory import Trajectory
from harness.runs import Run
from tests.e2e.conftest import PROJECT, command, environment
from tests.journal.episodes import acted, closed, opened, scored, task
from tests.plugins.tracking.exports.runs import decision, user
from tests.plugins.tracking.rollouts import ASKED, answer, model, rollout, root

LOOP = PROJECT / "docs" / "examples" / "agents" / "tool_loop.py"
PROCESS = ("agent=process", f"agent.command=[{sys.executable},{LOOP}]", "llm=scripted", "llm.token_ids=true")
PLAYED = ("task=demo", "executor=inline", "workers=1", "run.report=false")


def exported(folder: Path, into: Path) -> list[dict[str, Any]]:
    found = export_tokens(folder, into, dialect="corrected")
    rows = [json.loads(line) for line in found.path.read_bytes().splitlines()]
    assert len(rows) == found.answers
    return rows


def spelled(body: bytes) -> str:
    """What an answer of the endpoint says, as its tokens spell it."""
    message = json.loads(body)["choices"][0]["message"]
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    said = [json.dumps({"name": call["name"], "arguments": json.loads(call["arguments"])}) for call in calls]
    return "\n".join([*([message["content"]] if message["content"] else []), *said])


def same(one: str, other: str) -> bool:
    """Whether two texts are the same but for how their JSON is written."""
    return [_read(line) for line in one.split("\n")] == [_read(line) for line in other.split("\n")]


def _read(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def check(folder: Path, into: Path) -> int:
    """See that each answered request is a row whose ids spell what was answered; returns how many there are."""
    rows = {(row["task"], row["trial"], row["request"]): row for row in exported(folder, into)}
    requests = 0
    for episode in Run(folder).episodes():
        for request in episode.requests:
            requests += 1
            row = rows[episode.task_id, episode.trial, request.number]
            assert same(text_of_ids(row["completion_ids"]), spelled(request.answer)) and row["completion_ids"]
            assert len(row["logprobs"]) == len(row["completion_ids"]) and row["step"] == request.step
            prompt = text_of_ids(row["prompt_ids"])
            said = [message["content"] for message in request.messages if isinstance(message.get("content"), str)]
            assert said and all(text in prompt for text in said)
            assert (row["status"], row["reward"]) == (episode.status, episode.score.value)
    assert requests == len(rows)
    return requests


def played(folder: Path, *settings: str, killed_after: Sequence[int] = ()) -> Path:
    """Play until it is done; each start but the last is killed when so many answers have been recorded."""
    run = folder / "run"

    def answered() -> int:
        kinds = (b'"kind":"answered"', b'"kind":"decided"')
        journals = [path.read_bytes() for path in run.glob("*.traj.jsonl")]
        return sum(journal.count(kind) for journal in journals for kind in kinds)

    for most in (*killed_after, None):
        with subprocess.Popen(
            command(*settings, root=folder),
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            if most is None:
                out, _ = process.communicate(timeout=1800)
                assert process.returncode == 0, out
                break
            while process.poll() is None and answered() < most:
                try:
                    process.wait(0.02)
                except subprocess.TimeoutExpired:
                    continue
            family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            psutil.wait_procs(family, timeout=600)
    return run


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.integration
@pytest.mark.parametrize(
    "agent", [("agent=tools", "llm=scripted", "llm.token_ids=true"), PROCESS], ids=["own", "process"]
)
def test_every_sampled_token_of_a_run_is_exported_and_logged(agent: tuple[str, ...], tmp_path: Path) -> None:
    run = played(tmp_path, *agent, *PLAYED, "task.ids=[0,12]")
    assert check(run, tmp_path / "export") >= 4
    (group, _) = read_groups(_logged(run, tmp_path))
    (trajectory,) = group.trajectories
    episode = Run(run).episode("0", 0)
    assert trajectory.tokens == [request.tokens[-1] for request in episode.requests]


def _logged(run: Path, folder: Path) -> Path:
    import asyncio

    asyncio.run(model(folder).log(run))
    return root(folder) / "trajectories/val/0000.parquet"


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.integration
def test_kills_lose_no_token_of_what_was_answered(tmp_path: Path) -> None:
    run = played(tmp_path, *PROCESS, *PLAYED, "task.ids=[12]", killed_after=(1, 3))
    assert check(run, tmp_path / "export") >= 4
    assert Run(run).episode("12", 0).record.resumed


@pytest.mark.browser
@pytest.mark.slow
def test_twenty_kills_in_twenty_episodes_lose_no_token(tmp_path: Path) -> None:
    kills = [3 * kill for kill in range(1, 21)]
    run = played(tmp_path, *PROCESS, *PLAYED, "task.limit=20", killed_after=kills)
    assert check(run, tmp_path / "export") >= 60
    assert len(tuple(Run(run).episodes())) == 20
    assert any(episode.record.resumed for episode in Run(run).episodes())


def test_a_run_without_token_ids_says_so_and_how_to_have_them(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Options:
        scoring = "corrected"

    (path,) = TokenIds().write(run, tmp_path / "export", Options())  # type: ignore[arg-type]
    said = capsys.readouterr().out
    assert path.read_bytes() == b"" and "tokens of 0 answers; " in said and "without token ids" in said
    assert "llm.token_ids=true" in said


def test_an_answer_without_token_ids_keeps_its_number_and_is_counted(tmp_path: Path) -> None:
    def answer(*ids: int) -> bytes:
        sampled = {"token_ids": ids, "logprobs": {"content": [{"logprob": -0.5} for _ in ids]}} if ids else {}
        return dumps({"choices": [{"message": {"role": "assistant", "content": "said"}, **sampled}]})

    answers = {"1": (answer(1), answer(2)), "2": (answer(), answer(2)), "3": (answer(1), answer())}
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as run:
        for task_id, given in answers.items():
            earlier, last = map(run.artifacts.put, given)
            made = replace(decision(run, 1, (user("page"),)), action=Stop(answer="yes"))
            made = replace(made, earlier_responses=(earlier,), response=last)
            with run.journal(task_id) as journal:
                for record in (opened(of=task(task_id)), acted(0), made, closed(), scored(dialect="corrected")):
                    journal.append(record)
    found = export_tokens(tmp_path / "run", tmp_path / "out", dialect="corrected")
    rows = [json.loads(line) for line in found.path.read_bytes().splitlines()]
    numbered = [(row["task"], row["answer"], row["completion_ids"]) for row in rows]
    assert numbered == [("1", 0, [1]), ("1", 1, [2]), ("2", 1, [2]), ("3", 0, [1])]
    assert (found.answers, found.without) == (4, 2)


async def test_a_trajectory_keeps_its_tokens(tmp_path: Path) -> None:
    tokens = [Tokens(prompt_ids=(1, 2), completion_ids=(3,), logprobs=(-0.5,)), None]
    asked_twice = Trajectory(messages_and_choices=[ASKED, answer(), answer()], reward=1.0, tokens=tokens)
    await model(tmp_path).log([asked_twice, rollout(0)])
    path = root(tmp_path) / "trajectories/val/0000.parquet"
    (group,) = read_groups(path)
    assert [one.tokens for one in group.trajectories] == [tokens, None]
    kept: Mapping[str, Any] = pq.read_table(path).to_pylist()[0]
    assert kept["tokens"] == [{"prompt_ids": [1, 2], "completion_ids": [3], "logprobs": [-0.5]}, None]
    assert isinstance(group.trajectories[0], Trajectory)
