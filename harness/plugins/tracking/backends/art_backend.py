"""Training by one of ART's own back ends: `await model.register(ArtBackend(LocalBackend()))`.

ART's back ends know ART's classes only, so each model and each group is given to them as one of these. They never log;
what they are asked to train on is logged by Cairn, in the model's own folder. The package `openpipe-art` is imported
when a back end is made.

An agent that is shown each page afresh answers a new prompt in each step. Such a trajectory (`seen`) becomes one
history for each answer, with the messages that the model really saw; earlier answers among them are no choices there,
so that each is trained once.
"""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from harness.errors import TrackingError
from harness.plugins.tracking.model import Model
from harness.plugins.tracking.trainable import TrainableModel, TrainResult
from harness.plugins.tracking.trajectory import RolloutError


class ArtBackend:
    """A `Backend`. Options of `train` reach ART's unchanged, which refuses those that it does not know."""

    def __init__(self, backend: Any) -> None:
        """Args:
        backend: an ART LocalBackend or ServerlessBackend, or any object with their methods.
        """
        try:
            self._art = import_module("art")
        except ImportError as error:
            raise TrackingError("ArtBackend needs the package openpipe-art; pip install openpipe-art") from error
        self._backend = backend
        self._models: dict[tuple[str, str], Any] = {}

    async def register(self, model: Model) -> None:
        kind = self._art.Model
        if isinstance(model, TrainableModel):
            kind = partial(self._art.TrainableModel, base_model=model.base_model, id=model.id)
        theirs = kind(
            name=model.name,
            project=model.project,
            entity=model.entity,
            base_path=model.base_path,
            report_metrics=[],
        )
        await self._backend.register(theirs)
        self._models[model.project, model.name] = theirs

    async def close(self) -> None:
        await self._backend.close()

    async def train(self, model: TrainableModel, trajectory_groups: Sequence[Any], **options: Any) -> TrainResult:
        """See `Backend.train`."""
        groups = [self._group(group) for group in trajectory_groups]
        found = await self._backend.train(self._theirs(model), groups, **options)
        return TrainResult(step=found.step, metrics=dict(found.metrics))

    async def _get_step(self, model: TrainableModel) -> int:
        return int(await self._backend._get_step(self._theirs(model)))

    async def _delete_checkpoint_files(self, model: TrainableModel, steps_to_keep: Sequence[int]) -> None:
        await self._backend._delete_checkpoint_files(self._theirs(model), list(steps_to_keep))

    async def _prepare_backend_for_training(self, model: TrainableModel, config: Any) -> tuple[str, str]:
        url, key = await self._backend._prepare_backend_for_training(self._theirs(model), config)
        return str(url), str(key)

    def _model_inference_name(self, model: TrainableModel, step: int | None = None) -> str:
        return str(self._backend._model_inference_name(self._theirs(model), step=step))

    def _theirs(self, model: Model) -> Any:
        try:
            return self._models[model.project, model.name]
        except KeyError:
            raise TrackingError(f"model {model.name!r} is not registered here; await model.register(backend)") from None

    def _group(self, group: Any) -> Any:
        if isinstance(group, self._art.TrajectoryGroup):
            return group
        made = self._art.TrajectoryGroup(
            [self._trajectory(one) for one in group.trajectories],
            metadata=dict(group.metadata),
            metrics=dict(group.metrics),
            logs=list(group.logs),
        )
        exceptions = (one if isinstance(one, RolloutError) else RolloutError.of(one) for one in group.exceptions)
        made.exceptions = [
            self._art.trajectories.PydanticException(type=one.type, message=one.message, traceback=one.traceback)
            for one in exceptions
        ]
        return made

    def _trajectory(self, one: Any) -> Any:
        if isinstance(one, self._art.Trajectory):
            return one
        tools = list(one.tools) if one.tools else None
        first, *others = self._conversations(one) or [[]]
        history = self._art.trajectories.History
        return self._art.Trajectory(
            messages_and_choices=first,
            additional_histories=[history(messages_and_choices=other, tools=tools) for other in others],
            tools=tools,
            reward=one.reward,
            metrics=dict(one.metrics),
            metadata=dict(one.metadata),
            logs=list(one.logs),
        )

    def _conversations(self, one: Any) -> list[list[Any]]:
        """What the model saw and answered: the whole of it, or each answer with what it saw."""
        items = [self._item(item) for item in one.messages_and_choices]
        if getattr(one, "seen", None) is None:
            return [items]
        choice = self._art.types.Choice
        shown = [said if isinstance(item, choice) else item for item, said in zip(items, one.messages(), strict=True)]
        answers = [item for item in items if isinstance(item, choice)]
        pairs = zip(answers, one.seen, strict=False)
        return [[*(shown[position] for position in seen), answer] for answer, seen in pairs]

    def _item(self, item: Any) -> Any:
        is_choice = isinstance(item, dict) and "finish_reason" in item
        return self._art.types.Choice.model_validate({"index": 0, **item}) if is_choice else item
