"""The table of each benchmark's page, the original beside ours: its rows, and the settings it names."""

import re
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from harness.cli import configured
from harness.config import Config

pytestmark = pytest.mark.integration

PAGES = Path(__file__).resolve().parents[2] / "docs" / "pages"
HEAD = "| | original | here | settings |"
ROWS = ("steps", "stop rules", "viewport", "start", "observation", "judge", "score", "tasks that load")
LIMITS = ("limits.max_steps", "limits.parsing_failures", "limits.repeated_actions", "browser.width", "browser.height")
JUDGED = ("judge.temperature", "judge.max_tokens", "scoring")
BENCHMARKS = {
    "assistantbench": LIMITS,
    "browsecomp": (*LIMITS, *JUDGED),
    "miniwob": LIMITS,
    "online_mind2web": (*LIMITS, *JUDGED, "task.arguments.threshold", "task.arguments.max_screenshots"),
    "real": (*LIMITS, *JUDGED),
    "visualwebarena": (*LIMITS, *JUDGED),
    "webarena_verified": (*LIMITS, "browser.har"),
    "webvoyager": (*LIMITS, *JUDGED, "task.arguments.last"),
}
"""With the settings that the table must name."""


def rows(benchmark: str) -> dict[str, list[str]]:
    """By what they are about: original, here, settings."""
    (table,) = re.findall(
        rf"^{re.escape(HEAD)}\n\|[ |-]+\|\n((?:\|.*\n)+)", (PAGES / f"{benchmark}.md").read_text(), re.M
    )
    found: dict[str, list[str]] = {}
    for line in table.splitlines():
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        assert len(cells) == 3 and all(cells[:2]) and name not in found, line
        found[name] = cells
    return found


def settings_of(benchmark: str) -> Config:
    needs_none = benchmark in ("miniwob", "visualwebarena", "webarena_verified")
    return configured([f"task={benchmark}", *(() if needs_none else ("task.path=x",))])


@pytest.mark.sample(3)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_what_a_benchmarks_table_says_of_settings_is_so(benchmark: str) -> None:
    table = rows(benchmark)
    assert [name for name in ROWS if name not in table] == []
    config = settings_of(benchmark)
    tree, said = OmegaConf.create(config.tree()), {}
    for _, _, settings in table.values():
        for one in re.findall(r"`([^`]+)`", settings):
            name, value = one.split("=", 1)
            said[name] = value
            written = OmegaConf.select(tree, name, throw_on_missing=True)
            shown = "null" if written is None else str(written).lower() if isinstance(written, bool) else str(written)
            assert shown == value, f"{benchmark}.md says {one}; it is {shown}"
    assert set(BENCHMARKS[benchmark]) <= said.keys()


@pytest.mark.sample(3)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_figures_of_a_benchmarks_table_are_those_of_its_settings(benchmark: str) -> None:
    """What stands under "here" in words."""
    table = rows(benchmark)
    config = settings_of(benchmark)
    assert re.match(rf"{config.limits.max_steps}\b", table["steps"][1])
    assert f"{config.browser.width} × {config.browser.height}" in table["viewport"][1]
    rules = table["stop rules"]
    for limit, words in ((config.limits.parsing_failures, "unreadable"), (config.limits.repeated_actions, "equal")):
        named = rules[0] + rules[1] if rules[1] == "the same" else rules[1]
        assert (f"{limit} {words}" in named) is (limit is not None), named
    if benchmark in ("webvoyager", "online_mind2web", "browsecomp"):
        assert "published:" in table["verdict"][1] and "Corrected:" in table["verdict"][1]


def test_miniwobs_table_counts_the_packages_pages() -> None:
    package = pytest.importorskip("harness.plugins.miniwob.package_pages")
    registered = package.registered()
    here = rows("miniwob")["tasks that load"][1]
    assert here.startswith(f"{len(registered)};") and f"all {len(package.names())} pages" in here
    assert f"the {sum(registered.values())} that" in here


@pytest.mark.parametrize(
    ("benchmark", "parsing_failures"),
    [("st_webagentbench", None), ("safearena", 3)],
    ids=["st_webagentbench", "safearena"],
)
def test_equal_actions_end_no_episode_of_a_benchmark_without_that_rule(
    benchmark: str, parsing_failures: int | None
) -> None:
    limits = settings_of(benchmark).limits
    assert (limits.repeated_actions, limits.parsing_failures) == (None, parsing_failures)
    assert "`limits.repeated_actions=null`" in (PAGES / f"{benchmark}.md").read_text()
