"""MiniWoB++ as a benchmark: one page per episode, started and rewarded by the page's own script.

An episode begins as the package's own environment begins it (`SeleniumInstance.begin_task`): the page's random numbers
are seeded, then `core.startEpisodeReal()` is called, so that the START cover is not pressed. What differs is the clock:
pages end an episode after 7 to 30 seconds and discount the reward by the time taken, which would measure the model's
latency. Here both limits are multiplied by `clock`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from harness.api import (
    Artifacts,
    Benchmark,
    BenchmarkPage,
    Closed,
    CodecError,
    Evaluator,
    EvaluatorError,
    Finding,
    Reward,
    Task,
    loads,
)
from harness.errors import ConfigError, PluginFailed
from harness.plugins.miniwob.package_pages import names, registered

SITE = "miniwob"
INTENT = "Do what the instruction at the top of the page says"
_READY_S = 5.0
_START = """async ({seed, mode, clock, limit_ms}) => {
  if (typeof core === "undefined" || typeof genProblem === "undefined") return null;
  core.EPISODE_MAX_TIME *= clock;
  core.countdownTimer = () => {};  // writes into the page each second
  core.clearTimer = () => {};
  const hidden = document.createElement("style");  // beside the task: scores, time, and where was clicked
  hidden.textContent = "#reward-display, #click-canvas { display: none !important }";
  document.head.append(hidden);
  Math.seedrandom(seed);
  core.setDataMode(mode);
  core.startEpisodeReal();
  window[Symbol.for("cairn.begun")] = true;
  for (const end = performance.now() + limit_ms; !WOB_TASK_READY && performance.now() < end;)
    await new Promise((resolve) => setTimeout(resolve, 20));
  if (!WOB_TASK_READY) return null;
  const said = core.getUtterance();
  return typeof said === "string" ? said : said.utterance;
}"""
_STATE = """() => window[Symbol.for("cairn.begun")] !== true ? {done: false, raw_reward: 0, reward: 0} : ({
  done: WOB_DONE_GLOBAL, raw_reward: WOB_RAW_REWARD_GLOBAL, reward: WOB_REWARD_GLOBAL,
  reason: WOB_REWARD_REASON === undefined || WOB_REWARD_REASON === null ? null : String(WOB_REWARD_REASON)
})"""
"""Of a page that was not begun by `_START`, as one that the agent opened and started itself: nothing."""


class MiniWob(Benchmark):
    """The pages of the package `miniwob`, one task for each; `trials` and `run.seed` give seeds.

    Args:
        pages: Names as in `click-button`, of whatever split; None = those that `task.split` selects.
        mode: Of the package: `train` or `test`, which some pages tell apart.
        clock: What the page's time limit, and with it its time discount, is multiplied by.
    """

    def __init__(self, pages: Sequence[str] | None = None, mode: str = "train", clock: float = 360.0) -> None:
        if mode not in ("train", "test"):
            raise ValueError(f"mode is {mode!r}; choose train or test")
        if isinstance(clock, bool) or not isinstance(clock, int | float) or not 1 <= clock <= 10_000:
            raise ValueError(f"clock is {clock!r}; give a number from 1 to 10000")
        if pages is not None and not (isinstance(pages, list | tuple) and all(isinstance(one, str) for one in pages)):
            raise ValueError(f"pages is {str(pages)[:80]!r}; give a list, as in [click-button]")
        self._pages = None if pages is None else tuple(pages)
        self.split = "registered" if pages is None else "all"
        self._mode = mode
        self._clock = float(clock)

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        known = names()
        if unknown := sorted(set(self._pages or ()) - set(known)):
            near = get_close_matches(unknown[0], known, 1)
            fix = f"did you mean {near[0]}" if near else f"its pages are {', '.join(known)}"
            raise ConfigError(f"task.arguments.pages: MiniWoB++ has no page {unknown[0][:80]!r}; {fix}")
        for name in self._pages or known:
            yield {
                "task_id": name,
                "sites": [SITE],
                "start_url": f"__{SITE.upper()}__/miniwob/{name}.html",
                "intent": INTENT,
                "intent_template_id": name,
                "mutates": False,
                "eval": {"eval_types": [SITE]},
            }

    def splits(self) -> Mapping[str, Collection[str]]:
        """`registered`: pages that the package has an environment for, which published rates are over. `deterministic`:
        those of them that it does not mark as different between episodes of one seed.
        """
        marks = registered()
        return {"registered": marks, "deterministic": [name for name, differs in marks.items() if not differs]}

    async def prepare(self, page: BenchmarkPage, task: Task, /) -> str:
        given = {"seed": page.seed, "mode": self._mode, "clock": self._clock, "limit_ms": _READY_S * 1000}
        objective = await page.evaluate(_START, given)
        if not isinstance(objective, str):
            raise PluginFailed(f"the page {task.task_id} of MiniWoB++ did not start within {_READY_S:g} s")
        return objective

    async def reward(self, page: BenchmarkPage, task: Task, /) -> Reward | None:
        state = await page.evaluate(_STATE)
        return Reward(value=float(state["raw_reward"]), done=True) if state["done"] else None

    async def evidence(self, page: BenchmarkPage, task: Task, /) -> Any:
        return {**await page.evaluate(_STATE), "seed": page.seed, "clock": self._clock}

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {SITE: RawReward()}


class RawReward:
    """Passed when the page's reward, before its time discount, is above 0; the discounted one is named beside it."""

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        if closed.evidence.benchmark is None:
            raise EvaluatorError("the state of the page is not in the evidence")
        try:
            state = loads(artifacts.read(closed.evidence.benchmark))
            done, raw, discounted = bool(state["done"]), float(state["raw_reward"]), float(state["reward"])
        except (CodecError, TypeError, KeyError, ValueError) as error:
            raise EvaluatorError(f"the state of the page in the evidence cannot be read: {error}") from error
        if not done:
            return Finding(value=0.0, why="the page gave no reward")
        reason = f" ({state['reason']})" if state.get("reason") else ""
        return Finding(
            value=float(raw > 0), why=f"raw reward {raw:g}, with the page's time discount {discounted:g}{reason}"
        )
