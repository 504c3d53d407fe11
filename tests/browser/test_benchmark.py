"""What a benchmark's own code may do to an episode: prepare, reward, keep evidence, and fail."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from harness.actions import Scroll
from harness.api import Benchmark, BenchmarkPage, PluginFailed, Reward, Task
from harness.browser.session.chromium import ChromiumPool
from harness.errors import BrowserCrashed, SiteUnavailable
from harness.records import Episode
from tests.browser.chromium_processes import kill_browser
from tests.browser.conftest import QUICK, Web, a_task

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
Asked = Callable[[BenchmarkPage], Awaitable[Any]]


class Scripted(Benchmark):
    """Does in each of its methods what the present test says."""

    def __init__(self) -> None:
        self.parts: dict[str, Asked] = {}

    def tasks(self) -> list[Any]:
        return []

    async def _do(self, part: str, page: BenchmarkPage) -> Any:
        return await self.parts[part](page) if part in self.parts else None

    async def prepare(self, page: BenchmarkPage, task: Task, /) -> None:
        await self._do("prepare", page)

    async def reward(self, page: BenchmarkPage, task: Task, /) -> Any:
        return await self._do("reward", page)

    async def evidence(self, page: BenchmarkPage, task: Task, /) -> Any:
        return await self._do("evidence", page)


@dataclass
class Stage:
    """A browser for all episodes of this file, and what the benchmark does in the next one."""

    web: Web
    pool: ChromiumPool
    benchmark: Scripted

    async def play(self, action: Any = None, **parts: Asked) -> tuple[str, Reward | None, bytes | None]:
        """Text of the start page, reward of one action, and the evidence."""
        task, self.benchmark.parts = a_task(self.web), parts
        async with self.pool.open(task, 0) as env:
            start = (await env.restore(task, Episode())).view.observation.text
            landed = await env.act(action or Scroll(direction="down"))
            kept = (await env.gather(task)).benchmark
            assert (landed.effects, env.take_effects()) == ((), ()), "a benchmark's scripts are not the agent"
            return start, landed.reward, kept


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser(server: Web) -> AsyncIterator[Stage]:
    benchmark = Scripted()
    async with ChromiumPool(QUICK, sites=lambda _: (server.site,), benchmark=benchmark) as pool:
        yield Stage(server, pool, benchmark)


@pytest.fixture
def stage(browser: Stage, web: Web) -> Stage:
    return browser


async def test_it_prepares_the_page_among_its_own_globals_and_reads_them_back(stage: Stage, web: Web) -> None:
    web.page("/", "<p>cold</p><script>window.state = {best: [1]}</script>")

    async def prepare(page: BenchmarkPage) -> None:
        await page.evaluate("(text) => { state.best.push(text); document.body.append(text); }", "warm </script>\u202e")

    async def reward(page: BenchmarkPage) -> Reward:
        assert page.url == "http://shop.localhost/"
        await page.evaluate("fetch('/counted', {method: 'POST'}).then(() => 1)")
        return Reward(value=await page.evaluate("state.best[0]"), done=True)

    async def evidence(page: BenchmarkPage) -> Any:
        return await page.evaluate("async () => state.best")

    start, earned, kept = await stage.play(prepare=prepare, reward=reward, evidence=evidence)
    assert "warm" in start
    assert earned == Reward(value=1, done=True)
    assert kept is not None and json.loads(kept) == [1, "warm </script>\u202e"]
    assert [asked.path for asked in web.asked if asked.method == "POST"] == ["/counted"]


async def test_a_benchmark_that_says_nothing_costs_nothing(stage: Stage, web: Web) -> None:
    web.page("/", "plain")
    assert (await stage.play())[1:] == (None, None)


FAULTS: dict[str, tuple[str, str]] = {
    "throws": ("() => { throw new Error('no score') }", "a script of the benchmark failed: Error: no score"),
    "is not a script": ("() => {", "a script of the benchmark failed: SyntaxError"),
    "never ends": ("() => new Promise(() => {})", "returned nothing within 3 s"),
    "gives too much": ("() => 'x'.repeat(20_000_000)", "returned more than"),
    "gives itself": ("() => { const a = []; a.push(a); return a }", "returned more than"),
    "gives no JSON": ("() => 0 / 0", "not JSON"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_script_with_a_fault_is_a_sentence_and_fails_its_own_task(stage: Stage, web: Web, fault: str) -> None:
    script, said = FAULTS[fault]
    web.page("/", "plain")
    with pytest.raises(PluginFailed, match=said):
        await stage.play(reward=lambda page: page.evaluate(script))


def _raises(error: Exception) -> Asked:
    async def asked(page: BenchmarkPage) -> None:
        raise error

    return asked


def _gives(value: Any) -> Asked:
    async def asked(page: BenchmarkPage) -> Any:
        return value() if callable(value) else value

    return asked


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"prepare": _raises(KeyError("seed"))}, "the benchmark's prepare raised KeyError: 'seed'"),
        ({"reward": _raises(RuntimeError("x" * 9999))}, "the benchmark's reward raised RuntimeError: x"),
        ({"reward": _gives(0.5)}, "returned float, not a Reward"),
        ({"reward": _gives(lambda: Reward(value=float("nan")))}, "a reward is a finite number, not nan"),
        ({"reward": _gives(lambda: Reward(value=1.0, done="yes"))}, "reward returned done='yes'"),  # type: ignore[arg-type]
        ({"reward": _gives(lambda: Reward(value="1"))}, "a reward is a finite number"),  # type: ignore[arg-type]
        ({"evidence": _gives({1, 2})}, "the benchmark's evidence is not JSON"),
        ({"evidence": _gives("x" * 10_000_001)}, "the limit is"),
    ],
)
async def test_a_method_with_a_fault_is_a_sentence(stage: Stage, web: Web, broken: dict[str, Asked], said: str) -> None:
    web.page("/", "plain")
    with pytest.raises(PluginFailed, match=said) as caught:
        await stage.play(**broken)
    assert len(str(caught.value)) < 400


async def test_a_page_that_goes_elsewhere_meanwhile_is_asked_again(stage: Stage, web: Web) -> None:
    web.page("/", "<script>setTimeout(() => { location = '/next' }, 50)</script>")
    web.page("/next", "<script>window.score = 0.25</script>", title="Next")

    async def reward(page: BenchmarkPage) -> Reward:
        asked = "() => window.score ?? new Promise(() => {})"
        return Reward(value=await page.evaluate(asked))

    assert (await stage.play(reward=reward))[1] == Reward(value=0.25)


async def test_what_cannot_be_opened_is_an_outage_and_not_a_score(stage: Stage, web: Web) -> None:
    web.page("/", "plain")
    with pytest.raises(SiteUnavailable, match=r"the benchmark opened http://elsewhere\.test/"):
        await stage.play(prepare=lambda page: page.goto("http://elsewhere.test/"))


async def test_a_browser_that_dies_below_it_is_the_browsers_failure(stage: Stage, web: Web) -> None:
    web.page("/", "plain")

    async def reward(page: BenchmarkPage) -> None:
        kill_browser()
        await page.evaluate("() => 1")

    with pytest.raises(BrowserCrashed):
        await stage.play(reward=reward)
