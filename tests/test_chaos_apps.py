"""The applications' own books: what they say of a doubled effect, and that a part of a task is none."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from chaos_apps import OF_SITES, Books, Sites, books, doubled, judged, look, looks, up
from chaos_checks import Row

SEED = {"store": Books({"address 2 Rope Walk": 1}), "tracker": Books({"issue Dark theme": 1})}
ORDER = Books({"address 2 Rope Walk": 1, "order of 72.00": 1, "ordered Storm Kettle": 1})
MOVED = Books({"address 16 Rope Walk": 1})


def test_a_part_of_what_a_task_does_is_no_double_and_twice_the_same_is() -> None:
    calm = [("store", ORDER), ("store", MOVED), ("tracker", SEED["tracker"])]
    assert not list(
        doubled(SEED, calm, [*calm, ("store", SEED["store"]), ("store", ORDER - Books({"order of 72.00": 1}))])
    )
    twice = ORDER + Books({"order of 72.00": 1})
    assert list(doubled(SEED, calm, [("store", twice)])) == ["store: 'order of 72.00' is there 1 times too often"]
    assert list(doubled(SEED, calm, [("tracker", Books({"issue Dark theme": 2}))]))
    assert list(doubled(SEED, calm, [("store", Books({"order of 9.00": 1}))])), "no task does this"


def test_the_table_has_the_books_in_place_of_a_log_of_writes() -> None:
    common = [Row(name="kills", figure="4"), *(Row(name=name, figure="0", faults=("x",)) for name in OF_SITES)]
    rows = judged(common, SEED, [("store", ORDER)], [("store", ORDER), ("store", SEED["store"])])
    assert [(row.figure, row.faults) for row in rows] == [("4", ()), ("2 in 2 looks", ())]
    (_, nothing) = judged(common, SEED, [("store", SEED["store"])], [])
    assert "nothing to compare with" in nothing.faults[0]


def test_the_books_of_each_application_count_what_was_done_twice(tmp_path: Path) -> None:
    make(
        tmp_path / "db" / "db",
        "CREATE TABLE _issue (_title)",
        "CREATE TABLE _keyword (_name)",
        "CREATE TABLE _user (_username)",
        "CREATE TABLE _msg (_author)",
        *(f"CREATE TABLE {kind}__journal (nodeid, action, params)" for kind in ("issue", "user", "keyword")),
        "INSERT INTO _issue VALUES ('Dark theme')",
        "INSERT INTO _msg VALUES ('3'), ('3')",
        "INSERT INTO issue__journal VALUES (7, 'set', 'title')",
    )
    found = books("tracker", tmp_path)
    assert found == {"issue Dark theme": 1, "note of 3": 2, "set of issue7: title": 1}
    meta = tmp_path / "items" / "default" / "meta"
    meta.mkdir(parents=True)
    for number in range(2):
        (meta / str(number)).write_text(json.dumps({"name": ["Ice_plan"], "action": "SAVE"}))
    assert books("wiki", tmp_path) == {"SAVE of ['Ice_plan']": 2}


def test_a_snapshot_is_read_without_a_trace(tmp_path: Path) -> None:
    words = ("PRAGMA journal_mode = WAL", "CREATE TABLE _issue (_title)", "CREATE TABLE _keyword (_name)")
    kinds = (f"CREATE TABLE {kind}__journal (nodeid, action, params)" for kind in ("issue", "user", "keyword"))
    make(tmp_path / "db" / "db", *words, "CREATE TABLE _user (_username)", "CREATE TABLE _msg (_author)", *kinds)
    before = sorted(tmp_path.rglob("*"))
    assert books("tracker", tmp_path, served=False) == {}
    assert sorted(tmp_path.rglob("*")) == before


def test_a_set_that_comes_up_in_part_is_taken_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def run(_: Sites, verb: str, *__: str) -> None:
        asked.append(verb)
        if verb == "up":
            raise SystemExit("the wiki is up, the store is not")

    monkeypatch.setattr(Sites, "run", run)
    with pytest.raises(SystemExit), up(tmp_path):
        raise AssertionError("it did not come up")
    assert asked == ["up", "down"]


def make(path: Path, *statements: str) -> None:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def served(state: Path, urls: Iterable[str]) -> None:
    first, *others = urls
    site = {"url": first, "instances": others}
    sites = {name: site if name == "wiki" else {"url": name, "instances": []} for name in ("tracker", "wiki", "store")}
    state.mkdir()
    (state / "sites.json").write_text(json.dumps(sites))


def test_a_look_is_of_the_instance_at_the_address_and_a_reset_that_was_killed_amid_it_has_none(tmp_path: Path) -> None:
    state, log = tmp_path / "apps", tmp_path / "log"
    served(state, ("http://a", "http://b"))
    meta = state / "services" / "wiki@1" / "data" / "items" / "default" / "meta"
    meta.mkdir(parents=True)
    (meta / "1").write_text(json.dumps({"name": ["Fees"], "action": "TRASH"}))
    look(state, log, "http://b")
    look(state, log, "http://a")
    assert looks(log) == [("wiki", Books({"TRASH of ['Fees']": 1}))]
