"""Training by any program: a command line with blanks, checkpoints as numbered folders.

Invariant: a folder with a number is a whole checkpoint. The program writes to `.partial-<step>`, which takes its name
only when the program has ended well; killed in between, the same call runs it again on the same folder, so that a
trainer that can go on from there may. Two trainers never share a folder: the program inherits a hold that ends with it.
There is no
shell: the command is split first and filled in afterwards, so no value can become a second word.
"""

import asyncio
import os
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

from harness.api import CodecError, loads
from harness.api.files import hold, sync_folder, translate_os_errors
from harness.errors import JournalLocked, TrackingError
from harness.plugins.tracking.name_rules import number
from harness.plugins.tracking.sft_samples import write_samples
from harness.plugins.tracking.trainable import TrainableModel, TrainResult, unknown_options

BLANKS = ("data", "base_model", "checkpoint_dir", "step")
METRICS_NAME = "metrics.json"
"""What the program may leave in its folder: an object of numbers."""


class CommandBackend:
    """A `Backend`."""

    def __init__(  # noqa: PLR0913
        self,
        command: str,
        *,
        base_url: str,
        api_key: str = "none",
        min_reward: float = 1.0,
        inference_name: str = "{name}@{step}",
        options: Mapping[str, str | float] | None = None,
    ) -> None:
        """Args:
        command: As in `python train.py --data {data} --model {base_model} --out {checkpoint_dir} --step {step}`.
        base_url: Where the checkpoints are served; serving them is yours.
        api_key: Of that endpoint.
        min_reward: Trajectories with less are not trained on.
        inference_name: What a checkpoint is called there; `{name}`, `{step}`; step 0 is the base model's own name.
        options: Further placeholders of the command and their defaults, as in {"learning_rate": 1e-5}; `train`
            takes them by name.
        """
        self._options = dict(options or {})
        self._words = _split(command, (*BLANKS, *self._options))
        self._base_url = base_url
        self._api_key = api_key
        self._min_reward = min_reward
        self._inference_name = inference_name

    async def register(self, model: TrainableModel) -> None:
        return None

    async def close(self) -> None:
        return None

    async def train(self, model: TrainableModel, trajectory_groups: Sequence[Any], **options: Any) -> TrainResult:
        """See `Backend.train`; the options are those of the constructor.

        Raises:
            TrackingError: No trajectory is good enough, or the program failed.
            JournalLocked: A trainer of an earlier start is still running.
        """
        if wrong := unknown_options(self, options, self._options):
            raise wrong
        step = _latest(model) + 1
        data = model.folder.root / "training" / f"{step:04d}.jsonl"
        count, _ = await asyncio.to_thread(write_samples, data, trajectory_groups, min_reward=self._min_reward)
        if not count:
            raise TrackingError(
                f"step {step}: no trajectory has a reward of at least {self._min_reward:g}, so there is nothing to"
                " train on; lower min_reward, or collect more"
            )
        partial = _checkpoints(model) / f".partial-{step:04d}"
        with translate_os_errors(partial):
            partial.mkdir(parents=True, exist_ok=True)
        values = {
            **{name: str(value) for name, value in {**self._options, **options}.items()},
            "data": str(data.resolve()),
            "base_model": model.base_model,
            "checkpoint_dir": str(partial.resolve()),
            "step": str(step),
        }
        await self._run([word.format(**values) for word in self._words], data.with_suffix(".log"))
        metrics = _metrics(partial / METRICS_NAME)
        with translate_os_errors(partial):
            partial.replace(_checkpoints(model) / f"{step:04d}")
            sync_folder(_checkpoints(model))
        return TrainResult(step=step, metrics={"samples": float(count), **metrics})

    async def _run(self, words: Sequence[str], log: Path) -> None:
        lock = log.parent / ".trainer.lock"
        with translate_os_errors(log):
            fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not hold(fd):
                raise JournalLocked(log.parent, "a trainer of an earlier invocation")
            with log.open("ab") as output:
                code = await _ended(words, output.fileno(), fd)
        finally:
            os.close(fd)
        if code:
            raise TrackingError(
                f"the trainer {words[0]!r} ended with code {code}: {_last_line(log)} (full output: {log})"
            )

    async def _get_step(self, model: TrainableModel) -> int:
        return _latest(model)

    async def _delete_checkpoint_files(self, model: TrainableModel, steps_to_keep: Sequence[int]) -> None:
        await asyncio.to_thread(_delete, model, frozenset(steps_to_keep))

    async def _prepare_backend_for_training(self, model: TrainableModel, config: Any = None) -> tuple[str, str]:
        return self._base_url, self._api_key

    def _model_inference_name(self, model: TrainableModel, step: int | None = None) -> str:
        at = _latest(model) if step is None else step
        return self._inference_name.format(name=model.name, step=at) if at else model.base_model


async def _ended(words: Sequence[str], output: int, lock: int) -> int:
    """Run a program to its end, in a process group of its own that goes down with a cancelled caller."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(lock,),
            start_new_session=True,
        )
    except OSError as exc:
        raise TrackingError(f"the trainer {words[0]!r} cannot be started: {exc.strerror}") from exc
    try:
        return await process.wait()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())


def _split(command: str, known: Sequence[str]) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
        blanks = {name for word in words for _, name, _, _ in Formatter().parse(word) if name is not None}
    except ValueError as exc:
        raise TrackingError(f"command {command!r} cannot be read: {exc}") from exc
    if not words or not blanks <= set(known):
        raise TrackingError(
            f"command {command!r} must be a program; placeholders are {', '.join(f'{{{name}}}' for name in known)}; "
            "write {{ and }} for literal braces"
        )
    return words


def _checkpoints(model: TrainableModel) -> Path:
    return model.folder.root / "checkpoints"


def _steps(model: TrainableModel) -> dict[int, Path]:
    folder = _checkpoints(model)
    return {int(path.name): path for path in folder.iterdir() if path.name.isdecimal()} if folder.is_dir() else {}


def _latest(model: TrainableModel) -> int:
    return max(_steps(model), default=0)


def _delete(model: TrainableModel, kept: frozenset[int]) -> None:
    """Renamed first: half a checkpoint must not look like one."""
    folder = _checkpoints(model)
    with translate_os_errors(folder, "delete"):
        for step, path in _steps(model).items():
            if step not in kept:
                path.replace(folder / f".deleted-{step:04d}")
        for path in folder.glob(".deleted-*"):
            shutil.rmtree(path)


def _metrics(path: Path) -> dict[str, float]:
    if not path.is_file():
        return {}
    try:
        found = loads(path.read_bytes())
    except CodecError as exc:
        raise TrackingError(f"{path} is not JSON: the trainer must write a JSON object of numbers, or nothing") from exc
    if not isinstance(found, dict):
        raise TrackingError(f"{path} is not a JSON object: the trainer must write a JSON object of numbers, or nothing")
    return {str(name): number(value, f"{path}: {name}") for name, value in found.items()}


def _last_line(log: Path) -> str:
    lines = log.read_bytes()[-4096:].decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no output")
