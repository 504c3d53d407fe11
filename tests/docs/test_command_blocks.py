"""Every command block of README and documentation is typed as it stands; what cannot be is marked, with a reason."""

import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli import configured
from harness.main import _parser
from harness.plugins.process_agent.shipped_agents import agents_folder
from tests.docs.command_blocks import (
    LANGUAGES,
    PAGES,
    PRINTED,
    PROJECT,
    Block,
    blocks_of,
    not_printed,
    type_page,
)
from tests.e2e.conftest import environment

pytestmark = pytest.mark.integration
FRESH = ("README.md", "docs/pages/tutorial.md")
"""Pages that begin with the installation."""
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
EXCUSED = [block for block in BLOCKS if block.excuse is not None]
TYPED = [page for page in PAGES if any(one.has_commands and one.excuse is None for one in blocks_of(page))]
DEMO = "results/demo-prompt-scripted"


def test_commands_are_in_blocks_of_commands_and_each_mark_is_understood() -> None:
    wrong = [f"{one.place}: ```sh" for one in BLOCKS if one.looks_like_commands and one.language not in LANGUAGES]
    wrong += [
        f"{one.place}: {one.comment}" for one in BLOCKS if one.comment and one.excuse is None and one.comment != PRINTED
    ]
    wrong += [f"{one.place}: no reason" for one in EXCUSED if len((one.excuse or "").split()) < 3]
    wrong += [f"{one.place}: nothing to run" for one in EXCUSED if not one.has_commands]
    marks = sum(page.read_text().count("<!-- not run") for page in PAGES)
    assert wrong == [] and len(EXCUSED) == marks


@pytest.mark.sample(12)
@pytest.mark.parametrize("block", EXCUSED, ids=lambda block: block.place)
def test_what_is_not_run_has_settings_and_options_that_there_are(
    block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for one in BLOCKS:
        if one.page == block.page and one.title.endswith(".yaml"):
            (tmp_path / Path(one.title).name).write_text(one.text)
    for words in map(words_of, block.commands()):
        match words:
            case ["harness", "run", *given] | ["python", "run.py", *given]:
                for one in given:
                    if one.startswith("sites=from:"):  # `harness sites up` of the same block writes it
                        path = tmp_path / one.removeprefix("sites=from:")
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.write_text('{"shopping": {"url": "http://localhost:7770"}}')
                configured(overrides(given))
            case ["harness", *given]:
                _parser().parse_args(given)  # exits if it does not know one


def words_of(command: str) -> list[str]:
    """Without placeholders and variables that stand before the program."""
    words = [word for word in shlex.split(command.replace("\\\n", " "), comments=True) if word != "…"]
    while words and "=" in words[0]:
        words.pop(0)
    return words


def overrides(given: list[str]) -> list[str]:
    """Of one run of a sweep."""
    plain = [one for one in given if not one.startswith("-")]
    if "-m" in given:
        plain = [one if "[" in one else one.partition(",")[0] for one in plain]
    return [one.replace("http://…", "http://host") for one in plain]


def test_a_deviation_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    good = Block("x.md", 1, "", "sh", "", "export A=1\ntest $A = \\\n  1\n")
    file = Block("x.md", 3, "", "json", "conf/a.json", "[]\n")
    read = Block("x.md", 4, "", "sh", "", "cd conf && cat a.json\n")
    bad = Block("x.md", 5, "", "console", "", "$ false\nnot typed\n$ (exit 3)  # exit code 3\n")
    typed = type_page([good, file, read, bad], folder, environment())
    assert [bool(one.fault) for one in typed] == [False, False, False, True, False]
    assert typed[2].out.strip() == "[]"
    table = Block("x.md", 9, PRINTED, "text", "", " shop  3 of 3   $0.10\n\n took 3.1 s; sites: …\n")
    assert not_printed(table, "x\nshop 3 of 3 $7.00\ntook 9 s; sites: shop\n") == []
    assert not_printed(table, "shop 2 of 3 $0.10\ntook 9 s; sites: shop\n") == ["shop 3 of 3 $*"]


def copy_tree(folder: Path) -> Path:
    """What git knows or would add."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, names.stdout.split("\0")):
        if (PROJECT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, folder / name, follow_symlinks=False)
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, as other tests build at the same time."""
    folder = tmp_path_factory.mktemp("wheel")
    source = copy_tree(folder / "source")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder / "wheel"), str(source)]
    built = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = (folder / "wheel").glob("*.whl")
    return path


@pytest.fixture
def clean(tmp_path: Path, wheel: Path) -> dict[str, str]:
    """The environment of a person who has just come: an empty home, no variables of ours, an index that has Cairn."""
    (tmp_path / "home").mkdir()
    kept = {
        name: value for name, value in environment().items() if not name.startswith(("VIRTUAL_ENV", "PYTHON", "XDG"))
    }
    path = [one for one in kept["PATH"].split(":") if not Path(one).is_relative_to(PROJECT)]
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=False)
    links = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.find-links"], capture_output=True, text=True, check=False
    )
    return kept | {
        "HOME": str(tmp_path / "home"),
        "PATH": ":".join([f"{sys.base_prefix}/bin", *path]),
        "CAIRN_AGENTS": str(agents_folder()),  # in minutes of downloads, what they hold is the same
        "PIP_CACHE_DIR": cache.stdout.strip(),
        "PIP_FIND_LINKS": f"{wheel.parent} {links.stdout.strip()}".strip(),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


@pytest.fixture
def installed(tmp_path: Path, wheel: Path, clean: dict[str, str]) -> dict[str, str]:
    """The same with Cairn installed from the wheel, in an environment that borrows the libraries of this one."""
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    (borrowed,) = place.glob("lib/python*/site-packages")
    (borrowed / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = [str(place / "bin" / "pip"), "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, env=clean)
    programs = Path(sys.executable).parent  # pytest, for one
    return clean | {"PATH": f"{place / 'bin'}:{programs}:{clean['PATH']}"}


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the demo, as the readers of other pages than the first have one."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "harness.main", "run", "task.limit=8"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    return folder / DEMO


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    folder = copy_tree(tmp_path / "tree")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    "page", [page for page in TYPED if str(page.relative_to(PROJECT)) in FRESH], ids=lambda path: path.name
)
def test_a_newcomers_page_is_typed_in_a_copy_of_the_tree(page: Path, tree: Path, clean: dict[str, str]) -> None:
    deviate(page, tree, clean)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    "page", [page for page in TYPED if str(page.relative_to(PROJECT)) not in FRESH], ids=lambda path: path.name
)
def test_a_page_is_typed_in_a_folder_of_its_own(
    page: Path, tmp_path: Path, installed: dict[str, str], demo: Path
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(demo, folder / DEMO)
    deviate(page, folder, installed)


def deviate(page: Path, folder: Path, env: dict[str, str]) -> None:
    blocks = blocks_of(page)
    typed = type_page(blocks, folder, env)
    faults = [one.fault for one in typed if one.fault]
    for at, block in enumerate(blocks):
        if block.comment == PRINTED:
            last = next(one for one in reversed(blocks[:at]) if one.has_commands and one.excuse is None)
            said = "\n".join(one.out for one in typed if one.block is last)
            faults += [f"{block.place}: not printed: {line}" for line in not_printed(block, said)]
    assert faults == [], "\n\n".join(faults)
