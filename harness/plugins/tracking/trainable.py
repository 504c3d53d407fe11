"""A model that is trained: its trajectories are logged, a back end trains on them, and the training metrics are logged.

A back end only trains: it takes groups and returns a step and metrics, and knows nothing of logs. This class decides
from the model's history which checkpoints are kept.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.errors import TrackingError
from harness.plugins.tracking.history import Mode
from harness.plugins.tracking.inputs import is_read_from_files, stream
from harness.plugins.tracking.model import Model, plain_config
from harness.plugins.tracking.trajectory import RolloutError, TrajectoryGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult:
    """What a back end gives back."""

    step: int
    """The checkpoint that is now the latest."""
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """How a back end is to train, in ART's words; None = the defaults of the back end."""

    learning_rate: float | None = None
    kl_penalty_coef: float | None = None
    grad_accumulation_sequences: int | None = None


class Backend(Protocol):
    """Trains and serves checkpoints; the names are those of ART's back ends. It never logs."""

    async def register(self, model: Any) -> None:
        """Get to know a model, for example what it has been trained to already."""
        ...

    async def close(self) -> None: ...

    async def train(self, model: "TrainableModel", trajectory_groups: Sequence[Any], **options: Any) -> TrainResult:
        """Make the next checkpoint; after a crash the same call goes on where it stopped.

        Raises:
            TrackingError: An option is not known here.
        """
        ...

    async def _get_step(self, model: "TrainableModel") -> int: ...

    async def _delete_checkpoint_files(self, model: "TrainableModel", steps_to_keep: Sequence[int]) -> None: ...

    async def _prepare_backend_for_training(self, model: "TrainableModel", config: Any) -> tuple[str, str]:
        """Base URL and key of the inference endpoint."""
        ...

    def _model_inference_name(self, model: "TrainableModel", step: int | None = None) -> str: ...


class TrainableModel(Model):
    """A model with checkpoints; `register` it with a back end before training."""

    trainable = True

    def __init__(self, *, base_model: str, **model: Any) -> None:
        """Args:
        base_model: What training begins with, as the back end calls it.
        model: See `Model`.
        """
        super().__init__(**model)
        self.base_model = base_model

    async def register(self, backend: Backend, _openai_client_config: Any = None) -> None:
        """Take `backend` for training, and its endpoint for inference."""
        await super().register(backend)
        found = await backend._prepare_backend_for_training(self, _openai_client_config)
        self.inference_base_url, self.inference_api_key = found
        self.inference_model_name = backend._model_inference_name(self)
        self._client = None

    async def get_step(self) -> int:
        """The latest checkpoint; 0 is the base model."""
        return int(await self.backend()._get_step(self))

    def get_inference_name(self, step: int | None = None) -> str:
        if self._backend is None:
            return super().get_inference_name(step)
        return str(self._backend._model_inference_name(self, step))

    async def train(self, groups: Any, config: Any = None, **options: Any) -> TrainResult:
        """Log the groups at the present step, train on them, log at the new step what training said.

        Args:
            groups: As for `log`; kept in memory while training.
            config: Options for the back end: a `TrainConfig` of ours or of ART's, or a mapping. What is not set in it
                is not passed on.
            options: Further ones, such as `learning_rate`; they win over `config`.

        Repeated after a crash with the same groups, it logs them once and the back end goes on.
        """
        backend, chosen = self.backend(), {**_options(config), **options}
        kept = await asyncio.to_thread(_grouped, groups) if is_read_from_files(groups) else _grouped(groups)
        step = await self.get_step()
        await self.log(kept, split="train", step=step, on_repeat="once")
        result: TrainResult = await backend.train(self, kept, **chosen)
        self.inference_model_name = backend._model_inference_name(self)
        if result.metrics:
            await self.log(metrics=result.metrics, split="train", step=result.step)
        return result

    async def delete_checkpoints(self, best_checkpoint_metric: str = "val/reward", mode: Mode = "max") -> None:
        """Delete all checkpoints but the latest and the best.

        Args:
            best_checkpoint_metric: Its key in `history.jsonl`; the mean of each step counts, the earliest of
                equals.
            mode: `max` when more is better, else `min`.

        Raises:
            TrackingError: The metric was never logged; nothing was deleted.
        """
        latest = await self.get_step()
        best = self.folder.history.best_step(best_checkpoint_metric, mode)
        await self.backend()._delete_checkpoint_files(self, sorted({latest, best}))


def _options(config: Any) -> dict[str, Any]:
    """What was set in a configuration."""
    found = plain_config(config, "TrainConfig(learning_rate=…) or a mapping", exclude_unset=True)
    return {name: value for name, value in found.items() if value is not None}


def unknown_options(backend: object, given: Mapping[str, Any], known: Collection[str]) -> TrackingError | None:
    """What to raise for options that a back end does not have; None = it has them all."""
    wrong = [name for name in given if name not in known]
    names = ", ".join(known) or "no options"
    return TrackingError(f"{type(backend).__name__}.train takes {names}, not {', '.join(wrong)}") if wrong else None


def _grouped(given: Any) -> list[TrajectoryGroup]:
    """All that was given as groups, so that it can be both logged and trained on."""
    groups: dict[int, TrajectoryGroup] = {}
    for entry in stream(given):
        head = entry.head
        group = groups.setdefault(
            head.index, TrajectoryGroup([], metadata=head.metadata, metrics=head.metrics, logs=head.logs)
        )
        if isinstance(entry.item, RolloutError):
            group.exceptions.append(entry.item)
        elif entry.item is not None:
            group.trajectories.append(entry.item)
    return list(groups.values())
