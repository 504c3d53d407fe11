"""Installed as a package, without the checkout around it, everything is still found."""

import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.e2e.conftest import environment

pytestmark = pytest.mark.integration

PROJECT = Path(__file__).resolve().parent.parent


def test_every_folder_of_configs_goes_into_the_package() -> None:
    shipped = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    wanted = {f"configs/{path.name}/*.yaml" for path in (PROJECT / "configs").iterdir() if path.is_dir()}
    assert wanted <= {pattern for patterns in shipped.values() for pattern in patterns}


def test_every_file_that_is_no_module_goes_into_the_package() -> None:
    told = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["setuptools"]
    patterns = told["package-data"]["harness"]
    names = subprocess.run(["git", "ls-files", "harness"], capture_output=True, text=True, check=True, cwd=PROJECT)
    files = [Path(name).relative_to("harness") for name in names.stdout.splitlines() if not name.endswith(".py")]
    assert [path for path in files if not any(path.match(one.removeprefix("**/")) for one in patterns)] == []
    shipped = {path for given in told["data-files"].values() for one in given for path in PROJECT.glob(one)}
    wanted = [*PROJECT.glob("docs/examples/agents/*"), *PROJECT.glob("tasks/*"), *PROJECT.glob("configs/**/*.yaml")]
    assert {path for path in wanted if path.is_file()} <= shipped


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the package alone, which borrows the libraries of this one."""
    folder = tmp_path_factory.mktemp("installed")
    source, place = folder / "source", folder / "venv"
    source.mkdir()
    for name in ("harness", "configs", "tasks", "docs", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        subprocess.run(["cp", "-r", str(PROJECT / name), str(source)], check=True)
    venv.create(place, with_pip=False)
    (libraries,) = place.glob("lib/python*/site-packages")
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (libraries / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet", "--no-deps"]
    built = subprocess.run([*pip, "--force-reinstall", str(source)], capture_output=True, text=True, check=False)
    if "setuptools" in built.stderr and "No matching distribution" in built.stderr:
        pytest.skip("setuptools cannot be had here, so nothing can be built")
    assert built.returncode == 0, built.stderr
    return place


def contents(place: Path) -> dict[str, bytes]:
    """What is installed, but for what Python compiles."""
    files = (path for path in place.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path): sha256(path.read_bytes()).digest() for path in files}


@pytest.mark.slow
@pytest.mark.browser
def test_all_of_it_works_in_an_empty_folder(place: Path, tmp_path: Path) -> None:
    before, program = contents(place), str(place / "bin" / "harness")
    run = "results/smoke-prompt-scripted"
    for given, words in (
        ("--help", "run an evaluation"),
        ("run --help", "groups (GROUP=NAME)"),
        ("run task=smoke run.dry=true", "8 tasks, 8 of 8 episodes pending"),
        ("run task=smoke fail_under=1.0", "8 tasks"),
        (f"report {run}", f"{run}/report/index.html"),
        (f"show {run}", "8 passed, 0 failed, 0 unscored of 8 tasks; 100.0%"),
        (f"bundle {run}", "8 episodes"),
        (f"verify {run}.cairn", "corrected: 8 scores recomputed"),
        ("new agent mine", "mine/pyproject.toml"),
        ("agents list", "browser-use"),
        ("doctor task=smoke", "all checks passed"),
    ):
        done = subprocess.run(
            [program, *given.split()], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment()
        )
        assert done.returncode == 0, f"{given}: {done.stderr}"
        assert words in done.stdout, given
    with second_program([program, "view", "results", "--no-token"], tmp_path) as said:
        page = urlopen(said, timeout=60).read().decode()
    assert "smoke-prompt-scripted" in page
    assert {path.name for path in tmp_path.iterdir()} == {"results", "mine"}
    assert contents(place) == before, "nothing is written where it is installed"


@contextmanager
def second_program(command: list[str], folder: Path) -> Iterator[str]:
    """A server until the block ends, and the address that it prints."""
    process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = next(filter(None, (re.search(r"http://\S+", line) for line in process.stdout)))
        yield found[0]
    finally:
        process.terminate()
        process.communicate()
