"""Tries everything that a run with these settings needs, in the way the run would use it.

The checks are independent: one failure does not hide the next, as far as possible. The sites are visited in a lane that
no run uses, the model is asked one short question, and nothing is written to the folders of runs.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from harness.api import ChatModel, Message
from harness.browser.driver.executable import find
from harness.browser.network.http import fetch
from harness.browser.session.chromium import ChromiumPool
from harness.choices import Sandbox
from harness.commands.machine import ClockJumpDetector, DoctorCheck, machine
from harness.config.deployment import UNUSED_LANE, Deployment
from harness.errors import HarnessError, InfraError, UsageError
from harness.evaluation.builder import load_tasks
from harness.evaluation.embedded import embedded_servers, is_embedded_endpoint
from harness.evaluation.endpoint_settings import check_key, load_prices
from harness.evaluation.model_builder import Models
from harness.evaluation.preflight import missing_judge, unjudged_tasks
from harness.evaluation.run_context import RunContext
from harness.evaluation.worker_pool import chromium
from harness.records import Episode, Eval, Site, Task
from harness.settings.browser import BrowserSettings

PATIENCE_S = 60.0


async def checkup(context: RunContext) -> AsyncIterator[DoctorCheck]:
    """Try everything; findings come as they are made."""
    config, clocks = context.config, ClockJumpDetector()
    for finding in machine(Path(config.run.root)):
        yield finding
    try:
        context = replace(context, tasks=load_tasks(config))
        where = config.task.path or config.task._target_
        yield DoctorCheck(about="tasks", says=f"{len(context.tasks)} in {where}")
        if unjudged := missing_judge(config, context.tasks):
            is_all = len(unjudged_tasks(config, context.tasks)) == len(context.tasks)
            fix = "set judge=openai judge.model=NAME, or choose other tasks"
            yield DoctorCheck(about="judge", says=unjudged, fix=fix, fine=not is_all)
    except UsageError as error:
        yield DoctorCheck(about="tasks", says=str(error), fix="set task, task.path, task.ids or task.sites", fine=False)
    async for finding in _around(context):
        yield finding
    if (moved := clocks.finding()) is not None:
        yield moved


async def _around(context: RunContext) -> AsyncIterator[DoctorCheck]:
    """What is beside the machine: sandbox, endpoint, browser, sites."""
    if context.config.agent.kind == "process":
        yield _sandbox(context.config.agent.sandbox)
    if (llm := context.config.llm).kind != "none":
        yield await _embedded_endpoint(context) if is_embedded_endpoint(llm) else await _endpoint(context)
    if context.config.judge.model:
        yield await _judge(context)
    async with AsyncExitStack() as closing:
        try:
            port = (await closing.enter_async_context(embedded_servers(_without_endpoint(context)))).sites_port
        except UsageError as error:
            yield DoctorCheck(about="sites", says=_with_log(error, context), fix="see the reason", fine=False)
            return
        deployment = Deployment(context.config.sites, port)
        # As a run makes it: an imitation may pass where a run fails.
        browser = await closing.enter_async_context(chromium(context, deployment))
        finding = await _browser(browser, context.config.browser)
        yield finding
        for site in _absent(context, deployment):
            yield site
        for one in deployment.everywhere(UNUSED_LANE):
            yield await _site(browser if finding.fine else None, one)


def _sandbox(wanted: Sandbox) -> DoctorCheck:
    from harness.sandbox.bubblewrap import choose_sandbox  # only of use with a process

    try:
        found, why = choose_sandbox(wanted)
    except UsageError as error:
        return DoctorCheck(about="sandbox", says=str(error), fix="install it, or set agent.sandbox=none", fine=False)
    if found is not None:
        return DoctorCheck(about="sandbox", says="bubblewrap works; it confines the agent's process")
    fix = "" if wanted is Sandbox.none else "install bubblewrap, or set agent.sandbox=none if this is intended"
    return DoctorCheck(about="sandbox", says=f"the agent's process is not confined ({why})", fix=fix)


def _without_endpoint(context: RunContext) -> RunContext:
    # As tested alone: a scripted endpoint that does not start would hide what is wrong with the sites.
    return replace(context, config=replace(context.config, llm=replace(context.config.llm, kind="openai")))


def _with_log(error: Exception, context: RunContext) -> str:
    """The sentence, and the last line of the log it speaks of, which will be gone."""
    lines = [line for log in context.run.path.glob("*.log") for line in log.read_text("utf-8", "replace").splitlines()]
    return f"{error} ({lines[-1]})" if lines else str(error)


async def _embedded_endpoint(context: RunContext) -> DoctorCheck:
    config = replace(context.config, sites=replace(context.config.sites, embedded=False))
    try:
        async with embedded_servers(replace(context, config=config)) as where:
            return DoctorCheck(about="endpoint", says=f"the scripted endpoint starts, at {where.base_url}")
    except UsageError as error:
        fix = "set llm.plans=FILE, or choose a model by llm=openai"
        return DoctorCheck(about="endpoint", says=_with_log(error, context), fix=fix, fine=False)


async def _endpoint(context: RunContext) -> DoctorCheck:
    async with AsyncExitStack() as closing:
        try:
            check_key(context.config.llm, "llm")
            model = await _models(context, closing).bare_model(None)
            return await _asked("endpoint", model, context.config.llm.model)
        except HarnessError as error:
            fix = "check llm.base_url, llm.api_key and llm.model; a local server must be started first"
            return DoctorCheck(about="endpoint", says=str(error), fix=fix, fine=False)


async def _judge(context: RunContext) -> DoctorCheck:
    judge = replace(context.config.judge, timeout_s=min(context.config.judge.timeout_s, PATIENCE_S))
    async with AsyncExitStack() as closing:
        try:
            check_key(judge, "judge")
            return await _asked("judge", await _models(context, closing).judge_model(judge), judge.model or "")
        except HarnessError as error:
            fix = "check judge.base_url, judge.api_key and judge.model"
            return DoctorCheck(about="judge", says=str(error), fix=fix, fine=False)


def _models(context: RunContext, closing: AsyncExitStack) -> Models:
    """Models as in a run, but without retries and with a short timeout."""
    config = context.config
    # No retries and a minute at most: a run waits up to `llm.max_outage_s` for an endpoint, a person does not.
    once = replace(config.llm, max_attempts=1, timeout_s=min(config.llm.timeout_s, PATIENCE_S))
    return Models(
        llm=once,
        prices=load_prices(config.llm),
        closing=closing,
        stopping=context.stopping,
    )


async def _asked(about: str, model: ChatModel, name: str) -> DoctorCheck:
    reply = await model.ask([Message(role="user", content="Reply with the word ready.")])
    tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
    return DoctorCheck(about=about, says=f"{name} answers; the test request used {tokens} tokens")


async def _browser(browser: ChromiumPool, settings: BrowserSettings) -> DoctorCheck:
    try:
        path = find(settings.executable, headless=settings.headless)
        return DoctorCheck(about="browser", says=f"{path} starts, version {await browser.version()}")
    except UsageError as error:
        return DoctorCheck(about="browser", says=str(error), fix="run make setup", fine=False)
    except InfraError as error:
        fix = "start it by hand to see why; often a system library is missing: install the system's chromium package"
        return DoctorCheck(about="browser", says=str(error), fix=fix, fine=False)


def _absent(context: RunContext, deployment: Deployment) -> list[DoctorCheck]:
    """Sites without an address, of which only those the tasks are on are missed."""
    there = {site.name for site in deployment.sites(UNUSED_LANE)}
    needed = {name for task in context.tasks for name in task.sites}
    return [
        DoctorCheck(
            about=f"site {name}",
            says="no address is set" if name in needed else "no address is set, and no task is on it",
            fix=f"set sites.{name}.url=…" if name in needed else "",
            fine=name not in needed,
        )
        for name in dict.fromkeys((*context.config.sites.by_name, *sorted(needed)))
        if name not in there
    ]


async def _site(browser: ChromiumPool | None, site: Site) -> DoctorCheck:
    about = f"site {site.name}"
    try:
        answer = await fetch(site.url)
    except InfraError as error:
        return DoctorCheck(about=about, says=str(error), fix=f"start it, or correct sites.{site.name}.url", fine=False)
    if answer.status >= 500:
        fix = "check its log; the site runs but fails"
        return DoctorCheck(about=about, says=f"{site.url} answers {answer.status}", fix=fix, fine=False)
    if site.login is None:
        return DoctorCheck(about=about, says=f"{site.url} answers; it has no login")
    if browser is None:
        return DoctorCheck(about=about, says=f"{site.url} answers; its login was not tested because no browser works")
    try:
        async with browser.open(_visit(site), UNUSED_LANE, {site.name: site.url}) as environment:
            await environment.restore(_visit(site), Episode())
    except (UsageError, InfraError) as error:
        fix = f"compare sites.{site.name}.login (fields, submit, probe_url) with the form at {site.login.url}"
        return DoctorCheck(about=about, says=str(error), fix=fix, fine=False)
    return DoctorCheck(about=about, says=f"{site.url} answers, and the login works")


def _visit(site: Site) -> Task:
    """A task that asks for nothing but being logged in."""
    return Task(
        task_id="doctor",
        sites=(site.name,),
        intent="",
        start_urls=(f"{site.canonical}/",),
        eval=Eval(eval_types=()),
        storage_state=f"{site.name}_state.json",
    )
