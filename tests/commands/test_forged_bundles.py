"""Bundles of a real run, forged by somebody who writes right checksums, hashes and manifests: each is found.

The run has four tasks, of which two fail. A forged bundle never shows more of them as passed, unless it says beside it
what is not verified.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from harness.codec import build, dumps, loads, seal
from harness.episode.job import task_digest
from harness.main import main
from harness.plugins.bundles.archive import opened, write_archive
from harness.records import Task
from tests.e2e.conftest import PROJECT, command, environment
from tests.forked import Forks
from tests.made_once import made_once

pytestmark = [pytest.mark.browser, pytest.mark.integration]
MANIFEST = "manifest.json"
PASSED, FAILED, CART, LISTED = "0.traj.jsonl", "1.traj.jsonl", "2.traj.jsonl", "3.traj.jsonl"
RIGHT = "The compartment door that would not lock"
Tree = dict[str, Any]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory, forked: Forks) -> Path:
    """The bundle of a run whose tasks 0 and 2 pass and whose tasks 1 and 3 fail; it was scored again, too."""

    def make(root: Path) -> None:
        plans = {one["task_id"]: one for one in json.loads((PROJECT / "tasks" / "demo.plans.json").read_bytes())}
        plans[1]["steps"] = [{"do": "stop", "answer": "no idea"}]
        plans[3]["steps"] = [{"do": "stop", "answer": ""}]
        (root / "plans.json").write_text(json.dumps([plans[number] for number in range(4)]))
        settings = ("task=demo", "task.ids=[0,1,2,3]", f"task.plans={root / 'plans.json'}", "run.report=false")
        done = forked.run("run.py", *command(*settings, root=root)[2:], cwd=root, env=environment())
        assert done.returncode == 0, done.stderr
        assert main(["score", str(root / "run")]) == 0
        assert main(["bundle", str(root / "run")]) == 0

    return made_once(tmp_path_factory, "honest", make) / "run.cairn"


class Forger:
    """The members of a bundle, to change; what is written is consistent but for what was changed."""

    def __init__(self, bundle: Path) -> None:
        with opened(bundle) as found:
            self.files: dict[str, bytes] = dict(found)
        self.manifest: Tree = loads(self.files.pop(MANIFEST))
        self.first: bytes | None = None
        """The manifest as it is written; None = the one that fits."""
        self.claims = True
        """The scores of the manifest are those of the journals."""

    def tree(self, name: str) -> Any:
        return loads(self.files[name])

    def put(self, name: str, tree: Any) -> None:
        self.files[name] = dumps(tree)

    def lines(self, name: str) -> list[Tree]:
        found = [loads(line) for line in self.files[name].split(b"\n")[:-1]]
        for tree in found:
            del tree["crc"]
        return found

    def seal(
        self,
        name: str,
        lines: list[Tree],
        spell: Callable[[Tree], bytes] = dumps,
        kinds: tuple[str, ...] = ("closed", "scored"),
    ) -> None:
        """Write a journal with right checksums; `spell` = how the lines of these kinds are written."""
        sealed, crc = [], 0
        for tree in lines:
            line, crc = seal((spell if tree["kind"] in kinds else dumps)(tree)[:-1], crc)
            sealed.append(line)
        self.files[name] = b"".join(sealed)

    def write(self, path: Path) -> Path:
        if self.claims:
            self.manifest["scores"] = list(self._claims())
        described = {name: {"size": len(one), "sha256": sha256(one).hexdigest()} for name, one in self.files.items()}
        first = self.first or dumps({**self.manifest, "files": described})
        with path.open("wb") as file:
            write_archive(file, {MANIFEST: first, **self.files}.items())
        return path

    def _claims(self) -> Iterator[Tree]:
        for name in sorted(name for name in self.files if name.endswith(".traj.jsonl")):
            try:
                lines = self.lines(name)
            except (ValueError, KeyError):
                continue
            scored = (one for one in lines if one["kind"] == "scored" and lines[0]["kind"] == "opened")
            newest = {one["dialect"]: one for one in scored if _is_score(one)}
            for dialect, one in sorted(newest.items()):
                key = {"task_id": lines[0]["task"]["task_id"], "trial": lines[0]["trial"], "dialect": dialect}
                yield key | {"status": one["status"], "value": one["value"]}


def _is_score(tree: Tree) -> bool:
    """Whether a manifest can claim it."""
    known = tree["status"] in ("OK", "ERROR") and tree["dialect"] in ("corrected", "webarena")
    return known and not isinstance(tree["value"], str)


Change = Callable[[Forger], None]


def passing(lines: list[Tree]) -> list[Tree]:
    """Each score says that the task passed."""
    for tree in lines:
        if tree["kind"] == "scored":
            tree["value"] = 1.0
            for verdict in tree["verdicts"]:
                verdict |= {"value": 1.0, "why": "the answer matches the task"}
    return lines


# --- journals: a failed task is said to have passed, or something else about it


def spelled(spell: Callable[[Tree], bytes]) -> Change:
    """The forged lines are written in another way."""

    def change(forger: Forger) -> None:
        forger.seal(FAILED, passing(forger.lines(FAILED)), spell)

    return change


def _twice(tree: Tree, key: str, first: Any) -> bytes:
    return b"{%s:%s,%s" % (dumps(key), dumps(first), dumps(tree)[1:])


def of_line(kind: str, /, **values: Any) -> Change:
    """A value of the newest line of this kind in the failed journal, whose scores say that it passed."""

    def change(forger: Forger) -> None:
        lines = passing(forger.lines(FAILED))
        [tree for tree in lines if tree["kind"] == kind][-1].update(values)
        forger.seal(FAILED, lines)

    return change


def of_scores(**values: Any) -> Change:
    def change(forger: Forger) -> None:
        lines = forger.lines(FAILED)
        for tree in lines:
            tree.update(values if tree["kind"] == "scored" else {})
        forger.seal(FAILED, lines)

    return change


def of_verdicts(**values: Any) -> Change:
    def change(forger: Forger) -> None:
        lines = forger.lines(FAILED)
        for tree in lines:
            verdicts: list[Tree] = tree.get("verdicts", [])
            for verdict in verdicts:
                verdict.update(values)
        forger.seal(FAILED, lines)

    return change


def of_task(*, rehash: bool, score: bool = True, **values: Any) -> Change:
    """The task of the failed journal; `rehash` = with the digest of the changed one."""

    def change(forger: Forger) -> None:
        lines = passing(forger.lines(FAILED)) if score else forger.lines(FAILED)
        task = lines[0]["task"]
        for key, value in values.items():
            (task["eval"] if key in task["eval"] else task)[key] = value
        if rehash:
            lines[0]["task_digest"] = task_digest(build(Task, task))
        forger.seal(FAILED, lines)

    return change


def appended(*trees: Tree) -> Change:
    def change(forger: Forger) -> None:
        forger.seal(FAILED, [*forger.lines(FAILED), *trees])

    return change


def right_one_last(forger: Forger) -> None:
    """A reader that takes the first of two values reads a score of 1."""
    forger.seal(FAILED, forger.lines(FAILED), lambda tree: _twice(tree, "value", 1.0))


def unseen(forger: Forger) -> None:
    """Blanks in every line that says how it began, ended and was scored; nothing else speaks of the task's score."""

    def spell(tree: Tree) -> bytes:
        return json.dumps(tree, ensure_ascii=False).encode()

    forger.seal(FAILED, passing(forger.lines(FAILED)), spell, kinds=("opened", "closed", "scored"))
    forger.manifest["scores"] = [one for one in forger.manifest["scores"] if one["task_id"] != "1"]
    forger.claims = False
    for name in ("summary.json", "rescored-corrected.json", "rescored-webarena.json"):
        del forger.files[name]


