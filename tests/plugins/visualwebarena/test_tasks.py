"""All tasks of VisualWebArena's package: each is played whole, or refused in a sentence that says why."""

import json
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from harness.cli import configured
from harness.errors import ConfigError, TaskError
from harness.evaluation.builder import build_benchmark, load_tasks
from harness.plugins.visualwebarena.package import DISTRIBUTION, TASKS
from harness.plugins.visualwebarena.visualwebarena import VisualWebArena
from harness.records import Task
from harness.tasks.parse_eval import EVAL_TYPES

pytestmark = pytest.mark.integration
PROJECT = Path(__file__).resolve().parents[3]
SITES = ("classifieds", "reddit", "shopping", "wikipedia", "homepage")
VIEWPORTS = {"753", "754", "755", "757"}


@pytest.fixture(scope="module")
def path() -> Path:
    """The package's task file, installed here or in the environment that `make test-visualwebarena` builds."""
    try:
        for file in distribution(DISTRIBUTION).files or ():
            if file.name == TASKS:
                return Path(str(file.locate()))
    except PackageNotFoundError:
        pass
    for found in PROJECT.glob(f".venv-visualwebarena/lib/*/site-packages/visualwebarena/{TASKS}"):
        return found
    pytest.skip(f"the package {DISTRIBUTION} is not installed; make test-visualwebarena installs it")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for site in SITES:
        monkeypatch.setenv(site.upper(), f"http://127.0.0.1:9/{site}")


def loaded(path: Path, *overrides: str, agent: str = "vision") -> tuple[VisualWebArena, tuple[Task, ...]]:
    chosen = (f"agent={agent}", "llm=none", f"task.arguments.path={path}", *overrides)
    config = configured(["task=visualwebarena", *chosen], None)
    benchmark = build_benchmark(config.task)
    assert isinstance(benchmark, VisualWebArena)
    return benchmark, load_tasks(config)


def refused(benchmark: VisualWebArena, tasks: tuple[Task, ...]) -> Iterator[tuple[str, str]]:
    for task in tasks:
        try:
            files = tuple(benchmark.files(task))
        except TaskError as error:
            yield task.task_id, str(error)
        else:
            assert all(one.startswith("http") or Path(one).is_file() for one in files)


def test_all_910_are_played_whole_or_refused_in_a_sentence(path: Path, environment: None) -> None:
    benchmark, tasks = loaded(path)
    raw = {str(one["task_id"]): one for one in json.loads(path.read_bytes())}
    assert len(tasks) == len(raw) == 910
    no = dict(refused(benchmark, tasks))
    assert no.keys() == {"418", *VIEWPORTS}
    assert no["753"] == "it needs another viewport; play it in a run with browser.width=430 browser.height=932"
    assert "names the picture 'media/catalog/product" in no["418"] and no["418"].endswith(
        "which the package does not have"
    )
    for task in tasks:
        given = raw[task.task_id]
        pictures = given.get("image") or []
        assert len(task.images) == (1 if isinstance(pictures, str) else len(pictures)), "none is dropped"
        assert [one.removeprefix("vwa_") for one in task.eval.eval_types] == given["eval"]["eval_types"]
        assert not set(task.eval.eval_types) & set(EVAL_TYPES), "judged by its own rules, not by WebArena's"
        for name in given["eval"]["eval_types"]:
            assert task.metadata[f"eval.vwa_{name}"], task.task_id
    assert Counter(bool(task.images) for task in tasks) == {False: 589, True: 321}
    assert sum(len(task.images) for task in tasks) == 346


def test_a_task_with_a_viewport_of_its_own_is_played_in_a_run_that_has_it(path: Path, environment: None) -> None:
    benchmark, tasks = loaded(path, "browser.width=430", "browser.height=932", "task.ids=[753,757]")
    assert dict(refused(benchmark, tasks)) == {}


def test_an_agent_that_reads_text_only_is_refused_tasks_with_pictures(path: Path, environment: None) -> None:
    with pytest.raises(ConfigError, match=r"321 of 910 tasks .the first is 8. have pictures in their objective"):
        loaded(path, agent="prompt")
    _, tasks = loaded(path, "task.arguments.pictures=false", agent="prompt")
    assert len(tasks) == 589
    _, tasks = loaded(path, "task.arguments.pictures=true")
    assert len(tasks) == 321


RAW = {
    "task_id": 1,
    "sites": ["reddit"],
    "intent": "look",
    "start_url": "__REDDIT__",
    "storage_state": None,
    "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "a"}},
}


def judged(**eval: object) -> dict[str, object]:
    return {**RAW, "eval": eval}


def target(**changes: object) -> dict[str, object]:
    whole = {"url": "last", "locator": "", "required_contents": {"exact_match": "a"}, **changes}
    return judged(eval_types=["program_html"], program_html=[whole])


def query(**changes: object) -> dict[str, object]:
    whole = {
        "eval_image_url": "last",
        "eval_image_class": ".a",
        "eval_vqa": [{"question": "q", "answer": "a"}],
        **changes,
    }
    return judged(eval_types=["page_image_query"], page_image_query=[whole])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (judged(eval_types=["string_match"]), "reference_answers is empty"),
        (
            judged(eval_types=["string_match"], reference_answers={"odd": "a"}),
            "reference_answers.odd is not a known kind",
        ),
        (judged(eval_types=["url_match"], reference_url="x", url_note="odd"), "url_note is 'odd'"),
        (target(locator="func:__import__('os')"), "func:__import__ is not known"),
        (target(locator="func:get_query_text(open('x'), 'a')"), "arguments must be strings"),
        (target(locator="func:get_query_text('a')"), "func:get_query_text takes page, text"),
        (target(url="func:1+1"), "does not call a plain name"),
        (target(locator="alert(1)"), "locator starts with 'alert"),
        (target(url="file:///etc/passwd"), "give `last`, an address or func"),
        (target(required_contents={"odd": 1}), "required_contents must have one of"),
        (target(prep_actions=["x"]), "prep_actions is not done"),
        (query(eval_image_class="img"), "give a CSS class"),
        (query(eval_vqa=[]), "neither eval_vqa nor eval_fuzzy_image_match"),
        (query(eval_fuzzy_image_match="../secret.png"), "names the picture '../secret.png'"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_a_sentence(
    tmp_path: Path, environment: None, raw: dict[str, object], why: str
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps([raw]))
    benchmark, tasks = loaded(tmp_path / "mine.json")
    ((_, said),) = refused(benchmark, tasks)
    assert why in said and "\n" not in said


def test_a_file_that_holds_no_tasks_is_a_sentence(tmp_path: Path, environment: None) -> None:
    (tmp_path / "mine.json").write_text('{"no": 1}')
    with pytest.raises(ConfigError, match="must contain a JSON array of tasks"):
        loaded(tmp_path / "mine.json")
    with pytest.raises(ConfigError, match=r"missing\.json cannot be read"):
        loaded(tmp_path / "missing.json")
