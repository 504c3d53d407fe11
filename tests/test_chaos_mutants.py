"""The mutants follow the code: each of their changes still finds its place, so that they break what they say they
break.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from chaos_mutants import MUTANTS
from chaos_own import modes_of
from chaos_own_mutants import OWN_AS_IS, OWN_MUTANTS
from chaos_patches import Patch, apply
from chaos_tasks import KINDS

pytestmark = pytest.mark.integration

PROJECT = Path(__file__).resolve().parents[1]
PATCHED = """
import sys
from pathlib import Path
from chaos_mutants import MUTANTS, patched
from chaos_own_mutants import OWN_MUTANTS
for number, mutant in enumerate((*MUTANTS, *OWN_MUTANTS)):
    project = patched(Path(sys.argv[1]) / str(number), mutant.patches)
    for patch in mutant.patches:
        print(project / patch.file)
"""


@pytest.mark.slow
def test_every_mutant_still_finds_what_it_replaces_and_what_it_uses(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PATCHED, tmp_path],
        capture_output=True, text=True, check=False, cwd=PROJECT / "benchmarks",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    files = done.stdout.splitlines()
    assert {Path(file).relative_to(tmp_path).parts[0] for file in files} == {
        str(number) for number in range(len((*MUTANTS, *OWN_MUTANTS)))
    }
    unknown = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821", *files]
    checked = subprocess.run(unknown, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_tasks_and_modes_of_every_such_mutant_are_there() -> None:
    kinds = {kind.name for kind in KINDS}
    for mutant in (*OWN_AS_IS, *OWN_MUTANTS):
        assert modes_of(mutant.modes) and set(mutant.kinds) <= kinds


MODULE = (
    "from math import floor\nLIMIT: int = 3\nclass Box:\n    size: int = 1\n    async def open(self): return"
    " floor(LIMIT)\n"
)
FINE = """
_mutant_open = Box.open
async def _mutant_opened(self):
    return 1 + await _mutant_open(self)
Box.open = _mutant_opened
LIMIT = 7
def floor(number): return number
Box.size = 2
"""


def test_a_patch_replaces_by_name_and_what_was_there_can_be_called(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text(MODULE)
    apply(tmp_path, Patch(file="box.py", code=FINE))
    code = "import asyncio, box; print(asyncio.run(box.Box().open()), box.Box.size)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "8 2\n", done.stderr


@pytest.mark.parametrize("code", ["Box.close = None", "def ceil(number): return 0", "class Bag: pass", "LEAST = 1"])
def test_a_patch_whose_name_is_gone_is_refused(tmp_path: Path, code: str) -> None:
    (tmp_path / "box.py").write_text(MODULE)
    with pytest.raises(SystemExit, match=r"box\.py has no .*which a mutant replaces"):
        apply(tmp_path, Patch(file="box.py", code=code))
    assert (tmp_path / "box.py").read_text() == MODULE


@pytest.mark.parametrize("taken", ["async def _mutant_opened(self, wide)", "def _mutant_opened(self)"])
def test_a_patch_whose_function_is_called_otherwise_is_refused(tmp_path: Path, taken: str) -> None:
    (tmp_path / "box.py").write_text(MODULE)
    with pytest.raises(SystemExit, match=r"box\.py: Box\.open takes other parameters"):
        apply(tmp_path, Patch(file="box.py", code=f"{taken}: return 1\nBox.open = _mutant_opened\n"))
    assert (tmp_path / "box.py").read_text() == MODULE
