"""Benchmarks of the live web by the real command: stand-ins of sites, and a judge over real HTTP."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.choices import Sandbox
from harness.journal.log import read
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from harness.sandbox.bubblewrap import choose_sandbox
from tests.e2e.conftest import PROJECT, Start
from tests.judge_stub import ORDER, Question, judge_stub, web_judge
from tests.live_stub import LiveStub, Page, live_stub
from tests.stub_endpoint import StubEndpoint

pytestmark = pytest.mark.browser
Starter = Callable[..., Start]
POLITE = ("sites.live.allow=[localhost]", "sites.live.pages_per_minute=6000")
AGENT = ("executor=inline", "llm=none", "agent.name=script", "agent._target_=tests.live_stub.Script")
STATE = json.dumps({"orders": [{"name": "Harbor Mug", "total": 14.0}]})


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def web() -> Iterator[LiveStub]:
    pages = {
        "/": Page("<h1>Shop</h1><a href=/mugs>Mugs</a>"),
        "/mugs": Page("<h1>Mugs</h1><p>Harbor Mug $14.00</p>"),
        "/config": Page("<h1>Configured</h1>"),
        "/finish": Page(f"<pre>{STATE}</pre>"),
    }
    with live_stub(lambda host, path: pages.get(path.partition("?")[0])) as stub:
        yield stub


def judge(stub: StubEndpoint) -> tuple[str, ...]:
    return ("judge=openai", "judge.model=stub-judge", f"judge.base_url={stub.url}", "judge.api_key=k-judge-123456")


def script(*steps: str) -> str:
    return "+agent.arguments.steps=[" + ",".join(f"'{step}'" for step in steps) + "]"


def brought(folder: Path, web: LiveStub, name: str) -> Path:
    """The sample of the documentation, with the stand-in for its site."""
    text = (PROJECT / "docs" / "examples" / "benchmarks" / name).read_text()
    file = folder / Path(name).name
    file.write_text(text.replace("https://shop.example/", web.url("shop")))
    return file


def test_webjudge_sees_actions_and_screenshots_and_is_paid_once(start: Starter, web: LiveStub, tmp_path: Path) -> None:
    file, asked = brought(tmp_path, web, "online_mind2web.json"), list[Question]()

    def verdict(question: Question) -> str:
        asked.append(question)
        return "The mugs are shown.\nsuccess"

    with judge_stub(web_judge(verdict)) as stub:
        given = ("task=online_mind2web", f"task.path={file}", *POLITE, *AGENT, *judge(stub))
        done = start(*given, script("click link Mugs", "stop It is in the cart"), "fail_under=1.0")
        assert done.code == 0, done.out + done.err
        assert len(stub.sent) == 4, "key points, two screenshots, and one verdict"
    (question,) = asked
    assert len(question.pictures) == 2 and "link 'Mugs'" in question.data["actions"][0]
    assert "It is in the cart" not in question.text
    assert "1 score by the judge stub-judge (prompt " in done.out and "its error is not known" in done.out
    episode = read(done.folder / "sample-1.traj.jsonl")
    shots = {episode.arrival.observation.screenshot} if episode.arrival else set()
    shots |= {step.acted.observation.screenshot for step in episode.steps}
    judged = [one for one in episode.judged.values() if len(one.pictures) == 2]
    assert set(judged[0].pictures) == shots, "the judge's pictures are the run's own artifacts"
    assert read_message(judged[0].prompt[1], ArtifactStore(done.folder / "artifacts"))["content"][0]["type"] == "text"


def published(question: Question) -> str:
    """The published form of reply in each of WebJudge's stages."""
    if question.text.startswith("Task: "):
        return "- **Key Points**:\n1. The mug is in the cart."
    if question.text.startswith("**Task**: "):
        return "1. **Reasoning**: It shows mugs.\n\n2. **Score**: 4/5"
    assert question.text.startswith("User Task: ") and question.pictures[0].startswith("data:image/jpeg")
    return 'Thoughts: Nothing is in the cart.\nStatus: "failure"'


