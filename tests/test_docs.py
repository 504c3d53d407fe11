"""What the documentation says of formats and settings is so, and its site is built; its commands are typed in tests/docs."""

import re
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import pytest

from tests.e2e.conftest import environment
from tests.looking import chromium
from tests.reports.runs import Shape, fill

pytestmark = pytest.mark.integration

PROJECT = Path(__file__).resolve().parent.parent
PAGES = PROJECT / "docs" / "pages"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """(language, title, text) of the code blocks of a page."""
    return BLOCK.findall((PAGES / page).read_text())


def test_the_index_of_decisions_lists_each_of_them_once() -> None:
    index = PROJECT / "docs" / "decisions" / "index.md"
    headings = [
        (page.name, title)
        for page in index.parent.glob("*.md")
        if page != index
        for title in re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)
    ]
    listed = re.findall(r"^- \[(.+)\]\((\w+\.md)#", index.read_text(), re.MULTILINE)
    assert sorted((page, title) for title, page in listed) == sorted(headings)


def test_links_between_pages_lead_somewhere_in_the_repository() -> None:
    """From where a page really lies, as who reads the repository follows them; mkdocs checks those of the site."""
    pages = (*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md"))
    broken = [
        f"{page.relative_to(PROJECT)}: {target}"
        for page in pages
        if not page.is_symlink()
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
        if not re.match(r"[a-z]+:", target) and not (page.resolve().parent / target).exists()
    ]
    assert broken == []


def test_the_program_on_the_formats_page_reads_scores(tmp_path: Path) -> None:
    fill(tmp_path / "results" / "smoke-prompt-scripted", [Shape(), Shape(score=0.0), Shape(open=True)])
    (program,) = (text for language, _, text in blocks("formats.md") if language == "python")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["0.traj.jsonl 1.0", "1.traj.jsonl 0.0", "2.traj.jsonl None"]


def test_the_checksum_is_what_the_formats_page_says(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [Shape()])
    before = 0
    for line in (run / "0.traj.jsonl").read_bytes().split(b"\n")[:-1]:
        body, _, crc = line.rpartition(b',"crc":')
        before = crc32(body, before)
        assert crc == b'"%08x"}' % before


def test_the_formats_page_has_every_file_of_a_run_folder() -> None:
    from harness.evaluation.config_drift import DRIFT_NAME
    from harness.evaluation.retry_request import RETRY_NAME
    from harness.evaluation.summary_cache import NAME as CONCLUDED_NAME
    from harness.journal.index import INDEX_NAME
    from harness.journal.log import LOCK_NAME
    from harness.journal.site_log import SITES_NAME
    from harness.plugins.environments.ledger import NAME as LEDGER_NAME
    from harness.plugins.labels.book import NAME as LABELS_NAME
    from harness.runs.attribution import ATTRIBUTION_NAME
    from harness.runs.fork_origin import FORK_NAME
    from harness.runs.verified import VERIFIED_NAME

    table = (PAGES / "formats.md").read_text().partition("None of these")[0]
    for name in (
        *(DRIFT_NAME, RETRY_NAME, CONCLUDED_NAME, INDEX_NAME, LOCK_NAME, SITES_NAME, LEDGER_NAME, LABELS_NAME),
        *(ATTRIBUTION_NAME, FORK_NAME, VERIFIED_NAME),
    ):
        assert f"`{name}`" in table, name


def test_commands_that_play_all_tasks_of_webarena_have_a_judge() -> None:
    """Without one, the 118 tasks of its 812 that have `fuzzy_match` are unscored."""
    pages = PROJECT / "README.md", PAGES / "webarena.md"
    commands = [
        command
        for page in pages
        for command in re.findall(
            r"^\$? ?harness run task=webarena .*$", page.read_text().replace("\\\n", " "), re.MULTILINE
        )
    ]
    assert len(commands) >= 3
    judged = [
        command for command in commands if "agent=verified" not in command
    ]  # its own package scores it, without a judge
    assert [command for command in judged if "judge.model=" not in command] == []


def test_every_flag_of_webarena_is_answered() -> None:
    """Every setting the migration table names exists."""
    settings = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", (PAGES / "webarena.md").read_text().partition("## What is")[0]))
    from harness.cli import configured

    config = configured([])
    for setting in settings - {"run.py"}:
        group, _, name = setting.partition(".")
        assert hasattr(getattr(config, group), name), setting


@pytest.fixture
def site(tmp_path: Path) -> list[Path]:
    """The pages of the built site."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", "docs/mkdocs.yml", "-d", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env={**environment(), "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "schema" / "journal.schema.json").exists()
    return sorted(page for page in tmp_path.glob("*.html") if page.name != "404.html")


@pytest.mark.slow
@pytest.mark.browser
async def test_the_site_is_built_and_loads_nothing_from_elsewhere(site: list[Path]) -> None:
    assert {"index.html", "tutorial.html", "faq.html"} <= {page.name for page in site}
    asked: list[str] = []
    async with chromium() as browser:
        tab = await browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        for page in site:
            await tab.goto(page.as_uri(), wait_until="networkidle")
            assert await tab.locator("h1").count() == 1
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
