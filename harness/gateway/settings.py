"""How an agent's process is started and treated, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.choices import OnDivergence
from harness.gateway.request_key import Volatile
from harness.gateway.sandbox.bubblewrap import Bubblewrap


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    command: tuple[str, ...]
    """Program and arguments; the program as `find_program` has found it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables."""
    cwd: str | None = None
    """None = the folder in which the run was started."""
    sandbox: Bubblewrap | None = None
    """None = nothing confines it."""
    readable: tuple[str, ...] = ()
    """What it may read in the sandbox besides what its command needs."""
    hidden: tuple[Path, ...] = ()
    """What it may not read there, wherever it is."""
    browser: bool = True
    """Whether it is offered the actions; if not, it can only stop with an answer."""
    cdp: bool = False
    """Whether it drives the browser itself, over CDP; then it is not offered the actions."""
    pictures: bool = False
    """Whether it is given screenshots."""
    timeout_s: float = 1800.0
    """Of one process, from its start."""
    volatile: Volatile = Volatile()  # noqa: RUF009 (immutable)
    on_divergence: OnDivergence = OnDivergence.restart
    model: str = ""
    """Name of the run's model, for the process."""
    max_observation_tokens: int = 4000
