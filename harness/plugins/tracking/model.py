"""A model, and the one verb by which all it did is kept: `await model.log(...)`.

Names and meanings are those of ART 0.5.18 (OpenPipe), so its readers, plots and training code find what they expect; no
back end is needed, and none ever logs. What is logged is on disk, whole and durable, when `log` returns: a parquet file
of trajectories and a line of `history.jsonl`; any number of processes may log to one model. A call that is refused has
written nothing. Sinks such as W&B come after that and cannot spoil it. A value that is not finite ends no training
step: it is kept, warned of, and left out of the history, where nothing could be decided by it; `strict` refuses it.
"""

import asyncio
import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from harness.api import Identity, JsonObject, dumps
from harness.api.endpoints import Endpoint
from harness.api.settings import EndpointSettings
from harness.errors import TrackingError
from harness.plugins.tracking.folder import (
    ON_REPEAT,
    ROW_KEY,
    SCENARIOS_KEY,
    TOTALS_KEY,
    ModelFolder,
    OnRepeat,
    repeated,
)
from harness.plugins.tracking.history import Row, row_of
from harness.plugins.tracking.inputs import GroupHeader, GroupItem, is_read_from_files, stream
from harness.plugins.tracking.lazy import pyarrow
from harness.plugins.tracking.metrics import MetricTotals
from harness.plugins.tracking.name_rules import SPLITS, is_summed, metric_name, number, path_part, prefixed, step_number
from harness.plugins.tracking.parquet import TrajectoryFile
from harness.plugins.tracking.sinks import Reporting
from harness.plugins.tracking.totals import rolled_up, step_data
from harness.plugins.tracking.trajectory import RolloutError

logger = logging.getLogger(__name__)
_TURN_S = 0.002
"""Longest turn on the event loop, one trajectory at least; what blocks (Arrow, disk, locks) is done in threads."""
_READING_TURN_S = 0.5
"""Longest turn of a thread that reads journals; between two of them a cancelled call ends."""


