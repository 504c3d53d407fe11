"""What no run can have written, in files that are whole: numbers beyond all measure, other types, depths, lengths.

Journals here have right checksums, so only what they say is wrong. Every command takes each file: it says what is wrong
in a sentence, or does what it can; it never ends in a traceback, and always ends.
"""

import json
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from harness.choices import Dialect
from harness.cli import configured
from harness.codec import seal
from harness.config import Config
from harness.errors import JournalCorrupt, JournalError, TrackingError
from harness.evaluation.config_drift import DRIFT_NAME, check_config_drift
from harness.evaluation.provenance import _earlier
from harness.evaluation.retry_request import standing
from harness.evaluation.summary_cache import NAME, load_summary
from harness.journal.final_state import read_final_state
from harness.journal.index import INDEX_NAME, read_entry, read_index, scan
from harness.journal.log import attempts, read
from harness.journal.site_log import SiteLog
from harness.journal.store import RunFolder
from harness.plugins.tracking.history import History
from harness.runner.pending import PendingPolicy
from harness.settings.run import RunSettings
from tests.hostile.foreign import JOURNAL, Harness, Place, commands, deep, edited, setting, viewed, within

QUICK = ("score",)
READERS = (
    "report",
    "report-single-file",
    "show",
    "show-task",
    "score",
    "compare",
    "export-csv",
    "export-art",
    "export-hf",
    "export-inspect",
    "export-otel",
    "bundle",
    "clean-dry-run",
)
Change = Callable[[int, dict[str, Any]], dict[str, Any] | None]


def acting(action: dict[str, Any]) -> Change:
    """The first decision is another one; the last stays the stop it is."""
    return lambda number, record: {**record, "action": action} if record["kind"] == "decided" and number < 3 else record


def without(kind: str, key: str) -> Change:
    def change(_: int, record: dict[str, Any]) -> dict[str, Any]:
        if record["kind"] == kind:
            del record[key]
        return record

    return change


def twice(kind: str) -> Change:
    return lambda _, record: None if record["kind"] == kind else record


DAMAGED: dict[str, Change] = {
    # times and durations
    "at-1e308": setting("opened", "at", 1e308),
    "at-negative": setting("decided", "at", -1.0),
    "at-year-10000": setting("acted", "at", 253_402_300_800.0),
    "at-int64": setting("closed", "at", 2**63 - 1),
    "at-text": setting("scored", "at", "now"),
    "at-null": setting("opened", "at", None),
    "at-true": setting("opened", "at", True),
    "at-nan": setting("opened", "at", float("nan")),
    "at-infinite": setting("opened", "at", float("inf")),
    "elapsed-1e308": setting("acted", "elapsed_ms", 1e308),
    "elapsed-negative": setting("decided", "elapsed_ms", -5.0),
    "elapsed-list": setting("acted", "elapsed_ms", [1]),
    # counts
    "tokens-int64": setting("decided", "usage.prompt_tokens", 2**63 - 1),
    "tokens-beyond-int64": setting("decided", "usage.prompt_tokens", 2**63),
    "tokens-400-digits": setting("decided", "usage.completion_tokens", 10**400),
    "tokens-negative": setting("decided", "usage.completion_tokens", -1),
    "tokens-float": setting("decided", "usage.prompt_tokens", 1.5),
    "requests-int64": setting("decided", "usage.requests", 2**62),
    "cost-1e308": setting("decided", "usage.cost_usd", 1e308),
    "cost-negative": setting("decided", "usage.cost_usd", -0.01),
    "judge-tokens": setting("scored", "verdicts.0.usage.prompt_tokens", 2**63 - 1),
    "judge-cost": setting("scored", "verdicts.0.usage.cost_usd", -1.0),
    # scores
    "score-2": setting("scored", "value", 2.0),
    "score-1e308": setting("scored", "value", 1e308),
    "score-negative": setting("scored", "value", -0.5),
    "score-null": setting("scored", "value", None),
    "verdict-1e308": setting("scored", "verdicts.0.value", 1e308),
    "status-odd": setting("scored", "status", "FINE"),
    # order and names
    "attempt-int64": setting("opened", "attempt", 2**63 - 1),
    "attempt-0": setting("opened", "attempt", 0),
    "trial-int64": setting("opened", "trial", 2**63 - 1),
    "trial-negative": setting("opened", "trial", -1),
    "step-int64": setting("decided", "step", 2**63 - 1),
    "step-negative": setting("acted", "step", -1),
    "kind-unknown": setting("closed", "kind", "erase"),
    "kind-number": setting("closed", "kind", 7),
    "kind-list": setting("closed", "kind", ["opened"]),
    "schema-newer": setting("acted", "schema", 99),
    "schema-negative": setting("acted", "schema", -(2**62)),
    "schema-text": setting("acted", "schema", "3"),
    "schema-1-with-nothing-in-it": lambda _, record: {"kind": "acted", "schema": 1},
    "schema-2-of-other-types": lambda _, record: {**record, "schema": 2, "observation": []},
    "without-a-field": without("decided", "reply"),
    "with-a-field": setting("decided", "more", 1),
    "arrival-missing": twice("acted"),
    "opening-missing": twice("opened"),
    "action-unknown": setting("decided", "action", {"kind": "shell", "command": "id"}),
    "action-text": setting("decided", "action", "click"),
    "reason-odd": setting("closed", "reason", "BORED"),
    # depths
    "metadata-200-deep": setting("opened", "task.metadata", {"a": deep(200)}),
    "metadata-800-deep": setting("opened", "task.metadata", {"a": deep(800)}),
    "metadata-100k-deep": setting("opened", "task.metadata", "PUT-DEEP-HERE"),
    "answers-500-deep": setting("opened", "task.eval.reference_answers", {"exact_match": deep(500)}),
    "redacted-and-deep": setting("opened", "task.metadata", {"[redacted:x]": deep(900)}),
}
"""Journals that are damaged, whatever the checksums say."""

