"""Whether a task is fit to be played: what was done passes again, and what does nothing of it does not pass."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api import CodecError, ConfigError, digest, loads
from harness.api.command_line import quoted
from harness.api.files import safe_files
from harness.api.processes import module_arguments
from harness.plugins.record.stages import Stages
from harness.runs import PASSED, UNSCORED, Episode

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check."""

    name: str
    holds: bool | None
    """None = it could not be made."""
    said: str
    """What was found."""


def checks_of(stages: Stages, task: Path, plan: Path, *, trials: int, plays_audit: bool) -> Iterator[Check]:
    """The checks of a task file, one after the other; those that were made before are not made again.

    Raises:
        Stopped: The person asked to stop.
    """
    key = digest([_read(task), _read(plan)])[:10]
    yield _replay(stages.play(f"check-{key}-replay", task, plays(plan)))
    yield _nobody("agent=null", stages.play(f"check-{key}-null", task, ("agent=null",)))
    yield _nobody("agent=random", stages.play(f"check-{key}-random", task, ("agent=random",), trials))
    yield _audit(stages, task, stages.folder / f"check-{key}-audit" if plays_audit else None)


def _read(path: Path) -> Any:
    try:
        return loads(safe_files.read_named(path))
    except CodecError as error:
        raise ConfigError(
            f"{path}: is not valid JSON ({error}); correct it, or remove it to have it made anew"
        ) from error


def plays(plan: Path) -> tuple[str, ...]:
    """The settings with which a plan is played."""
    return ("agent=plan", f"agent.arguments.plan={quoted(str(plan.absolute()))}")


def _replay(episodes: Sequence[Episode]) -> Check:
    (one,) = episodes
    same = [bool(step.decided.memory and step.decided.memory.get("same_page")) for step in one.steps]
    pages = f"{sum(same)} of {len(same)} pages were as you saw them"
    return _check("replay", one.status == PASSED, one, pages)


def _nobody(name: str, episodes: Sequence[Episode]) -> Check:
    passed = [one for one in episodes if one.status == PASSED]
    steps = sum(len(one.steps) for one in episodes)
    said = f"passes {len(passed)} of {len(episodes)} trials, {steps} steps"
    worst = [*passed, *(one for one in episodes if one.status == UNSCORED), episodes[0]][0]
    return _check(name, not passed, worst, said)


def _check(name: str, holds: bool, one: Episode, said: str) -> Check:
    if one.status == UNSCORED and (not holds or name != "replay"):
        return Check(name=name, holds=None, said=f"could not be scored: {one.score.why or 'it did not end'}")
    why = f": {one.score.why}" if not holds and one.score.why else ""
    return Check(name=name, holds=holds, said=said + why)


def _audit(stages: Stages, task: Path, root: Path | None) -> Check:
    how = [] if root is None else ["--play", "--root", str(root)]
    harness = (sys.executable, *module_arguments("harness.main"))
    command = [*harness, "audit", str(task), *stages.deployment, "--json", *how]
    if stages.config_dir is not None:
        command += ["--config-dir", str(stages.config_dir)]
    ended = subprocess.run(command, capture_output=True, check=False)
    try:
        found: Any = loads(ended.stdout)
        rows = found["exploits"]
        passed = [row["exploit"] for row in rows if row["passed"]["corrected"]]
        unscored = [row["exploit"] for row in rows if row["unscored"]["corrected"]]
    except (CodecError, KeyError, TypeError):
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        return Check(name="audit", holds=None, said=said[-1] if said else f"ended with {ended.returncode}")
    named = ", ".join((passed or unscored)[:_MOST_NAMED])
    if passed:
        return Check(name="audit", holds=False, said=f"{len(passed)} of {len(rows)} exploits pass: {named}")
    if unscored:
        return Check(name="audit", holds=None, said=f"{len(unscored)} exploits could not be scored: {named}")
    return Check(name="audit", holds=True, said=f"0 of {len(rows)} exploits pass")
