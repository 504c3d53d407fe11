"""Installs the wheel in each shape a person may have, and uses it: bare, with each extra, with all, and with the lowest
versions that pyproject.toml allows.

Run: `python benchmarks/shapes.py [SHAPE…] [--keep]`. Each shape is an environment of its own below build/shapes, made
by uv, whose cache makes all but the first quick. In it: import, `--help`, three smoke tasks, a bundle that is verified,
and something that needs the extra. Prints a table; the exit code is 1 if a shape fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "shapes"
TIMEOUT_S = 900
SMOKE: tuple[tuple[str, ...], ...] = (
    ("harness", "--help"),
    ("harness", "run", "--help"),
    ("harness", "run", "task=smoke", "task.limit=3", "fail_under=1.0", "workers=1"),
    ("harness", "bundle", "results/smoke-prompt-scripted"),
    ("harness", "verify", "results/smoke-prompt-scripted.cairn"),
)
ONE = ("task=smoke", "task.limit=1", "fail_under=1.0", "workers=1")
USES: Mapping[str, tuple[str, ...]] = {
    "tracking": ("harness", "export", "parquet", "results/smoke-prompt-scripted"),
    "anthropic": ("harness", "run", *ONE, "agent=tools", "llm.api=messages", "run.id=messages"),
    "ray": ("harness", "run", *ONE, "executor=ray", "run.id=ray"),
    "slurm": ("harness", "run", *ONE, "executor=slurm", "executor.cluster=local", "executor.shards=1", "run.id=slurm"),
    "miniwob": ("harness", "run", "task=miniwob", "task.arguments.pages=[click-test]", "agent=null", "workers=1"),
    "visualwebarena": ("python", "-c", "import skimage.metrics, punkt.data.english"),
    "real": ("python", "-c", "import jmespath; assert jmespath.search('a', {'a': 1}) == 1"),
    "plot": ("harness", "plot", "results/smoke-prompt-scripted"),
    "docs": ("mkdocs", "--version"),
}
"""What needs an extra."""
AGAIN = "run the same command again when less else is running"
KEY = "llm.api_key=sk-ant-0123456789"
MISSING: Mapping[str, tuple[str, ...]] = {
    "tracking": USES["tracking"],
    "anthropic": ("harness", "run", *ONE, "llm=anthropic", KEY, "run.id=missing"),
    "ray": USES["ray"],
    "slurm": USES["slurm"],
    "miniwob": USES["miniwob"],
    "visualwebarena": ("harness", "run", "task=visualwebarena"),
    "plot": USES["plot"],
    "real": ("harness", "run", "task=real", f"task.path={PROJECT / 'docs' / 'examples' / 'benchmarks' / 'real'}"),
}
"""What names the extra where it is not installed."""


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    extras: tuple[str, ...] = ()
    lowest: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    shape: Shape
    fault: str
    """Empty = none."""
    packages: int
    seconds: float


def project() -> dict[str, Any]:
    return dict(tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"])


def bounds(extras: Sequence[str]) -> tuple[str, ...]:
    """What is required with these extras."""
    given = project()
    return (*given["dependencies"], *(one for name in extras for one in given["optional-dependencies"][name]))


def shapes() -> Iterator[Shape]:
    """All of them, as pyproject.toml has extras; `dev` is for this checkout only."""
    extras = tuple(name for name in project()["optional-dependencies"] if name != "dev")
    yield Shape("bare")
    yield from (Shape(name, (name,)) for name in extras)
    yield Shape("all", extras)
    yield Shape("lowest", lowest=True)
    yield Shape("lowest-all", extras, lowest=True)


def did(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a command; what is wrong with it, empty = nothing."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)} takes more than {TIMEOUT_S} s"
    if done.returncode == 0:
        return ""
    said = " | ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-6:])
    return f"{' '.join(map(str, command))}: exit code {done.returncode}: {said}"


def play(shape: Shape, wheel: Path, uv: Path) -> Outcome:
    """Make an environment, and use it in an empty folder."""
    began, place = time.monotonic(), BUILD / shape.name
    shutil.rmtree(place, ignore_errors=True)
    wanted = f"cairn-harness[{','.join(shape.extras)}] @ {wheel.as_uri()}"
    # Only what is named on the command line is "direct", so what pyproject.toml asks for is named there.
    lowest = ("--resolution", "lowest-direct", *bounds(shape.extras)) if shape.lowest else ()
    python = place / "bin" / "python"
    install = (str(uv), "pip", "install", "--quiet", "--python", str(python), *lowest, wanted)
    fault = did((str(uv), "venv", "--quiet", "--python", sys.executable, str(place)), cwd=BUILD) or did(
        install, cwd=BUILD
    )
    found = list(place.glob("lib/python*/site-packages/*.dist-info"))
    if not fault:
        with tempfile.TemporaryDirectory() as folder:
            fault = next(filter(None, _used(shape, place, Path(folder))), "")
    return Outcome(shape, fault, len(found), time.monotonic() - began)


def _used(shape: Shape, place: Path, folder: Path) -> Iterator[str]:
    """A fault of each command, in order; the caller stops at the first."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env["PATH"] = f"{place / 'bin'}{os.pathsep}{env['PATH']}"
    for command in (("python", "-c", "import harness, harness.api"), *SMOKE, *(USES[one] for one in shape.extras)):
        program = place / "bin" / command[0]
        fault = did((str(program), *command[1:]), cwd=folder, env=env)
        if AGAIN in fault:  # Ray gives up where much else is running
            fault = did((str(program), *command[1:]), cwd=folder, env=env)
        yield fault
    for extra, (_, *given) in MISSING.items() if not shape.extras else ():
        fault = did((str(place / "bin" / "harness"), *given), cwd=folder, env=env)
        named = "exit code 2" in fault and f"pip install 'cairn-harness[{extra}]'" in fault
        yield "" if named else f"without {extra}: {' '.join(given)} does not name it: {fault or 'exit code 0'}"