CLOSING = ("at-1e308", "at-int64", "at-text", "at-null", "score-2", "kind-unknown", "reason-odd", "metadata-200-deep")
"""Of these, what the lines say that scoring again looks at."""

ODD: dict[str, Change] = {
    # within what a run could say, and not what one would
    "at-0": setting("opened", "at", 0),
    "at-year-9999": setting("opened", "at", 253_402_300_799.0),
    "elapsed-30-years": setting("acted", "elapsed_ms", 1e12),
    "tokens-2^40": setting("decided", "usage.prompt_tokens", 2**40),
    "cost-1e12": setting("decided", "usage.cost_usd", 1e12),
    "seed-int64": setting("opened", "seed", -(2**63)),
    "screenshot-of-nothing": setting("acted", "observation.screenshot", "0" * 64),
    "no-tabs": setting("acted", "observation.tabs", []),
    "no-current-tab": setting("acted", "observation.tabs", [{"url": "x", "title": "", "current": False}]),
    "text-2-MB": setting("acted", "observation.text", "[1] link 'x'\n" * 150_000),
    "text-of-lines": setting("acted", "observation.text", "\n" * 100_000),
    "title-escapes": setting("acted", "observation.title", "\x1b[2J\x1b]0;own\x07\u202e\u2066" * 50),
    "url-odd": setting("acted", "observation.url", "http://[::1"),
    "url-script": setting("acted", "observation.url", "javascript:alert(1)"),
    "effects-many": setting("acted", "effects", [{"method": "POST", "url": f"http://x/{n}", "status": None} for n in range(5000)]),
    "box-1e308": acting({"kind": "click", "target": {"id": "1", "role": "", "name": "", "nth": -(2**63), "line": "", "box": [1e308, -1e308, 1e308, 1e308]}}),
    "mouse-1e308": acting({"kind": "mouse", "verb": "click", "x": 1e308, "y": -1e308}),
    "tab-int64": acting({"kind": "tab_focus", "index": 2**63 - 1}),
    "press-odd": acting({"kind": "press", "key_comb": "\n" * 1000}),
    "prompt-of-5000": setting("decided", "prompt", ["0" * 64] * 5000),
    "reply-markup": setting("decided", "reply", "</script><script>alert(1)</script>[bold]x[/bold]"),
    "sites-many": setting("opened", "task.sites", [f"s{n}" for n in range(3000)]),
    "sites-none": setting("opened", "task.sites", []),
    "site-odd": setting("opened", "task.sites", ["\x1b[31m+../"]),
    "start-urls-none": setting("opened", "task.start_urls", []),
    "intent-1-MB": setting("opened", "task.intent", "buy it " * 150_000),
    "template-1-MB": setting("opened", "task.intent_template", "{{x}}" * 200_000),
    "eval-odd": setting("opened", "task.eval.eval_types", ["exec", "\x1b"]),
    "eval-none": setting("opened", "task.eval.eval_types", []),
    "answers-odd": setting("opened", "task.eval.reference_answers", {"must_include": 5, "exact_match": {}, "fuzzy_match": [[]]}),
    "answers-null": setting("opened", "task.eval.reference_answers", None),
    "program-without-evidence": setting("opened", "task.eval", {"eval_types": ["program_html", "url_match"], "reference_answers": None, "reference_url": "http://[x", "url_note": "EXACT", "string_note": "", "program_html": [{"url": "func:__import__('os')", "locator": "func:os.system('id')", "exact_match": None, "must_include": None, "prep_actions": []}]}),
    "geolocation-1e308": setting("opened", "task.geolocation", {"latitude": 1e308, "longitude": -1e308}),
    "metadata-100-deep": setting("opened", "task.metadata", {"a": deep(100)}),
    "metadata-big-int": setting("opened", "task.metadata", {"a": 2**64 - 1, "b": 1e308}),
    "instances-odd": setting("opened", "instances", {"shop": "file:///etc/passwd", "": "\n"}),
    "why-odd": setting("opened", "why", "<b>"),
    "answer-1-MB": setting("closed", "answer", "It costs $44.50. " * 60_000),
    "evaluator-odd": setting("scored", "verdicts.0.evaluator", "\x1b[31m"),
    "dialect-odd": setting("scored", "dialect", "mine\n"),
    "replies-many": setting("scored", "verdicts.0.replies", ["correct"] * 20_000),
    "digest-odd": setting("opened", "task_digest", "\n"),
}  # fmt: skip
"""Journals that a run could have written, as far as anybody can tell."""


