"""Training: over HTTP against the embedded endpoint, and by a command; what is kept, and what a crash leaves."""

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.errors import JournalLocked, TrackingError
from harness.llm.endpoint import Endpoint
from harness.llm.retry import Timing
from harness.loopback_server import serving
from harness.plugins.demo.model.fine_tuning_server import FineTunes
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import Scripts
from harness.plugins.tracking.backends.command import CommandBackend
from harness.plugins.tracking.backends.fine_tuning_api import FineTuning
from harness.plugins.tracking.backends.openai import OpenAIBackend
from harness.plugins.tracking.sft_samples import samples
from harness.plugins.tracking.trainable import TrainableModel
from harness.plugins.tracking.trajectory import Trajectory, TrajectoryGroup
from harness.settings.models import EndpointSettings, RetryPolicy
from tests.plugins.tracking.rollouts import ASKED, answer, history, rollout, root
from tests.waiting import until

GROUPS = [TrajectoryGroup([rollout(1.0), rollout(0.0)], metadata={"task_id": "7"})]


def learner(folder: Path) -> TrainableModel:
    return TrainableModel(name="m", project="p", base_model="base", base_path=folder, report_metrics=[])


@asynccontextmanager
async def over_http(folder: Path, tunes: FineTunes | None = None) -> AsyncIterator[tuple[FineTunes, OpenAIBackend]]:
    tunes = tunes or FineTunes()
    async with serving(endpoint_app(Scripts(by_intent={}), api_key="key", tunes=tunes)) as port:
        url = f"http://127.0.0.1:{port}/v1"
        client = FineTuning(
            Endpoint(EndpointSettings(base_url=url, api_key="key")),
            policy=RetryPolicy(max_attempts=3),
            timing=Timing(first_wait_s=0.01),
            poll_s=0.001,
        )
        backend = OpenAIBackend(base_url=url, api_key="key", client=client)
        try:
            yield tunes, backend
        finally:
            await backend.close()


# --- samples ------------------------------------------------------------------------------------------


def weights(sample: Any) -> list[int]:
    return [message["weight"] for message in sample["messages"] if message["role"] == "assistant"]


def test_a_sample_teaches_its_own_answer_alone() -> None:
    inherited = {"role": "assistant", "content": "another model's"}
    said = [ASKED, inherited, ASKED, answer("second"), ASKED, answer("third")]
    forked = Trajectory(messages_and_choices=said, reward=1.0, seen=[(0, 1, 2), (0, 1, 2, 3, 4)])
    assert [weights(sample) for sample in samples([forked], min_reward=1.0)] == [[0, 1], [0, 0, 1]]
    whole = Trajectory(messages_and_choices=said, reward=1.0)
    assert [weights(sample) for sample in samples([whole], min_reward=1.0)] == [[0, 1, 1]]
    plain = Trajectory(messages_and_choices=[ASKED, inherited, ASKED, inherited], reward=1.0)
    assert [weights(sample) for sample in samples([plain], min_reward=1.0)] == [[1, 1]]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_cut_short_is_not_taught(reason: str) -> None:
    said = [ASKED, answer("cut") | {"finish_reason": reason}, ASKED, answer("whole")]
    given = Trajectory(messages_and_choices=said, reward=1.0)
    assert [weights(sample) for sample in samples([given], min_reward=1.0)] == [[0, 1]]
    given.seen = [(0,), (0, 1, 2)]
    assert [weights(sample) for sample in samples([given], min_reward=1.0)] == [[0, 1]]


def test_samples_are_what_the_model_saw_at_each_answer() -> None:
    page = {"role": "user", "content": "page 2"}
    given = Trajectory(messages_and_choices=[ASKED, answer("a"), page, answer("b")], reward=1.0, seen=[(0,), (2,)])
    said = [[message["content"] for message in sample["messages"]] for sample in samples([given], min_reward=1.0)]
    assert said == [["Which tea?", "a"], ["page 2", "b"]]
    given.seen = None
    (whole,) = samples([given], min_reward=1.0)
    assert weights(whole) == [1, 1]
    assert [message["content"] for message in whole["messages"]] == ["Which tea?", "a", "page 2", "b"]
    assert not list(samples([given], min_reward=1.1))
    assert not list(samples([Trajectory(messages_and_choices=[ASKED], reward=1.0)], min_reward=0.0))


# --- both back ends -----------------------------------------------------------------------------------


async def test_training_over_http_logs_first_and_serves_the_new_checkpoint(tmp_path: Path) -> None:
    async with over_http(tmp_path) as (tunes, backend):
        model = learner(tmp_path)
        await model.register(backend)
        assert (await model.get_step(), model.get_inference_name()) == (0, "base")
        result = await model.train(GROUPS)
        assert (result.step, await model.get_step()) == (1, 1)
        assert model.inference_model_name == model.get_inference_name(1) == next(iter(tunes.models))
        (file,) = tunes.files.values()
        assert [json.loads(line) for line in file["content"].splitlines()] == list(samples(GROUPS, min_reward=1.0))
        await model.train(GROUPS)
        assert [job["about"]["model"] for job in tunes.jobs.values()] == ["base", model.get_inference_name(1)]
    before, after = (
        [row for row in history(tmp_path) if row["step"] == 0],
        [r for r in history(tmp_path) if r["step"] == 1],
    )
    assert before[0]["train/reward"] == 0.5
    assert after[0]["train/samples"] == 1.0 and after[0]["train/trained_tokens"] > 0
    assert after[1]["train/reward"] == 0.5


