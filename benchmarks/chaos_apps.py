"""Chaos on the set `apps`: Roundup, MoinMoin and django-oscar keep the books of what was done to them, and are read
before each reset and at the end.

A reset takes an instance back to its seed, so what it holds before is what one task, one attempt after the other, has
done since the last one. All that a task does undisturbed is counted once by such a look; a look of the disturbed run
that holds something more often than any undisturbed task leaves it has a doubled effect. Nothing is asked of the code
under test: the databases and files of the applications are read.
"""

import argparse
import json
import shlex
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos_checks import Row
from chaos_stage import PROJECT

from harness.browser.network.http import fetch
from harness.codec import loads
from harness.errors import ConfigError
from harness.loopback_server import serving
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import read_plans
from harness.plugins.site_sets.apps.installing import installed
from harness.tasks import load

NAMES = ("tracker", "wiki", "store")
CANONICAL = {name: f"http://{name}.localhost" for name in NAMES}
TASKS, PLANS = PROJECT / "tasks" / "apps.json", PROJECT / "tasks" / "apps.plans.json"
OF_SITES = ("effects on sites, none twice", "effects behind a decision on disk")
"""Rows that need a log of writes, which these sites do not have."""
INSTANCES = 2

Books = Counter[str]
"""What an application holds: the words of a fact to how often it is there."""


def books(site: str, data: Path, *, served: bool = True) -> Books:
    """What the data folder of an instance holds, by the application's own tables and files.

    Args:
        site: Whose.
        data: The folder.
        served: Whether a server may have it open. In a snapshot nothing may be changed, and SQLite makes files beside a
            database that it reads, unless it knows that nobody writes.
    """
    if site == "wiki":
        return _wiki(data)
    return {"tracker": _tracker, "store": _store}[site](data, "" if served else "&immutable=1")


def _tracker(data: Path, how: str) -> Books:
    found = Books()
    with _opened(data / "db" / "db", how) as db:
        for table, word in (("_issue", "_title"), ("_keyword", "_name"), ("_user", "_username")):
            found.update(f"{table[1:]} {name}" for (name,) in db.execute(f"SELECT {word} FROM {table}"))
        found.update(f"note of {author}" for (author,) in db.execute("SELECT _author FROM _msg"))
        for kind in ("issue", "user", "keyword"):
            done = db.execute(f"SELECT nodeid, action, params FROM {kind}__journal")
            found.update(f"{action} of {kind}{node}: {params}" for node, action, params in done)
    return found


def _wiki(data: Path) -> Books:
    """A revision is a file with its page and its predecessor: the same one written twice is there twice."""
    found = Books()
    for path in (data / "items" / "default" / "meta").iterdir():
        meta = json.loads(path.read_bytes())
        found[f"{meta.get('action')} of {meta.get('name') or meta.get('name_old')}"] += 1
    return found


def _store(data: Path, how: str) -> Books:
    found = Books()
    with _opened(data / "store.sqlite3", how) as db:
        for words, of in _OF_STORE:
            for *names, count in db.execute(of):
                found[" ".join(map(str, (words, *names)))] += count
    return found


_OF_STORE = (
    ("order of", "SELECT total_incl_tax, COUNT(*) FROM order_order GROUP BY 1"),
    ("ordered", "SELECT title, SUM(quantity) FROM order_line GROUP BY 1"),
    (
        "in a basket:",
        "SELECT p.title, SUM(l.quantity) FROM basket_line l JOIN basket_basket b ON b.id = l.basket_id"
        " JOIN catalogue_product p ON p.id = l.product_id WHERE b.status = 'Open' GROUP BY 1",
    ),
    ("wish list", "SELECT name, COUNT(*) FROM wishlists_wishlist GROUP BY 1"),
    ("alert", "SELECT product_id, COUNT(*) FROM customer_productalert GROUP BY 1"),
    ("address", "SELECT line1, COUNT(*) FROM address_useraddress GROUP BY 1"),
    ("account", "SELECT first_name, last_name, COUNT(*) FROM auth_user GROUP BY 1, 2"),
)


