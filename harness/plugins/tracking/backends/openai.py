"""Training through an OpenAI-compatible fine-tuning endpoint.

The endpoint is the only truth: a checkpoint is a job that has succeeded, recognised by its metadata, and the step is
their number. So nothing is lost and nothing is paid twice when this process dies: the next `train` finds the job and
goes on waiting. Training data are the conversations of trajectories whose reward is high enough.
"""

import asyncio
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from harness.api.endpoints import NO_KEY, OPENAI_URL, Endpoint
from harness.api.settings import EndpointSettings
from harness.errors import TrackingError
from harness.plugins.tracking.backends.fine_tuning_api import FineTuning, FineTuningJob
from harness.plugins.tracking.sft_samples import write_samples
from harness.plugins.tracking.trainable import TrainableModel, TrainResult, unknown_options

HYPERPARAMETERS = ("n_epochs", "batch_size", "learning_rate_multiplier")


class OpenAIBackend:
    """A `Backend`; close it when done."""

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        min_reward: float = 1.0,
        from_latest: bool = True,
        client: FineTuning | None = None,
    ) -> None:
        """Args:
        base_url: None = OpenAI's own.
        api_key: Bearer key.
        min_reward: Trajectories with less are not trained on.
        from_latest: Go on from the latest checkpoint that is still there, instead of the base model each time.
        client: With its own waits and limits; None = the usual ones.
        """
        endpoint = Endpoint(EndpointSettings(base_url=base_url, api_key=api_key))
        self._base_url = base_url or OPENAI_URL
        self._api_key = api_key or NO_KEY
        self._min_reward = min_reward
        self._from_latest = from_latest
        self._client = client or FineTuning(endpoint)
        self._checkpoints: dict[str, tuple[FineTuningJob, ...]] = {}

    async def register(self, model: TrainableModel) -> None:
        await self._look(model)

    async def close(self) -> None:
        await self._client.close()

    async def train(self, model: TrainableModel, trajectory_groups: Sequence[Any], **options: Any) -> TrainResult:
        """See `Backend.train`. The options are the endpoint's: `n_epochs`, `batch_size`, `learning_rate_multiplier` and
        `seed`. A job that is found running goes on with those it was made with.

        Raises:
            TrackingError: No trajectory is good enough, or the job failed.
            ModelUnavailable: The endpoint does not answer.
        """
        if wrong := unknown_options(self, options, (*HYPERPARAMETERS, "seed")):
            raise wrong
        step = len(await self._look(model)) + 1
        key = {**_key(model), "cairn_step": str(step)}
        path = model.folder.root / "training" / f"{step:04d}.jsonl"
        count, digest = await asyncio.to_thread(write_samples, path, trajectory_groups, min_reward=self._min_reward)
        running = [job for job in await self._client.jobs(key) if not job.has_ended]
        job = running[-1] if running else None
        if job is None:
            if not count:
                raise TrackingError(
                    f"step {step}: no trajectory has a reward of at least {self._min_reward:g}, so there is nothing to "
                    "train on; lower min_reward, or collect more"
                )
            file_id = await self._client.ensure_file(
                f"{_slug(model)}-{step:04d}-{digest[:12]}.jsonl", await asyncio.to_thread(path.read_bytes)
            )
            job = await self._client.ensure_job(
                file_id=file_id,
                model=self._start(model),
                suffix=f"{_slug(model)[:12]}-{step}",
                key=key,
                about={"cairn_data": digest[:16]},
                hyperparameters={name: options[name] for name in HYPERPARAMETERS if name in options},
                seed=options.get("seed"),
            )
        ended = await self._client.ended(job)
        if ended.status != "succeeded":
            raise TrackingError(
                f"fine-tuning job {ended.id} {ended.status}: {ended.error or 'the endpoint does not say why'}; "
                "repeat the call to start a new job"
            )
        await self._look(model)
        metrics = {"samples": float(count)}
        if ended.trained_tokens is not None:
            metrics["trained_tokens"] = float(ended.trained_tokens)
        return TrainResult(step=step, metrics=metrics)

    async def _get_step(self, model: TrainableModel) -> int:
        return len(await self._look(model))

    async def _delete_checkpoint_files(self, model: TrainableModel, steps_to_keep: Sequence[int]) -> None:
        for step, job in enumerate(await self._look(model), start=1):
            if step not in steps_to_keep and job.fine_tuned_model:
                await self._client.delete_model(job.fine_tuned_model)

    async def _prepare_backend_for_training(self, model: TrainableModel, config: Any = None) -> tuple[str, str]:
        return self._base_url, self._api_key

    def _model_inference_name(self, model: TrainableModel, step: int | None = None) -> str:
        """Of a checkpoint as last looked at; None = the latest."""
        jobs = self._checkpoints.get(_identity(model), ())
        at = len(jobs) if step is None else step
        if not 0 <= at <= len(jobs):
            raise TrackingError(f"model {model.name!r} has no checkpoint {at}: the latest is {len(jobs)}")
        return (jobs[at - 1].fine_tuned_model or model.base_model) if at else model.base_model

    def _start(self, model: TrainableModel) -> str:
        return self._model_inference_name(model) if self._from_latest else model.base_model

    async def _look(self, model: TrainableModel) -> tuple[FineTuningJob, ...]:
        """The checkpoints, oldest first."""
        jobs = [job for job in await self._client.jobs(_key(model)) if job.status == "succeeded"]
        found = self._checkpoints[_identity(model)] = tuple(jobs)
        return found


def _identity(model: TrainableModel) -> str:
    return f"{model.project}/{model.name}"


def _key(model: TrainableModel) -> dict[str, str]:
    """What a job of this model is recognised by; metadata values have at most 512 characters."""
    return {"cairn_model": _identity(model)}


def _slug(model: TrainableModel) -> str:
    """Short and plain, and different for different models."""
    plain = re.sub(r"[^a-z0-9]+", "-", model.name.lower()).strip("-")[:24]
    return f"{plain}-{sha256(_identity(model).encode()).hexdigest()[:6]}"
