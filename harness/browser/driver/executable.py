"""Finds a Chromium, and installs one on request: `python -m harness.browser.driver.executable [--install]` prints its
path.

The order: the configured one (`browser.executable`, `CHROMIUM_PATH`), an installed browser, playwright's own. Nothing
is downloaded without `--install`. An installed browser is found by checking a few paths, without starting it.

Without a window, a headless shell (Chromium without the user interface) is preferred to a full browser: a navigation
takes half as much processor time.
"""

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.errors import ConfigError, ExitCode
from harness.interpreter import module_arguments

# A navigation to an empty page took 27 ms of processor time in a shell, and 55 ms in a complete browser.
_SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_WRAPPED = {"/usr/bin/chromium-headless-shell": "/usr/lib/chromium/chromium-headless-shell"}
"""Debian's wrapper script waits for the shell: ending the wrapper would leave the browser running."""
_PLACES = (
    "/usr/lib/chromium/chromium",
    "/snap/bin/chromium",
    "/opt/google/chrome/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "~/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_CACHED_SHELLS = (
    "chromium_headless_shell-*/chrome-*/headless_shell",
    "chromium_headless_shell-*/chrome-*/chrome-headless-shell",
)
_CACHED = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
_INSTALL_S = 600
_VERSION_S = 10
_VERSION = re.compile(r"\d+\.\d+\.\d+\.\d+")
"""`Chromium 156.0.8078.79`, whatever it is sold as."""
_MISSING = (
    "no Chromium found: install chromium or google-chrome, or run `python -m harness.browser.driver.executable"
    " --install`, or set CHROMIUM_PATH (or browser.executable) to the path of one"
)


def find(wanted: str | None = None, *, headless: bool = True) -> str:
    """Path of a Chromium.

    Args:
        wanted: An explicit setting; the environment variable CHROMIUM_PATH comes next.
        headless: Whether it needs no window.
    Raises:
        ConfigError: The one asked for is not there, or there is none at all.
    """
    for source, path in (("browser.executable", wanted), ("CHROMIUM_PATH", os.environ.get("CHROMIUM_PATH"))):
        if path:
            if not _runs(Path(path)):
                raise ConfigError(f"{source}={path} is not an executable; give the path of a Chromium, or unset it")
            return path
    if (found := next(_installed(headless=headless), None)) is None:
        raise ConfigError(_MISSING)
    return str(found)


def is_shell(path: str) -> bool:
    """Whether this is a headless shell, as its name and those of its folders tell."""
    return any("headless" in part and "shell" in part for part in Path(path).resolve().parts[-2:])


def refuse_stranger(path: str) -> None:
    """See why a browser did not start: a program that is none never will.

    Raises:
        ConfigError: It does not say a version as every Chromium does.
    """
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_VERSION_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        if getattr(exc, "errno", None) != errno.ENOEXEC:
            return  # nothing is known: the machine may be too busy for it
        said = str(exc)
    else:
        if _VERSION.search(done.stdout.decode("utf-8", "replace")):
            return
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().rpartition("\n")[2] or "nothing"
    raise ConfigError(
        f"{path} does not start and does not report a version ({said[:200]}); install what is missing, or set "
        "browser.executable (or CHROMIUM_PATH) to the path of a Chromium"
    )


def install() -> str:
    """Install a Chromium by playwright, else by apt-get, and return its path.

    Raises:
        ConfigError: Neither works; the message says why and what to do.
    """
    failures = []
    for name, command in _ways():
        failure = _try(command)
        if failure is None and (found := next(_installed(headless=True), None)) is not None:
            return str(found)
        failures.append(f"{name} failed ({failure or 'no browser was installed'})")
    raise ConfigError(f"no Chromium could be installed: {'; '.join(failures)}; install one and set CHROMIUM_PATH to it")


def _ways() -> Iterator[tuple[str, list[list[str]]]]:
    yield "playwright install chromium", [[sys.executable, *module_arguments("playwright"), "install", "chromium"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        update, install = ["apt-get", "update"], ["apt-get", "install", "-y"]
        yield "apt-get install chromium", [update, [*install, "chromium", "chromium-headless-shell"]]
        yield "apt-get install chromium", [[*install, "chromium"]]  # an older release has no headless shell


def _try(commands: list[list[str]]) -> str | None:
    """Run one after the other, telling stderr; the reason of the first failure, or None."""
    for command in commands:
        try:
            done = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, timeout=_INSTALL_S, check=False)
        except subprocess.TimeoutExpired:
            return f"`{' '.join(command)}` took more than {_INSTALL_S} s"
        except OSError as exc:
            return f"`{' '.join(command)}`: {exc}"
        if done.returncode != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return f"exit {done.returncode}: {lines[-1] if lines else 'no message'}"
    return None


def _installed(*, headless: bool) -> Iterator[Path]:
    for name in (*(_SHELLS if headless else ()), *_NAMES):
        if found := shutil.which(name):
            yield Path(_WRAPPED.get(found, found))
    yield from (path for path in (Path(place).expanduser() for place in _PLACES) if _runs(path))
    for pattern in (*(_CACHED_SHELLS if headless else ()), *_CACHED):
        for cache in _caches():
            yield from (path for path in sorted(cache.glob(pattern), reverse=True) if _runs(path))


def _caches() -> Iterator[Path]:
    if own := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        yield Path(own)
    yield Path("~/.cache/ms-playwright").expanduser()
    yield Path("~/Library/Caches/ms-playwright").expanduser()


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def main(arguments: list[str]) -> int:
    try:
        path = find(None)
    except ConfigError as exc:
        # A wrong CHROMIUM_PATH is named: a browser that is installed in its place would hide the mistake.
        if "--install" not in arguments or os.environ.get("CHROMIUM_PATH"):
            sys.stderr.write(f"{exc}\n")
            return ExitCode.USAGE
        try:
            path = install()
        except ConfigError as failure:
            sys.stderr.write(f"{failure}\n")
            return ExitCode.USAGE
    sys.stdout.write(f"{path}\n")
    return ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
