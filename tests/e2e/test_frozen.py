"""A run that is frozen in the middle of an action: the action is finished, and the time is charged to no limit.

The page asks the server in the middle of its first click, and waits for the answer: there the processes are frozen.
"""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import psutil
import pytest

from harness.loopback_server import serving
from harness.records import Done, Step
from tests.e2e.conftest import command, environment
from tests.e2e.trouble import Play, _read

pytestmark = pytest.mark.browser
LIMIT_S, FROZEN_S = 6.0, 14.0
"""Of an action and of opening a page, which a busy machine takes seconds for; frozen is for much longer than that."""
SETTINGS = (
    f"browser.action_timeout_s={LIMIT_S}",
    "browser.settle_timeout_s=5",
    f"browser.navigation_timeout_s={LIMIT_S}",
)
PAGE = """<!doctype html><title>Order</title><form method=post action=/order>
<label>Quantity <input name=quantity onmousedown="ask()"></label><button>Order</button></form>
<script>function ask(){ const asked = new XMLHttpRequest(); asked.open("GET", "/clicked", false); asked.send(); }</script>
"""
TYPED = "seventeen"
STEPS: Sequence[dict[str, Any]] = [
    {"do": "type", "role": "textbox", "name": "Quantity", "text": TYPED},
    {"do": "click", "role": "button", "name": "Order"},
    {"do": "stop"},
]