@contextmanager
def _opened(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro{how}", uri=True, timeout=30)) as db:
        yield db


def look(state: Path, log: Path, url: str) -> None:
    """Write down what the instance at an address holds; the run calls this before each reset."""
    served = json.loads((state / "sites.json").read_bytes())
    site, number = next(
        (name, [served[name]["url"], *served[name]["instances"]].index(url))
        for name in NAMES
        if url in (served[name]["url"], *served[name]["instances"])
    )
    try:
        found = books(site, state / "services" / f"{site}@{number}" / "data")
    except (OSError, sqlite3.OperationalError):
        return  # a reset was killed between two renames; it had looked before
    line = json.dumps({"site": site, "books": found})
    with log.open("a") as file:
        file.write(f"{line}\n")


def looks(log: Path) -> list[tuple[str, Books]]:
    return [(one["site"], Books(one["books"])) for one in map(json.loads, log.read_text().splitlines())]


def doubled(
    seed: Mapping[str, Books], calm: Sequence[tuple[str, Books]], disturbed: Sequence[tuple[str, Books]]
) -> Iterator[str]:
    """Facts that a look of the disturbed run holds more often than the seed and any undisturbed task.

    What a task has done in part is less, and never more, than what it does undisturbed.
    """
    most: dict[str, Books] = {site: Books(seed[site]) for site in seed}
    for site, found in calm:
        most[site] |= found
    for site, found in disturbed:
        for fact, times in sorted((found - most[site]).items()):
            yield f"{site}: {fact!r} is there {times} times too often"


def effects(seed: Mapping[str, Books], found: Sequence[tuple[str, Books]]) -> int:
    return sum((one - seed[site]).total() for site, one in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """The set while it is up."""

    folder: Path
    log: Path
    """What was seen before each reset of the present run."""

    @property
    def state(self) -> Path:
        return self.folder / "sites" / "apps"

    @property
    def chosen(self) -> Path:
        """What a run reads with `sites=from:FILE`: the addresses of the set, and our own reset."""
        return self.folder / "sites.json"

    def run(self, verb: str, *words: str) -> None:
        command = [sys.executable, "-m", "harness.main", "sites", verb, "apps", *words]
        if code := subprocess.run(command, cwd=self.folder, check=False).returncode:
            raise SystemExit(f"harness sites {verb} apps ended with code {code}")

    def write(self) -> None:
        served = json.loads((self.state / "sites.json").read_bytes())
        looking = shlex.join([sys.executable, __file__, str(self.state), str(self.log)])
        for name in NAMES:
            served[name]["reset_command"] = f"{looking} '{{url}}' && {served[name]['reset_command']}"
        self.chosen.write_text(json.dumps(served))

    def urls(self) -> list[str]:
        served = json.loads((self.state / "sites.json").read_bytes())
        return [url for name in NAMES for url in (served[name]["url"], *served[name]["instances"])]

    def seeds(self) -> dict[str, Books]:
        return {name: books(name, self.state / "snapshots" / "seed" / name, served=False) for name in NAMES}

    def take_looks(self) -> list[tuple[str, Books]]:
        """What the run that has ended did, with what stands there now; the next one begins with nothing."""
        for url in self.urls():
            look(self.state, self.log, url)
        found = looks(self.log)
        self.log.write_text("")
        self.run("reset")
        return found


class Writing:
    """The sites tell nobody of a write: a strike that wants one comes when the time for it is over."""

    def is_set(self) -> bool:
        return False

    def clear(self) -> None:
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the driver of chaos runs asks: the endpoint, in its own process, and no log of writes."""

    endpoint_port: int
    sites: Any
    sites_port: int = 0
    passed: dict[str, int] = field(default_factory=dict)

    async def writes(self) -> dict[Any, Any]:
        return {}

    async def requests(self) -> list[dict[str, Any]]:
        answer = await fetch(f"http://127.0.0.1:{self.endpoint_port}/__requests__")
        return loads(answer.body)[self.passed.get("requests", 0) :]  # type: ignore[no-any-return]

    async def begin(self) -> None:
        self.passed.clear()
        self.passed["requests"] = len(await self.requests())


@asynccontextmanager
async def scene(latency_ms: float) -> AsyncIterator[Scene]:
    intents = {task.task_id: task.intent for task in load(str(TASKS), CANONICAL)}
    placeholders = {f"__{name.upper()}__": base for name, base in CANONICAL.items()}
    plans = read_plans(PLANS, intents, placeholders=placeholders)
    async with serving(endpoint_app(plans, latency_ms=latency_ms)) as port:
        yield Scene(endpoint_port=port, sites=_Told())


class _Told:
    written = Writing()


def missing() -> str:
    """Why the set cannot be played here; "" = it can."""
    try:
        for name in NAMES:
            installed(name)
    except ConfigError as error:
        return str(error)
    return ""


@contextmanager
def up(folder: Path) -> Iterator[Sites]:
    """Bring the set up, and take it down whatever happens."""
    (folder / "looks").touch()
    sites = Sites(folder=folder, log=folder / "looks")
    try:
        sites.run("up", "--scale", str(INSTANCES))
        sites.write()
        yield sites
    finally:
        sites.run("down", "--all")


def overrides(sites: Sites) -> list[str]:
    changing = [task["task_id"] for task in json.loads(TASKS.read_bytes()) if task["mutates"]]
    return [
        *("task=apps", f"sites=from:{sites.chosen}", f"task.ids={changing}", "llm=scripted"),
        *(f"task.path={TASKS}", f"task.plans={PLANS}"),
    ]


def judged(
    common: Sequence[Row],
    seed: Mapping[str, Books],
    before: Sequence[tuple[str, Books]],
    after: Sequence[tuple[str, Books]],
) -> tuple[Row, ...]:
    """The rows of all chaos runs that need no log of writes, and what the applications' own books say.

    Args:
        common: As `chaos_checks.rows` gives them.
        seed: Site to what it holds at its seed.
        before: The looks of the undisturbed run.
        after: Those of the disturbed one.
    """
    few = [] if effects(seed, before) else ["the undisturbed run changed nothing: there is nothing to compare with"]
    faults = (*few, *doubled(seed, before, after))
    figure = f"{effects(seed, after)} in {len(after)} looks"
    return (
        *(row for row in common if row.name not in OF_SITES),
        Row(name="effects in the sites' own data, none twice", figure=figure, faults=faults),
    )


def main() -> int:
    made = argparse.ArgumentParser(description="Write down what an instance of the set holds, before it is reset.")
    made.add_argument("state", type=Path)
    made.add_argument("log", type=Path)
    made.add_argument("url")
    given = made.parse_args()
    look(given.state, given.log, given.url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
