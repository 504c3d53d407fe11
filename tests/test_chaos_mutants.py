"""The mutants follow the code: each of their changes still finds its place, so that they break what they say they break."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
APPLYING = """
import ast, sys
from pathlib import Path
from chaos_mutants import MUTANTS, copy_of
for number, mutant in enumerate(MUTANTS):
    project = copy_of(Path(sys.argv[1]) / str(number), mutant)
    changed = (project / mutant.file).read_text()
    ast.parse(changed)
    assert changed != (Path(sys.argv[2]) / mutant.file).read_text()
print(len(MUTANTS))
"""


def test_every_mutant_still_changes_the_code_and_leaves_it_readable(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", APPLYING, tmp_path, PROJECT],
        capture_output=True, text=True, check=False, cwd=PROJECT / "benchmarks",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 3
