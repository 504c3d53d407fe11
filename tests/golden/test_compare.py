"""Every recorded case of WebArena's code agrees, or its difference was decided."""

from pathlib import Path

import pytest

from tests.golden.compare import COMPARERS, golden_dir, main, tally


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
