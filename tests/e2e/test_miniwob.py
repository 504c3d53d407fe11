"""MiniWoB++ from the PyPI package `miniwob`: its pages, seeds and rewards, beside the package's own environment."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

try:
    from miniwob.selenium_instance import SeleniumInstance
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.select import Select as Listed
    from selenium.webdriver.support.wait import WebDriverWait
except ImportError:
    pytest.skip("the package miniwob is not installed", allow_module_level=True)

from harness.actions import Click, Hover, Press, Select, Type, Wait
from harness.journal.log import read
from harness.journal.store import ArtifactStore
from harness.records import CloseReason, Episode
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.test_run import decided, running
from tests.plugins.miniwob.miniwob_solver import SOLVERS
from tests.waiting import wait_until

pytestmark = pytest.mark.browser
Starter = Callable[..., Start]
SOLVER = ("task=miniwob", "llm=none", "agent.name=solver", "agent._target_=tests.plugins.miniwob.miniwob_solver.Solver")
FEW = "task.arguments.pages=[enter-text,guess-number]"
VIEWPORT = (1280, 720)
COUNT_TIMERS = """{
  const pending = new Set(), set = window.setTimeout, clear = window.clearTimeout;
  window.setTimeout = (call, ms, ...rest) => {
    const id = set((...given) => { pending.delete(id); call(...given); }, ms, ...rest);
    if (!(ms > 5000)) pending.add(id);  // longer ones are limits of time
    return id;
  };
  window.clearTimeout = (id) => { pending.delete(id); clear(id); };
  window.pendingTimers = () => pending.size;
}"""
"""A page that shows something 300 ms after a key has not shown it when selenium goes on; Cairn has waited for it."""
RESTED = "return !pendingTimers() && (!window.jQuery || !jQuery(':animated').length)"


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """The agents of these tests, for the processes of a run."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(PROJECT))
        yield


def episodes(folder: Path) -> dict[tuple[str, int], Episode]:
    found = [read(path) for path in sorted(folder.glob("*.traj.jsonl"))]
    return {(one.opened.task.task_id, one.opened.trial): one for one in found if one.opened is not None}


def state(folder: Path, episode: Episode) -> dict[str, Any]:
    """What the page said of itself when its episode was over."""
    assert episode.closed is not None and episode.closed.evidence.benchmark is not None
    kept: dict[str, Any] = json.loads(ArtifactStore(folder / "artifacts").read(episode.closed.evidence.benchmark))
    return kept


@pytest.mark.slow
def test_pages_say_what_to_do_and_reward_it_by_their_own_scripts(start: Starter) -> None:
    done = start(*SOLVER, FEW, "trials=2", "workers=1", "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    played = episodes(done.folder)
    assert len(played) == 4
    objectives = set()
    for episode in played.values():
        assert episode.arrival is not None and episode.closed is not None
        objectives.add(episode.arrival.intent)
        assert episode.closed.reason is CloseReason.DONE
        assert [step.acted.reward for step in episode.steps] == [None] * (len(episode.steps) - 1) + [1.0]
        kept = state(done.folder, episode)
        assert kept["raw_reward"] == 1 and 0 < kept["reward"] <= 1 and kept["done"] is True
    assert len(objectives) == 3, "each trial has a seed of its own; the objective of one page is the same in all"
    again = start(*SOLVER, FEW, "task.limit=1", "trials=2", "workers=1", "run.id=again", "fail_under=1.0")
    assert again.code == 0, again.out + again.err
    for key, episode in episodes(again.folder.parent / "again").items():
        first = played[key].arrival
        assert first is not None and episode.arrival is not None
        assert episode.arrival.observation.text == first.observation.text, "the same seed is the same page"


@pytest.mark.slow
def test_a_killed_episode_goes_on_in_the_page_of_its_seed(start: Starter, tmp_path: Path) -> None:
    chosen = (*SOLVER, "task.arguments.pages=[use-spinner]", "workers=1", "executor.lanes=1", "run.seed=0")
    folder = tmp_path / "results" / "run"
    with running(*chosen, root=tmp_path / "results") as process:
        wait_until(lambda: decided(folder) >= 4, within_s=120)
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        psutil.wait_procs(family, timeout=600)
    before = decided(folder)
    resumed = start(*chosen, "fail_under=1.0")
    assert resumed.code == 0, resumed.out + resumed.err
    (episode,) = episodes(folder).values()
    assert before < decided(folder) == len(episode.steps)
    assert episode.attempt == 1 and episode.resumed[-1].strategy == "replay"


@pytest.mark.slow
def test_the_null_agent_earns_nothing(tmp_path: Path) -> None:
    with running("task=miniwob", "task.split=all", "agent=null", "llm=none", root=tmp_path / "results") as process:
        assert process.wait(timeout=1200) == 0
    summary = json.loads((tmp_path / "results" / "run" / "summary.json").read_bytes())
    assert (summary["passed"], summary["failed"]) == (0, 130)


def test_a_page_there_is_not_is_one_sentence(start_here: Starter) -> None:
    refused = start_here("task=miniwob", "agent=null", "task.arguments.pages=[click-teest]")
    assert refused.code == 2 and "MiniWoB++ has no page 'click-teest'; did you mean click-test" in refused.err


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory, importable: None) -> Path:
    """A run folder with every page that the solver knows, in three seeds."""
    root = tmp_path_factory.mktemp("miniwob")
    with running(*SOLVER, f"task.arguments.pages=[{','.join(SOLVERS)}]", "trials=3", root=root) as process:
        assert process.wait(timeout=1200) == 0
    return root / "run"