def built() -> tuple[Path, Path]:
    """The wheel of this checkout, and uv."""
    shutil.rmtree(BUILD / "wheel", ignore_errors=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    fault = did((*pip, "wheel", "--quiet", "--no-deps", "-w", str(BUILD / "wheel"), str(PROJECT)), cwd=BUILD)
    uv = BUILD / "uv" / "bin" / "uv"
    if not fault and not uv.exists():
        fault = did((*pip, "install", "--quiet", "--target", str(BUILD / "uv"), "uv"), cwd=BUILD)
    if fault:
        raise SystemExit(f"shapes: {fault}")
    (wheel,) = (BUILD / "wheel").glob("*.whl")
    return wheel, uv


def main() -> int:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {shape.name: shape for shape in shapes()}
    made.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"which; all if none is named: {', '.join(known)}")
    made.add_argument("--keep", action="store_true", help="leave the environments in build/shapes")
    options = made.parse_args()
    if unknown := [name for name in options.shapes if name not in known]:
        made.error(f"{unknown[0]} is not a shape; choose from {', '.join(known)}")
    wheel, uv = built()
    outcomes = []
    for name in options.shapes or known:
        outcomes.append(outcome := play(known[name], wheel, uv))
        state = "FAILED" if outcome.fault else "passed"
        say(f"{name:22} {state} {outcome.packages:4} packages {outcome.seconds:5.0f} s")
        if outcome.fault:
            say(f"    {outcome.fault}")
        if not options.keep:
            shutil.rmtree(BUILD / name, ignore_errors=True)
    failed = [outcome.shape.name for outcome in outcomes if outcome.fault]
    named = f"; failed: {', '.join(failed)}" if failed else ""
    say(f"{len(outcomes) - len(failed)} of {len(outcomes)} shapes passed{named}")
    return 1 if failed else 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
