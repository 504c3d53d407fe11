"""Pages and models say what they like: none of it may run, load, move or hide anything in what we write."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from harness.actions import Click, Target
from harness.choices import Durability
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.plugins.html_report.report import write_report
from harness.plugins.html_report.single_file import write_single_file
from harness.records import Acted, Closed, Decided, Failed, Opened, Record, Refused, Scored, SideEffect, TabRecord
from harness.reports.ci import junit, markdown
from harness.runs.run import Run
from harness.runs.statistics import statistics_of
from tests.reports.runs import Shape, episode, task, write

pytestmark = pytest.mark.integration

ATTACKS = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "</style><img src=x onerror=window.hacked=1>",
    "\"><img src=x onerror='window.hacked=1'>",
    "' onmouseover='window.hacked=1' autofocus onfocus='window.hacked=1",
    "<svg onload=window.hacked=1><animate onbegin=window.hacked=1 attributeName=x></svg>",
    "<a href='javascript:window.hacked=1' id=bait>click me</a> javascript:window.hacked=1",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe><base href='//evil.example'>",
    "</template></textarea></title><details open ontoggle=window.hacked=1>",
    "{{ 7 * 7 }}{% raw %}${alert(1)}",
    "<!--<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "\u202egnp.exe\u2066hidden\u2069\u200b\u0000\u0007\u001b[2J\u009b31m",
    "\u0645\u0631\u062d\u0628\u0627 <b>\u05e9\u05dc\u05d5\u05dd</b>",
    "]]>\ufffe\uffff&lt;script&gt;&#60;script&#62;",
)
EVIL = " ".join(ATTACKS)
SITE = "http://shop.localhost/\"onload='x"


def poisoned(record: Record) -> Record:  # noqa: PLR0911 (one case per kind)
    """The record with the attacks in every text of it that comes from outside."""
    match record:
        case Opened():
            asked = record.task
            return replace(
                record,
                task=replace(
                    asked,
                    intent=EVIL,
                    intent_template=EVIL + "{{x}}",
                    start_urls=("javascript:window.hacked=1",),
                    sites=(EVIL,),
                    eval=replace(asked.eval, eval_types=(EVIL,), reference_answers={EVIL: EVIL}, reference_url=EVIL),
                ),
            )
        case Decided():
            target = Target(id=EVIL, role=EVIL, name=EVIL, line=EVIL, box=(10.0, 10.0, 50.0, 20.0))
            action = Click(target=target) if record.action.kind != "stop" else replace(record.action, answer=EVIL)  # type: ignore[call-arg]
            return replace(record, action=action, reply=EVIL, model=EVIL)
        case Acted():
            seen = record.observation
            seen = replace(
                seen,
                url="javascript:window.hacked=1",
                title=EVIL,
                text=EVIL,
                notices=ATTACKS,
                tabs=(TabRecord(url=EVIL, title=EVIL, current=True),),
            )
            return replace(
                record,
                observation=seen,
                outcome=Refused(why=EVIL),
                effects=(SideEffect(method=EVIL, url=SITE, status=None),),
            )
        case Failed():
            return replace(record, type=EVIL, message=EVIL)
        case Closed():
            return replace(record, answer=EVIL, detail=EVIL, evidence=replace(record.evidence, url=EVIL, title=EVIL))
        case Scored():
            verdicts = tuple(replace(verdict, evaluator=EVIL, why=EVIL, replies=ATTACKS) for verdict in record.verdicts)
            return replace(record, verdicts=verdicts)
        case _:
            return record


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "<img src=x onerror=window.hacked=1>"
    with RunFolder.open(folder, durability=Durability.none) as run:
        evil = run.artifacts.put(dumps({"role": EVIL, "content": EVIL, "name": EVIL}))
        for number, shape in enumerate((Shape(score=0.0), Shape(failure="BrowserCrashed"), Shape(score=None))):
            of = task(number)
            records = [poisoned(record) for record in episode(run, of, shape)]
            write(run, of, [replace(one, prompt=(evil,)) if isinstance(one, Decided) else one for one in records])
        run.write("run.json", dumps({"model": EVIL, "agent": EVIL, "tasks": ["0", "1", "2", EVIL], "scoring": EVIL}))
    return folder


async def provoke(page: Page) -> None:
    """Do to a page what might set something off."""
    await page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    await page.evaluate(
        "document.querySelectorAll('main *').forEach((one) => one.dispatchEvent(new MouseEvent('mouseover', {bubbles:"
        " true})))"
    )
    await page.mouse.wheel(0, 4000)
    await page.keyboard.press("Tab")


async def assert_quiet(page: Page, asked: list[str], own: str) -> None:
    await provoke(page)
    assert await page.evaluate("window.hacked") is None
    assert (
        await page.locator("main :is(script, iframe, object, embed, base, meta, style, form:not(.filters))").count()
        == 0
    )
    assert (
        await page.locator("[onload], [onerror], [onclick], [onfocus], [onmouseover], [ontoggle], [onbegin]").count()
        == 0
    )
    assert await page.locator("#bait, main b[id]").count() == 0
    hrefs: list[str] = await page.evaluate(
        "[...document.querySelectorAll('[href], [src]')].map((one) => one.href?.baseVal ?? one.href ?? one.src)"
    )
    assert not [href for href in hrefs if not href.startswith((own, "data:"))]
    text = await page.evaluate("document.body.textContent")
    assert not set(text) & set("\u202e\u2066\u2069\u200b\u0000\u0007\u001b\u009b")
    assert "⟨U+202E⟩gnp.exe" in text and "<script>window.hacked=1</script>" in text
    assert not [url for url in asked if not url.startswith((own, "data:"))]


@pytest.mark.sample(2)
@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    "which", ["report/index.html", "report/tasks/0.html", "report/tasks/1.html", "one.html", "one.html#0.html"]
)
async def test_nothing_runs_in_the_report(run: Path, browser: Browser, which: str) -> None:
    write_report(Run(run))
    write_single_file(Run(run), run / "one.html")
    page = await browser.new_page()
    asked: list[str] = []
    told: list[Any] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: told.append(dialog.message))
    page.on("pageerror", lambda error: told.append(error))
    file, _, leaf = which.partition("#")
    await page.goto(f"{(run / file).as_uri()}{'#' if leaf else ''}{leaf}")
    await assert_quiet(page, asked, "file:")
    assert told == []


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_policy_stops_what_would_slip_through(run: Path, browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto(write_report(Run(run)).index.as_uri())
    await page.evaluate(
        """() => {
            const script = document.createElement('script'); script.textContent = 'window.hacked = 1'; document.body.append(script);
            document.body.insertAdjacentHTML('beforeend', '<img src=data:, onerror="window.hacked=2"><p style="position:fixed">');
            const far = document.createElement('script'); far.src = 'data:text/javascript,window.hacked=3'; document.body.append(far);
        }"""
    )
    await page.wait_for_function("document.readyState === 'complete'")
    assert await page.evaluate(
        "[window.hacked ?? null, getComputedStyle(document.body.lastElementChild.previousElementSibling).position]"
    ) == [None, "static"]


def test_files_for_ci_hold_no_line_of_a_page(run: Path) -> None:
    from xml.etree import ElementTree

    known, rows = Run(run).about, Run(run).results
    tree = ElementTree.fromstring(junit(known, rows))
    assert len(tree.findall(".//testcase")) == 4
    text = markdown(known, rows, statistics_of(rows))
    assert "<script" not in text and "<img" not in text
    assert (
        len([line for line in text.splitlines() if line.startswith("| unscored") or line.startswith("| failed")]) == 4
    )
