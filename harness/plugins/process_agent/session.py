"""An agent that is a process, for one episode: started with the first decision, ended with the episode.

`decide` waits until the process calls an action, ends, or runs out of time; what the action led to is the result of
that call. A process that is started again, after a crash of anything, does all it did before: it is answered from the
journal until the journal is used up, and only then does it decide anything.
"""

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from shutil import copyfile, rmtree
from typing import Any

from harness.api import AskUser, Decision, Episode, LiveObservation, Reply, Stop, Task, dumps, resolve
from harness.api.agent_kinds import (
    Environment,
    GuardedEnvironment,
    RestoreResult,
    SessionJournal,
    ShareableEnvironment,
    SharedBrowser,
    ToolBox,
    working_s,
)
from harness.api.gateway import Passthrough
from harness.api.records import Boundary, Exited, Guarded
from harness.errors import ConfigError, InfraError, PluginFailed, ShutdownRequested
from harness.plugins.process_agent import mcp_stdio
from harness.plugins.process_agent.agent_process import AgentProcess
from harness.plugins.process_agent.browser_boundary import BrowserBoundary
from harness.plugins.process_agent.cdp.boundary import DrivenBrowser
from harness.plugins.process_agent.cdp.relay import serving_relay
from harness.plugins.process_agent.deps import SessionDeps
from harness.plugins.process_agent.divergence import Divergence
from harness.plugins.process_agent.events import Broken, Called, Event, Inbox, OverBudget, SessionOver
from harness.plugins.process_agent.http_app import gateway_app
from harness.plugins.process_agent.model_boundary import ModelBoundary
from harness.plugins.process_agent.place import Seen, Start, Started
from harness.plugins.process_agent.process_answer import answer_in
from harness.plugins.process_agent.process_input import mcp_servers, task_message
from harness.plugins.process_agent.process_plan import ProcessPlan
from harness.plugins.process_agent.recording import Recording
from harness.plugins.process_agent.violations import Violations

_GRACE_S = 10.0
"""For a process that has called `stop`, before it is killed."""
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessAgent:
    """Fits `SessionAgent`."""

    plan: ProcessPlan
    box: ToolBox
    passthrough: Passthrough | None
    """None = the run has no model."""
    stopping: Callable[[], Awaitable[None]]
    """Waits until the run is to stop."""

    @asynccontextmanager
    async def session(self, journal: SessionJournal, env: Environment) -> AsyncIterator["ProcessSession"]:
        session = ProcessSession(self, journal, env)
        try:
            yield session
        except InfraError:  # or the run is to stop
            await session.settle()
            raise
        finally:
            await session.close()


