"""Where the episodes of a run are executed."""

from dataclasses import dataclass, field

from harness.choices import AT_LEAST_ONE, ValueRange
from harness.settings.fields import Tree, setting
from harness.settings.plugin import PluginSettings


@dataclass(frozen=True)
class ExecutorSettings(PluginSettings):
    """Where episodes run."""

    kind: str = setting(
        "processes", named=False, choices=("processes", "inline", "ray", "slurm"), plugins="cairn.executors"
    )
    """`processes`: every worker is a supervised process; `inline`: all in this one, to debug; `ray`: on a cluster.
    `slurm`: as jobs, each a shard."""
    lanes: int | None = setting(None, named=False, bounds=ValueRange(1, 1000))
    """Episodes at once per worker; null = 1 where `workers` is given, else chosen from cores and memory, and more while
    the processor of this machine is idle."""
    silence_s: float = setting(20.0, named=False)
    """A worker process without a heartbeat for this long is ended, and its tasks go on elsewhere; the one in its place
    may be silent for twice as long, and so on, up to eight times."""
    task_deadline_s: float | None = None
    """A stay on one task that takes longer is ended; null = only steps have deadlines."""
    shared_fs: bool | None = setting(None, named=False)
    """Whether workers write into the run folder themselves or this process for them; null = each finds out."""
    address: str | None = setting(None, named=False)
    """`executor=ray` only: address of the cluster (`host:port`, `auto`); null = one on this machine, for this run."""
    cpus: float = setting(1.0, named=False, bounds=ValueRange(0, 1000, above=True))
    """Processors that a Ray worker takes of a node, and a Slurm job."""
    shards: int = setting(8, named=False, bounds=ValueRange(1, 100_000))
    """`executor=slurm` only: into how many jobs a run is divided."""
    cluster: str = setting("slurm", named=False)
    """`executor=slurm` only: `local` = processes of this machine, to try it."""
    partition: str | None = setting(None, named=False)
    """`executor=slurm` only: the partition that jobs are sent to; null = the cluster's default."""
    time_min: int = setting(240, named=False, bounds=AT_LEAST_ONE)
    """`executor=slurm` only: minutes of a job; one that runs out of time is queued again and goes on."""
    mem_gb: float | None = setting(None, named=False, bounds=ValueRange(0, 1_000_000, above=True))
    """`executor=slurm` only: memory of a job; null = the cluster's default."""
    sbatch: Tree = field(default_factory=dict)
    """`executor=slurm` only: further options of sbatch, as submitit names them: account, qos, constraint…"""
    wait: bool = setting(True, named=False)
    """`executor=slurm` only: false = submit only; the same command brings together what jobs have done."""

    @property
    def plays_shards(self) -> bool:
        """Whether episodes run in shards, each a run of its own, with budgets of its own."""
        return self._target_ is None and self.kind == "slurm"
