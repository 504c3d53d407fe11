"""The step from which a run was forked, as `fork.json` in its folder says; that of another person is untrusted text."""

from dataclasses import dataclass
from pathlib import Path

from harness.codec import JsonObject
from harness.files.side_file import SideFile

FORK_NAME = "fork.json"
_ORIGIN = SideFile[JsonObject](FORK_NAME, dict, most=1 << 24)
_LONGEST_NAME = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOrigin:
    """The step from which a run was forked."""

    run: str
    """Name of the parent's folder."""
    step: int

    def __str__(self) -> str:
        return f"{self.run}, step {self.step}"


def fork_origin(folder: Path) -> ForkOrigin | None:
    """None when the run is not a fork."""
    match _ORIGIN.glimpse(folder):
        case {"run": str(run), "step": int(step)} if 0 <= step < 1_000_000:
            return ForkOrigin(run=run[:_LONGEST_NAME], step=step)
    return None
