"""What our evaluators give for the same cases: through the benchmark, its gathering of evidence, and the scorer."""

import re
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from harness.api import JudgeQuestion, Reply, SiteAnswer
from harness.codec import dumps
from harness.errors import ModelUnavailable
from harness.evaluators.scorer import Scorer
from harness.plugins.visualwebarena.visualwebarena import VisualWebArena, entry_of
from harness.records import Eval, Evidence, Task
from harness.testing import MemoryArtifacts, a_task, closed
from tests.plugins.visualwebarena.cases import Case
from tests.plugins.visualwebarena.reference import looked_up

SHOP = "http://onestopmarket.com"


class CasePage:
    """A `BenchmarkPage` of a case."""

    def __init__(self, case: Case, artifacts: MemoryArtifacts, files: Mapping[str, str]) -> None:
        self.case, self.artifacts, self.files = case, artifacts, files
        self.url: str = case.get("url", "http://x.test/")
        self.seed = 0
        self._name = "last"

    async def goto(self, url: str) -> None:
        raise AssertionError("the agent's own page stays where it is")

    @asynccontextmanager
    async def tab(self, url: str) -> AsyncIterator["CasePage"]:
        before = self.url, self._name
        known = url if url in self.case.get("pages", {}) else "last"
        self.url, self._name = url, "order" if "/sales/order/" in url else known
        yield self
        self.url, self._name = before

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> SiteAnswer:
        if "/rest/" in url:
            value = "token" if method == "POST" else self.case["rest"]["orders" if "/orders" in url else "reviews"]
            return SiteAnswer(status=500 if value is None else 200, body=dumps(value))
        assert url.startswith("http://reddit.com/")
        found = re.search(r"(\d+)\.\w+$", url)
        assert found is not None
        return SiteAnswer(status=200, body=bytes.fromhex(self.case["bodies"][int(found[1])]))

    def keep(self, data: bytes) -> str:
        return self.artifacts.put(data)

    def canonical(self, text: str) -> str:
        return text

    async def evaluate(self, script: str, argument: Any = None) -> Any:
        if argument is None:
            return self.case["pages"][self._name]["content"]
        if "querySelectorAll(locator)" in script:
            return self.case["sources"]
        value = looked_up(argument, self.case["pages"][self._name])
        return {"thrown": "the script fails"} if value is None else {"value": value}


class CaseJudge:
    """Gives the replies of a case in order; to questions about a picture, those of its captioner."""

    name = "case"

    def __init__(self, case: Case) -> None:
        self._replies = list(case.get("replies", ()))
        self._captions = case.get("captions", {})

    async def judge(self, question: JudgeQuestion, /) -> Reply:
        content = question.messages[-1].content
        if not isinstance(content, str):
            asked = content[0]["text"].removeprefix("Q: ").removesuffix(" A:")
            data = b64decode(content[1]["image_url"]["url"].partition(",")[2])
            image, said = Image.open(BytesIO(data)), self._captions[asked]
            return Reply(text=said[(image.width + image.height) % len(said)])
        if not self._replies:
            raise ModelUnavailable("there is no reply left")
        return Reply(text=self._replies.pop(0))


def task_of(case: Case) -> Task:
    entry = entry_of({"eval": case["eval"], "intent": "the intent"}, Path())
    judged = entry["eval"]
    metadata = {f"eval.{key}": value for key, value in judged.items() if key != "eval_types"}
    return replace(a_task("the intent"), eval=Eval(eval_types=tuple(judged["eval_types"])), metadata=metadata)


async def score(case: Case) -> float | None:
    """The score; None = the task stays unscored."""
    artifacts, benchmark, task = MemoryArtifacts(), VisualWebArena(shop=SHOP), task_of(case)
    numbered = enumerate(case.get("references", ()))
    files = {f"{SHOP}/{at}.jpg": artifacts.put(bytes.fromhex(data)) for at, data in numbered}
    page = CasePage(case, artifacts, files)
    kept = artifacts.put(dumps(await benchmark.evidence(page, task)))
    ended = closed(case.get("answer", ""))
    evidence = Evidence(url=case.get("url", "http://x.test/"), title="", html=None, benchmark=kept)
    judge = CaseJudge(case)
    scorer = Scorer("webarena", judge, further=benchmark.evaluators())
    scored = await scorer.score(task, replace(ended, evidence=evidence), artifacts)
    return scored.value
