"""The files of a bundle that say again what its journals say: `run.json`, `summary.json` and `rescored-*.json`.

Their lists of tasks and their figures are computed again, by what wrote them. What only the machine knew that wrote
them (versions, what one start did) is not looked at.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import isclose
from pathlib import Path
from typing import Any

from harness.api import CodecError, JsonObject, loads
from harness.api.files import safe_files
from harness.api.journals import ArtifactStore, EpisodeResult, FinalState
from harness.api.records import Scored, build, plain, repeats_a_key
from harness.api.rescoring import Invocation, RescoreResult, Summary, as_json, basis, references_of, summarize
from harness.api.scoring import DIALECTS
from harness.errors import JournalError
from harness.runs.about import run_info
from harness.runs.figures import suite_data
from harness.runs.format import graded
from harness.runs.intervals import weighted_mean, wilson
from harness.runs.results import not_begun, result_of
from harness.runs.statistics import SuiteRates

_MOST = 20
"""Sentences about one file, and tasks in one sentence."""
_NOT_IN_JOURNALS = frozenset({"run_id", "invocation", "notes"})
"""Keys of `summary.json` that do not come from journals."""
_SETTINGS = {"model": "llm.model", "agent": "agent.name"}
"""Key of `run.json` to the measured setting that it repeats."""

Key = tuple[str, int]
"""Task id and trial."""


class DerivedFiles:
    """The derived files of an unpacked bundle.

    Args:
        folder: Where it was unpacked.
        states: Its episodes, as recorded.
        outcomes: Its episodes, with the scores that their evidence gives.
    """

    def __init__(self, folder: Path, states: Mapping[Key, FinalState], outcomes: Mapping[Key, EpisodeResult]) -> None:
        self._folder = folder
        self._states = states
        self._outcomes = outcomes
        self._known = run_info(folder)
        self._rescored: list[tuple[str, RescoreResult, FinalState]] = []

    def differs(self) -> Iterator[str]:
        """What they say and the journals do not; each sentence begins with the name of the file."""
        rescored = sorted(path.name for path in self._folder.glob("rescored-*.json"))
        for name in ("run.json", "summary.json", *rescored):
            found = list(islice(self._faults(name), _MOST + 1))
            yield from (f"{name}: {why}" for why in found[:_MOST])
            if len(found) > _MOST:
                yield f"{name}: there is more that differs"

    def unplayed(self) -> Iterator[str]:
        """What there is no journal of, although it is a part of the run."""
        named = self._named()
        if absent := [key for key in named if key not in self._states]:
            yield f"run.json: of {len(absent)} of its {len(named)} episodes there is no journal: {_list(absent)}"

    def rescored(self) -> Sequence[tuple[str, RescoreResult, FinalState]]:
        """File, result and episode of each score in `rescored-*.json`; known after `differs`."""
        return self._rescored

    def _named(self) -> list[Key]:
        return [(task, trial) for trial in range(self._known.trials) for task in self._known.tasks]

    def _faults(self, name: str) -> Iterator[str]:
        content = safe_files.read_if_there(self._folder / name)
        if content is None:
            return
        try:
            if repeats_a_key(content):
                yield "it has a key twice, so that another reader may take another value"
            found = _object(content)
            match name:
                case "run.json":
                    yield from self._run_faults(found)
                case "summary.json":
                    yield from self._summary_faults(found)
                case _:
                    yield from self._rescored_faults(name, found)
        except (CodecError, KeyError, TypeError, AttributeError, RecursionError) as error:
            yield f"it is not what Cairn writes ({error!r:.200})"

    def _run_faults(self, found: JsonObject) -> Iterator[str]:
        tasks = found.get("tasks", [])
        if tasks != list(self._known.tasks):
            yield "tasks: it is not a list of task ids, each once"
        if found.get("trials", 1) != self._known.trials:
            yield "trials: it is not a number of trials"
        if found.get("scoring", DIALECTS[0]) not in DIALECTS:
            yield f"scoring: it is not one of {', '.join(DIALECTS)}"
        named = set(self._named())
        if "tasks" in found and (surplus := [key for key in self._states if key not in named]):
            yield (
                f"tasks: there is a journal of {_list(surplus)}, which it does not name; if an earlier start played"
                " that, start the run again with all its tasks, and write the bundle again"
            )
        for key, setting in _SETTINGS.items():
            right = {one[setting] for one in self._settings(found) if isinstance(one.get(setting), str)}
            if key in found and right and found[key] not in right:
                yield f"{key}: {found[key]!r:.80}, but the settings of its journals have {', '.join(sorted(right))}"

    def _settings(self, description: JsonObject) -> Iterator[JsonObject]:
        """The measured settings that the journals name, and those with which the latest start went on instead."""
        artifacts = ArtifactStore(self._folder / "artifacts")
        named = {state.opened.config_digest for state in self._states.values()}
        latest = description.get("config_digest")
        went_on = {now for before, now in self._accepted() if before in named and now == latest}
        for digest in named | went_on:
            try:
                yield _object(artifacts.read(digest))
            except (JournalError, CodecError):
                continue

    def _accepted(self) -> Iterator[tuple[str, str]]:
        """The changes of settings in `drift.jsonl`, by their digests."""
        for line in (safe_files.read_if_there(self._folder / "drift.jsonl") or b"").splitlines():
            match _object(line):
                case {"from": str(before), "to": str(now)}:
                    yield before, now

    def _summary_faults(self, found: JsonObject) -> Iterator[str]:
        if found["scoring"] not in DIALECTS:
            yield f"scoring: {found['scoring']!r:.80} is not one of {', '.join(DIALECTS)}"
            return
        shown = [(one["task_id"], one["trial"]) for one in found["results"]]
        wanted = list(dict.fromkeys([*self._named(), *self._outcomes]))
        yield from _list_faults(shown, wanted)
        order = shown if sorted(shown) == sorted(wanted) else wanted  # sums of costs depend on it
        summary = self._summary(found["scoring"], order)
        made_with = basis(self._folder, summary.dialect, summary.statistics)
        del made_with["judges"]  # sentences about files that are elsewhere
        right: JsonObject = plain(as_json(summary, made_with=made_with))
        by_key = dict(zip(order, right.pop("results"), strict=True))
        for one in found["results"]:
            if key := by_key.get((one["task_id"], one["trial"])):
                yield from _unlike(one, key, f"task {one['task_id']}, trial {one['trial']}")
        if "by_site" in found:
            yield from self._site_faults(found["by_site"], found["scoring"], order)
        if any(key not in self._outcomes for key in order):
            right["suite"] = found.get("suite")  # its intervals depend on templates that no journal names
        elif (suite := summary.statistics.suite) is not None and "suite" in found and not _names_trials(found["suite"]):
            right["suite"] = plain(suite_data(_over_tasks(suite)))
        # A version before this one counted answers that no judge was asked about, too.
        found, right = _with_named_judges(found), _with_named_judges(right)
        compared = {"results", "by_site", "made_with", *_NOT_IN_JOURNALS}
        yield from _unlike({key: one for key, one in found.items() if key not in compared}, right, "")
        if made := found.get("made_with"):
            yield from _unlike(
                {key: one for key, one in made.items() if key != "judges"}, right["made_with"], "made_with"
            )

    def _summary(self, dialect: str, order: Sequence[Key]) -> Summary:
        results = [
            result_of(outcome, dialect) if (outcome := self._outcomes.get(key)) else not_begun(*key) for key in order
        ]
        return summarize(self._known.name, results, dialect, Invocation(), weights=self._known.benchmarks)

    def _site_faults(self, found: JsonObject, dialect: str, order: Sequence[Key]) -> Iterator[str]:
        """Of an episode without a journal no site is known: it may be counted at any."""
        begun = [key for key in order if key in self._outcomes]
        known: JsonObject = plain(as_json(self._summary(dialect, begun)))["by_site"]
        nothing: JsonObject = plain(as_json(self._summary(dialect, [])))
        unplayed = 0
        for site in sorted(found.keys() | known.keys()):
            if site not in found:
                yield f"by_site: it leaves out {site}"
                continue
            claim, right = found[site], known.get(site, nothing)
            if (more := claim["episodes"] - right["episodes"]) > 0:
                unplayed += more
                right = {
                    **right,
                    "tasks": claim["tasks"],
                    "episodes": claim["episodes"],
                    "unscored": right["unscored"] + more,
                    "success_rate": right["passed"] / claim["episodes"],
                }
            yield from _unlike(claim, right, f"by_site: {site}")
        if unplayed > len(order) - len(begun):
            yield f"by_site: {unplayed} episodes without a journal, not {len(order) - len(begun)}"

    def _rescored_faults(self, name: str, found: JsonObject) -> Iterator[str]:
        if name != f"rescored-{found['dialect']}.json" or found["dialect"] not in DIALECTS:
            yield f"dialect: {found['dialect']!r:.80} is not what the name of the file says"
            return
        results = [build(RescoreResult, one) for one in found["results"]]
        if found.get("references", {}) != (known := references_of(results)):
            yield f"references: it does not name the tasks that were scored with a corrected reference: {len(known)}"
        yield from _list_faults([(one.task_id, one.trial) for one in results], list(self._states))
        for one in results:
            if (state := self._states.get((one.task_id, one.trial))) is None:
                continue
            says, before = f"task {one.task_id}, trial {one.trial}", state.scores.get(found["dialect"])
            if _value(one.before) != _value(before):
                yield f"{says}: before: {_value(one.before)}, but the journal has {_value(before)}"
            if (one.scored is None) != (state.closed is None):
                has = "has not" if state.closed is None else "has"
                yield f"{says}: scored: {_value(one.scored)}, but the episode {has} ended"
            elif one.scored is not None and (one.scored.dialect, one.scored.evaluator_version) != (
                found["dialect"],
                found["evaluator_version"],
            ):
                yield f"{says}: scored: it is of another scoring or version than the file"
            elif one.scored is not None:
                self._rescored.append((name, one, state))


def _object(content: bytes) -> JsonObject:
    found = loads(content)
    if not isinstance(found, dict):
        raise CodecError("no JSON object")
    return found


def _names_trials(suite: JsonObject) -> bool:
    return any(isinstance(one, dict) and "is_even" in one for one in suite["benchmarks"])


def _over_tasks(suite: SuiteRates) -> SuiteRates:
    """As versions wrote it that did not name trials: with one trial, tasks that share a template were independent."""
    benchmarks = tuple(
        replace(one, rate=wilson(one.passed, one.episodes) if one.tasks == one.episodes else one.rate)
        for one in suite.benchmarks
    )
    rates = [(one.rate, weight) for one, weight in zip(benchmarks, suite.weights, strict=True)]
    return replace(suite, benchmarks=benchmarks, mean=weighted_mean(rates))


def _with_named_judges(summary: JsonObject) -> JsonObject:
    """Without judges that are not known."""
    if not isinstance(judges := summary.get("judges"), list):
        return summary
    return {**summary, "judges": [one for one in judges if not (isinstance(one, dict) and one.get("judge") == "")]}


def _list_faults(shown: Sequence[Key], wanted: Sequence[Key]) -> Iterator[str]:
    there, known = set(shown), set(wanted)
    if len(there) != len(shown):
        yield "results: an episode is in it twice"
    if left := [key for key in wanted if key not in there]:
        yield f"results: it leaves out {_list(left)}"
    if surplus := [key for key in shown if key not in known]:
        yield f"results: there is no journal of {_list(surplus)}"


def _list(keys: Sequence[Key]) -> str:
    named = "; ".join(f"task {task}, trial {trial}" for task, trial in keys[:_MOST])
    return named + (f" and {len(keys) - _MOST} more" if len(keys) > _MOST else "")


def _value(scored: Scored | None) -> str:
    return "no score" if scored is None else "unscored" if scored.value is None else graded(scored.value)


def _unlike(found: Any, right: Any, at: str) -> Iterator[str]:
    """The first place where two JSON trees differ; what older versions did not write may be missing from `found`."""
    says = f"{at}: " if at else ""
    if isinstance(found, dict) and isinstance(right, dict):
        for key, one in found.items():
            if key in right:
                yield from _unlike(one, right[key], f"{says}{key}")
            else:
                yield f"{says}{key[:80]}: it is not a figure of this version"
    elif isinstance(found, list) and isinstance(right, list) and len(found) == len(right):
        for one, other in zip(found, right, strict=True):
            yield from _unlike(one, other, at)
    elif not _same(found, right):
        yield f"{says}{found!r:.80}, not {right!r:.80}"


def _same(found: Any, right: Any) -> bool:
    """Costs are sums of floats, whose last digit depends on the order."""
    if type(found) in (int, float) and type(right) in (int, float):
        return found == right or isclose(found, right, rel_tol=1e-9)
    return type(found) is type(right) and bool(found == right)
