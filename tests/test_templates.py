"""Templates that are kept compiled between starts say what they would say without."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.api.templates import template_environment

Render = Callable[[], str]


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Render:
    """A page, as each start of the program makes it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "templates").mkdir()
    write(tmp_path, "{{ name }}: {{ [1, 2]|length }}")

    def page() -> str:
        environment = template_environment(tmp_path / "templates", kept=str(tmp_path / "home" / "kept"))
        return environment.get_template("page.html").render(name="<b>")

    return page


def write(place: Path, text: str) -> None:
    (place / "templates" / "page.html").write_text(text)


def kept(place: Path) -> list[Path]:
    return sorted((place / "home" / "kept").iterdir())


def test_a_compiled_template_is_kept_and_used_by_the_next_start(render: Render, tmp_path: Path) -> None:
    write(tmp_path, "another")
    assert render() == "another"
    (another,) = kept(tmp_path)
    write(tmp_path, "{{ name }}")
    assert render() == "&lt;b&gt;"
    (page,) = {*kept(tmp_path)} - {another}
    page.write_bytes(another.read_bytes())
    assert render() == "another", "which only the kept file says"


def test_a_template_that_has_changed_is_compiled_again(render: Render, tmp_path: Path) -> None:
    assert render() == "&lt;b&gt;: 2"
    write(tmp_path, "changed")
    assert render() == "changed"


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-7], lambda data: data[:40] + b"\xff" * 40])
def test_a_damaged_file_is_made_anew(render: Render, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    whole = render()
    (page,) = kept(tmp_path)
    before = page.read_bytes()
    page.write_bytes(damage(before))
    assert render() == whole
    assert page.read_bytes() == before


def test_without_a_folder_to_keep_them_in_templates_are_compiled_at_each_start(render: Render, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    assert render() == render() == "&lt;b&gt;: 2"


def test_nothing_is_kept_where_python_keeps_nothing(
    render: Render, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert render() == "&lt;b&gt;: 2"
    assert not (tmp_path / "home").exists()