class Model:
    """A prompted model; see `TrainableModel` for one that learns."""

    trainable = False

    def __init__(  # noqa: PLR0913  # the settings are ART's
        self,
        *,
        name: str,
        project: str,
        base_path: str | PathLike[str] = ".art",
        report_metrics: Sequence[Any] | None = None,
        inference_base_url: str | None = None,
        inference_api_key: str | None = None,
        inference_model_name: str | None = None,
        config: Any = None,
        entity: str | None = None,
        id: str | None = None,
        strict: bool = False,
    ) -> None:
        """Writes nothing yet.

        Args:
            name: Of the model, and of its folder.
            project: What it belongs to.
            base_path: Relative to the working folder.
            report_metrics: Sinks besides the disk, see `sinks`: None = W&B when its key is in the environment, [] =
                none.
            config: Free settings, passed to the sinks: a mapping, a dataclass or a pydantic model.
            entity: Account or team of the project, for W&B.
            id: Free for the user; nothing depends on it.
            strict: Whether `log` refuses NaN and infinite values, unless its own argument says otherwise.
        """
        self.name = path_part(name, "name")
        self.project = path_part(project, "project")
        self.base_path = str(base_path)
        self.report_metrics = report_metrics
        self.inference_base_url = inference_base_url
        self.inference_api_key = inference_api_key
        self.inference_model_name = inference_model_name
        self.config = config
        self.entity = entity
        self.id = id
        self.strict = strict
        self._backend: Any = None
        self._client: Any = None
        self.folder = ModelFolder(base_path, project, name)
        self._reporting = Reporting(
            Identity(project=project, name=name, config=plain_config(config), entity=entity), report_metrics
        )
        self._begun = time.monotonic()

    async def log(  # noqa: PLR0913  # ART's, and two of ours
        self,
        trajectories: Any = None,
        split: str = "val",
        *,
        metrics: Mapping[str, float] | None = None,
        step: int | None = None,
        on_repeat: OnRepeat = "version",
        strict: bool | None = None,
    ) -> Row:
        """Log trajectories, metrics, or both.

        Args:
            trajectories: Groups, or trajectories, Episodes and exceptions (then one group), consumed once; or the path
                of a run folder, one group per task.
            split: `train`, `val`, `test`, or a name of your own; also the prefix of the metrics.
            metrics: Further metrics of this step; with trajectories, those that add up (`costs/` and the like) add to
                theirs, and others win over custom ones of the same name.
            step: None = `get_step()`.
            on_repeat: What to do when this step of this split was logged before: `version` keeps both (the newest as
                `0003.parquet`, the first as `0003.v1.parquet`), `refuse` raises, `once` logs what is the same only
                once, `replace` forgets the newest file there was.
            strict: Refuse values that are not finite, instead of keeping and warning; None = as the model was made.

        Returns:
            The line of `history.jsonl`; empty when there was nothing to log. What is not finite is not in it.

        Raises:
            TrackingError: Something given cannot be logged; nothing was written.
            StorageError: The disk refuses.
        """
        path_part(split, "split")
        if on_repeat not in ON_REPEAT:
            raise TrackingError(f"on_repeat={on_repeat!r} is unknown: use {', '.join(map(repr, ON_REPEAT))}")
        strict = self.strict if strict is None else strict
        extra = _given_metrics(metrics or {}, computed=trajectories is not None, strict=strict)
        at = step_number(await self.get_step() if step is None else step)
        place = _Place(split, at, on_repeat, strict)
        if trajectories is None:
            row, odd = await self._log_metrics(extra, place)
        else:
            row, odd = await self._log_trajectories(trajectories, place, extra)
        if row:
            await asyncio.to_thread(self._reporting.log, {**_numbers(row), **odd}, split)
        return row

    async def get_step(self) -> int:
        """The checkpoint this model is at; 0 as it does not learn."""
        return 0

    def get_inference_name(self, step: int | None = None) -> str:
        """What to ask the inference endpoint for."""
        name = self.inference_model_name or self.name
        return name if step is None else f"{name}@{step}"

    def backend(self) -> Any:
        """The back end that the model is registered with.

        Raises:
            TrackingError: There is none.
        """
        if self._backend is None:
            raise TrackingError(f"model {self.name!r} has no backend yet; await model.register(backend) first")
        return self._backend

    async def register(self, backend: Any) -> None:
        """Make the model known to a back end, which may serve it."""
        await backend.register(self)
        self._backend = backend

    def openai_client(self) -> Any:
        """An `openai.AsyncOpenAI` for the model's endpoint; `close` closes it.

        Raises:
            TrackingError: Address or key is missing.
        """
        if self._client is None:
            if self.inference_base_url is None or self.inference_api_key is None:
                fix = "await model.register(backend)" if self.trainable else "give inference_base_url and _api_key"
                raise TrackingError(f"model {self.name!r} has no address or key for an OpenAI client; {fix} first")
            self._client = Endpoint(
                EndpointSettings(base_url=self.inference_base_url, api_key=self.inference_api_key)
            ).connect()
        return self._client

    def read_state(self) -> JsonObject | None:
        """The content of the model's `state.json`, which scripts keep their progress in; None when there is none.

        Raises:
            TrackingError: It is not a JSON object.
        """
        return self.folder.state()

    def overwrite_state(self, state: Mapping[str, Any]) -> None:
        """Replace `state.json`, durably; the running totals, which Cairn keeps in it, stay."""
        self.folder.change_state(lambda old: {**{key: old[key] for key in (TOTALS_KEY,) if key in old}, **state})

    def merge_state(self, state: Mapping[str, Any]) -> JsonObject:
        """Change keys of `state.json`, nested ones by themselves; returns the whole. Safe among processes."""
        return self.folder.change_state(lambda old: _merged(old, state))

    async def close(self) -> None:
        """End the runs of the sinks, which a later `log` begins again, and close the client."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        await asyncio.to_thread(self._reporting.close)

    def _get_wandb_run(self) -> Any:
        return self._reporting.wandb_run()

    async def _log_metrics(self, metrics: Mapping[str, float], place: "_Place") -> tuple[Row, Mapping[str, float]]:
        if not metrics:
            return {}, {}
        row, odd = self._row(metrics, place)
        return await asyncio.to_thread(self.folder.append, row), odd

    async def _log_trajectories(
        self, given: Any, place: "_Place", extra: Mapping[str, float]
    ) -> tuple[Row, Mapping[str, float]]:
        if place.on_repeat == "refuse" and (there := self.folder.trajectories(place.split, place.step)):
            raise repeated(place.split, place.step, there[0])  # before the work; `publish` looks again, under the lock
        await asyncio.to_thread(pyarrow)  # missing, it should be missed before a folder is made
        staging = self.folder.staged()
        path = await asyncio.to_thread(staging.__enter__)
        try:
            writing = await asyncio.to_thread(_Writing, path, strict=place.strict)
            await _fill(writing, given)
            found = await asyncio.to_thread(writing.tally.metrics)
            row, odd = self._row(_with_given(found, writing.tally, place, extra), place, writing.tally)
            scenarios = dumps(list(writing.tally.scenarios) if place.split in SPLITS else []).decode()
            await asyncio.to_thread(writing.file.close, {ROW_KEY: dumps(row).decode(), SCENARIOS_KEY: scenarios})
            row = await asyncio.to_thread(self.folder.publish, path, place.split, place.step, on_repeat=place.on_repeat)
            return row, odd
        finally:
            staging.__exit__(None, None, None)

    def _row(
        self, metrics: Mapping[str, float], place: "_Place", tally: MetricTotals | None = None
    ) -> tuple[Row, Mapping[str, float]]:
        """The history line, and the values left out of it: NaN and infinity are not JSON and would break the file."""
        named = prefixed(rolled_up(metrics, place.split), place.split)
        odd = {name: value for name, value in named.items() if not math.isfinite(value)}
        if odd or (tally is not None and tally.odd):
            logger.warning("%s", _warning(self.name, place, odd, tally))
        finite = {name: value for name, value in named.items() if name not in odd}
        return row_of(finite, place.step, time.monotonic() - self._begun), odd


class _Place(NamedTuple):
    """Where trajectories are to be kept."""

    split: str
    step: int
    on_repeat: OnRepeat
    strict: bool


def _with_given(
    found: Mapping[str, float], tally: MetricTotals, place: _Place, extra: Mapping[str, float]
) -> dict[str, float]:
    """What the trajectories say, how much was logged, and the further metrics, which may say that themselves."""
    sizes = step_data(tally.groups, tally.trajectories + tally.exceptions, tally.trainable_groups, place.split)
    given = {**sizes, **extra}
    added = {name: value + found.get(name, 0.0) for name, value in given.items() if is_summed(name)}
    return {**found, **given, **added}


def _warning(name: str, place: _Place, odd: Mapping[str, float], tally: MetricTotals | None) -> str:
    parts = [f"model {name}, step {place.step} of split {place.split!r}:"]
    if tally is not None and tally.odd:
        parts.append(f"non-finite values were logged unchanged ({tally.odd}, the first: {tally.first_odd});")
    if odd:
        parts.append(f"not in history.jsonl: {', '.join(f'{key} ({value})' for key, value in odd.items())};")
    return " ".join([*parts, "strict=True refuses such values"])


class _Writing:
    """A trajectory file and the metrics of what goes into it."""

    def __init__(self, path: Path, *, strict: bool) -> None:
        self.file = TrajectoryFile(path)
        self.tally = MetricTotals(strict=strict)
        self._head: GroupHeader | None = None
        self._count = 0

    def add_some(self, coming: Iterator[GroupItem], turn_s: float) -> bool:
        """Add entries until the turn is over or the file wants to be flushed; False when there are no more."""
        end = time.monotonic() + turn_s
        for entry in coming:
            self._add(entry)
            if self.file.is_full or time.monotonic() > end:
                return True
        return False

    def read_some(self, coming: Iterator[GroupItem]) -> bool:
        """`add_some` for entries that are read from disk, flushing included."""
        more = self.add_some(coming, _READING_TURN_S)
        if self.file.is_full:
            self.file.flush()
        return more

    def _add(self, entry: GroupItem) -> None:
        if entry.head is not self._head:
            self._head = entry.head
            self.tally.begin(entry.head.metrics, entry.head.metadata, f"group {entry.head.index}")
        item = entry.item
        place = f"trajectory {self._count} (group {entry.head.index})"
        if isinstance(item, RolloutError):
            self.tally.exception()
        elif item is not None:
            self.tally.trajectory(item.reward, item.metrics or {}, item.metadata or {}, place)
            self._count += 1
        self.file.add(entry, place)


async def _fill(writing: _Writing, given: Any) -> None:
    """Write trajectories: an iterable is consumed on the event loop in short slices, a run folder in a thread."""
    coming = stream(given)
    if is_read_from_files(given):
        while await asyncio.to_thread(writing.read_some, coming):
            pass
        return
    while writing.add_some(coming, _TURN_S):
        if writing.file.is_full:
            await asyncio.to_thread(writing.file.flush)
        else:
            await asyncio.sleep(0)


def _given_metrics(metrics: Mapping[str, Any], *, computed: bool, strict: bool) -> dict[str, float]:
    if not isinstance(metrics, Mapping):
        raise TrackingError(f"metrics is a {type(metrics).__name__}: give numbers by name")
    return {
        metric_name(name, "metrics", reserved=computed): number(value, f"metrics[{name!r}]", strict=strict)
        for name, value in metrics.items()
    }


def _numbers(row: Row) -> dict[str, float]:
    return {key: value for key, value in row.items() if key != "step" and isinstance(value, int | float)}


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> JsonObject:
    merged = dict(old)
    for key, value in new.items():
        inner = merged.get(key)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(inner, value)
        else:
            merged[key] = value
    return merged


def plain_config(
    config: Any, accepted: str = "a mapping, a dataclass or a pydantic model", **dump_options: Any
) -> Mapping[str, Any]:
    """A configuration by names; `dump_options` are for a pydantic model.

    Raises:
        TrackingError: It is none of what is `accepted`.
    """
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return config
    if is_dataclass(config) and not isinstance(config, type):
        return asdict(config)
    if callable(dump := getattr(config, "model_dump", None)):
        return dict(dump(**dump_options))
    raise TrackingError(f"config is a {type(config).__name__}: give {accepted}")