def swapped(forger: Forger) -> None:
    forger.files[PASSED], forger.files[FAILED] = forger.files[FAILED], forger.files[PASSED]


def copied(forger: Forger) -> None:
    forger.files[FAILED] = forger.files[PASSED]


def moved(forger: Forger) -> None:
    forger.files["1.trial-1.traj.jsonl"] = forger.files.pop(FAILED)


def without_kind(kind: str) -> Change:
    def change(forger: Forger) -> None:
        forger.seal(FAILED, [tree for tree in forger.lines(FAILED) if tree["kind"] != kind])

    return change


def after_its_end(forger: Forger) -> None:
    lines = forger.lines(FAILED)
    forger.seal(FAILED, [*lines, next(tree for tree in lines if tree["kind"] == "acted")])


def bytes_of(name: str, change: Callable[[bytes], bytes]) -> Change:
    def forge(forger: Forger) -> None:
        forger.files[name] = change(forger.files[name])

    return forge


def fewer_tokens(forger: Forger) -> None:
    lines = forger.lines(PASSED)
    for tree in lines:
        if tree["kind"] == "decided":
            tree["usage"]["prompt_tokens"] = 1
    forger.seal(PASSED, lines)


def other_evidence(forger: Forger) -> None:
    """The journal of a task that passed names evidence that does not pass."""
    content = b'"9"'
    digest = sha256(content).hexdigest()
    lines = forger.lines(CART)
    selected = next(tree for tree in lines if tree["kind"] == "closed")["evidence"]["selected"]
    selected[0]["content"] = digest
    forger.files[f"artifacts/{digest[:2]}/{digest}"] = content
    forger.seal(CART, lines)