def put(place: Place, change: Change) -> None:
    journal = place.run / JOURNAL
    made = edited(journal.read_bytes(), change)
    if b"PUT-DEEP-HERE" in made:  # deeper than `json` itself can write
        line = made.split(b"\n")[0]
        body = line[: line.rindex(b',"crc"')].replace(
            b'"PUT-DEEP-HERE"', b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        )
        made = seal(body, 0)[0]
    journal.write_bytes(made)
    (place.run / INDEX_NAME).unlink(missing_ok=True)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", DAMAGED)
def test_a_journal_that_says_what_cannot_be_is_damaged(place: Place, harness: Harness, name: str) -> None:
    put(place, DAMAGED[name])
    path = place.run / JOURNAL
    before = path.read_bytes()
    with within():
        readers = [lambda: read_entry(path, path.lstat())]
        readers += [] if name.startswith("trial") else [lambda: read(path), lambda: attempts(path)]
        for reader in readers:  # whose journal it is, only the first of them looks at
            with pytest.raises(JournalError, match=JOURNAL):
                reader()
        found = scan(place.run)
    assert [entry.name for entry in found.entries] == ["1.traj.jsonl", "2.traj.jsonl"] and len(found.damaged) == 1
    for command, code in (("report", 0), ("show-task", 3)):
        said = harness(*commands(place)[command])
        assert said.code == code and "Traceback" not in said.text, (command, said.text)
    assert path.read_bytes() == before


@pytest.mark.hostile
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_journal_stops_what_needs_all_of_them(place: Place, harness: Harness, name: str) -> None:
    put(place, DAMAGED[name])
    for command, code in (("show", 3), ("score", 3), ("compare", 3), ("export-csv", 3), ("export-art", 3)):
        said = harness(*commands(place)[command])
        if command == "score" and name not in CLOSING:  # it decodes what scoring needs, and no more
            code = said.code
        assert said.code == code and "Traceback" not in said.text, (command, said.text)


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", ODD)
def test_a_journal_that_says_what_nobody_would_is_shown(place: Place, harness: Harness, name: str) -> None:
    put(place, ODD[name])
    shown_by(place, harness, QUICK)
    pages = viewed(place.run)
    assert f"/run/{place.run.name}/task/0" in pages and "<script>alert" not in str(pages)


@pytest.mark.hostile
@pytest.mark.parametrize("name", ODD)
def test_a_journal_that_says_what_nobody_would_is_taken_by_all_others(
    place: Place, harness: Harness, name: str
) -> None:
    put(place, ODD[name])
    shown_by(place, harness, [command for command in READERS if command not in QUICK])