@dataclass
class Shop:
    """A site that takes orders, and freezes its customer."""

    orders: list[str] = field(default_factory=list)
    """Since the last reset."""
    received: list[str] = field(default_factory=list)
    """All of them."""
    freeze: Callable[[], Any] = lambda: None
    """Called in the middle of the first click, or while the slow page is opened."""
    clicks: int = 0
    opens: asyncio.Event = field(default_factory=asyncio.Event)
    """The slow page is answered."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, path = (await receive()).get("body", b""), scope["path"]
        text = PAGE
        match scope["method"], path:
            case "POST", "/reset":
                self.orders.clear()
            case "POST", "/order":
                self.orders += (quantity := parse_qs(body.decode())["quantity"])
                self.received += quantity
                text = "<!doctype html><title>Thanks</title><p>Thank you</p>"
            case _, "/clicked":
                self.clicks += 1
                if self.clicks == 1:
                    self.freeze()
            case _, "/slow":
                self.freeze()
                await self.opens.wait()
            case _, "/state":
                text = f"<!doctype html><title>State</title><p id=state>{' '.join(self.orders)}</p>"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": text.encode()})


@asynccontextmanager
async def ordering(
    folder: Path, *settings: str, steps: Sequence[dict[str, Any]] = STEPS
) -> AsyncIterator[tuple[Shop, Play]]:
    """A run of one task, which types a quantity and orders."""
    shop = Shop()
    target = {
        "url": "http://desk.test/state",
        "locator": "document.querySelector('#state').outerText",
        "required_contents": {"exact_match": TYPED},
    }
    task = {
        "task_id": 1, "sites": ["desk"], "intent": "Order", "start_url": "http://desk.test/", "require_login": False,
        "storage_state": None, "require_reset": False, "intent_template_id": 0,
        "eval": {"eval_types": ["program_html"], "reference_answers": None, "program_html": [target]},
    }  # fmt: skip
    (folder / "tasks.json").write_text(json.dumps([task]))
    (folder / "plans.json").write_text(json.dumps([{"task_id": 1, "steps": [*steps]}]))
    async with serving(shop) as port:
        url = f"http://desk.localhost:{port}"
        process = await asyncio.create_subprocess_exec(
            *command("workers=1", "run.report=false", "run.display=plain", *SETTINGS, root=folder / "results"),
            *("task=demo", f"task.path={folder / 'tasks.json'}", f"task.plans={folder / 'plans.json'}"),
            *("sites.embedded=false", f"+sites.desk.url={url}", "+sites.desk.canonical=http://desk.test"),
            *(f'+sites.desk.reset_url="{url}/reset"', *settings),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(),
            cwd=folder,
        )
        play = Play(process, folder / "results" / "run")
        reading = asyncio.create_task(_read(process, play.out))
        try:
            yield shop, play
        finally:
            for one in victims(play, "all") if process.returncode is None else ():
                one.kill()
            await reading
            await process.wait()


def victims(play: Play, whom: str) -> list[psutil.Process]:
    """Processes of the run: `python` (parent and worker), `worker`, `driver`, `browser`, or `all`."""
    parent = psutil.Process(play.process.pid)
    workers = play.children("harness.evaluation.worker_main") or [parent]  # inline
    below = workers[0].children(recursive=True)
    named = {
        "python": [parent, *workers],
        "worker": workers,
        "driver": [one for one in below if "node" in one.name() or "run-driver" in one.cmdline()],
        "browser": [one for one in below if "chrom" in one.name()],
    }
    return [parent, *parent.children(recursive=True)] if whom == "all" else named[whom]


def frozen(play: Play, shop: Shop, whom: Sequence[str]) -> Callable[[float], Any]:
    """Freeze these processes when the page says so; gives what thaws them after so many seconds."""
    struck: list[psutil.Process] = []

    def freeze() -> None:
        struck.extend(dict.fromkeys(one for name in whom for one in victims(play, name)))
        for one in struck:
            one.send_signal(signal.SIGSTOP)

    async def thaw(after_s: float) -> None:
        await play.until(lambda: bool(struck))
        until = time.monotonic() + after_s
        await play.until(lambda: time.monotonic() > until)
        for one in reversed(struck):
            one.send_signal(signal.SIGCONT)

    shop.freeze = freeze
    return thaw


def the_click(play: Play) -> Step:
    return play.episode(1).steps[0]


@pytest.mark.parametrize(
    ("whom", "executor"),
    [
        (("python",), "processes"),
        pytest.param(("worker",), "processes", marks=pytest.mark.slow),
        pytest.param(("all",), "processes", marks=pytest.mark.slow),
        pytest.param(("python",), "inline", marks=pytest.mark.slow),
        pytest.param(("python", "driver"), "inline", marks=pytest.mark.slow),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else value,
)
async def test_an_action_that_is_frozen_for_longer_than_it_may_take_is_finished(
    tmp_path: Path, whom: tuple[str, ...], executor: str
) -> None:
    async with ordering(tmp_path, f"executor={executor}") as (shop, play):
        await frozen(play, shop, whom)(FROZEN_S)
        assert await play.ended() == 0, play.text
    episode = play.episode(1)
    assert shop.received == [TYPED] and episode.scores["webarena"].value == 1.0
    assert [step.acted.outcome for step in episode.steps] == [Done()] * 2
    assert play.failures(1) == [] and episode.doubts == () and shop.clicks == 1
    assert "did not react" not in "\n".join(the_click(play).acted.observation.notices)
    assert the_click(play).acted.elapsed_ms < FROZEN_S * 1000


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["python", "all"])
async def test_a_page_that_is_frozen_for_longer_than_it_may_take_to_open_is_opened(tmp_path: Path, whom: str) -> None:
    async with ordering(tmp_path, steps=[{"do": "goto", "url": "http://desk.test/slow"}, *STEPS]) as (shop, play):
        shop.clicks = 1  # only the page that is opened freezes
        thaw = frozen(play, shop, (whom,))
        await thaw(FROZEN_S)
        shop.opens.set()
        assert await play.ended() == 0, play.text
    episode = play.episode(1)
    assert shop.received == [TYPED] and episode.scores["webarena"].value == 1.0
    assert [step.acted.outcome for step in episode.steps] == [Done()] * 3 and play.failures(1) == []


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["browser", "driver"])
async def test_an_action_is_finished_after_its_limit_if_the_browser_goes_on(tmp_path: Path, whom: str) -> None:
    async with ordering(tmp_path) as (shop, play):
        await frozen(play, shop, (whom,))(2 * LIMIT_S)
        assert await play.ended() == 0, play.text
    episode = play.episode(1)
    assert shop.received == [TYPED] and episode.scores["webarena"].value == 1.0
    assert [step.acted.outcome for step in episode.steps] == [Done()] * 2 and play.failures(1) == []
    assert f"the page did not react to the action within {LIMIT_S:g} s" in the_click(play).acted.observation.notices


@pytest.mark.slow
async def test_a_browser_that_stays_frozen_is_a_failure_and_the_action_is_done_again_after_a_reset(
    tmp_path: Path,
) -> None:
    async with ordering(tmp_path, "browser.step_deadline_s=20") as (shop, play):
        frozen(play, shop, ("browser",))
        assert await play.ended() == 0, play.text
    assert play.failures(1) == ["BrowserCrashed"] and shop.clicks == 2
    assert shop.received == [TYPED] and play.episode(1).scores["webarena"].value == 1.0
