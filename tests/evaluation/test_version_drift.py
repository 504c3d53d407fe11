"""Another version of Cairn, Chromium or a site is refused, or accepted and recorded; what is unknown is not compared."""

from pathlib import Path

import pytest

from harness.cli import configured
from harness.codec import dumps, loads
from harness.config.site_settings import read_sites
from harness.errors import ConfigError, ResumeMismatch, UsageError
from harness.evaluation.embedded import plans_digest
from harness.evaluation.version_drift import check_version_drift, versions
from harness.journal.store import RunFolder
from harness.records import Eval, Task

NOW = {"Cairn": "1.0", "browser": "Chromium 140", "sites.shop": "sha256:aa"}
TASK = Task(task_id="0", sites=("shop", "forum"), intent="", start_urls=(), eval=Eval(eval_types=()))


def check(folder: Path, *, before: object, accepts: bool = False, is_begun: bool = True) -> list[str]:
    """What is said, for a folder that was made with `before`."""
    said: list[str] = []
    with RunFolder.open(folder) as run:
        run.write("run.json", dumps(before))
        check_version_drift(NOW, run, is_begun=is_begun, accepted=said.append if accepts else None)
    return said


@pytest.mark.parametrize(
    ("name", "was"), [("Cairn", "0.9"), ("browser", "Chromium 139"), ("sites.shop", "sha256:bb")], ids=str
)
def test_another_version_is_refused_by_name_or_accepted_and_recorded(tmp_path: Path, name: str, was: str) -> None:
    before = {"versions": NOW | {name: was}}
    with pytest.raises(ResumeMismatch, match="other versions") as refused:
        check(tmp_path / "run", before=before)
    assert f"{name}: {was} is now {NOW[name]}" in str(refused.value) and "resume.accept_drift=true" in str(
        refused.value
    )
    (said,) = check(tmp_path / "run", before=before, accepts=True)
    assert f"{name}: {was} is now {NOW[name]}" in said
    (line,) = (tmp_path / "run" / "drift.jsonl").read_bytes().splitlines()
    assert loads(line)["changed"] == {name: [was, NOW[name]]}


@pytest.mark.parametrize(
    "before",
    [
        {"versions": NOW},
        {"versions": {"browser": "Chromium 140", "sites.forum": "7"}},
        {"browser": {"version": "Chromium 1"}, "harness": "0.1"},
        {"versions": "damaged"},
        [],
    ],
    ids=["the same", "unknown ones", "an older folder", "damaged", "no mapping"],
)
def test_what_is_the_same_or_unknown_goes_on(tmp_path: Path, before: object) -> None:
    assert check(tmp_path / "run", before=before) == []
    assert not (tmp_path / "run" / "drift.jsonl").exists()


def test_a_run_without_a_journal_may_be_begun_with_anything(tmp_path: Path) -> None:
    assert check(tmp_path / "run", before={"versions": {"Cairn": "0.1"}}, is_begun=False) == []


@pytest.mark.slow
@pytest.mark.integration
def test_what_the_scripted_endpoint_plays_is_a_version(tmp_path: Path) -> None:
    def digest_of(text: str, *more: str) -> str | None:
        (tmp_path / "plans.json").write_text(text)
        config = configured([f"llm.plans={tmp_path / 'plans.json'}", *more])
        return plans_digest(config.llm, config.task)

    played = digest_of('[{"task_id": 0, "steps": [{"do": "stop"}]}]')
    assert played == digest_of('[ {"steps": [{"do":"stop"}], "task_id": 0} ]')
    assert played != digest_of('[{"task_id": 0, "steps": [{"do": "go_back"}]}]')
    assert digest_of("[]", "llm=openai", "llm.model=m") is None
    with pytest.raises(UsageError, match=r"plans\.json: the plan file is not JSON"):
        digest_of("{")


def test_sites_declare_their_versions() -> None:
    tree = {"shop": {"url": "http://s.test", "version": "sha256:aa"}, "forum": {"url": "http://f.test"}}
    environment = {"harness": "1.0", "browser": {"program": "chrome", "version": None}}
    assert versions(environment, read_sites(tree), [TASK]) == {"Cairn": "1.0", "sites.shop": "sha256:aa"}
    found = versions(environment, read_sites({**tree, "version": "2026-11"}), [TASK])
    assert found == {"Cairn": "1.0", "sites.shop": "sha256:aa", "sites.forum": "2026-11"}
    with pytest.raises(ConfigError, match=r"sites\.shop\.version must be a string"):
        read_sites({"shop": {"url": "http://s.test", "version": 3}})