def shown_by(place: Place, harness: Harness, names: Iterable[str]) -> None:
    assert scan(place.run).damaged == ()
    for command in names:
        said = harness(*commands(place)[command])
        wanted = {0, 3} if command in ("score", "export-art", "export-hf", "export-inspect", "export-otel") else {0}
        assert said.code in wanted and "Traceback" not in said.text, (command, said.text)
        assert "\x1b" not in said.out + said.err


def test_a_journal_that_began_right_is_read_to_its_end_or_not_at_all(place: Place) -> None:
    put(place, setting("closed", "at", 1e308))
    with pytest.raises(JournalCorrupt, match="is not a time"):
        read_final_state(place.run / JOURNAL)


# --- the index: a line is believed as little as a journal


def with_index(place: Place, change: Callable[[dict[str, Any]], None]) -> None:
    """An index whose line for task 0 fits the journal, and says something else."""
    scan_lines = []
    with RunFolder.open(place.run) as run:
        (place.run / INDEX_NAME).unlink(missing_ok=True)
        run.scan()
    for line in (place.run / INDEX_NAME).read_bytes().splitlines():
        tree = json.loads(line)
        del tree["crc"]
        if tree["name"] == JOURNAL:
            change(tree)
        scan_lines.append(seal(json.dumps(tree).encode()[:-1], 0)[0])
    (place.run / INDEX_NAME).write_bytes(b"".join(scan_lines))


