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
    assert "names: --suffix SUFFIX" in said
    assert "same cannot be used: format=same: lamps_for_cairn:Clash raised ArgumentError: argument --suffix" in said


def own_command(package: Path, code: str) -> None:
    (package / "lamps_for_cairn.py").write_text(f"HELP = EXAMPLE = 'h'\ndef arguments(parser): ...\n{code}\n")


def test_a_command_may_end_with_an_exit_code_of_its_own(package: Path) -> None:
    own_command(package, "def run(options): raise SystemExit(7)")
    with pytest.raises(SystemExit, match="7"):
        main(["lantern"])


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        ("def run(options): ...", 0, ""),
        ("def run(options): return 5", 5, ""),
        ("def run(options): return 'ok'", 2, "command=lantern: its `run` returned str; return the exit code"),
        (
            "def run(options): raise KeyError('boo')",
            2,
            "lantern: lamps_for_cairn raised KeyError: 'boo'; fix or uninst",
        ),
        ("class E(Exception): ...\ndef run(options): raise E('boo')", 2, "lamps_for_cairn raised E: boo"),
        ("def run(): ...", 2, "lamps_for_cairn raised TypeError"),
    ],
)
def test_what_a_command_returns_or_raises_is_its_exit_code_or_one_sentence(
    package: Path, capsys: pytest.CaptureFixture[str], code: str, exit_code: int, said: str
) -> None:
    own_command(package, code)
    assert main(["lantern"]) == exit_code
    assert said in (err := capsys.readouterr().err) and err.count("\n") == bool(said)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def arguments(parser): raise KeyError('bad')", "raised KeyError: 'bad'"),
        ("def arguments(): ...", "raised TypeError"),
        ("arguments = 1", "raised TypeError"),
        ("def arguments(parser): parser.add_argument('--x', help='50% more')", "raised ValueError"),
        ("HELP = None", "its HELP is not a text; give one"),
        ("undefined", "cannot be loaded: NameError"),
    ],
)
def test_a_command_that_cannot_be_added_does_not_take_the_others_away(
    package: Path, capsys: pytest.CaptureFixture[str], code: str, said: str
) -> None:
    own_command(package, f"def run(options): ...\n{code}")
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    listed = " ".join(capsys.readouterr().out.split())
    assert "lantern cannot be used: command=lantern: " in listed and "show" in listed
    assert main(["lantern"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def write(self, run, into, options): ...", "`write` returned NoneType; return the paths"),
        ("def write(self, run, into, options): return '/tmp/abc'", "`write` returned str; return the paths"),
        ("def write(self, run, into, options): raise KeyError('a')", "lamps_for_cairn:Own raised KeyError: 'a'"),
        ("def write(self, run, into, options): yield 1 / 0", "lamps_for_cairn:Own raised ZeroDivisionError"),
        ("def write(self, run, into): return []", "lamps_for_cairn:Own raised TypeError"),
        ("async def write(self, run, into, options): return []", "`write` returned coroutine; return the paths"),
        ("def __init__(self): raise RuntimeError('no licence')\n    write = 1", "raised RuntimeError: no licence"),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")
def test_a_format_that_fails_is_one_sentence(
    package: Path, capsys: pytest.CaptureFixture[str], code: str, said: str
) -> None:
    (package / "lamps_for_cairn.py").write_text(f"from harness.api import Export\nclass Own(Export):\n    {code}\n")
    entries = package / "lamps-1.0.dist-info" / "entry_points.txt"
    entries.write_text("[cairn.exports]\nown = lamps_for_cairn:Own\n")
    run = fill(package / "run", [Shape()])
    assert main(["export", "own", str(run)]) == 2
    assert said in (err := capsys.readouterr().err) and err.count("\n") == 1


@pytest.mark.parametrize("method", ["__init__", "arguments"])
def test_a_format_that_cannot_be_made_does_not_take_the_others_away(package: Path, method: str) -> None:
    code = f"def {method}(self, *_): raise KeyError('a')\n    def write(self, run, into, options): return []"
    (package / "lamps_for_cairn.py").write_text(f"from harness.api import Export\nclass Names(Export):\n    {code}\n")
    run = fill(package / "run", [Shape()])
    assert main(["export", "csv", str(run)]) == 0
