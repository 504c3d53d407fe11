"""What the viewer answers, whom, and that it never writes."""

import asyncio
import os
import re
from pathlib import Path

import httpx
import pytest

from harness.api.request_guard import place_of
from harness.choices import Durability
from harness.codec import dumps, loads, seal
from harness.journal.store import RunFolder
from harness.loopback_server import serving
from harness.main import main
from harness.plugins.html_report.report import write_report
from harness.plugins.html_report.viewer.app import Viewer
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher, RunWatcher
from harness.runs.baselines import NO_BASELINE
from harness.runs.run import Run
from tests.reports.runs import Shape, assorted, close, episode, fill, task, write

in_session = pytest.mark.asyncio(loop_scope="session")


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


@in_session
async def test_the_pages_lead_from_runs_to_steps_and_write_nothing(client: httpx.AsyncClient, results: Path) -> None:
    before = tree(results)
    runs = (await client.get("/")).text
    assert 'href="/run/demo"' in runs
    run = (await client.get("/run/demo")).text
    assert 'href="/run/demo/task/0"' in run and "12 tasks" in run
    page = (await client.get("/run/demo/task/0")).text
    shot = re.search(r'src="(/run/demo/shot/[0-9a-f]{64})"', page)
    assert shot
    picture = await client.get(shot[1])
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    assert tree(results) == before


@in_session
async def test_the_list_says_who_ran_how_sure_the_rate_is_and_what_doing_nothing_gets(
    results: Path, client: httpx.AsyncClient
) -> None:
    fill(results / "zero", [Shape(score=0.0)] * 12, screenshots=False, agent="null")
    fill(results / "one", [Shape()], screenshots=False)
    os.utime(results / "one" / "0.traj.jsonl", (1_800_000_000, 1_800_000_000))
    async with asyncio.timeout(300):  # journals are read a few at a time
        while "reading" in (page := (await client.get("/")).text):
            pass
    rows = {name: row for row in page.split("<tr ")[1:] if (name := re.findall(r'href="/run/(\w+)"', row)[0])}
    assert "<td>prompt</td><td>gpt-4o</td>" in rows["demo"] and "95% interval" in rows["demo"]
    assert "null 0.0%</td>" in rows["demo"] and "null 0.0%</td>" in rows["one"] and "null 0.0%" not in rows["zero"]
    assert 'datetime="2027-01-15T08:00:00Z" title="2027-01-15 08:00:00 UTC">just now</time>' in rows["one"]
    lengths = {name: float(re.findall(r'class="stack" viewBox="0 0 ([\d.]+) ', row)[0]) for name, row in rows.items()}
    assert lengths["demo"] == 12 and lengths["one"] == pytest.approx(12**0.5, abs=1e-3), "a short bar of one task"
    for mark in ("passed", "failed", "unscored"):
        assert f'<span class="mark {mark}">{mark}</span>' in page, "every colour is in the legend"
    assert "agent=null</code>: <b>0.0%</b> of the same tasks (0 of 12)" in (await client.get("/run/demo")).text
    assert NO_BASELINE not in (await client.get("/run/zero")).text


