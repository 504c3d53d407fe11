"""The origin of a run, stored beside its journals: settings, tasks, and programs, packages and fonts of this machine.

Only `chromium --version` and git are started for it, and only if a task runs. What cannot be found out is null and
never stops the run. Other machines that take part in the run (Ray, Slurm) are not described; a shard has its own
`run.json`. If a later invocation finds another environment, the earlier ones stay under `earlier`. A start that plays
nothing writes only what it asks for.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from harness import __version__
from harness.browser.driver.child_environment import browser_environment
from harness.browser.driver.executable import find
from harness.codec import CodecError, dumps, loads, plain
from harness.config.config_tree import saved
from harness.errors import ConfigError
from harness.escape import flat
from harness.files.side_file import SideFile
from harness.journal.names import journals_in
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runs.about import DESCRIPTION, OF_TASKS, RunInfo
from harness.runs.fork_origin import fork_origin
from harness.settings.browser import BrowserSettings
from harness.settings.fields import Tree

ENVIRONMENT = ("harness", "revision", "python", "platform", "browser", "fonts", "packages")
"""What of `run.json` belongs to the machine and not to the settings."""
_WEIGHTS = "benchmarks"
"""Key of `run.json`; missing where the run is not a suite."""
_DISTRIBUTION = "cairn-harness"
_PACKAGE = Path(__file__).resolve().parents[1]
_FONTS = {".ttf", ".otf", ".ttc", ".otc", ".woff", ".woff2", ".pfb", ".pfa", ".pcf", ".bdf", ".dfont"}
_COMMIT = "# branch.oid "
_ASKING_S = 10
_EARLIER = 100
"""Environments of earlier starts that are kept."""


def describe(run: RunFolder, settings: Tree, info: RunInfo, *, now: Tree, known: Tree) -> None:
    """Write `config.yaml` and `run.json`.

    Args:
        now: The environment.
        known: Further keys of `run.json`, as `config_digest`.
    """
    _say_if_lost(run)
    run.write("config.yaml", saved(settings).encode())
    before = DESCRIPTION.find(run.path) or {}
    described = {
        **now,
        "earlier": _earlier(run.path / DESCRIPTION.name, now),
        "seed": settings["run"]["seed"],
        "model": info.model,
        "agent": info.agent,
        **_asked(info),
        **{key: value for key, value in before.items() if key == OF_TASKS},
        **known,
    }
    run.write(DESCRIPTION.name, dumps(described) + b"\n")


def describe_asked(run: RunFolder, info: RunInfo, *, known: Mapping[str, object]) -> None:
    """Write into `run.json` what a start asks for that plays nothing; by what the run was made stays.

    `known` are further keys that depend on its tasks.
    """
    _say_if_lost(run)
    before = DESCRIPTION.find(run.path) or {}
    described = {key: value for key, value in before.items() if key != _WEIGHTS} | _asked(info) | dict(known)
    if plain(described) != before:
        run.write(DESCRIPTION.name, dumps(described) + b"\n")


def describe_tasks(run: RunFolder, tasks: Iterable[Task]) -> None:
    """Write into `run.json` where the tasks that it names count while they have no journal.

    What earlier starts wrote stays for tasks that this one leaves out.
    """
    before = DESCRIPTION.find(run.path) or {}
    named, kept = before.get("tasks"), before.get(OF_TASKS)
    if not isinstance(named, list):
        return
    now = {task.task_id: {"sites": task.sites, "template": task.intent_template_id} for task in tasks}
    found = (kept if isinstance(kept, dict) else {}) | now
    described = before | {OF_TASKS: {task_id: found[task_id] for task_id in named if task_id in found}}
    if plain(described) != before:
        run.write(DESCRIPTION.name, dumps(described) + b"\n")


def _say_if_lost(run: RunFolder) -> None:
    """Say that journals are there without what they were made with; a fork begins so."""
    path = run.path / DESCRIPTION.name
    if DESCRIPTION.find(run.path) is None and journals_in(run.path) and fork_origin(run.path) is None:
        what = "is damaged" if path.exists() else "is missing"
        sys.stderr.write(
            f"{flat(str(path))} {what} although there are journals: by which versions they were made is not known, and"
            " not compared; restore it from a copy of the run if you have one\n"
        )


def _asked(info: RunInfo) -> Tree:
    return {
        "benchmark": info.benchmark,
        "scoring": info.dialect,
        **({"trials": info.trials, "tasks": info.tasks} if info.tasks else {}),
        **({_WEIGHTS: info.benchmarks} if info.benchmarks else {}),
    }


def environment(browser: BrowserSettings) -> Tree:
    """The environment of this machine, by the names of `ENVIRONMENT`."""
    with ThreadPoolExecutor() as asking:  # git and the browser take a tenth of a second each
        revised, found = asking.submit(revision, _PACKAGE), asking.submit(_browser, browser)
        return {
            "harness": __version__,
            "revision": revised.result(),
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "platform": platform.platform(),
            "browser": found.result(),
            "fonts": fonts(_font_folders()),
            "packages": packages(sys.path),
        }


def revision(package: Path) -> Tree | None:
    """`commit` of the checkout that `package` is part of, and whether it is `dirty`: changed, or with files git does
    not know.

    Of an installed package, the commit pip noted when it fetched it from a repository (PEP 610); None when nobody
    knows.
    """
    # Else git would speak of any checkout that holds the environment which this is installed in.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return _installed_from(package)
    # Dirty by the package alone: a task file beside it in the checkout does not change the program.
    lines = (_git(package, "status", "--porcelain=v2", "--branch", "--", ".") or "").splitlines()
    commit = next((line.removeprefix(_COMMIT) for line in lines if line.startswith(_COMMIT)), None)
    if commit in (None, "(initial)"):
        return None
    return {"commit": commit, "dirty": not all(line.startswith("# ") for line in lines)}


def fonts(folders: Sequence[Path]) -> Tree:
    """How many font files there are, and a hash over their names and sizes, wherever they lie in `folders`."""
    # By name and size: to read them takes seconds where there are CJK fonts, and `fc-list` needs fontconfig.
    found = sorted(f"{path.name} {size}" for path, size in _font_files(folders))
    return {"files": len(found), "sha256": sha256("\n".join(found).encode()).hexdigest()}


def packages(paths: Sequence[str]) -> dict[str, str]:
    """Every distribution that can be imported from `paths`, and its version.

    Read from the names of the `.dist-info` folders, which the wheel format fixes: their files would take a quarter of a
    second.
    """
    found: dict[str, str] = {}
    for path in paths:
        for name in _names(Path(path or ".")):
            if name.endswith(".dist-info"):
                project, _, version = name.removesuffix(".dist-info").partition("-")
                found.setdefault(project.lower().replace("_", "-"), version)
    return dict(sorted(found.items()))


def _browser(settings: BrowserSettings) -> Tree | None:
    try:
        path = Path(find(settings.executable, headless=settings.headless))
    except ConfigError:
        return None
    # Not of the workers' browsers: with Ray they are on other machines, and start after this is written.
    version = _said([str(path), "--version"], browser_environment(os.environ))
    return {"program": path.name, "version": version.strip() if version else None}


def _earlier(path: Path, now: Tree) -> list[Tree]:
    """The environments of earlier invocations that differ from this one."""
    before = SideFile[Tree](path.name, dict).find(path.parent) or {}
    kept = before.get("earlier")
    last = {name: before[name] for name in ENVIRONMENT if name in before}
    # They are kept because a run is the result of all its starts.
    found = [*(kept if isinstance(kept, list) else ()), last]
    return [one for one in found if one and one != now][-_EARLIER:]


def _installed_from(package: Path) -> Tree | None:
    try:
        known = distribution(_DISTRIBUTION)
        if Path(str(known.locate_file(package.name))).resolve() != package:
            return None
        commit = loads(known.read_text("direct_url.json") or "{}")["vcs_info"]["commit_id"]
    except (PackageNotFoundError, CodecError, KeyError, TypeError):
        return None
    return {"commit": str(commit), "dirty": False}


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says of the checkout `folder` lies in, whatever checkout the environment names, and without a lock."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return _said(["git", "-C", str(folder), *arguments], {**clean, "GIT_OPTIONAL_LOCKS": "0"})


def _said(command: Sequence[str], env: Mapping[str, str]) -> str | None:
    """Standard output of a command; None if it cannot be run, fails or exceeds its timeout."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASKING_S, check=False, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")


def _font_folders() -> list[Path]:
    home = Path("~").expanduser()
    shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    own = os.environ.get("XDG_DATA_HOME") or str(home / ".local" / "share")
    apple = (Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library" / "Fonts")
    return [*(Path(path) / "fonts" for path in dict.fromkeys([*shared.split(":"), own])), home / ".fonts", *apple]


def _font_files(folders: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    for top in folders:
        for folder, _, names in os.walk(top):
            for name in names:
                path = Path(folder, name)
                if Path(name.removesuffix(".gz")).suffix.lower() in _FONTS and path.is_file():
                    yield path, path.stat().st_size


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [entry.name for entry in found]
    except OSError:
        return []
