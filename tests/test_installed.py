"""Installed as a package, without the checkout around it, everything is still found."""

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from tests.e2e.conftest import environment

pytestmark = pytest.mark.integration

PROJECT = Path(__file__).resolve().parent.parent


def test_every_folder_of_configs_goes_into_the_package() -> None:
    shipped = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    wanted = {f"configs/{path.name}/*.yaml" for path in (PROJECT / "configs").iterdir() if path.is_dir()}
    assert wanted <= {pattern for patterns in shipped.values() for pattern in patterns}


@pytest.mark.slow
def test_an_installed_package_finds_its_settings_and_tasks(tmp_path: Path) -> None:
    """The package alone in an environment that borrows the libraries of this one."""
    source = tmp_path / "source"
    for name in ("harness", "configs", "tasks", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        source.mkdir(exist_ok=True)
        subprocess.run(["cp", "-r", str(PROJECT / name), str(source)], check=True)
    place = tmp_path / "venv"
    venv.create(place, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet", "--no-deps"]
    built = subprocess.run([*pip, str(source)], capture_output=True, text=True, check=False)
    if "setuptools" in built.stderr and "No matching distribution" in built.stderr:
        pytest.skip("setuptools cannot be had here, so nothing can be built")
    assert built.returncode == 0, built.stderr
    libraries = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    for arguments, words in (
        (["run", "--help"], "python run.py task=smoke"),
        (["run", "task=smoke", "run.dry=true"], "8 tasks, 8 of 8 episodes pending"),
    ):
        done = subprocess.run(
            [str(place / "bin" / "python"), "-m", "harness.main", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**environment(), "PYTHONPATH": libraries},
        )
        assert done.returncode == 0, done.stderr
        assert words in done.stdout
