"""Rollouts on the environment server of a task that changes its site, while clients, server, workers and browsers are
killed.

Run: `make rollouts ARGS='--rollouts 2000 --kills 40'` (60 and 6 by default, 8 sessions). The site is served here and
keeps its own log, so it outlives every kill: each rollout writes three notes, and its score says whether the site has
these three, once each, and nothing else. Prints a table of what must hold; exit code 1 where something does not.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import psutil
from chaos_rollout_client import NOTES, TASK
from chaos_victims import kind_of
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.loopback_server import serving
from harness.runner.process_tree import find_orphans
from harness.runs import Run

HERE = Path(__file__).resolve().parent
VICTIMS = ("client", "server", "worker", "browser")
READY = b"environment server ready on "
LEAK_S = 60.0
"""A slot that nobody uses any more is free after this long."""
GRACE_S = 3.0
STUCK_S = 900.0
SPARE = 2
"""Environments more than clients, so that a slot that leaks can be seen."""
EMPTY = "Nothing yet"
COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A note, as it reached the site."""

    place: str
    epoch: int
    """Resets of the place before it."""
    note: str


class Board:
    """The site, in as many places as there are sessions: a page of notes."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self._epochs: Counter[str] = Counter()
        self._notes: dict[str, list[str]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        response = await self._answer(request, request.url.hostname or "")
        await response(scope, receive, send)

    async def _answer(self, request: Request, place: str) -> Response:
        notes = self._notes.setdefault(place, [])
        match request.method, request.url.path:
            case "POST", "/__reset__":
                self._epochs[place] += 1
                notes.clear()
                return Response("reset")
            case "POST", "/add":
                note = parse_qs((await request.body()).decode()).get("note", [""])[0]
                self.effects.append(Effect(place=place, epoch=self._epochs[place], note=note))
                notes.append(note)
                return RedirectResponse("/", status_code=303)
            case "GET", "/":
                shown = "".join(f"<li>{note}</li>" for note in notes) or f"<li>{EMPTY}</li>"
                field = '<label>Note <input name="note"></label><button>Add</button>'
                return _page(f'<ul>{shown}</ul><form method="post" action="/add">{field}</form>')
            case "GET", "/state":
                return _page(f'<p id="state">{_told(notes)}</p>')
        return Response("no such page", status_code=404)


def _page(body: str) -> Response:
    return HTMLResponse(f"<!doctype html><title>Board</title><h1>Board</h1>{body}")


def _told(notes: Sequence[str]) -> str:
    whose = notes[0].partition("-")[0] if notes else ""
    return COMPLETE if list(notes) == [f"{whose}-{step}" for step in range(NOTES)] else "; ".join(notes) or EMPTY


def task_file(folder: Path) -> Path:
    """The one task that all rollouts play."""
    locator = "document.querySelector('#state').outerText"
    target = {"url": "http://board.test/state", "locator": locator, "required_contents": {"exact_match": COMPLETE}}
    entry = {
        "task_id": int(TASK), "sites": ["board"], "require_login": False, "storage_state": None,
        "start_url": "http://board.test/", "geolocation": None, "intent": "Write three notes", "intent_template": "",
        "instantiation_dict": {}, "intent_template_id": 0, "require_reset": False, "mutates": True,
        "eval": {
            "eval_types": ["program_html"], "reference_answers": None, "reference_url": "", "program_html": [target],
        },
    }  # fmt: skip
    path = folder / "tasks.json"
    path.write_text(json.dumps([entry]))
    return path


@dataclass(slots=True)
class Attack:
    """The rollouts under way."""

    folder: Path
    rollouts: int
    sessions: int
    chance: random.Random
    site_port: int
    port: int = 0
    server: asyncio.subprocess.Process | None = None
    clients: dict[int, asyncio.subprocess.Process] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    longest_leak_s: float = 0.0
    left_at_end: int = -1
    """Sessions that the server counts when all clients are gone; -1 = it was not asked."""
    server_code: int | None = None
    orphans: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    def ended(self) -> int:
        """Rollouts that have ended, one way or the other."""
        return sum('"end"' in path.read_text() for path in (self.folder / "seen").glob("*.jsonl"))

    async def play(self, kills: int) -> None:
        """All rollouts, with so many kills."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        (self.folder / "seen").mkdir()
        await self.serve()
        playing = [asyncio.create_task(self._client(number)) for number in range(self.sessions)]
        watching = asyncio.create_task(self._watch())
        try:
            await self._strikes(kills)
            await asyncio.wait_for(asyncio.gather(*playing), STUCK_S + self.rollouts)
        finally:
            watching.cancel()
            for task in playing:
                task.cancel()
            await asyncio.gather(watching, *playing, return_exceptions=True)
            for process in self.clients.values():
                with suppress(ProcessLookupError):
                    process.kill()
            await self._end()

    async def serve(self) -> None:
        """Start the server, and wait until it is ready."""
        places = [f"http://p{number}.board.localhost:{self.site_port}" for number in range(self.sessions + SPARE)]
        with (self.folder / "server.log").open("ab") as log:
            self.server = process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "harness.main", "serve", "task=demo", "task.name=rollouts"),
                *(f"--port={self.port}", f"environments={self.sessions + SPARE}", f"--grace={GRACE_S:g}", "--queue=60"),
                *(f"run.root={self.folder}", "run.id=run", f"task.path={self.folder / 'tasks.json'}", "workers=2"),
                *("sites.embedded=false", f"+sites.board.url={places[0]}", "+sites.board.canonical=http://board.test"),
                *(f"+sites.board.instances=[{','.join(places)}]", '+sites.board.reset_url="{url}/__reset__"'),
                *("browser.screenshots=false", "resume.max_attempts=100"),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert process.stdout is not None
        line = b"none"
        while line and not line.startswith(READY):
            line = await process.stdout.readline()
        if not line:
            raise SystemExit(f"the server does not start; see {self.folder / 'server.log'}")

    async def _client(self, number: int) -> None:
        """A client that is started again after each kill, at once or after its session was given back."""
        numbers = range(number, self.rollouts, self.sessions)
        while True:
            with (self.folder / "clients.log").open("ab") as log:
                self.clients[number] = process = await asyncio.create_subprocess_exec(
                    *(sys.executable, HERE / "chaos_rollout_client.py", self.url, self.folder / "seen"),
                    *map(str, numbers),
                    stdout=log,
                    stderr=log,
                )
            code = await process.wait()
            del self.clients[number]
            if code == 0:
                return
            if code != -signal.SIGKILL:
                raise SystemExit(f"a client ended with {code}; see {self.folder / 'clients.log'}")
            await asyncio.sleep(self.chance.choice((0.0, 2 * GRACE_S)))

    async def _strikes(self, kills: int) -> None:
        """Each after so many rollouts, and then a moment later."""
        at = sorted(self.chance.randrange(max(1, self.rollouts - self.sessions)) for _ in range(kills))
        victims = [VICTIMS[number % len(VICTIMS)] for number in range(kills)]
        self.chance.shuffle(victims)
        progress, since = -1, time.monotonic()
        for threshold, victim in zip(at, victims, strict=True):
            while (ended := self.ended()) < threshold:
                if ended != progress:
                    progress, since = ended, time.monotonic()
                if time.monotonic() - since > STUCK_S:
                    raise SystemExit(f"no rollout has ended for {STUCK_S:g} s")
                await asyncio.sleep(0.2)
            await asyncio.sleep(self.chance.uniform(0, 2))
            await self._strike(victim)

    async def _strike(self, victim: str) -> None:
        assert self.server is not None
        while not (found := self._found(victim)):  # noqa: ASYNC110 (other processes tell nobody)
            await asyncio.sleep(0.1)
        with suppress(psutil.NoSuchProcess):
            self.chance.choice(found).kill()
        self.kills[victim] += 1
        if victim == "server":
            await self.server.wait()
            await self.serve()

    def _found(self, victim: str) -> list[psutil.Process]:
        """Who may be killed; all are processes that were started here."""
        assert self.server is not None
        with suppress(psutil.Error):
            if victim == "client":
                return [psutil.Process(one.pid) for one in self.clients.values()]
            server = psutil.Process(self.server.pid)
            if victim == "server":
                return [server]
            return [one for one in server.children(recursive=True) if kind_of(one.cmdline()) == victim]
        return []

    async def _watch(self) -> None:
        """For how long more sessions have been counted than there are clients."""
        since: float | None = None
        while True:
            active = await asyncio.to_thread(self._active)
            if active is None or active <= self.sessions:
                since = None
            else:
                since = since or time.monotonic()
                self.longest_leak_s = max(self.longest_leak_s, time.monotonic() - since)
            await asyncio.sleep(0.5)

    def _active(self) -> int | None:
        """None = the server is gone, or has no time."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=10) as answer:
                return int(json.load(answer)["active_sessions"])
        except OSError:
            return None

    async def _end(self) -> None:
        """Count what is left when nobody plays any more, and end the server."""
        assert self.server is not None
        until = time.monotonic() + LEAK_S
        while (left := await asyncio.to_thread(self._active)) != 0 and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        self.left_at_end = -1 if left is None else left
        with suppress(ProcessLookupError):
            self.server.terminate()
        self.server_code = await self.server.wait()
        until = time.monotonic() + LEAK_S
        while (orphans := find_orphans(self.run)) and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        self.orphans = len(orphans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What clients, journals and the site say in the end."""

    places: dict[str, tuple[str, int]]
    """Episode id to task and trial."""
    seen: dict[int, list[dict[str, Any]]]
    """Rollout to what its client wrote down."""
    run: Run
    effects: Sequence[Effect]

    @property
    def ends(self) -> list[dict[str, Any]]:
        return [lines[-1] for lines in self.seen.values() if lines and "end" in lines[-1]]

    def starts(self) -> list[str]:
        """Start pages of all rollouts, as clients saw them and as journals have them."""
        shown = [line["start"] for lines in self.seen.values() for line in lines if "start" in line]
        for place in self.places.values():
            arrival = self.run.episode(*place).record.arrival
            if arrival is not None:
                shown.append(arrival.observation.shown_text)
        return [re.sub(r"\[\d+\]", "[]", one) for one in shown]

    def twice(self) -> int:
        """Notes that the site got more than once without a reset between, and notes beside those of another rollout."""
        notes = Counter((one.place, one.epoch, one.note) for one in self.effects)
        owners: dict[tuple[str, int], set[str]] = {}
        for one in self.effects:
            owners.setdefault((one.place, one.epoch), set()).add(one.note.partition("-")[0])
        return sum(number - 1 for number in notes.values()) + sum(len(some) - 1 for some in owners.values())

    def other_steps(self) -> int:
        """Episodes whose journal has other steps than the client asked for."""
        wanted = ["type"] * NOTES + ["stop"]
        return sum([step.name for step in self.run.episode(*one).steps] != wanted for one in self.places.values())