class ProcessSession:
    """Fits `AgentSession` and `DrivingSession`."""

    def __init__(self, agent: ProcessAgent, journal: SessionJournal, env: Environment) -> None:
        self._agent = agent
        self._env = env
        self._plan = agent.plan
        self._settings = agent.plan.settings
        self._journal = journal
        self._inbox = Inbox()
        self._open = AsyncExitStack()
        self._started: _Started | None = None
        self._violations = Violations(journal, self._inbox)

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation) -> Decision | None:
        """See `AgentSession.decide`.

        Raises:
            PluginFailed: The process ended with an error.
            EnvironmentDiverged: It did something else than is recorded, and a new attempt is to begin.
            AgentDiverged: The same, and the attempt is to be left.
            BrowserCrashed: It drives the browser, which is gone.
        """
        if self._started is None:
            self._started = await self._start(task, episode, observation)
        elif len(episode.steps) > self._started.steps:
            self._started.steps = len(episode.steps)
            await self._started.browser.deliver(episode.steps[-1])
            if self._started.driven is not None:
                self._started.driven.delivered()
        waited_s = self._started.model.waited_s
        event = await self._next(self._started)
        waited_s = self._started.model.waited_s - waited_s
        match event:
            case Called():
                if self._started.driven is not None:
                    # What was sent before the step is recorded before it, or a replay would leave the page too soon.
                    await self._started.driven.browser.reported()
                action = resolve(event.action, observation.nodes)
                return Decision(action=action, reply=self._reply(event.said, waited_s))
            case OverBudget():
                return None
            case Broken(error=error):
                raise error
            case _Ended():
                return await self._ended(self._started, event, waited_s)
        raise AssertionError("something has happened")

    async def resume(self, task: Task, episode: Episode, restored: RestoreResult) -> RestoreResult:
        """See `DrivingSession.resume`.

        Raises:
            HarnessError: The process did something else than is recorded, or ended, or the run is to stop.
        """
        if self._settings.browser != "cdp" or not (episode.steps or episode.pending):
            return restored
        started = self._started = await self._start(task, episode, restored.view)
        assert started.driven is not None
        if started.driven.has_caught_up:
            return restored
        led = asyncio.create_task(started.driven.resume(restored))
        try:
            match event := await self._next(started, led):
                case Broken(error=error):
                    raise error
                case Called() | OverBudget():
                    self._inbox.put(event)  # the recording is used up, so this is for the first decision
                case _Ended():
                    await started.recording.compared()
                    if not started.driven.has_caught_up:
                        await self._ended(started, event, 0.0)  # returns only if the attempt goes on without the rest
                        started.driven.give_up()
            restored = await led
        finally:
            led.cancel()
        started.driven.go_on()
        return restored

    async def settle(self) -> None:
        """Wait for pending answers of the model: they are paid for, and the attempt goes on with them."""
        self._inbox.refuse()
        if self._started is not None:
            await self._started.model.settled()

    async def close(self) -> None:
        """End the process and record how; what it waits for is not done any more."""
        started = self._started
        try:
            if started is not None:
                pending = self._journal.episode.pending
                self._inbox.refuse()
                if started.driven is not None:
                    await started.driven.end()
                if pending is not None and isinstance(pending.action, Stop) and not started.why:
                    started.browser.end()
                    code = await started.process.stop(_GRACE_S)
                else:  # before the process, which is not to see how its call ends
                    await self._inbox.close()
                    code = await started.process.stop()
                started.why = started.why or ("it ended by itself" if code is not None else "the episode ended first")
                await self._inbox.close()
                for report in started.place.watches:
                    report()
                await self._violations.settled()
                await self._journal.keep(lambda: self._exited(started, code))
        finally:
            await self._inbox.close()
            await self._open.aclose()
            if started is not None:
                for task in (started.watching, started.telling):
                    if task is not None:
                        task.cancel()
                rmtree(started.folder, ignore_errors=True)

    def _box(self, task: Task) -> ToolBox:
        """The actions of the agent; a task with a user has a question more."""
        box = self._agent.box
        return box if task.user is None else replace(box, actions=(*box.actions, AskUser))

    async def _start(self, task: Task, episode: Episode, view: LiveObservation) -> "_Started":
        if isinstance(self._env, GuardedEnvironment):
            self._env.guard.report = partial(self._violations.found, Guarded.BROWSER)
        recording = Recording(episode)
        divergence = Divergence(self._plan.on_divergence, self._journal, self._inbox, recording)
        shared = await self._share() if self._settings.browser == "cdp" else None
        deps = SessionDeps(
            plan=self._plan,
            journal=self._journal,
            inbox=self._inbox,
            recording=recording,
            divergence=divergence,
            canonical=str if shared is None else shared.canonical,
            violations=self._violations,
        )
        model, browser = ModelBoundary(deps, self._agent.passthrough), BrowserBoundary(deps, self._box(task))
        first = await browser.begin(episode, view)
        folder = Path(tempfile.mkdtemp(prefix="cairn-agent-"))
        self._open.callback(rmtree, folder, ignore_errors=True)
        given = task_message(task, view, first, browser)
        (folder / "task.json").write_bytes(given)
        copyfile(mcp_stdio.__file__, folder / "mcp_stdio.py")
        token = token_urlsafe(32)
        driven = None if shared is None else DrivenBrowser(deps, shared, browser.deliver)
        if driven is not None:
            model.asking = driven.asking
        place = await Start(
            plan=self._plan,
            app=gateway_app(deps, model, browser, token=token, task=given),
            folder=folder,
            variables=lambda seen: self._variables(seen, token, folder),
            violations=self._violations,
            closing=self._open,
            browser=None if driven is None else partial(_serving_browser, driven, token),
        ).begin()
        started = _Started(place=place, model=model, browser=browser, recording=recording, divergence=divergence)
        started.folder, started.token, started.begun = folder, token, working_s()
        started.steps, started.driven = len(episode.steps), driven
        if driven is not None:
            started.watching = asyncio.create_task(_tell_end(started.process, driven))
            if driven.has_caught_up:
                driven.go_on()
        # Not waited for: a process need not read it, as the same is in a file.
        started.telling = asyncio.create_task(started.process.tell(given))
        return started

    async def _share(self) -> SharedBrowser:
        """Raises: ConfigError: The environment has no browser to share."""
        if not isinstance(self._env, ShareableEnvironment):
            raise ConfigError("agent.browser=cdp needs a browser, and this environment has none")
        return await self._env.share(self._performed)

    async def _performed(self) -> None:
        assert self._started is not None and self._started.driven is not None
        await self._started.driven.performed()

    def _variables(self, seen: Seen, token: str, folder: Path) -> dict[str, str]:
        url = seen.url
        variables = {
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": token,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": token,
            "CAIRN_URL": url,
            "CAIRN_MCP_URL": f"{url}/mcp",
            "CAIRN_MCP_CONFIG": f"{seen.folder}/mcp.json",
            "CAIRN_TOKEN": token,
            "CAIRN_MODEL": self._plan.model,
            "CAIRN_TASK": f"{seen.folder}/task.json",
            "CAIRN_ANSWER": seen.answer,
            "CAIRN_TIMEOUT_S": f"{self._settings.timeout_s:g}",
        }
        if seen.browser_port:
            variables["CAIRN_CDP_URL"] = f"http://127.0.0.1:{seen.browser_port}/{token}"
        (folder / "mcp.json").write_bytes(dumps(mcp_servers(variables, f"{seen.folder}/mcp_stdio.py"), pretty=True))
        return variables

    async def _next(self, started: "_Started", led: "asyncio.Task[Any] | None" = None) -> "Event | _Ended | None":
        """The next thing that happens; what has happened already goes before the end of the process.

        Args:
            led: None is returned when this is done and nothing else has happened.
        Raises:
            ShutdownRequested: The run is to stop.
            BrowserCrashed: The process drives the browser, which is gone.
        """
        left_s = self._settings.timeout_s - (working_s() - started.begun)
        event = asyncio.create_task(self._inbox.events.get())
        ended = asyncio.create_task(started.process.ended())
        asked = asyncio.ensure_future(self._agent.stopping())
        try:
            waits = [event, ended, asked, *([led] if led is not None else [])]
            await asyncio.wait(waits, timeout=max(0.0, left_s), return_when=asyncio.FIRST_COMPLETED)
            if started.driven is not None:
                started.driven.check()
            if event.done():
                return event.result()
            if led is not None and led.done():
                return None
            if ended.done():
                return _Ended(code=ended.result())
            if asked.done():
                started.why = "the run is stopping"
                raise ShutdownRequested("the run is stopping")
            return _Ended(code=None)
        finally:
            for one in (event, ended, asked):
                one.cancel()

    async def _ended(self, started: "_Started", end: "_Ended", waited_s: float) -> Decision | None:
        """The decision of a process that has ended, or has run out of time."""
        answer = answer_in(started.place.answer, started.process.stdout.text)
        if end.code is None:
            started.why = f"agent.timeout_s={self._settings.timeout_s:g} was over"
        elif end.code and answer is None:
            said = started.process.stderr.text.strip().splitlines()
            last = said[-1][:_LONGEST_LINE] if said else "it wrote nothing to standard error"
            raise PluginFailed(f"the agent's process ended with exit code {end.code}: {self._without(last)}")
        await started.recording.compared()
        if not started.recording.is_used_up:
            try:
                await started.divergence.found(Boundary.BROWSER, "it ended")
            except SessionOver:
                broken = await self._inbox.events.get()
                assert isinstance(broken, Broken)
                raise broken.error from None
        said_why = dumps({"answer": answer, "ended": started.why or f"with exit code {end.code}"}).decode()
        return Decision(action=Stop(answer=answer or ""), reply=self._reply(said_why, waited_s))

    def _reply(self, said: str, waited_s: float) -> Reply:
        """What the process wants, with the model that answered it last; what that cost is recorded with the answers."""
        return Reply(text=said, model=self._started.model.answered_by if self._started else "", waited_s=waited_s)

    def _exited(self, started: "_Started", code: int | None) -> Exited:
        put = self._journal.artifacts.put
        stdout, stderr = (self._without(one.text) for one in (started.process.stdout, started.process.stderr))
        return Exited(
            code=code,
            why=started.why,
            stdout=put(stdout.encode()) if stdout else None,
            stderr=put(stderr.encode()) if stderr else None,
            elapsed_ms=max(0.0, working_s() - started.begun) * 1000,
            sandbox=started.place.sandbox,
            violations=self._violations.tries,
            at=self._journal.now(),
        )

    def _without(self, text: str) -> str:
        """The text without the token, which means nothing after the episode."""
        return text.replace(self._started.token, "[token]") if self._started and self._started.token else text


@dataclass(kw_only=True)
class _Started:
    """A process and its boundaries."""

    place: Started
    model: ModelBoundary
    browser: BrowserBoundary
    recording: Recording
    divergence: Divergence
    driven: DrivenBrowser | None = None
    """None = it does not drive the browser itself."""
    watching: "asyncio.Task[None] | None" = None
    telling: "asyncio.Task[None] | None" = None
    """Writes the task to its standard input."""
    steps: int = 0
    """Whose results it has, or knows from the recording."""
    folder: Path = Path()
    token: str = ""
    begun: float = 0.0
    why: str = ""
    """What ended it, if that was not its own doing."""

    @property
    def process(self) -> AgentProcess:
        return self.place.process


@asynccontextmanager
async def _serving_browser(driven: DrivenBrowser, token: str, listener: socket.socket | None) -> AsyncIterator[int]:
    """See `Start.browser`."""
    async with serving_relay(driven, token=token, listener=listener) as relay:
        yield relay.port


async def _tell_end(process: AgentProcess, driven: DrivenBrowser) -> None:
    await process.ended()
    driven.exited()


@dataclass(frozen=True, slots=True)
class _Ended:
    """The process has ended."""

    code: int | None
    """None = its time is over."""
