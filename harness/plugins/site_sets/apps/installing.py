"""Where the applications of the set `apps` are installed, and how.

Each has a virtual environment with pinned packages in the user's data folder. What is installed there changes nothing
of the environment that runs Cairn.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness.errors import ConfigError

_MARK = "installed.txt"
"""In an environment that is complete: what was installed."""
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
_INSTALL_S = 1800


def requirements() -> dict[str, list[str]]:
    """Name of an application to its packages with their versions; the application itself and all that it needs."""
    found: dict[str, list[str]] = json.loads(Path(__file__).with_name("requirements.json").read_bytes())
    return found


def apps_folder() -> Path:
    """Where the environments are: `CAIRN_APPS`, or in the user's data folder (XDG Base Directory Specification)."""
    if own := os.environ.get("CAIRN_APPS"):
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path("~/.local/share").expanduser()) / "cairn" / "apps"


def installed(name: str) -> Path:
    """The folder of programs of an application.

    Raises:
        ConfigError: It is not installed, or in other versions.
    """
    folder = apps_folder() / name
    try:
        is_current = (folder / _MARK).read_text("utf-8").split() == requirements()[name]
    except OSError:
        is_current = False
    if not is_current:
        raise ConfigError(f"the application {name} is not installed in {folder}; run `harness sites install apps`")
    return folder / "bin"


def install(name: str) -> None:
    """Make the environment of an application anew, unless it is there.

    Raises:
        ConfigError: A package cannot be installed; nothing is left of the environment.
    """
    folder, wanted = apps_folder() / name, requirements()[name]
    try:
        installed(name)
        return
    except ConfigError:
        pass
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _run(name, [sys.executable, "-m", "venv", str(folder)], "the virtual environment cannot be made")
        _run(name, [str(folder / "bin" / "python"), *_PIP, *wanted], "its packages cannot be installed")
        (folder / _MARK).write_text("".join(f"{one}\n" for one in wanted), "utf-8")
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be written: {error.strerror}; set CAIRN_APPS to a folder that you may write to"
        ) from error
    finally:
        if not (folder / _MARK).is_file():
            shutil.rmtree(folder, ignore_errors=True)


def _run(name: str, command: list[str], fault: str) -> None:
    """Raises: ConfigError: The installer fails; its last line about it is told."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET")}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_INSTALL_S, check=False, env=clean
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{name}: {fault} within {_INSTALL_S} s; see whether the network works, then again") from None
    if done.returncode:
        said = [line.strip() for line in (done.stderr or done.stdout).decode("utf-8", "replace").splitlines()]
        faults = [line for line in said if "error" in line.lower()] or list(filter(None, said)) or ["no reason given"]
        raise ConfigError(f"{name}: {fault}: {faults[-1][:300]}; see whether the network works, then run this again")
