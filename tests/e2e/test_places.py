"""What a run records is passed on: it does not say where things are on the machine that made it."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.cli import configured
from harness.config.config_tree import saved
from harness.main import main
from harness.plugins.bundles.run_bundle import unpack
from tests.e2e.conftest import PROJECT, Start

pytestmark = [pytest.mark.browser, pytest.mark.integration]
AGENT = """
import json, sys
json.load(sys.stdin)
print(json.dumps({"answer": "x"}))
"""


def told(folder: Path, places: tuple[Path, ...]) -> Iterator[str]:
    """The files of a run that hold a path below one of these, but for its logs and its lock."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".log" and path.name != ".lock":
            data = path.read_bytes()
            yield from (f"{path.name}: {place}" for place in places if str(place).encode() in data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "played",
    [
        ("agent=prompt",),
        ("agent=process", "agent.command=[python3,mine.py]", "agent.readable=[notes]", "trials=2"),
    ],
    ids=["prompt", "process"],
)
def test_a_run_and_its_bundle_hold_no_path_of_the_machine(
    start: Callable[..., Start], tmp_path: Path, played: tuple[str, ...]
) -> None:
    (tmp_path / "mine.py").write_text(AGENT)
    (tmp_path / "notes").mkdir()
    done = start("task=smoke", "task.ids=[0,2]", "workers=1", *played)
    assert done.code == 0, done.err
    places = (tmp_path, PROJECT, Path.home(), Path(sys.prefix), Path(sys.base_prefix))
    assert list(told(done.folder, places)) == []
    bundle, unpacked = tmp_path / "run.cairn", tmp_path / "unpacked"
    unpacked.mkdir()
    assert main(["bundle", str(done.folder), "--to", str(bundle)]) == 0
    unpack(bundle, unpacked)
    assert list(told(unpacked, places)) == []
    assert start("task=smoke", "task.ids=[0,2]", "workers=1", *played).summary["invocation"]["model_requests"] == 0


def test_paths_in_settings_are_recorded_without_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.json").write_text("[]")
    given = [f"task.path={tmp_path / 'mine.json'}", f"agent.cwd={PROJECT.parent}", "agent.volatile=[/metadata/id]"]
    text = saved(configured(given).tree())
    assert "  path: mine.json\n" in text and f"  cwd: …/{PROJECT.parent.name}\n" in text
    assert "- /metadata/id\n" in text, "a pointer is not a path"
    # "…/work" ends with the folder /work, which is where a checkout at /work/cairn lies.
    assert str(tmp_path) not in text and str(PROJECT.parent) not in text.replace(f"…/{PROJECT.parent.name}", "")
    assert "${project:tasks/demo.plans.json}" in saved(configured(["task=smoke"]).tree())