def _scored(value: float | None, **values: Any) -> Tree:
    verdict: Tree = {"evaluator": "string_match", "status": "OK", "value": value, "why": "", "replies": [], "usage": {}}
    verdict["usage"] = {"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0, "priced": True, "requests": 0}
    line = {"kind": "scored", "schema": 5, "dialect": "corrected", "evaluator_version": "3-corrected", "status": "OK"}
    return {**line, "value": value, "verdicts": [verdict], "at": 1.8e9, **values}


JOURNALS: dict[str, Change] = {
    "blanks behind colons": spelled(lambda tree: json.dumps(tree, ensure_ascii=False).encode()),
    "blanks behind colons, and no claim": unseen,
    "blanks before the first key": spelled(lambda tree: b"{ " + dumps(tree)[1:]),
    "blanks before the object": spelled(lambda tree: b"  " + dumps(tree)),
    "a tab in the lines": spelled(lambda tree: dumps(tree).replace(b'"kind":', b'"kind":\t', 1)),
    "keys in another order": spelled(lambda tree: dumps(dict(reversed(tree.items())))),
    "a key twice, another kind first": spelled(lambda tree: _twice(tree, "kind", "acted")),
    "a key twice, another value first": spelled(lambda tree: _twice(tree, "value", 0.0)),
    "a key twice, of which we read the right one": right_one_last,
    "a key that is escaped": spelled(lambda tree: dumps(tree).replace(b'"kind"', rb'"\u006bind"', 1)),
    "a text that is escaped": spelled(lambda tree: dumps(tree).replace(b'"scored"', rb'"\u0073cored"', 1)),
    "a number in another spelling": spelled(lambda tree: dumps(tree).replace(b'"value":1.0', b'"value":1e0')),
    "scores that say 1": spelled(dumps),
    "a score after the last one": appended(_scored(1.0)),
    "a score of an older version": appended(_scored(1.0, evaluator_version="0-corrected")),
    "a score without a verdict": appended(_scored(1.0, verdicts=[])),
    "a score of a scoring that there is not": appended(_scored(1.0, dialect="x")),
    "a score that is higher than its verdicts": of_scores(value=1.0),
    "verdicts that are higher than their score": of_verdicts(value=1.0),
    "a half score": of_scores(value=0.5),
    "a failure that is said to be unscored": appended(_scored(None, status="ERROR", verdicts=[])),
    "another reason": of_verdicts(why="the site was down"),
    "another evaluator": of_verdicts(evaluator="url_match"),
    "an answer that the agent did not give": of_line("closed", answer=RIGHT),
    "an answer of an episode that the agent did not end": of_line("closed", reason="DONE", answer=RIGHT),
    "references that fit the answer": of_task(rehash=False, reference_answers={"must_include": ["no idea"]}),
    "an evaluator that there is not": of_task(rehash=True, eval_types=["trusting"]),
    "another intent": of_task(rehash=False, score=False, intent="Say that you have no idea."),
    "another task id": of_task(rehash=True, task_id="7"),
    "swapped journals": swapped,
    "a passed journal under the name of a failed one": copied,
    "a journal of another trial": moved,
    "no line that closes it": without_kind("closed"),
    "no line that opens it": without_kind("opened"),
    "no decision": without_kind("decided"),
    "no score": without_kind("scored"),
    "a step after its end": after_its_end,
    "a kind that there is not": of_line("closed", kind="closed2"),
    "a newer schema": of_line("closed", schema=99),
    "a field that there is not": of_line("scored", passed=True),
    "an unknown status": of_line("scored", status="PASSED"),
    "a value above 1": of_line("scored", value=7.0),
    "a value that is a text": of_line("scored", value="1.0"),
    "fewer tokens": fewer_tokens,
    "evidence that does not pass": other_evidence,
    "a line without its checksum": bytes_of(FAILED, lambda data: data.replace(b'"value":0.0', b'"value":1.0')),
    "a line less": bytes_of(FAILED, lambda data: b"".join(data.splitlines(keepends=True)[1:])),
    "no line": bytes_of(FAILED, lambda data: b""),
    "UTF-16": bytes_of(FAILED, lambda data: data.decode().encode("utf-16")),
    "a byte order mark": bytes_of(FAILED, lambda data: b"\xef\xbb\xbf" + data),
    "ends of lines of another system": bytes_of(FAILED, lambda data: data.replace(b"\n", b"\r\n")),
    "bytes that are not an UTF-8": bytes_of(FAILED, lambda data: data.replace(b"no idea", b"no \xff\xfe a")),
}


FOUND_IN = {
    "a journal of another trial": "1.trial-1.traj.jsonl",
    "no score": "summary.json",
    "no line": "summary.json",
    "fewer tokens": "summary.json",
    "evidence that does not pass": CART,
}
"""Where it is not in the journal of the failed task."""


# --- the manifest


def with_manifest(change: Callable[[Tree], None], *, forged_scores: bool = False) -> Change:
    def forge(forger: Forger) -> None:
        if forged_scores:
            forger.seal(FAILED, passing(forger.lines(FAILED)))
        change(forger.manifest)
        forger.claims = False

    return forge


def first_bytes(change: Callable[[bytes], bytes]) -> Change:
    """The manifest in other bytes."""

    def forge(forger: Forger) -> None:
        forger.first = change(dumps(forger.manifest))

    return forge


def nobody_claims(manifest: Tree) -> None:
    manifest["scores"] = []


def no_claims_and_wrong_summary(forger: Forger) -> None:
    all_passed(forger)
    with_manifest(nobody_claims)(forger)


def claim(**values: Any) -> Change:
    return with_manifest(lambda manifest: manifest["scores"][2].update(values))


MANIFESTS: dict[str, Change] = {
    "no claims, scores that say 1": with_manifest(nobody_claims, forged_scores=True),
    "no claims, a wrong summary": no_claims_and_wrong_summary,
    "no claims": with_manifest(nobody_claims),
    "a claim of 1": claim(value=1.0),
    "a claim of another task": claim(task_id="9"),
    "a claim of another trial": claim(trial=3),
    "a claim of a trial below 0": claim(trial=-1),
    "a claim less": with_manifest(lambda manifest: manifest["scores"].pop()),
    "a claim twice": with_manifest(lambda manifest: manifest["scores"].append(manifest["scores"][0])),
    "a key twice": first_bytes(lambda data: b'{"scores":[],' + data[1:]),
}

UNKNOWN: dict[str, Change] = {
    "an unknown dialect": claim(dialect="x"),
    "no dialect": claim(dialect=""),
    "a dialect that is a number": claim(dialect=5),
    "an unknown status": claim(status="x"),
    "a value that is true": claim(value=True),
    "a trial beyond 64 bits": claim(trial=10**30),
    "a key that there is not": with_manifest(lambda manifest: manifest.update(verified=True)),
    "no run": with_manifest(lambda manifest: manifest.pop("run")),
    "another format": with_manifest(lambda manifest: manifest.update(format=2)),
    "a format that is a text": with_manifest(lambda manifest: manifest.update(format="1")),
    "a list": first_bytes(lambda data: b"[]"),
    "no JSON": first_bytes(lambda data: data[:-1]),
    "a byte order mark": first_bytes(lambda data: b"\xef\xbb\xbf" + data),
    "UTF-16": first_bytes(lambda data: data.decode().encode("utf-16")),
    "nothing but blanks": first_bytes(lambda data: b" "),
    "a number beyond all": first_bytes(lambda data: b'{"format":1e999}'),
    "a list in a list, and so on": first_bytes(lambda data: b"[" * 5000 + b"]" * 5000),
}


# --- run.json, summary.json, rescored-*.json, artifacts, and files that are none of a run's


def of_json(name: str, change: Callable[[Tree], object]) -> Change:
    def forge(forger: Forger) -> None:
        tree = forger.tree(name)
        change(tree)
        forger.put(name, tree)

    return forge


def summary(**values: Any) -> Change:
    return of_json("summary.json", lambda tree: tree.update(values))


def result(**values: Any) -> Change:
    """Of the failed task."""
    return of_json("summary.json", lambda tree: tree["results"][1].update(values))


def run(**values: Any) -> Change:
    return of_json("run.json", lambda tree: tree.update(values))


def all_passed(forger: Forger) -> None:
    tree = forger.tree("summary.json")
    for one in tree["results"]:
        one.update(status="passed", score=1.0, why="")
    for tally in (tree, *tree["by_site"].values()):
        tally.update(passed=tally["episodes"], failed=0, success_rate=1.0, success_rate_scored=1.0)
    forger.put("summary.json", tree)


def other_scoring(forger: Forger) -> None:
    of_json("summary.json", lambda tree: tree.update(scoring="webarena", success_rate=1.0, passed=999))(forger)


def shorter(forger: Forger) -> None:
    """A summary of the tasks that passed: every figure fits these."""
    tree = forger.tree("summary.json")
    tree["results"] = [one for one in tree["results"] if one["status"] == "passed"]
    tree["by_site"] = {site: one for site, one in tree["by_site"].items() if one["passed"] and not one["failed"]}
    kept = tree["by_site"].values()
    sums = {key: sum(one[key] for one in kept) for key in ("tasks", "episodes", "passed", "failed", "tokens")}
    forger.put("summary.json", {**tree, **sums, "success_rate": 1.0, "success_rate_scored": 1.0})


def hidden(forger: Forger) -> None:
    """The same, and `run.json` does not name the others; their journals are there."""
    shorter(forger)
    run(tasks=["0", "2"])(forger)


def left_out(forger: Forger) -> None:
    """No journal of the failed tasks; everything else is as it was."""
    del forger.files[FAILED], forger.files[LISTED]


def rescored(change: Callable[[list[Tree]], object]) -> Change:
    return of_json("rescored-corrected.json", lambda tree: change(tree["results"]))


def better(results: list[Tree]) -> None:
    passing([results[1]["scored"]])


def _unlike(name: str) -> Change:
    return bytes_of(name, lambda data: b'{"success_rate":1.0,"tasks":[],"dialect":"corrected",' + data.lstrip()[1:])


def nested(name: str, key: str) -> Change:
    deep = b"[" * 900 + b"]" * 900
    return bytes_of(name, lambda data: b'{"%s":%s}' % (key.encode(), deep))


def of_artifact(change: Callable[[Forger, str], object]) -> Change:
    """The evidence of a task that passed."""

    def forge(forger: Forger) -> None:
        closed = next(tree for tree in forger.lines(CART) if tree["kind"] == "closed")
        digest = closed["evidence"]["selected"][0]["content"]
        change(forger, f"artifacts/{digest[:2]}/{digest}")

    return forge


def extra(name: str) -> Change:
    return lambda forger: forger.files.update({name: b"{}\n"})


FILES: dict[str, tuple[str, Change]] = {
    "tasks that are not named": ("run.json", run(tasks=["0", "2"])),
    "hidden tasks": ("run.json", hidden),
    "tasks twice": ("run.json", run(tasks=["0", "1", "2", "3", "3"])),
    "tasks that are not a list": ("run.json", run(tasks={"0": 1})),
    "more tasks than there were": ("summary.json", run(tasks=[str(number) for number in range(9)])),
    "more trials": ("summary.json", run(trials=2)),
    "trials that are not a number": ("run.json", run(trials="many")),
    "a scoring that there is not": ("run.json", run(scoring="generous")),
    "another model": ("run.json", run(model="gpt-9")),
    "another agent": ("run.json", run(agent="mine")),
    "run.json with a key twice": ("run.json", _unlike("run.json")),
    "run.json that is a list": ("run.json", bytes_of("run.json", lambda data: b"[]")),
    "run.json that is not JSON": ("run.json", bytes_of("run.json", lambda data: data[:-2])),
    "run.json nested deeply": ("run.json", nested("run.json", "tasks")),
    "a summary nested deeply": ("summary.json", nested("summary.json", "cache")),
    "run.json in UTF-16": ("run.json", bytes_of("run.json", lambda data: data.decode().encode("utf-16"))),
    "journals left out": ("summary.json", left_out),
    "a summary in which all passed": ("summary.json", all_passed),
    "a summary in another scoring": ("summary.json", other_scoring),
    "a summary in a scoring that there is not": ("summary.json", summary(scoring="x")),
    "a summary that leaves tasks out": ("summary.json", shorter),
    "a summary with a task more": (
        "summary.json",
        of_json("summary.json", lambda tree: tree["results"].append({**tree["results"][0], "task_id": "9"})),
    ),
    "a summary with a task twice": (
        "summary.json",
        of_json("summary.json", lambda tree: tree["results"].append(tree["results"][0])),
    ),
    "a summary with a key twice": ("summary.json", _unlike("summary.json")),
    "a summary that is a list": ("summary.json", bytes_of("summary.json", lambda data: b"[]")),
    "a summary that is not JSON": ("summary.json", bytes_of("summary.json", lambda data: b"passed")),
    "a summary without results": ("summary.json", of_json("summary.json", lambda tree: tree.pop("results"))),
    "results that are not a list": ("summary.json", summary(results=5)),
    "results that are numbers": ("summary.json", summary(results=[1, 2])),
    "results of tasks that are lists": ("summary.json", summary(results=[{"task_id": [], "trial": {}}])),
    **{
        f"a summary with another {key}": ("summary.json", summary(**{key: value}))
        for key, value in {
            "success_rate": 1.0,
            "success_rate_scored": 1.0,
            "passed": 4,
            "failed": 0,
            "tasks": 400,
            "episodes": 2,
            "doubts": 1,
            "divergences": 1,
            "policy_violations": 1,
            "tokens": 1,
            "cost_usd": 0.01,
            "cache": {"share": 0.9},
            "reply_cache": {"replies": 5},
            "inherited": {"steps": 1},
            "reasoning_tokens": 9,
            "judge": {"tokens": 9},
            "trials": {"tasks": 4, "pass_at_k": {"1": 1.0}},
            "priced": False,
            "working_s": 0.1,
            "dialect_disagreements": ["1"],
            "judges": [{"judge": "gpt-5", "prompt": "", "episodes": 4}],
            "suite": {"mean": 1.0},
            "made_with": {"model": "gpt-9"},
            "by_site": {},
        }.items()
    },
    "a site that did better": (
        "summary.json",
        of_json("summary.json", lambda tree: tree["by_site"]["forum"].update(passed=1)),
    ),
    "a site with more episodes": (
        "summary.json",
        of_json("summary.json", lambda tree: tree["by_site"]["forum"].update(episodes=5)),
    ),
    "a result that passed": ("summary.json", result(status="passed")),
    "a result with another score": ("summary.json", result(score=1.0)),
    "a result with fewer steps": ("summary.json", result(steps=0)),
    "a result with more attempts": ("summary.json", result(attempts=2)),
    "a result with another reason": ("summary.json", result(why="the site was down")),
    "a result with a doubt": ("summary.json", result(doubts=["who knows"])),
    "scores again that say 1": ("rescored-corrected.json", rescored(better)),
    "scores again from another score": (
        "rescored-corrected.json",
        rescored(lambda results: passing([results[1]["before"]])),
    ),
    "scores again of fewer tasks": ("rescored-corrected.json", rescored(lambda results: results.pop(1))),
    "scores again of a task that is none": (
        "rescored-corrected.json",
        rescored(lambda results: results[1].update(task_id="9")),
    ),
    "scores again with a task twice": ("rescored-corrected.json", rescored(lambda results: results.append(results[0]))),
    "scores again of nothing": ("rescored-corrected.json", rescored(lambda results: results[1].update(scored=None))),
    "scores again in another scoring": (
        "rescored-corrected.json",
        lambda forger: forger.files.update({"rescored-corrected.json": forger.files["rescored-webarena.json"]}),
    ),
    "scores again in an unknown scoring": (
        "rescored-x.json",
        lambda forger: forger.files.update(
            {"rescored-x.json": dumps({**forger.tree("rescored-corrected.json"), "dialect": "x"})}
        ),
    ),
    "scores again of another version": (
        "rescored-corrected.json",
        of_json("rescored-corrected.json", lambda tree: tree.update(evaluator_version="9-corrected")),
    ),
    "scores again that are not JSON": (
        "rescored-corrected.json",
        bytes_of("rescored-corrected.json", lambda data: b"{"),
    ),
    "evidence that is missing": (CART, of_artifact(lambda forger, name: forger.files.pop(name))),
    "evidence that was changed": (
        "artifacts/",
        of_artifact(lambda forger, name: forger.files.update({name: b'"2"  '})),
    ),
    "an index of journals": (".index.jsonl", extra(".index.jsonl")),
    "a history": ("history.jsonl", extra("history.jsonl")),
    "verdicts of another scorer": ("verified.json", extra("verified.json")),
    "an origin": ("fork.json", extra("fork.json")),
    "a report": ("report/index.html", extra("report/index.html")),
    "a cached summary": (".concluded.json", extra(".concluded.json")),
    "a journal in a folder": ("shards/0.traj.jsonl", extra("shards/0.traj.jsonl")),
}


@dataclass(frozen=True)
class Said:
    code: int
    text: str


@pytest.fixture
def harness(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def call(*arguments: str | Path) -> Said:
        capsys.readouterr()
        code = main([str(one) for one in arguments])
        said = capsys.readouterr()
        assert "internal error" not in said.err and "Traceback" not in said.err
        return Said(code, said.out + said.err)

    return call


def forged(honest: Path, change: Change, tmp_path: Path) -> Path:
    forger = Forger(honest)
    change(forger)
    return forger.write(tmp_path / "run.cairn")


def found(path: Path, name: str, harness: Callable[..., Said]) -> list[str]:
    """`harness verify` names the file; the sentences that it says."""
    said = harness("verify", path)
    assert said.code in (1, 2), said.text
    sentences = [
        line for line in said.text.splitlines() if line.startswith(("differs: ", "not verified: ", "harness: "))
    ]
    assert any(name in line for line in sentences), said.text
    return sentences


def nothing_forged_is_shown(path: Path, name: str, sentences: list[str], harness: Callable[..., Said]) -> None:
    """What is shown has no more passes than the evidence, or says beside it what is not verified."""
    shown = harness("show", path)
    if len(shown.text.splitlines()) > 1:
        passed = re.search(r"(\d+) passed", shown.text)
        assert passed and (int(passed[1]) <= 2 or f"not verified: {name}" in shown.text), shown.text
        assert any(line in shown.text for line in sentences), "what is shown says what was found"
    else:
        assert shown.code in (2, 3) and len(shown.text.splitlines()) == 1, shown.text


def test_an_honest_bundle_is_verified(honest: Path, harness: Callable[..., Said]) -> None:
    said = harness("verify", honest)
    assert said.code == 0 and "differs" not in said.text, said.text
    assert "corrected: 4 scores recomputed from the evidence, of 4 episodes" in said.text
    shown = harness("show", honest)
    assert "2 passed, 2 failed, 0 unscored of 4 tasks; 50.0%" in shown.text and "differs" not in shown.text


def test_a_consistent_forger_changes_nothing_by_accident(
    honest: Path, tmp_path: Path, harness: Callable[..., Said]
) -> None:
    """So what the other tests find is what they forged."""
    path = forged(honest, lambda forger: forger.seal(FAILED, forger.lines(FAILED)), tmp_path)
    assert harness("verify", path).code == 0
    with opened(honest) as before, opened(path) as after:
        assert dict(before).keys() == dict(after).keys()


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", JOURNALS)
def test_a_forged_journal_is_found(honest: Path, name: str, tmp_path: Path, harness: Callable[..., Said]) -> None:
    path = forged(honest, JOURNALS[name], tmp_path)
    nothing_forged_is_shown(path, FAILED, found(path, FOUND_IN.get(name, FAILED), harness), harness)


@pytest.mark.sample(2)
@pytest.mark.parametrize("change", MANIFESTS.values(), ids=MANIFESTS)
def test_a_forged_manifest_is_found(honest: Path, change: Change, tmp_path: Path, harness: Callable[..., Said]) -> None:
    path = forged(honest, change, tmp_path)
    nothing_forged_is_shown(path, MANIFEST, found(path, MANIFEST, harness), harness)


@pytest.mark.sample(6)
@pytest.mark.parametrize("change", UNKNOWN.values(), ids=UNKNOWN)
def test_a_manifest_that_is_not_known_is_one_sentence(
    honest: Path, change: Change, tmp_path: Path, harness: Callable[..., Said]
) -> None:
    path = forged(honest, change, tmp_path)
    for given in (("verify", path), ("show", path), ("report", path), ("compare", path, path)):
        said = harness(*given)
        assert said.code == 2 and said.text.count("\n") == 1, said.text
        assert str(path) in said.text and MANIFEST in said.text and "harness bundle" in said.text


@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "change"), FILES.values(), ids=FILES)
def test_a_forged_file_is_found(
    honest: Path, name: str, change: Change, tmp_path: Path, harness: Callable[..., Said]
) -> None:
    path = forged(honest, change, tmp_path)
    sentences = found(path, name, harness)
    if name not in ("summary.json", "rescored-corrected.json"):  # which are not shown
        nothing_forged_is_shown(path, name, sentences, harness)


