"""What installed packages bring for the end of a run: whatever it raises is one sentence that names it."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness import registry
from harness.errors import ConfigError
from harness.plugins.html_report.further_pages import write_further
from harness.reports.page_writers import FINDINGS, PAGES, call_all
from harness.runs.episode_fields import field_names, field_of
from harness.runs.measures import measure_names, measures_of
from harness.tasks.further_keys import wanted_by
from harness.tasks.validation import Fields

RUN: Any = SimpleNamespace(
    description={"task_keys": ["fern"]}, left_out=(), name="r", folder=None, results=None, scoring=""
)
RAISES = "class E(Exception): ...\ndef fern(*_): raise E('mine')\n"
MEASURE = "class fern:\n    names = ('ferns',)\n    def measured(run, tasks): {}\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def install(place: Path, group: str, code: str) -> None:
    (info := place / "ferns-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ferns\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nfern = ferns_for_cairn:fern\n")
    (place / "ferns_for_cairn.py").write_text(code)
    registry._all_on.cache_clear()
    registry._installed_on.cache_clear()


@pytest.mark.parametrize("called", [FINDINGS, PAGES])
def test_a_finding_or_report_that_fails_is_one_warning(
    place: Path, monkeypatch: pytest.MonkeyPatch, called: registry.Registry
) -> None:
    install(place, called.group, RAISES)
    monkeypatch.setattr(registry, "on_shelf", lambda group: {})
    said: list[str] = []
    call_all(called, RUN, said.append)
    (warning,) = said
    assert warning.startswith(f"warning: fern of {called.group} failed: ")
    assert "ferns_for_cairn:fern raised E: mine; fix or uninstall its package" in warning


def test_what_is_shipped_is_not_excused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "on_shelf", lambda group: {"broken": "json:loads"})
    with pytest.raises(TypeError):
        call_all(FINDINGS, RUN, print)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (MEASURE.format("raise KeyError('a')"), "fern raised KeyError: 'a'"),
        (MEASURE.format("return 5"), "its `measured` returned int, not Measured or None"),
        ("class fern: names = ()", "fern raised AttributeError"),
        ("undefined", "cannot be loaded: NameError"),
    ],
)
def test_what_cannot_be_measured_says_so(place: Path, code: str, why: str) -> None:
    install(place, "cairn.measures", code)
    (found,) = measures_of(RUN)
    assert found.headline.startswith("fern cannot be measured: ") and why in found.headline and not found.measures


def test_a_measure_without_names_is_refused(place: Path) -> None:
    install(place, "cairn.measures", "class fern: ...")
    with pytest.raises(ConfigError, match="measure=fern: ferns_for_cairn:fern raised AttributeError"):
        measure_names()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (RAISES, "ferns_for_cairn:fern raised E: mine"),
        ("def fern(): ...", "raised TypeError"),
        ("def fern(fields): ...", "returned NoneType; return harness.api.records.Wanted"),
        ("def fern(fields): return ['#a']", "returned list; return"),
    ],
)
def test_a_key_of_tasks_that_cannot_be_checked_is_refused(place: Path, code: str, why: str) -> None:
    install(place, "cairn.task_keys", code)
    with pytest.raises(ConfigError, match=f"key of a task=fern: .*{why}"):
        wanted_by(Fields("tasks.json", {"fern": 1}))


def test_fields_of_episodes_that_fail_are_refused(place: Path) -> None:
    install(place, "cairn.episode_fields", RAISES)
    with pytest.raises(ConfigError, match="field=fern: ferns_for_cairn:fern raised AttributeError"):
        field_names()
    with pytest.raises(ConfigError, match="field=fern: ferns_for_cairn:fern raised E: mine"):
        field_of(RUN, "fern.leaf")


@pytest.mark.parametrize(
    "code",
    [
        RAISES,
        "class fern:\n    title, is_of_run, saves, in_report, templates = 'Ferns', True, False, True, None\n"
        "    def show(self, request): raise KeyError('a')\n",
    ],
)
def test_a_page_of_a_report_that_fails_is_left_out_and_said(
    place: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    install(place, "cairn.viewer_pages", code)
    monkeypatch.setattr(registry, "on_shelf", lambda group: {})
    links, faults = write_further(RUN, place, None)  # type: ignore[arg-type]
    assert not links and len(faults) == 1 and "ferns_for_cairn:fern raised " in faults[0]
