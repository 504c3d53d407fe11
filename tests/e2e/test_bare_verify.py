"""`harness verify` in an environment that has neither browser nor playwright nor a client of models."""

import os
import subprocess
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.main import main
from tests.e2e.conftest import PROJECT, Start

pytestmark = [pytest.mark.slow, pytest.mark.browser]
NEEDED = (
    *("orjson", "zstandard", "hydra", "omegaconf", "antlr4", "yaml", "packaging"),
    *("ahocorasick_rs", "nltk", "regex", "defusedxml"),
)
"""All of the installed packages that verifying imports."""
CHANGES = """
import random, sys
from pathlib import Path
from harness.main import main

bundle, changed, draw = Path(sys.argv[1]), Path(sys.argv[2]), random.Random(19)
content, found = bundle.read_bytes(), 0
for at in draw.sample(range(len(content)), 100):
    other = bytearray(content)
    other[at] = draw.choice([byte for byte in range(256) if byte != content[at]])
    changed.write_bytes(other)
    found += main(["verify", str(changed)]) == 1
print(f"{found} of 100 changed bytes are found")
"""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The interpreter of an environment that holds `NEEDED` and nothing else."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    for name in NEEDED:
        (packages / name).symlink_to(Path(sysconfig.get_path("purelib")) / name)
    return tmp_path / "bare" / "bin" / "python"


def bare_run(bare: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(bare), *arguments],
        capture_output=True, text=True, check=False, timeout=1200, cwd=bare.parent,
        env={"PATH": os.devnull, "HOME": str(bare.parent), "PYTHONPATH": str(PROJECT)},
    )  # fmt: skip


def test_every_score_of_a_real_run_is_recomputed_and_each_changed_byte_is_found(
    start: Callable[..., Start], bare: Path, tmp_path: Path
) -> None:
    played = start(
        "task=demo", "task.ids=[0,2,3,6,13,14,20,33]", "workers=2", "run.report=false", "limits.max_steps=12"
    )
    assert played.summary["episodes"] == 8, played.out + played.err
    assert main(["bundle", str(played.folder)]) == 0
    bundle = str(played.folder.with_suffix(".cairn"))
    for absent in ("playwright", "openai", "tenacity"):
        assert "ModuleNotFoundError" in bare_run(bare, "-c", f"import {absent}").stderr

    done = bare_run(bare, "-m", "harness.main", "verify", bundle)
    assert done.returncode == 0, done.stdout + done.stderr
    for dialect in ("corrected", "webarena"):
        assert f"{dialect}: 8 scores recomputed from the evidence, of 8 episodes" in done.stdout

    changed = bare_run(bare, "-c", CHANGES, bundle, str(tmp_path / "changed.cairn"))
    assert changed.stdout.splitlines()[-1:] == ["100 of 100 changed bytes are found"], changed.stderr[-2000:]