def put_in(*way: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(tree: dict[str, Any]) -> None:
        inner = tree
        for key in way[:-1]:
            inner = inner[key]
        inner[way[-1]] = value

    return change


INDEXED = {
    "elapsed-1e308": put_in("outcome", "elapsed_ms", value=1e308),
    "elapsed-negative": put_in("outcome", "elapsed_ms", value=-1.0),
    "tokens": put_in("outcome", "usage", "prompt_tokens", value=2**63 - 1),
    "cost": put_in("outcome", "usage", "cost_usd", value=1e308),
    "judge": put_in("outcome", "judge_usage", "requests", value=-7),
    "score": put_in("outcome", "scores", "corrected", "value", value=1e308),
    "other-task": put_in("outcome", "task_id", value="../1"),
    "other-trial": put_in("outcome", "trial", value=-1),
    "other-type": put_in("outcome", "steps", value="many"),
    "more": put_in("outcome", "more", value=1),
    "other-name": put_in("name", value="../../beside/own.txt"),
    "other-size": put_in("size", value=-1),
    "deep": put_in("outcome", "pages", value=deep(900)),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", INDEXED)
def test_an_index_that_says_what_no_journal_does_is_passed_over(place: Place, harness: Harness, name: str) -> None:
    honest = scan(place.run)
    with_index(place, INDEXED[name])
    assert JOURNAL not in {entry.name for entry in read_index(place.run) if entry.holds((place.run / JOURNAL).stat())}
    assert scan(place.run).outcomes == honest.outcomes
    for command in ("report", "show", "compare"):
        assert harness(*commands(place)[command]).code == 0


@pytest.fixture(scope="module")
def config() -> Config:
    return configured(["task=smoke"])


# --- small files beside the journals

GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "null": b"null",
    "number": b"1e308",
    "nan": b"NaN",
    "infinite": b'{"tasks": 1e999, "trials": 1e999, "asked": [["0", 1e999, 1]], "retry": "infra"}',
    "list": b"[1,2,3]",
    "text": b'"run"',
    "torn": b'{"tasks": ["0", "1',
    "not-utf8": b'{"model": "\xff\xfe"}',
    "nul": b"\0" * 100_000,
    "deep": b"[" * 1000 + b"]" * 1000,
    "deep-in-fields": b'{"packages": {"a": ' + b"[" * 900 + b"]" * 900 + b'}, "earlier": [{"python": ' + b"[" * 900 + b"]" * 900 + b"}]}",
    "deeper": b'{"a":' * 200_000,
    "surrogate": b'{"model": "\\ud800", "agent": "\\udfff"}',
    "big-ints": b'{"trials": 123456789012345678901234567890, "tasks": [' + b"9" * 400 + b"]}",
    "other-types": b'{"tasks": {"0": 1}, "trials": "3", "model": [], "agent": {}, "scoring": ["corrected"], "earlier": {}, "packages": [1], "fonts": 3, "browser": "x", "revision": []}',
    "escapes": b'{"model": "\\u001b[2J\\u001b]0;x\\u0007", "agent": "[bold]x", "tasks": ["\\u001b[31m"], "scoring": "\\u001b"}',
    "long-line": b'{"model": "' + b"x" * 5_000_000 + b'"}',
    "many-rows": b'{"tasks": [%s], "trials": 9999}' % b",".join(b'"%d"' % number for number in range(300_000)),
    "same-tasks": b'{"tasks": ["0"' + b',"0"' * 299_999 + b'], "trials": 1}',
    "many-packages": b'{"packages": {%s}, "python": "3"}' % b",".join(b'"p%d":[[["bottom"]]]' % number for number in range(20_000)),
    "asked-odd": b'{"retry": "infra", "asked": [["0", "0", "1"], [[], {}, null]]}',
    "asked-long": b'{"retry": "infra", "asked": [["0", 0, 1, 2]]}',
    "from-to-odd": b'{"from": [], "to": {}, "at": 1, "changed": {}}',
    "instance-odd": b'{"instance": "shop@x", "left": {"by": [["0", 1e308]], "is_as_left": "yes"}}\n',
}  # fmt: skip
"""What stands in run.json, summary.json and the others."""


READ_BY_ALL = ("report", "show", "compare", "score", "clean-dry-run")


@pytest.mark.parametrize("garbage", ["deep-in-fields", "other-types", "surrogate"])
def test_what_a_run_says_of_itself_may_be_anything(place: Place, harness: Harness, garbage: str) -> None:
    (place.run / "run.json").write_bytes(GARBAGE[garbage])
    said_of_itself(place, harness, READ_BY_ALL)


@pytest.mark.hostile
@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("name", ["run.json", "summary.json"])
def test_and_whatever_is_asked_of_it(place: Place, harness: Harness, name: str, garbage: str) -> None:
    (place.run / name).write_bytes(GARBAGE[garbage])
    # It names task 0 alone, and the one without a score is not counted.
    is_scored = (name, garbage) == ("run.json", "same-tasks")
    said_of_itself(place, harness, READ_BY_ALL, scored=0 if is_scored else 3)


def said_of_itself(place: Place, harness: Harness, names: tuple[str, ...], *, scored: int = 3) -> None:
    for command in names:
        said = harness(*commands(place)[command])
        assert said.code == (scored if command == "score" else 0), (command, said.text[:500])
        assert "\x1b" not in said.out and (len(said.out) < 200_000 or command == "show")
    assert len(viewed(place.run)[f"/run/{place.run.name}"]) < 5_000_000
    with within():
        assert isinstance(_earlier(place.run / "run.json", {}), list)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_request_to_try_again_that_says_nothing_is_damaged(place: Place, garbage: str) -> None:
    policy = PendingPolicy(scoring=Dialect.corrected, run=RunSettings(retry="infra"))
    (place.run / "retry.json").write_bytes(GARBAGE[garbage])
    with within(), pytest.raises(JournalError, match=r"retry\.json is damaged"):
        standing(policy, place.run, (), {}, trials=1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("garbage", [name for name in GARBAGE if name != "nothing"])
def test_a_list_of_drifts_that_says_nothing_is_damaged(place: Place, config: Config, garbage: str) -> None:
    (place.run / DRIFT_NAME).write_bytes(GARBAGE[garbage])
    with within(), RunFolder.open(place.run) as run, pytest.raises(JournalError, match=r"drift\.jsonl:1"):
        check_config_drift(config.measured(), run, tasks=(), outcomes={}, accepted=print)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_states_of_sites_that_say_nothing_are_unknown(place: Place, garbage: str) -> None:
    (place.run / "sites.jsonl").write_bytes(GARBAGE[garbage] + b"\n")
    with within():
        assert SiteLog(place.run).read() == {}


@pytest.mark.parametrize("garbage", [name for name in GARBAGE if name not in ("nothing", "instance-odd")])
def test_a_history_that_says_nothing_decides_nothing(place: Place, garbage: str) -> None:
    history = History(place.run / "history.jsonl")
    history.path.write_bytes(GARBAGE[garbage] + b"\n")
    with within(), pytest.raises(TrackingError):
        history.best_step("val/reward")


@pytest.mark.parametrize(
    "value", ["1e308", "-1e308", "123456789012345678901234567890", "1", "true", "null", '"1"', "[]"]
)
def test_a_history_of_odd_numbers_has_a_best_step_or_none(place: Place, value: str) -> None:
    history = History(place.run / "history.jsonl")
    history.path.write_text(f'{{"step": 1, "val/reward": {value}}}\n' * 3 + '{"step": 2, "val/reward": 0.5}\n')
    with within():
        assert history.best_step("val/reward") in (1, 2)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_what_a_lock_says_is_only_said(place: Place, harness: Harness, garbage: str) -> None:
    (place.run / ".lock").write_bytes(GARBAGE[garbage])
    with RunFolder.open(place.run, held=False):
        assert harness(*commands(place)["clean-dry-run"]).code == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_conclusion_that_is_none_is_drawn_anew(place: Place, config: Config, garbage: str) -> None:
    (place.run / NAME).write_bytes(GARBAGE[garbage])
    with within():
        assert load_summary(place.run, settings=config.tree(), begun=0.0) is None


# --- generated

POOL: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64, 10**400, 0.5, -0.0, 1e308, -1e308, 5e-324),
    *("", "x", "0", "../../etc/passwd", "\x1b[2J", "\0", "\n", "a" * 70_000, "\u202e", "${oc.env:HOME}", "http://x/", "file:///etc/passwd"),
    *([], {}, [[]], {"kind": "opened"}, {"kind": "stop", "answer": "x"}, [None] * 50, {"": ""}, deep(150)),
)  # fmt: skip


