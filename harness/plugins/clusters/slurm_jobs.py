"""Shards of a run as jobs of a Slurm cluster, submitted by submitit; no other module imports it.

A job is the command that a person would type for its shard, in a separate process. Submitit requeues a job that is
preempted or exceeds its time limit; the job then resumes its own run folder. Submitit stores pickles, which execute
code when they are read: each invocation puts them into a folder with a random name, and never reads those of earlier
ones.
"""

import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from harness.api import CodecError, dumps
from harness.api.files import SideFile, Within, safe_files, write_atomic
from harness.api.processes import unmarked
from harness.api.records import build, optional
from harness.api.secrets import config_secrets
from harness.api.settings import ExecutorSettings, Tree
from harness.errors import ConfigError

FOLDER = "slurm"
"""In a run folder: what is kept of its jobs."""
_KNOWN = "jobs.json"
_OFTEN = 1_000_000
"""How often a job may run out of time and be queued again: the run's own limits end it, not submitit's default of 3."""
_SHARD, _NUMBER, _FOLDER = (
    re.compile(form, re.ASCII) for form in ("[0-9]{1,6}", "[0-9]{1,18}(_[0-9]{1,9})?", "[0-9a-f]{16}")
)


@dataclass(frozen=True)
class ShardCommand:
    """What a job does; it is pickled to disk, so no secret may be in it."""

    arguments: tuple[str, ...]

    def __call__(self) -> int:
        """Run it to its end; gives its exit code."""
        process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL)
        try:
            return process.wait()
        finally:
            if process.poll() is None:  # the job is cancelled or queued again
                process.send_signal(signal.SIGINT)
                process.wait()

    def checkpoint(self, *_: Any) -> Any:
        """What submitit queues when the job's time is over: the same, as it goes on by itself."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A job, as `jobs.json` keeps it."""

    folder: str
    number: str
    of: int = optional(0)
    """How many shards the run had; 0 = a file of before that was kept."""
    digest: str = optional("")
    """Of the settings that its start measured by; "" = a file of before that was kept."""