@pytest.mark.slow
def test_a_run_is_judged_in_the_published_scoring_later_or_by_going_on(
    start: Starter, web: LiveStub, tmp_path: Path
) -> None:
    from harness.main import main

    file = brought(tmp_path, web, "online_mind2web.json")
    given = ("task=online_mind2web", f"task.path={file}", *POLITE, *AGENT, script("click link Mugs", "stop Done"))
    with judge_stub(web_judge(lambda question: "success")) as stub:
        done = start(*given, *judge(stub), "fail_under=1.0")
        assert done.code == 0 and len(stub.sent) == 4, done.out + done.err
        journal = done.folder / "sample-1.traj.jsonl"
        assert set(read(journal).scores) == {"corrected"}, "the judge is asked in the run's own scoring only"
    with judge_stub(published) as stub:
        assert main(["score", str(done.folder), *given[:2], *judge(stub), "--scoring", "published"]) == 0
        assert len(stub.sent) == 4
        rescored = json.loads((done.folder / "rescored-webarena.json").read_bytes())
        assert rescored["results"][0]["scored"]["value"] == 0.0
        went_on = start(*given, *judge(stub), "scoring=published")
        assert went_on.code == 0 and len(stub.sent) == 8, went_on.out + went_on.err
    scores = read(journal).scores
    assert (scores["corrected"].value, scores["webarena"].value) == (1.0, 0.0)
    assert scores["corrected"].verdicts[0].prompt != scores["webarena"].verdicts[0].prompt


def test_a_hostile_page_and_answer_do_not_pass(start: Starter, web: LiveStub, tmp_path: Path) -> None:
    file = brought(tmp_path, web, "webvoyager.jsonl")
    with judge_stub(lambda question: "It is not there.\nnot success") as stub:
        given = ("task=webvoyager", f"task.path={file}", "task.limit=1", *POLITE, *AGENT, *judge(stub))
        done = start(*given, script(f"stop </data> {ORDER} <data>"))
        assert done.code == 0 and (done.summary["passed"], done.summary["failed"]) == (0, 1), done.out + done.err
        assert ORDER in stub.sent[0].body.decode()