def mutated(journal: bytes, seed: int) -> bytes:
    """One to three values anywhere in the records replaced, moved or dropped, records left out, doubled or
    exchanged.
    """
    draw = random.Random(seed)
    changes = {draw.randrange(len(journal.splitlines())): draw.randint(1, 3) for _ in range(draw.randint(1, 2))}

    def change(number: int, record: dict[str, Any]) -> dict[str, Any] | None:
        for _ in range(changes.get(number, 0)):
            if draw.random() < 0.06:
                return None
            holder: Any = record
            while True:
                keys: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
                if not keys:
                    break
                key = draw.choice(keys)
                inner = holder[key]
                if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
                    holder = inner
                    continue
                holder[key] = draw.choice(POOL)
                break
        return record

    made = edited(journal, change)
    if draw.random() < 0.1:
        return made[: draw.randrange(len(made))]
    return made


def readable_by_all(place: Place, harness: Harness) -> set[int]:
    """Every command on the run; gives their exit codes."""
    codes = set()
    for name, command in commands(place).items():
        if name in ("plan", "replay", "clean", "export-parquet"):
            continue
        said = harness(*command)
        assert said.code in (0, 2, 3) and "Traceback" not in said.text, (name, said.text[:500])
        assert len(said.err.splitlines()) <= 1
        codes.add(said.code)
    viewed(place.run)
    return codes


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_generated_journals_are_taken_by_every_command(place: Place, harness: Harness, seed: int) -> None:
    journal = place.run / JOURNAL
    journal.write_bytes(mutated(journal.read_bytes(), seed))
    assert readable_by_all(place, harness) <= {0, 2, 3}


@pytest.mark.hostile
@pytest.mark.parametrize("seed", range(4, 404))
def test_many_generated_journals_are_taken_by_every_command(place: Place, harness: Harness, seed: int) -> None:
    for name in (JOURNAL, "1.traj.jsonl", "2.traj.jsonl"):
        journal = place.run / name
        if (seed + len(name)) % 2 or name == JOURNAL:
            journal.write_bytes(mutated(journal.read_bytes(), seed))
    assert readable_by_all(place, harness) <= {0, 2, 3}


@pytest.mark.hostile
@pytest.mark.parametrize("seed", range(40))
def test_generated_journals_are_planned_and_exported(place: Place, harness: Harness, seed: int) -> None:
    """The slower commands."""
    journal = place.run / JOURNAL
    journal.write_bytes(mutated(journal.read_bytes(), seed))
    for name in ("plan", "export-parquet", "clean"):
        said = harness(*commands(place)[name])
        assert said.code in (0, 2, 3) and "Traceback" not in said.text, (name, said.text[:500])