async def test_after_a_crash_the_job_that_runs_is_waited_for_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    tunes = FineTunes(looks=1_000_000)
    async with over_http(tmp_path, tunes) as (_, backend):
        model = learner(tmp_path)
        await model.register(backend)
        killed = asyncio.create_task(model.train(GROUPS))
        await until(lambda: bool(tunes.jobs) and tunes.jobs["ftjob-0001"]["looks"] > 0)
        killed.cancel()
        await asyncio.wait([killed])
    tunes.looks = 2
    async with over_http(tmp_path, tunes) as (_, backend):
        model = learner(tmp_path)
        await model.register(backend)
        result = await model.train(GROUPS)
    assert (result.step, len(tunes.jobs), len(tunes.files)) == (1, 1, 1)
    assert [row["step"] for row in history(tmp_path)] == [0, 1], "and logged once"


async def test_options_reach_the_endpoint_as_hyperparameters_and_seed(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []
    inner = endpoint_app(Scripts(by_intent={}), tunes=FineTunes())

    async def listening(scope: Any, receive: Any, send: Any) -> None:
        body = b""

        async def heard() -> Any:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            if scope["path"].endswith("/jobs") and body and not message.get("more_body", False):
                asked.append(json.loads(body))
            return message

        await inner(scope, heard, send)

    async with serving(listening) as port:
        url = f"http://127.0.0.1:{port}/v1"
        client = FineTuning(Endpoint(EndpointSettings(base_url=url)), timing=Timing(first_wait_s=0.01), poll_s=0.001)
        backend = OpenAIBackend(base_url=url, client=client)
        model = learner(tmp_path)
        await model.register(backend)
        await model.train(
            GROUPS, config={"n_epochs": 2, "batch_size": 4}, learning_rate_multiplier=0.5, seed=7, n_epochs=3
        )
        await model.train(GROUPS)
        with pytest.raises(TrackingError, match="learning_rate"):
            await model.train(GROUPS, learning_rate=1e-5)
        await backend.close()
    chosen, default = asked
    assert chosen["method"]["type"] == "supervised" and chosen["seed"] == 7
    assert chosen["method"]["supervised"]["hyperparameters"] == {
        "n_epochs": 3,
        "batch_size": 4,
        "learning_rate_multiplier": 0.5,
    }
    assert "method" not in default and "seed" not in default


async def test_a_lost_answer_makes_no_second_job(tmp_path: Path) -> None:
    tunes = FineTunes()
    lost = []

    inner = endpoint_app(Scripts(by_intent={}), tunes=tunes)

    async def losing(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "POST" and not lost.count(scope["path"]):
            lost.append(scope["path"])

            async def drop(message: Any) -> None:
                if message["type"] == "http.response.start":
                    await send({**message, "status": 503})
                else:
                    await send(message)

            await inner(scope, receive, drop)
        else:
            await inner(scope, receive, send)

    async with serving(losing) as port:
        url = f"http://127.0.0.1:{port}/v1"
        client = FineTuning(Endpoint(EndpointSettings(base_url=url)), timing=Timing(first_wait_s=0.01), poll_s=0.001)
        backend = OpenAIBackend(base_url=url, client=client)
        model = learner(tmp_path)
        await model.register(backend)
        await model.train(GROUPS)
        await backend.close()
    assert lost == ["/v1/files", "/v1/fine_tuning/jobs"]
    assert (len(tunes.files), len(tunes.jobs)) == (1, 1)


async def test_a_job_that_fails_is_one_sentence_and_the_next_call_begins_anew(tmp_path: Path) -> None:
    async with over_http(tmp_path) as (tunes, backend):
        model = learner(tmp_path)
        await model.register(backend)
        bad = [TrajectoryGroup([Trajectory(messages_and_choices=[{"finish_reason": "stop", "message": {}}], reward=1)])]
        with pytest.raises(TrackingError, match=r"job ftjob-0001 failed: line 1 has no message of the assistant"):
            await model.train(bad)
        with pytest.raises(TrackingError, match=r"no trajectory has a reward of at least 1"):
            await model.train([rollout(0.5)])
        assert (await model.train(GROUPS)).step == 1
        assert len(tunes.jobs) == 2


async def test_only_best_and_latest_are_kept(tmp_path: Path) -> None:
    async with over_http(tmp_path) as (tunes, backend):
        model = learner(tmp_path)
        await model.register(backend)
        for reward in (0.2, 0.9, 0.9, 0.1):
            await model.train(GROUPS)
            await model.log([rollout(reward)])
        names = [model.get_inference_name(step) for step in (1, 2, 3, 4)]
        with pytest.raises(TrackingError, match="'val/other' was never logged"):
            await model.delete_checkpoints("val/other")
        assert set(tunes.models) == set(names)
        await model.delete_checkpoints()
        assert set(tunes.models) == {names[1], names[3]}
        await model.delete_checkpoints(mode="min")
        assert set(tunes.models) == {names[3]}, "gone already is not an error"
        assert await model.get_step() == 4, "the step is the number of jobs, whatever is kept"


async def test_a_model_without_a_back_end_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"await model.register\(backend\) first"):
        await learner(tmp_path).log([rollout()])
    await learner(tmp_path).log([rollout()], step=3)


# --- by a command -------------------------------------------------------------------------------------

TRAINER = """
import json, pathlib, sys
data, base, out, step = sys.argv[1:5]
lines = pathlib.Path(data).read_text().splitlines()
out = pathlib.Path(out)
(out / "weights").write_text(f"{base} {step} {len(lines)}")
(out / "metrics.json").write_text(json.dumps({"loss": 0.5}))
"""


def command(program: str = TRAINER) -> CommandBackend:
    line = shlex.join([sys.executable, "-c", program.replace("{", "{{").replace("}", "}}")])
    blanks = "{data} {base_model} {checkpoint_dir} {step}"
    return CommandBackend(f"{line} {blanks}", base_url="http://127.0.0.1:1/v1")


async def test_a_command_trains_numbered_checkpoints(tmp_path: Path) -> None:
    model = learner(tmp_path)
    await model.register(command())
    assert model.inference_model_name == "base"
    for step in (1, 2, 3):
        result = await model.train(GROUPS)
        assert (result.step, dict(result.metrics)) == (step, {"samples": 1.0, "loss": 0.5})
        await model.log([rollout(1.0 if step == 1 else 0.0)])
    assert (root(tmp_path) / "checkpoints/0002/weights").read_text() == "base 2 1"
    assert (model.inference_model_name, model.inference_base_url) == ("m@3", "http://127.0.0.1:1/v1")
    await model.delete_checkpoints()
    assert names(root(tmp_path) / "checkpoints") == ["0001", "0003"]


async def test_a_command_that_fails_leaves_no_checkpoint(tmp_path: Path) -> None:
    model = learner(tmp_path)
    await model.register(command("import sys; print('CUDA out of memory'); sys.exit(3)"))
    with pytest.raises(TrackingError, match=r"ended with code 3: CUDA out of memory \(full output: .*0001\.log\)"):
        await model.train(GROUPS)
    assert await model.get_step() == 0
    await model.register(command())
    assert (await model.train(GROUPS)).step == 1


async def test_a_cancelled_command_is_ended_with_its_children(tmp_path: Path) -> None:
    waiting = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'], stdin=None)"
    )
    sleeper = f"import os, pathlib; {waiting.replace('input()', 'import signal; signal.pause()')}"
    model = learner(tmp_path)
    await model.register(command(sleeper))
    killed = asyncio.create_task(model.train(GROUPS))
    log = root(tmp_path) / "training/0001.log"
    await until(lambda: log.exists() and log.read_text().startswith("1"))
    with pytest.raises(JournalLocked, match="a trainer of an earlier invocation"):
        await command().train(model, GROUPS)
    killed.cancel()
    await asyncio.wait([killed])
    await model.register(command())
    assert (await model.train(GROUPS)).step == 1, "its hold is gone with it"