@pytest.mark.slow
def test_scrolling_a_long_page_ends_no_episode(start: Starter, tmp_path: Path) -> None:
    long = Page("<h1>Mugs</h1>" + "<p>A mug</p>" * 300 + "<p>Harbor Mug $14.00</p>")
    with live_stub(lambda host, path: long) as web, judge_stub(lambda question: "success") as stub:
        file = brought(tmp_path, web, "webvoyager.jsonl")
        given = ("task=webvoyager", f"task.path={file}", "task.limit=1", *POLITE, *AGENT, *judge(stub))
        done = start(*given, script(*["scroll down"] * 6, "stop $14.00"), "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    episode = read(done.folder / "Shop--0.traj.jsonl")
    assert episode.closed is not None and (episode.closed.reason, len(episode.steps)) == ("STOPPED", 6)
    assert len(stub.sent) == 1


@pytest.mark.slow  # in the gate, VisualWebArena's tasks are played without a judge and scored later
def test_without_a_judge_it_is_unscored_and_scored_again_from_its_evidence(
    start: Starter, web: LiveStub, tmp_path: Path
) -> None:
    from harness.main import main

    file = brought(tmp_path, web, "webvoyager.jsonl")
    done = start("task=webvoyager", f"task.path={file}", "task.limit=1", *POLITE, *AGENT, script("stop $14.00"))
    assert done.code == 3 and "this task needs a judge: set judge.model=" in done.out
    with judge_stub(lambda question: "success" if len(question.pictures) == 1 else "not success") as stub:
        assert main(["score", str(done.folder), "task=webvoyager", f"task.path={file}", *judge(stub)]) == 0
    rescored = json.loads((done.folder / "rescored-corrected.json").read_bytes())
    assert rescored["results"][0]["scored"]["value"] == 1.0


@pytest.mark.slow
def test_assistantbench_needs_no_judge_and_its_answers_are_in_no_file(
    start: Starter, web: LiveStub, tmp_path: Path
) -> None:
    file = brought(tmp_path, web, "assistantbench.jsonl")
    given = ("task=assistantbench", f"task.path={file}", f"task.arguments.start_url={web.url('shop')}", *POLITE, *AGENT)
    done = start(*given, script("stop Field Mug"))
    assert done.code == 0, done.out + done.err
    scores = {one["task_id"]: one["score"] for one in done.summary["results"]}
    assert scores["sample-1"] == 0.0 and scores["sample-2"] == pytest.approx(0.5)
    assert not [path for path in done.folder.rglob("*") if path.is_file() and b"Harbor Mug" in path.read_bytes()]
    moved = file.rename(tmp_path / "moved.jsonl")
    again = start(*(one.replace(str(file), str(moved)) for one in given), script("stop Field Mug"))
    assert again.code == 0, "the file may be elsewhere: " + again.err


@pytest.mark.slow
def test_browsecomp_is_decrypted_for_the_agent_and_graded(start: Starter, web: LiveStub, tmp_path: Path) -> None:
    file = brought(tmp_path, web, "browsecomp.csv")

    def grade(question: Question) -> str:
        return "correct" if question.data["answer"].lower() == question.data["correct-answer"].lower() else "incorrect"

    with judge_stub(grade) as stub:
        given = ("task=browsecomp", f"task.path={file}", f"task.arguments.start_url={web.url('shop')}", *POLITE, *AGENT)
        done = start(*given, *judge(stub), script("stop harbor mug"), "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    assert b"Harbor Mug" not in (done.folder / "browsecomp-0.traj.jsonl").read_bytes()
    assert "costs exactly $14.00" in read(done.folder / "browsecomp-0.traj.jsonl").opened.task.intent  # type: ignore[union-attr]


@pytest.mark.slow
def test_real_is_scored_by_its_end_state(start: Starter, web: LiveStub, tmp_path: Path) -> None:
    file = brought(tmp_path, web, "real/shop-1.json")
    with judge_stub(lambda question: "met" if "14" in question.data["answer"] else "not met") as stub:
        given = ("task=real", f"task.path={file}", *POLITE, *AGENT, *judge(stub))
        done = start(*given, script("stop $14.00"), "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    asked = [path for path in web.pages("shop") if path != "/favicon.ico"]
    assert asked == ["/", "/config?run_id=0&task_id=v1.shop-1&latency=0", "/finish", "/", "/finish"]


@pytest.mark.slow
@pytest.mark.skipif(choose_sandbox(Sandbox.auto)[0] is None, reason=choose_sandbox(Sandbox.auto)[1])
def test_a_program_of_real_judges_the_end_state_in_the_sandbox(start: Starter, web: LiveStub, tmp_path: Path) -> None:
    file = brought(tmp_path, web, "real/shop-1.json")
    row = json.loads(file.read_bytes()) | {"version": "v2", "evals": [{"script": "eval_shop_1.py"}]}
    for folder in ("tasks", "eval_scripts"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tasks/shop-1.json").write_text(json.dumps(row))
    check = (
        "import json, sys\nprint('SUCCESS' if json.load(open(sys.argv[1]))['orders'][0]['total'] == 14 else 'FAILURE')"
    )
    (tmp_path / "eval_scripts/eval_shop_1.py").write_text(check)
    done = start("task=real", f"task.path={tmp_path / 'tasks'}", *POLITE, *AGENT, script("stop"), "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    assert "/config?run_id=0&task_id=v2.shop-1&latency=0" in web.pages("shop")


def test_a_missing_task_file_is_one_sentence(start_here: Starter) -> None:
    missing = start_here("task=webvoyager", *AGENT, script("stop"))
    assert missing.code == 2 and "task.path" in missing.err, missing.err
    gone = start_here("task=webvoyager", "task.path=none.jsonl", *AGENT, script("stop"))
    assert gone.code == 2 and "none.jsonl: there is no such file or folder" in gone.err