# --- what cannot be known is not shown as known


def consistently_left_out(forger: Forger) -> None:
    """No journal of a failed task, and a summary that says it was not begun."""
    tokens = sum(
        tree["usage"]["prompt_tokens"] + tree["usage"]["completion_tokens"]
        for tree in forger.lines(FAILED)
        if tree["kind"] == "decided"
    )
    del forger.files[FAILED], forger.files["rescored-corrected.json"], forger.files["rescored-webarena.json"]
    tree = forger.tree("summary.json")
    not_begun = {"status": "unscored", "score": None, "steps": 0, "attempts": 0, "why": "not finished"}
    tree["results"][1].update(not_begun)
    for tally in (tree, tree["by_site"]["forum"]):
        tally.update(failed=tally["failed"] - 1, unscored=1, tokens=tally["tokens"] - tokens)
        tally["success_rate_scored"] = 2 / 3 if tally is tree else None
    for key in ("cache", "working_s"):
        del tree[key], tree["by_site"]["forum"]["cache" if key == "working_s" else "judge"]
    tree["made_with"]["unscored"] = 1
    forger.put("summary.json", tree)


def test_a_task_without_a_journal_is_shown_as_not_begun(
    honest: Path, tmp_path: Path, harness: Callable[..., Said]
) -> None:
    path = forged(honest, consistently_left_out, tmp_path)
    said = harness("verify", path)
    assert said.code == 3 and "run.json: of 1 of its 4 episodes there is no journal: task 1, trial 0" in said.text
    shown = harness("show", path).text
    assert (
        "2 passed, 1 failed, 1 unscored of 4 tasks; 50.0%" in shown and "1 unscored" in shown and "not begun" in shown
    )


