"""How an agent's process is started and treated: its settings, and what was found out of them."""

from dataclasses import dataclass
from pathlib import Path

from harness.api.processes import Bubblewrap
from harness.api.settings import OnDivergence, ProcessSettings
from harness.plugins.process_agent.request_key import Volatile


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlan:
    """The same for all episodes of a lane."""

    settings: ProcessSettings
    command: tuple[str, ...]
    """Program and arguments; the program as `find_program` has found it."""
    sandbox: Bubblewrap | None = None
    """None = nothing confines it."""
    hidden: tuple[Path, ...] = ()
    """What it may not read in the sandbox, wherever it is."""
    pictures: bool = False
    """Whether it is given screenshots."""
    volatile: Volatile = Volatile()  # noqa: RUF009 (immutable)
    on_divergence: OnDivergence = OnDivergence.restart
    model: str = ""
    """Name of the run's model, for the process."""
