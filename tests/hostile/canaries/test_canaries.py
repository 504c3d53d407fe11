"""No secret comes out, whatever way it was given: the part of `make canary` that is quick, and proof that a leak would
be seen.
"""

import gzip
import json
import subprocess
import sys
import time
import zipfile
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hostile.canaries.canary import Canary, Sought, canary
from tests.hostile.canaries.running import PROJECT, Outcome, Place, search_files
from tests.hostile.canaries.running import run as play
from tests.hostile.canaries.suite import MISTAKES, RUNS
from tests.hostile.canaries.ways import Run
from tests.hostile.canaries.world import World, world

SLOW = {"settings of a file", "a wrong address", "doctor"}


@pytest.fixture(scope="module")
def there() -> Iterator[World]:
    with world() as made:
        yield made


def rows(runs: tuple[Run, ...]) -> list[object]:
    return [pytest.param(run, id=run.name, marks=[pytest.mark.hostile] if run.name in SLOW else []) for run in runs]


@pytest.mark.sample(1)
@pytest.mark.browser
@pytest.mark.parametrize("run", rows(RUNS))
def test_no_secret_comes_out_of_a_run(run: Run, there: World, tmp_path: Path) -> None:
    _, outcome = run.play(there, Place.make(tmp_path))
    assert outcome.code == run.code, outcome.said
    assert outcome.leaks == []
    assert outcome.places > 50
    assert outcome.environments >= 2, "browser and driver were looked at"


@pytest.mark.sample(2)
@pytest.mark.parametrize("run", rows(MISTAKES))
def test_no_secret_comes_out_of_a_mistake(run: Run, there: World, tmp_path: Path) -> None:
    _, outcome = run.play(there, Place.make(tmp_path))
    assert run.code is None or outcome.code == run.code, outcome.said
    assert outcome.leaks == []
    assert "Traceback" not in outcome.said


@pytest.mark.browser
@pytest.mark.hostile
def test_a_run_that_was_killed_goes_on_with_its_secrets(there: World, tmp_path: Path) -> None:
    place, run = Place.make(tmp_path), next(run for run in RUNS if run.name == "tasks and pages")
    given = run.make(there, place)
    there.begin(given.canaries, **given.world)
    (place.given / "tasks.json").write_text(json.dumps([given.task]))
    journal = place.out / "work" / "results" / "r" / "0.traj.jsonl"
    killed = subprocess.Popen(
        [sys.executable, str(PROJECT / "run.py"), *given.arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=place.environment({}), cwd=place.out / "work",
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (journal.exists() and b'"kind":"decided"' in journal.read_bytes()):
        assert killed.poll() is None and time.monotonic() < deadline, "it ended before it was killed"
        time.sleep(0.005)
    killed.kill()
    killed.wait()
    before = journal.read_bytes()
    outcome = play(place, given.arguments, given.all)
    assert outcome.code == 0, outcome.said
    assert outcome.leaks == []
    assert journal.read_bytes().startswith(before[: before.rfind(b"\n") + 1]), "it went on with the same journal"
    kinds = [json.loads(line)["kind"] for line in journal.read_bytes().splitlines()]
    assert kinds.count("opened") == 1 and "resumed" in kinds and "diverged" not in kinds, kinds
    run.after(given, place, outcome, there)


MUTANTS = {
    "the browser gets all variables": (
        "environment",
        "import harness.browser.driver.child_environment as it; it.browser_environment = dict",
        "environment: AWS_SESSION_TOKEN in environment of",
    ),
    "hydra sees the command line": (
        "a key that cannot be read",
        "import harness.config.argument_secrets as it; it.redact_arguments = lambda given: it.RedactedArguments(tuple(given))",
        "mistake: llm.api_key that hydra cannot read in stderr",
    ),
    "headers are not secrets": (
        "settings of the command line",
        "import harness.secrets.secret_detection as it; it.in_header = lambda name, value: iter(())",
        "command line: llm.headers in file",
    ),
    "only passwords of a login are secrets": (
        "settings of the command line",
        (
            "import harness.secrets.secret_detection as it; it.in_login = lambda fields: (v for p, v in fields.items()"
            " if 'pass' in p)"
        ),
        "command line: one-time code of a login in file",
    ),
    "escapes are not known": (
        "settings of a file",
        (
            "import harness.secrets.encoded_secrets as it; it.escaped_pattern = lambda one, count=1: it.re.escape(one * count);"
            " it._USUAL = ()"
        ),
        "file: sites.X.url, password in file",
    ),
    "tasks hold no secrets": (
        "tasks and pages",
        "import harness.secrets.config_secrets as it; it.task_secrets = lambda tasks: {}",
        "task: start_url, password in file",
    ),
    "what the package finds in the environment is sent": (
        "environment",
        "import contextlib, harness.llm.endpoint as it; it.without_variables = contextlib.nullcontext",
        "OPENAI_ORG_ID",
    ),
}
"""Name to the run it is played in, what breaks the promise, and what is said of it then."""
QUICK = {"hydra sees the command line"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.hostile]) for name in MUTANTS]
)
def test_a_promise_that_is_broken_is_noticed(name: str, there: World, tmp_path: Path) -> None:
    played, program, said = MUTANTS[name]
    place = Place.make(tmp_path)
    (place.given / "sitecustomize.py").write_text(program)
    run = next(run for run in (*RUNS, *MISTAKES) if run.name == played)
    try:
        _, outcome = run.play(there, place, {"PYTHONPATH": f"{place.given}:{PROJECT}"})
    except AssertionError as error:
        noticed = str(error)
    else:
        noticed = "\n".join(f"{leak.way} in {leak.where}" for leak in outcome.leaks)
    assert said in noticed


def in_zip(path: Path, data: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inner", gzip.compress(data))


def in_parquet(path: Path, data: bytes) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": [data.decode()]}), path, compression="zstd")


WRAPPED: dict[str, Callable[[Path, bytes], object]] = {
    "plain": lambda path, data: path.write_bytes(b"before" + data + b"after"),
    "gzip": lambda path, data: path.write_bytes(gzip.compress(data)),
    "gzip in zip": in_zip,
    "parquet": in_parquet,
    "base64": lambda path, data: path.write_bytes(b"x " + b64encode(b"us:" + data)),
    "base64 of base64": lambda path, data: path.write_bytes(b64encode(b'{"a": "' + b64encode(b"u" + data) + b'"}')),
    "base64 for addresses, of gzip": lambda path, data: path.write_bytes(urlsafe_b64encode(gzip.compress(data))),
    "hexadecimal": lambda path, data: path.write_bytes(data.hex().encode()),
    "name of a folder": lambda path, data: (path / data.decode()).mkdir(parents=True),
    "link": lambda path, data: path.symlink_to(f"/nowhere/{data.decode()}"),
}


@pytest.mark.parametrize("how", WRAPPED)
def test_what_came_out_is_found(how: str, tmp_path: Path) -> None:
    lost, other = canary("lost"), canary("other")
    WRAPPED[how](tmp_path / "file", lost.value.encode())
    outcome = Outcome(0, "")
    search_files(outcome, Sought([lost, other]), tmp_path)
    assert {leak.way for leak in outcome.leaks} == {"lost"}


@pytest.mark.parametrize("half", [0, 1])
def test_half_a_secret_is_one_too(half: int) -> None:
    nasty: Canary = canary("nasty", nasty=True)
    assert Sought([nasty]).in_bytes(json.dumps(nasty.letters[half]).encode()) == {nasty}