@pytest.mark.parametrize("line", ["", "train {what}", "train {0}", "train '", "train {data"])
def test_a_command_with_unknown_blanks_is_refused(line: str) -> None:
    with pytest.raises(TrackingError, match="command"):
        CommandBackend(line, base_url="http://127.0.0.1:1")


# --- the routes ---------------------------------------------------------------------------------------


async def test_jobs_outlive_the_endpoint_when_it_keeps_them(tmp_path: Path) -> None:
    state = tmp_path / "tunes.json"
    async with over_http(tmp_path, FineTunes(state=state)) as (_, backend):
        model = learner(tmp_path)
        await model.register(backend)
        await model.train(GROUPS)
    async with over_http(tmp_path, FineTunes(state=state)) as (_, backend):
        model = learner(tmp_path)
        await model.register(backend)
        assert await model.get_step() == 1


async def test_the_routes_let_nobody_in_without_the_key() -> None:
    app = endpoint_app(Scripts(by_intent={}), api_key="key")
    async with serving(app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/v1") as client:
        for path in ("files", "fine_tuning/jobs", "models"):
            assert (await client.get(f"/{path}")).status_code == 401
            assert (await client.get(f"/{path}", headers={"authorization": "Bearer key"})).status_code == 200
        headers = {"authorization": "Bearer key"}
        assert (await client.post("/files", headers=headers, data={"purpose": "x"})).status_code == 400
        assert (await client.post("/fine_tuning/jobs", headers=headers, content=b"no")).status_code == 400
        for path in ("files/x", "fine_tuning/jobs/x"):
            assert (await client.get(f"/{path}", headers=headers)).status_code == 404
        assert (await client.delete("/models/ft:x", headers=headers)).status_code == 404


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