class SlurmJobs:
    """The jobs of one run folder, by shard; those of earlier starts included."""

    def __init__(self, folder: Path, settings: ExecutorSettings, *, digest: str = "") -> None:
        """
        Args:
            folder: For what is kept of the jobs.
            settings: Those of the executor.
            digest: Of the settings that jobs of this start measure by.
        Raises:
            ConfigError: submitit is not installed, there is no Slurm here, it knows no such option, or one is a secret.
        """
        try:
            import submitit
        except ImportError as error:
            raise ConfigError("executor=slurm needs submitit: pip install 'cairn-harness[slurm]'") from error
        if found := config_secrets({"executor": {"sbatch": settings.sbatch}}):
            raise ConfigError(
                f"{next(iter(found))}: submitit writes it to disk, and it holds a secret: give it by the environment"
            )
        self._folder = folder
        self._own = token_hex(8)
        with safe_files.open_folder(folder / self._own, folder.parent, make=0o777):
            pass
        options = ({"partition": settings.partition} if settings.partition else {}) | settings.sbatch
        try:
            self._executor = submitit.AutoExecutor(
                folder=folder / self._own,
                cluster=settings.cluster,
                slurm_max_num_timeout=_OFTEN,
                local_max_num_timeout=_OFTEN,
            )
            self._executor.update_parameters(
                name="cairn",
                timeout_min=settings.time_min,
                mem_gb=settings.mem_gb,
                cpus_per_task=max(1, round(settings.cpus)),
                **{f"slurm_{name}": value for name, value in options.items()},
            )
        except (RuntimeError, NameError, AssertionError, ValueError) as error:
            raise ConfigError(
                f"executor=slurm: {' '.join(str(error).split())[:300]}; run it where sbatch is installed, or try"
                " executor.cluster=local"
            ) from error
        # Jobs on this machine do not outlive their start.
        self._outlive = settings.cluster == "slurm"
        if not self._outlive:
            refuse_running(folder.parent)
        known = _read(folder) if self._outlive else {}
        self.by_shard: dict[int, Any] = {shard: _job(folder, one) for shard, one in known.items()}
        self._of, self._digest = settings.shards, digest
        self._digests = {shard: one.digest for shard, one in known.items()}
        self._check_shards(known)
        self._check_settings()

    def _check_shards(self, known: Mapping[int, _Known]) -> None:
        """Raises: ConfigError: Jobs that run play other shards, so tasks of theirs would be played twice."""
        others = [shard for shard in self.running() if known[shard].of not in (0, self._of)]
        if others:
            raise ConfigError(
                f"executor.shards={self._of}: jobs of an earlier start are still running, for {known[others[0]].of}"
                f" shards; give executor.shards={known[others[0]].of}, or end them with scancel {self.numbers(others)}"
            )

    def _check_settings(self) -> None:
        """Raises: ConfigError: Jobs that run measure by other settings, and their results would be collected."""
        others = [shard for shard in self.running() if self._digests[shard] not in ("", self._digest)]
        if others:
            raise ConfigError(
                "executor=slurm: jobs of an earlier start are still running, with other settings; give the settings of"
                f" that start, or end them with scancel {self.numbers(others)}"
            )

    def submit(self, commands: Mapping[int, Sequence[str]]) -> None:
        """One array of jobs, and for later starts a note of their numbers, if they outlive this one.

        Raises:
            ConfigError: The cluster refuses.
        """
        import submitit

        try:
            # sbatch gives them this environment, and the next start ends what carries the marks of the run.
            with unmarked() if self._outlive else nullcontext(), self._executor.batch():
                jobs = [self._executor.submit(ShardCommand(tuple(command))) for command in commands.values()]
        except (submitit.core.utils.FailedJobError, OSError) as error:
            raise ConfigError(
                f"executor=slurm: the cluster rejected the jobs: {' '.join(str(error).split())[-300:]}"
            ) from error
        self.by_shard.update(zip(commands, jobs, strict=True))
        if not self._outlive:
            return
        self._digests.update(dict.fromkeys(commands, self._digest))
        places = {
            str(shard): _Known(
                folder=Path(job.paths.folder).name, number=job.job_id, of=self._of, digest=self._digests[shard]
            )
            for shard, job in self.by_shard.items()
        }
        write_atomic(self._folder / _KNOWN, dumps(places), within=Within(self._folder.parent))

    def running(self) -> tuple[int, ...]:
        """Shards whose jobs are queued or at work."""
        return tuple(shard for shard, job in self.by_shard.items() if not job.done())

    def numbers(self, shards: Sequence[int]) -> str:
        return " ".join(self.by_shard[shard].job_id for shard in shards)

    def code(self, shard: int) -> int | None:
        """Exit code of a job that has ended; None = it did not get so far."""
        import submitit

        try:
            return int(self.by_shard[shard].result())
        except (submitit.core.utils.UncompletedJobError, submitit.core.utils.FailedJobError):
            return None

    def log(self, shard: int) -> Path:
        """Where the job's errors are."""
        return Path(self.by_shard[shard].paths.stderr)


def refuse_running(run: Path) -> None:
    """Called where something else than Slurm is to play the run's pending tasks.

    Raises:
        ConfigError: Jobs of an earlier start may be playing them.
        UnsafeFile: Their file, or a folder it names, is a link, or something else.
    """
    folder = run / FOLDER
    if running := [job.number for job in _read(folder).values() if not _has_ended(folder, job)]:
        raise ConfigError(
            f"{run}: jobs of an earlier start with executor=slurm are still running; let them end, or end them with"
            f" scancel {' '.join(running)}; if Slurm knows nothing of them any more, delete {folder / _KNOWN}"
        )


def _has_ended(folder: Path, job: _Known) -> bool:
    """Whether it is neither queued nor at work; of one without a result, only Slurm knows."""
    try:
        return bool(_job(folder, job).done())
    except ImportError:
        return safe_files.status(folder / job.folder / f"{job.number}_0_result.pkl") is not None


def _job(folder: Path, known: _Known) -> Any:
    import submitit

    return submitit.SlurmJob(folder=folder / known.folder, job_id=known.number)


def _read(folder: Path) -> dict[int, _Known]:
    """Jobs of earlier starts; what no start of ours can have written is passed over.

    Raises:
        UnsafeFile: The file, or a folder it names, is a link, or something else.
    """
    found = dict[int, _Known]()
    shards = SideFile[Tree](_KNOWN, dict).find(folder, below=folder.parent) or {}
    for shard, place in shards.items():
        with suppress(CodecError):
            known = build(_Known, place)
            if _SHARD.fullmatch(shard) and _FOLDER.fullmatch(known.folder) and _NUMBER.fullmatch(known.number):
                safe_files.check_folder(folder / known.folder, folder.parent)
                found[int(shard)] = known
    return found