@pytest.mark.slow
def test_the_report_and_a_comparison_show_the_score_that_the_evidence_gives(
    honest: Path, tmp_path: Path, harness: Callable[..., Said]
) -> None:
    path = forged(honest, JOURNALS["blanks behind colons"], tmp_path)
    sentence = f"differs: {FAILED}: corrected: scored 1, but its evidence gives 0"
    page = Path(harness("report", path).text.strip()).read_text()
    assert '<p class="rate">50.0<span>%</span>' in page
    assert page.count(sentence) == 2, "on the first page, and on that of the task"
    compared = harness("compare", honest, path, "--fail-if-regressed", "0.9").text
    assert f"{path}: {sentence}" in compared and "gained 0, lost 0" in compared
    for arguments in (("1",), ("1", "1"), ("1", "1", "--request")):
        assert sentence in harness("show", path, *arguments).text
    assert "corrected scoring: 0" in harness("show", path, "1").text


def test_a_run_folder_is_read_by_the_same_reader(honest: Path, tmp_path: Path, harness: Callable[..., Said]) -> None:
    """`harness score` counts a line with blanks in it, as `harness show` does."""
    forger = Forger(honest)
    spelled(lambda tree: json.dumps(tree).encode())(forger)
    for name, content in forger.files.items():
        (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / name).write_bytes(content)
    said = harness("score", tmp_path / "run", "--dialect", "corrected").text
    assert "corrected: 4 episodes, 2 passed, 2 failed" in said
    assert "corrected: task 1: 1 in the journal, now 0" in said
