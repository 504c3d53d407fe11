"""Commands and export formats of installed packages are listed, run and refused like shipped ones."""

import sys
from pathlib import Path

import pytest

from harness.main import main
from tests.reports.runs import Shape, fill

CODE = """
from harness.api import Export, ExitCode

HELP = "count lanterns, 100 % of them"
EXAMPLE = "harness lantern 3"

def arguments(parser):
    parser.add_argument("number", type=int)

def run(options):
    print("lanterns:", options.number)
    return ExitCode.BELOW

class Names(Export):
    def arguments(self, parser):
        parser.add_argument("--suffix", default="")

    def write(self, run, into, options):
        into.mkdir(parents=True, exist_ok=True)
        (path := into / "names.txt").write_text(run.name + options.suffix)
        return [path]

class Clash(Names):
    pass
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (info := tmp_path / "lamps-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lamps\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[cairn.commands]\nlantern = lamps_for_cairn\nshow = lamps_for_cairn\ngone = lamps_for_cairn.gone\n"
        "less = lamps_for_cairn:Names\n"
        "[cairn.exports]\nnames = lamps_for_cairn:Names\nnone = lamps_for_cairn:run\nsame = lamps_for_cairn:Clash\n"
    )
    (tmp_path / "lamps_for_cairn.py").write_text(CODE)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_a_command_is_listed_explained_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lantern", "3"]) == 1
    assert capsys.readouterr().out == "lanterns: 3\n"
    with pytest.raises(SystemExit):
        main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "lantern count lanterns, 100 % of them" in said
    assert "gone cannot be used: command=gone: lamps_for_cairn.gone cannot be loaded" in said
    with pytest.raises(SystemExit):
        main(["lantern", "--help"])
    assert "example: harness lantern 3" in capsys.readouterr().out


def test_one_that_cannot_be_used_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gone"]) == 2
    assert capsys.readouterr().err.startswith("harness: command=gone: lamps_for_cairn.gone cannot be loaded: ")
    assert main(["less"]) == 2
    assert "command=less: it has no HELP, which harness.api.Command needs" in capsys.readouterr().err


def test_none_takes_the_place_of_a_shipped_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "nix"]) == 2
    assert "nix does not exist" in capsys.readouterr().err


def test_a_format_writes_a_run_with_options_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = fill(tmp_path / "run", [Shape()])
    assert main(["export", "names", str(run), "--suffix", "!"]) == 0
    assert (run / "export" / "names.txt").read_text() == "run!"
    assert main(["export", "none", str(run)]) == 2
    assert "format=none: " in (said := capsys.readouterr().err) and "is not a harness.api.Export" in said
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "names: --suffix SUFFIX" in said and "same cannot be used: argument --suffix: conflicting option" in said
