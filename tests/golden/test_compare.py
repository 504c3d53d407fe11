"""Every recorded case of WebArena's code agrees, or its difference was decided."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.compare import COMPARERS, Tally, golden_dir, main, tally


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", sorted(COMPARERS))
def test_no_case_differs_from_webarena_undecided(name: str) -> None:
    file = golden_dir() / f"{name}.jsonl"
    if not file.exists() or not file.stat().st_size:
        pytest.skip(f"{file} is not there, or empty; set GOLDEN_DIR to the recorded outputs")
    result = tally(file, COMPARERS[name])
    assert result.total > 0
    assert result.differences == []


def test_a_wrong_score_is_counted_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = (
        '{"task_id": 1, "reference_url": "http://h.test/a", "url_note": null, "url": "http://h.test/a", "score": %s}'
    )
    (tmp_path / "url_match.jsonl").write_text(right % "1.0" + "\n" + right % "0.0" + "\n")
    monkeypatch.setenv("GOLDEN_DIR", str(tmp_path))
    assert main() == 1
    assert "url_match.jsonl: 1/2 agreed" in capsys.readouterr().out


def test_a_file_nothing_compares_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "unheard_of.jsonl").write_text("{}\n")
    monkeypatch.setenv("GOLDEN_DIR", str(tmp_path))
    assert main() == 1
    assert "no comparer" in capsys.readouterr().out


def test_an_empty_folder_is_not_a_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOLDEN_DIR", str(tmp_path))
    assert main() == 2
    assert "GOLDEN_DIR" in capsys.readouterr().out


def _compared(folder: Path, name: str, *cases: Any) -> Tally:
    file = folder / f"{name}.jsonl"
    file.write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    return tally(file, COMPARERS[name])


HEADER = "Tab 0: Page A | Tab 1 (current): "


@pytest.mark.parametrize(
    "case",
    [
        {"label": "two", "titles": ["Page A", ""], "current": 1, "header": HEADER},
        {"titles": ["Page A", ""], "active_index": 1, "text": f"{HEADER}\n\n[1] RootWebArea ''"},
        {"tabs": [{"title": "Page A", "current": False}, {"title": "", "current": True}], "header": HEADER},
        {"pages": [{"url": "http://a.test", "title": "Page A"}, {"title": ""}], "current": 1, "tab_title_str": HEADER},
        {"titles": ["a | b: 'c'\n"], "current": 0, "header": "Tab 0 (current): a | b: 'c'\n"},
    ],
)
def test_a_tab_header_is_compared_however_it_was_written_down(tmp_path: Path, case: Any) -> None:
    assert _compared(tmp_path, "tab_header", case).agreed == 1
    found = next(key for key in ("header", "text", "tab_title_str") if key in case)
    assert len(_compared(tmp_path, "tab_header", case | {found: f"x{case[found]}"}).differences) == 1


@pytest.mark.parametrize(
    "case",
    [
        {"titles": ["Page A", None], "current": 0},
        {"titles": ["Page A", "throws"], "current": 0},
        {"tabs": [{"title": "Page A", "current": True}, {"throws": True}]},
        {"titles": ["Page A", "B"], "current": None},
    ],
)
def test_a_title_that_fails_is_decided_otherwise_than_webarenas_literal_braces(tmp_path: Path, case: Any) -> None:
    found = _compared(tmp_path, "tab_header", case | {"header": "Tab {idx} | Tab {idx}"})
    assert found.decided.total() == 1
    assert _compared(tmp_path, "tab_header", case | {"header": "Tab {idx}"}).differences


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ('page.get_by_role("textbox").type("x")', "playwright-type"),
        ('page.get_by_placeholder("type here").fill("x")', "playwright-type"),
        ('page.stop("")', "empty-stop"),
    ],
)
def test_code_that_webarena_loses_the_task_on_is_read_and_decided(tmp_path: Path, text: str, decided: str) -> None:
    error = {"type": "BeartypeCallHintParamViolation", "msg": "None is no str"}
    found = _compared(tmp_path, "actions", {"text": text, "action_set": "playwright", "error": error})
    assert [one.name for one in found.decided] == [decided]
    refused = {"text": 'page.stop("x")', "action_set": "playwright", "error": error}
    assert _compared(tmp_path, "actions", refused).differences


@pytest.mark.parametrize(
    ("action_set", "text"),
    [("id_accessibility_tree", "tab_focus [0000000000000000001]"), ("playwright", "page_focus(0000000000000000001)")],
)
def test_a_tab_number_may_begin_with_any_number_of_zeros(tmp_path: Path, action_set: str, text: str) -> None:
    parsed = {"action_type": "PAGE_FOCUS", "page_number": 1}
    assert _compared(tmp_path, "actions", {"text": text, "action_set": action_set, "parsed": parsed}).agreed == 1


TARGET = {"url": "last", "locator": "document.title", "required_contents": {"exact_match": "a"}}
HTML = {
    "task_id": 1,
    "target": TARGET,
    "page_url": "http://h.test",
    "mode": "evaluate",
    "content_or_selected_text": "a",
}
ANSWER = {"task_id": 1, "reference_answers": {"exact_match": "a"}, "string_note": "", "answer": "a"}


@pytest.mark.parametrize(
    ("case", "score"),
    [
        (HTML | {"target": [TARGET, TARGET], "content_or_selected_text": ["a", "a"]}, 1.0),
        (HTML | {"target": [TARGET, TARGET], "content_or_selected_text": ["a", "b"]}, 0.0),
        (HTML | {"target": [TARGET, TARGET], "content_or_selected_text": "a"}, 1.0),
        (HTML | {"target": [TARGET, TARGET], "content_or_selected_text": ["a"]}, 1.0),
        (HTML | {"content_or_selected_text": ["a"]}, 0.0),
        (
            HTML
            | {
                "content_or_selected_text": ["a"],
                "target": TARGET | {"required_contents": {"exact_match": "['a']"}},
            },
            1.0,
        ),
    ],
)
def test_lists_of_targets_and_of_contents_are_compared(tmp_path: Path, case: Any, score: float) -> None:
    assert _compared(tmp_path, "program_html", case | {"score": score}).agreed == 1
    assert _compared(tmp_path, "program_html", case | {"score": 1.0 - score}).differences


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("program_html", HTML | {"target": TARGET | {"required_contents": ["exact_match"]}}),
        ("program_html", HTML | {"target": [[TARGET]]}),
        ("string_match", ANSWER | {"reference_answers": ["a"]}),
    ],
)
def test_what_webarena_fails_on_and_our_loader_refuses_agrees(tmp_path: Path, name: str, case: Any) -> None:
    assert _compared(tmp_path, name, case | {"error": {"type": "AttributeError"}}).agreed == 1
    assert _compared(tmp_path, name, case | {"score": 0.0}).differences


KEYS = """task_id target content_or_selected_text page_url mode reference_answers string_note answer canned reference_url
url_note url text action_set a b actions nodes screen rects current_viewport_only titles current header score"""
MALFORMED: dict[str, Any] = {
    "no JSON": "{",
    "no UTF-8": b"\xff\xfe{}",
    "a nest": "[" * 100_000,
    "a list": "[]",
    "a number": "3",
    "nothing in it": "{}",
    "wrong types": {key: [[1]] for key in KEYS.split()},
    "contents for other targets": HTML | {"target": [TARGET] * 3, "content_or_selected_text": ["a", "a"], "score": 1.0},
    "no score": HTML,
    "a key too few": {key: value for key, value in (ANSWER | {"score": 1.0}).items() if key != "answer"},
}


@pytest.mark.parametrize("name", sorted(COMPARERS))
@pytest.mark.parametrize("malformed", MALFORMED)
def test_a_malformed_case_is_a_difference_named_by_file_and_line(tmp_path: Path, name: str, malformed: str) -> None:
    case = MALFORMED[malformed]
    line = case if isinstance(case, bytes) else (case if isinstance(case, str) else json.dumps(case)).encode()
    (tmp_path / f"{name}.jsonl").write_bytes(b"\n\n" + line + b"\n")
    found = tally(tmp_path / f"{name}.jsonl", COMPARERS[name])
    assert found.total == len(found.differences) == 1
    sentence = found.differences[0].splitlines()[0]
    assert sentence.startswith(f"{name}.jsonl:3: ")


def test_malformed_cases_are_reported_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = ANSWER | {"intent": "x", "score": 1.0}
    lines = [json.dumps(right), json.dumps(right | {"answer": ["a"]}), "oops", json.dumps(right)]
    (tmp_path / "string_match.jsonl").write_text("\n".join(lines))
    monkeypatch.setenv("GOLDEN_DIR", str(tmp_path))
    assert main() == 1
    said = capsys.readouterr().out
    assert "string_match.jsonl: 2/4 agreed" in said
    assert "DIFFERS string_match.jsonl:2: the case cannot be compared" in said
    assert "DIFFERS string_match.jsonl:3: the line is not JSON" in said