def read(attack: Attack, effects: Sequence[Effect]) -> Found:
    """All that is checked."""
    ledger = (attack.run / "environments.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in ledger]
    seen = {}
    for number in range(attack.rollouts):
        path = attack.folder / "seen" / f"{number}.jsonl"
        seen[number] = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    places = {entry["episode_id"]: (entry["task_id"], entry["trial"]) for entry in entries}
    return Found(places=places, seen=seen, run=Run(attack.run), effects=effects)


def checks(attack: Attack, found: Found) -> list[tuple[str, int]]:
    """What must not be, and how often it was."""
    starts = found.starts()
    seed = Counter(starts).most_common(1)[0][0] if starts else ""
    scored = [one for one in found.ends if one["end"] == "scored"]
    failed = [one for one in found.ends if one["end"] == "failed"]
    for one in failed:
        sys.stdout.write(f"failed: {one['why']}\n")
    return [
        ("start pages that are not the seed's", sum(one != seed or EMPTY not in one for one in starts)),
        ("rollouts without an end", attack.rollouts - len(found.ends)),
        ("rollouts that ended with an error", len(failed)),
        ("episodes of which the server knows nothing", attack.rollouts - len(found.places)),
        ("rewards that are not 1", sum(one["reward"] != 1.0 for one in scored)),
        ("effects done twice, or beside another rollout's", found.twice()),
        ("episodes with other steps than were asked for", found.other_steps()),
        (f"slots without a client for more than {LEAK_S:g} s", int(attack.longest_leak_s > LEAK_S)),
        ("sessions left at the end", abs(attack.left_at_end)),
        ("processes left at the end", attack.orphans),
        ("servers that did not end with 0", int(attack.server_code != 0)),
    ]


async def attacked(options: argparse.Namespace, folder: Path) -> tuple[Attack, list[tuple[str, int]], float]:
    """Play, and check."""
    board, began = Board(), time.monotonic()
    task_file(folder)
    async with serving(board) as site_port:
        chance = random.Random(options.seed)
        attack = Attack(folder, options.rollouts, options.sessions, chance, site_port)
        await attack.play(options.kills)
    return attack, checks(attack, read(attack, board.effects)), time.monotonic() - began


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    number: Callable[[str], int] = int
    parser.add_argument("--rollouts", type=number, default=60)
    parser.add_argument("--kills", type=number, default=6)
    parser.add_argument("--sessions", type=number, default=8, help="clients that play at the same time")
    parser.add_argument("--seed", type=number, default=0)
    parser.add_argument("--keep", type=Path, help="a new folder for run, logs and what clients saw")
    options = parser.parse_args(arguments)
    os.environ["PYTHONPATH"] = str(HERE.parent)
    with tempfile.TemporaryDirectory(prefix="cairn-rollouts-") as made:
        folder = options.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=options.keep is None)
        attack, found, took_s = asyncio.run(attacked(options, folder))
    struck = ", ".join(f"{number} {victim}" for victim, number in sorted(attack.kills.items())) or "none"
    sys.stdout.write(f"{attack.rollouts} rollouts, {attack.sessions} at a time; kills: {struck}; seed {options.seed}\n")
    for what, number_of in found:
        sys.stdout.write(f"{'ok ' if number_of == 0 else 'BAD'}  {number_of:6}  {what}\n")
    rate = attack.rollouts / took_s
    sys.stdout.write(
        f"{took_s:.0f} s, {rate:.2f} rollouts a second, longest slot too many {attack.longest_leak_s:.0f} s\n"
    )
    return int(any(number_of for _, number_of in found))


if __name__ == "__main__":
    sys.exit(main())