@pytest.mark.slow
def test_scripted_plans_solve_sixty_pages_in_three_seeds(solved: Path) -> None:
    played = episodes(solved)
    assert len(SOLVERS) >= 60 and len(played) == 3 * len(SOLVERS)
    missed = [key for key, one in played.items() if one.scores["corrected"].value != 1.0]
    assert missed == []


@pytest.mark.slow
def test_every_page_starts_says_what_to_do_and_ends_with_a_reward(tmp_path: Path) -> None:
    waiter = (
        "agent.name=waiter",
        "agent._target_=tests.plugins.miniwob.miniwob_solver.Waiter",
        "limits.max_steps=1000",
    )
    folder = tmp_path / "run"
    with running(
        "task=miniwob", "task.split=all", "llm=none", *waiter, "task.arguments.clock=1", root=tmp_path
    ) as process:
        assert process.wait(timeout=1200) == 0
    played = episodes(folder)
    assert len(played) == 130
    for (name, _), episode in played.items():
        assert episode.arrival is not None and episode.arrival.intent, name
        assert episode.closed is not None and episode.closed.reason is CloseReason.DONE, name
        assert state(folder, episode)["done"] is True and episode.reward is not None, name


@pytest.mark.slow
def test_a_sweep_that_is_killed_again_and_again_earns_the_same(start: Starter, tmp_path: Path, solved: Path) -> None:
    chosen = (*SOLVER, f"task.arguments.pages=[{','.join(SOLVERS)}]", "resume.max_attempts=9")
    folder = tmp_path / "results" / "run"
    for kill in range(1, 6):
        with running(*chosen, root=tmp_path / "results") as process:
            wait_until(lambda kill=kill: decided(folder) >= 25 * kill, within_s=180)
            family = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            psutil.wait_procs(family, timeout=600)
    last = start(*chosen)
    assert last.code == 0, last.out + last.err
    undisturbed, played = episodes(solved), episodes(folder)
    assert len(played) == len(SOLVERS)
    for key, episode in played.items():
        first = undisturbed[key]
        assert episode.arrival is not None and first.arrival is not None
        assert episode.arrival.intent == first.arrival.intent, key
        assert episode.reward == first.reward == 1.0, key


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromedriver") is None, reason="chromedriver is not installed")
def test_rewards_are_those_of_the_packages_own_environment(solved: Path) -> None:
    differ = []
    with package_environment() as replayed:
        for (name, trial), episode in episodes(solved).items():
            ours = state(solved, episode)
            theirs = replayed(name, trial, episode)
            if (theirs["done"], theirs["raw_reward"]) != (ours["done"], ours["raw_reward"]):
                differ.append((name, trial, ours, theirs))
    assert [(name, trial) for name, trial, *_ in differ] == []


@contextmanager
def package_environment() -> Iterator[Callable[[str, int, Episode], dict[str, Any]]]:
    """Performs an episode's actions in the package's own environment, at the same points, and gives its state."""
    os.environ["MINIWOB_CHROME_BINARY"] = shutil.which("chromium") or ""
    os.environ["MINIWOB_CHROMEDRIVER"] = shutil.which("chromedriver") or ""
    instance: Any = None

    def replayed(name: str, seed: int, episode: Episode) -> dict[str, Any]:
        nonlocal instance
        if instance is None or instance.url.rpartition("/")[2] != f"{name}.html":
            if instance is not None:
                instance.close()
            instance = SeleniumInstance(index=0, subdomain=name, headless=True, base_url=None, threading=False)
            instance.create_driver()
            metrics = {"width": VIEWPORT[0], "height": VIEWPORT[1], "deviceScaleFactor": 1, "mobile": False}
            instance.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            instance.driver.execute_script(COUNT_TIMERS)
        instance.driver.execute_script("core.EPISODE_MAX_TIME = 3600000; return core.endEpisode(0);")
        instance.begin_task(seed=seed)
        for step in episode.steps:
            perform(instance.driver, step.decided.action)
            WebDriverWait(instance.driver, 10).until(lambda driver: driver.execute_script(RESTED))
        return dict(instance.get_metadata())

    try:
        yield replayed
    finally:
        if instance is not None:
            instance.close()


def perform(driver: Any, action: Any) -> None:  # noqa: C901 (a case for each action)
    """What an action does, with selenium."""
    target = getattr(action, "target", None)
    box = (0.0, 0.0, 0.0, 0.0) if target is None else target.box
    point = (round(box[0] + box[2] / 2), round(box[1] + box[3] / 2))
    found = driver.execute_script("return document.elementFromPoint(arguments[0], arguments[1])", *point)
    chain = ActionChains(driver)
    if target is not None:
        chain.w3c_actions.pointer_action.move_to_location(*point)
    match action:
        case Click() if target.role == "option":
            Listed(driver.find_element("css selector", "#area select")).select_by_visible_text(target.name)
        case Click() if target.role == "link":  # of one on two lines, the middle of its box may be beside it
            driver.find_elements("link text", target.name)[target.nth].click()
        case Type(text=text) if found.get_attribute("type") in ("date", "time"):
            driver.execute_script("arguments[0].value = arguments[1]", found, text)
        case Select(option=option):
            Listed(found).select_by_visible_text(option)
        case Wait():
            driver.execute_async_script("setTimeout(arguments[0], 1000)")
        case Press(key_comb=keys):
            chain.send_keys(getattr(Keys, keys.replace("Arrow", "ARROW_").upper())).perform()
        case Click():
            chain.click().perform()
        case Hover():
            chain.perform()
        case Type(text=text, enter=enter):
            chain.click().key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL)
            chain.send_keys(text, *[Keys.ENTER] * enter).perform()
        case _:
            raise AssertionError(f"no counterpart of {action.render()}")