@in_session
async def test_a_baseline_of_another_scoring_is_shown_in_that_of_the_run(
    results: Path, client: httpx.AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fill(results / "run", [Shape(published=0.0)] * 2, screenshots=False, scoring="webarena")
    fill(results / "zero", [Shape(score=0.0, published=1.0)] * 2, screenshots=False, agent="null")
    assert main(["show", str(run)]) == 0
    assert "null 100.0% (2 of 2)" in capsys.readouterr().out
    assert "null 100.0%</td>" in (await client.get("/")).text
    assert "agent=null</code>: <b>100.0%</b> of the same tasks (2 of 2)" in (await client.get("/run/run")).text


@in_session
async def test_filters_and_pages_are_the_servers(results: Path, client: httpx.AsyncClient) -> None:
    fill(results / "long", assorted(230, steps=1), screenshots=False)
    async with asyncio.timeout(300):  # journals are read a few at a time
        while (page := (await client.get("/run/long?page=3")).text).count("<tr data-status") != 30:
            pass
    assert "Page 3 of 3" in page
    failed = (await client.get("/run/long?status=failed&page=99")).text
    assert 'data-status="passed"' not in failed and 'data-status="failed"' in failed
    found = (await client.get("/run/long", params={"q": "MAYA assign"})).text
    assert (
        "Assign issue 14 to Maya" in found
        and "Storm Lantern" not in found[found.index("<tbody>", found.index("tasks-title")) :]
    )


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "demo.localhost", ""])
@in_session
async def test_another_host_name_is_refused(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/", headers={"host": host})).status_code == 400


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:80"])
@in_session
async def test_names_of_this_machine_are_answered(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@in_session
async def test_it_only_shows(client: httpx.AsyncClient, method: str) -> None:
    assert (await client.request(method, "/run/demo")).status_code == 405


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "path",
    [
        "/run/%2e%2e",
        "/run/..%2f..%2fetc",
        "/run/demo/task/..%2f..%2fdemo%2f0",
        "/run/demo/task/%2e%2e",
        "/run/demo/task/0%00",
        "/run/demo/task/" + "x" * 500,
        "/run/demo/shot/..%2f..%2frun.json",
        "/run/demo/shot/" + "0" * 64,
        "/run/nope",
        "/run/demo/task/nope",
        "/news/nope",
        "/etc/passwd",
    ],
)
@in_session
async def test_nothing_outside_is_reached(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


@in_session
async def test_only_pictures_leave_the_artifacts(client: httpx.AsyncClient, results: Path) -> None:
    with RunFolder.open(results / "demo", durability=Durability.none) as run:
        page = run.artifacts.put(b"<script>alert(1)</script>")
    answer = await client.get(f"/run/demo/shot/{page}")
    assert answer.status_code == 404 and "alert" not in answer.text


@in_session
async def test_a_token_is_asked_for_once(results: Path) -> None:
    async with serving(Viewer(ResultsWatcher(results)).app("s3cret")) as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.get("/")).status_code == 403
            assert (await client.get("/?token=wrong")).status_code == 403
            first = await client.get("/run/demo?token=s3cret&page=1")
            place = place_of("s3cret")
            assert (first.status_code, first.headers["location"]) == (303, f"{place}/run/demo?page=1")
            cookie = first.headers["set-cookie"].lower()
            assert "httponly" in cookie and "samesite=strict" in cookie and f"path={place}/" in cookie
            async with asyncio.timeout(300):  # journals are read a little at each request
                while f'href="{place}/run/demo/task/0"' not in (page := await client.get(f"{place}/run/demo")).text:
                    assert page.status_code == 200
            assert (await client.get("/run/demo")).status_code == 403
            assert (await client.get(f"http://127.0.0.1:{port}//evil.example?token=s3cret")).headers[
                "location"
            ] == f"{place}/evil.example"


@in_session
async def test_every_answer_carries_the_policy(client: httpx.AsyncClient) -> None:
    for path in ("/", "/run/demo", "/run/demo/task/0", "/run/nope"):
        headers = (await client.get(path)).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"


@in_session
async def test_a_torn_journal_is_shown_and_left_torn(client: httpx.AsyncClient, results: Path) -> None:
    path = results / "demo" / "0.traj.jsonl"
    torn = path.read_bytes()[:-30]
    path.write_bytes(torn)
    assert "Step 1" in (await client.get("/run/demo/task/0")).text
    assert (await client.get("/run/demo")).status_code == 200
    assert path.read_bytes() == torn


@in_session
async def test_a_newer_schema_says_so(client: httpx.AsyncClient, results: Path) -> None:
    (results / "demo" / "0.traj.jsonl").write_bytes(seal(dumps({"kind": "opened", "schema": 99, "x": 1})[:-1], 0)[0])
    for path in ("/run/demo", "/run/demo/task/0"):
        answer = await client.get(path)
        assert answer.status_code == 200 and "newer version" in answer.text


@in_session
async def test_an_empty_results_folder_says_what_to_do(tmp_path: Path) -> None:
    async with serving(Viewer(ResultsWatcher(tmp_path)).app(None)) as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert "python run.py" in (await client.get("/")).text


@in_session
async def test_a_folder_that_cannot_be_read_hides_no_other(
    client: httpx.AsyncClient, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(fill(results / "private", [Shape()], screenshots=False), monkeypatch)
    page = await client.get("/")
    assert page.status_code == 200 and 'href="/run/demo"' in page.text and "/run/private" not in page.text
    assert (await client.get("/run/demo")).status_code == 200
    (results / "circle").symlink_to("circle")
    assert 'href="/run/demo"' in (await client.get("/")).text


def test_what_is_said_beside_a_finished_run_is_shown_without_a_restart(results: Path) -> None:
    """`harness score` with a corrected reference, and `harness judge-check`, change no journal."""
    watcher = RunWatcher(results / "demo")
    watcher.refresh(60)
    before = watcher.standing()
    assert watcher.standing() is before
    references = {"0": "another digest"}
    (results / "demo" / "rescored-corrected.json").write_bytes(dumps({"references": references}))
    notes = set(watcher.standing().view.notes) - set(before.view.notes)
    assert ["rescored-corrected.json" in note for note in notes] == [True]
    last = watcher.standing()
    check = results / "judge-check" / "one" / "judge-check.json"
    check.parent.mkdir(parents=True)
    assert watcher.standing() is not last, "a check has begun"
    last = watcher.standing()
    check.write_bytes(b"{}")
    assert watcher.standing() is not last


@in_session
async def test_what_earlier_starts_played_besides_is_named_and_in_no_figure(
    results: Path, client: httpx.AsyncClient
) -> None:
    about = loads((results / "demo" / "run.json").read_bytes())
    (results / "demo" / "run.json").write_bytes(dumps(about | {"tasks": about["tasks"][:3]}))
    besides = "not counted: 9 episodes of earlier starts with other tasks or trials (tasks 3, 4, 5, 6, 7 and 4 more)"
    page = (await client.get("/run/demo")).text
    report = write_report(Run(results / "demo"))
    for text in (page, report.index.read_text()):
        assert "3 tasks" in text and "12 tasks" not in text and besides in text
    assert sorted(one.name for one in (report.index.parent / "tasks").iterdir()) == ["0.html", "1.html", "2.html"]
    assert (await client.get("/run/demo/task/7")).status_code == 200, "it can still be looked at"


def test_a_catalogue_comes_to_the_same_whatever_its_budget(results: Path) -> None:
    """Cut off after every journal, it still ends where one long look does, and notices what changes later."""
    whole, slow = RunWatcher(results / "demo"), RunWatcher(results / "demo")
    whole.refresh(60)
    for _ in range(100):
        slow.refresh(1e-6)
    assert slow.unread == whole.unread == 0
    assert slow.standing().rows == whole.standing().rows
    version = whole.version
    assert whole.refresh(60) == version
    os.truncate(results / "demo" / "3.traj.jsonl", 0)
    (results / "demo" / "4.traj.jsonl").unlink()
    with RunFolder.open(results / "demo", durability=Durability.none) as run:
        of = task(99)
        write(run, of, episode(run, of, Shape(steps=1), screenshots=False))
        about = loads((run.path / "run.json").read_bytes())
        run.write("run.json", dumps(about | {"tasks": [*about["tasks"], "99"]}))
    assert whole.refresh(60) > version
    begun = {row.task_id for row in whole.standing().rows if row.attempts}
    assert "99" in begun and not begun & {"3", "4"}
