"""A run as ServiceNow's `webarena-verified` scores it: per task what the agent said and what its pages asked of the
sites.

    <into>/config.json                     --config of `webarena-verified eval-tasks`: the addresses of the sites
    <into>/<task_id>/agent_response.json   further trials: <into>/trial-<k>/<task_id>/…
    <into>/<task_id>/network.har

Reads journals, artifacts and `config.yaml`, and writes only there. Traces were made fit to be passed on when they were
recorded (`browser.trace`); here the cookie headers the scorer looks at are put together again from what was kept of
them. An agent that answers in the scorer's own form (an object with `task_type` and `status`) is taken at its word, and
so is every answer to a task of the benchmark `webarena_verified`, whose agents know the form. Otherwise the form is
filled in: RETRIEVE where the task asks for an answer, else MUTATE where something was sent that
may change a page the task looks at, else NAVIGATE; `N/A` is NOT_FOUND_ERROR, and an episode the agent did not end
UNKNOWN_ERROR.

Source: https://github.com/ServiceNow/webarena-verified, version 1.2.3.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.api import Artifacts, Closed, CloseReason, CodecError, JsonObject, Task, dumps, loads
from harness.api.configuration import read_recorded, recorded_address, recorded_sites
from harness.api.files import Within, prepared, safe_files, translate_os_errors, write_atomic
from harness.api.journals import ArtifactStore, FinalState, journals_in, read_final_state
from harness.api.records import Opened
from harness.errors import ConfigError, JournalError
from harness.runs.about import run_info
from harness.runs.results import is_selected

SITES = ("gitlab", "homepage", "map", "reddit", "shopping", "shopping_admin", "wikipedia")
"""The names the scorer knows."""
BENCHMARK = "webarena_verified"
"""The eval type of tasks that are the scorer's own."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass
class ExportReport:
    """What came of a run."""

    written: list[Opened] = field(default_factory=list)
    """How each episode that was written began."""
    left_out: list[str] = field(default_factory=list)
    """A sentence for each (task, trial) that was not written."""
    partial: dict[tuple[str, int], str] = field(default_factory=dict)
    """A sentence for each (task, trial) that was written with a trace that lacks its beginning."""

    @property
    def episodes(self) -> int:
        return len(self.written)


def export_verified(folder: Path, into: Path, **more: Any) -> ExportReport:
    """Write the run folder `open_folder` into the folder `into`.

    Args:
        folder: The run folder.
        into: Where to; made if it is missing.
        more: Further settings of the scorer.
    Raises:
        ConfigError: None of its episodes has a trace, or none of its sites is known to the scorer.
        JournalError: A journal or trace is damaged.
    """
    found = ExportReport()
    ready = [(ended.opened, closed) for ended in _ended(folder) if (closed := _exportable(ended, found)) is not None]
    if not ready:
        why = found.left_out[0] if found.left_out else "it contains no journal"
        raise ConfigError(
            f"{folder} has nothing to export: {why}; network traces are recorded with browser.har=true,"
            " and run.retry=all runs ended tasks again"
        )
    environments = _environments(folder)
    with translate_os_errors(into):
        within = prepared(into, folder)
    artifacts = ArtifactStore(folder / "artifacts")
    for opened, closed in ready:
        har = trace_of(artifacts, closed.evidence.trace or "")
        if lacking := lacking_of(har):
            found.partial[opened.task.task_id, opened.trial] = f"{_name(opened)}: {lacking}"
        place = trial_folder(into, opened.trial)
        write_episode(place / opened.task.task_id, opened.task, closed, har=har, within=within)
        found.written.append(opened)
    write_config(into, environments, within, **more)
    return found


def trial_folder(into: Path, trial: int) -> Path:
    """The folder with the tasks of a trial."""
    return into / f"trial-{trial}" if trial else into


def write_episode(place: Path, task: Task, closed: Closed, *, har: JsonObject, within: Within) -> None:
    """Write what the scorer reads of one episode into the folder `place`."""
    own = BENCHMARK in task.eval.eval_types
    answer = closed.answer.encode() if own else dumps(response_of(task, closed, har))
    _write(place / "agent_response.json", answer, within)
    _write(place / "network.har", dumps(with_cookies(har)), within)


def write_config(into: Path, environments: Mapping[str, Any], within: Within, **more: Any) -> None:
    """Write the scorer's settings: the addresses of sites by placeholder, and others of its settings."""
    _write(into / "config.json", dumps({"environments": environments, **more}), within)


def response_of(task: Task, closed: Closed, har: JsonObject) -> JsonObject:
    """The scorer's form, filled in."""
    answer = closed.answer.strip()
    said = _parsed(answer)
    if isinstance(said, dict) and "status" in said and said.keys() & {"task_type", "performed_operation"}:
        return said
    kind, status, data, details = _kind(task, har), "SUCCESS", None, None
    if closed.reason is not CloseReason.STOPPED:
        status, details = "UNKNOWN_ERROR", closed.detail or closed.reason.value
    elif answer.upper() == "N/A":
        status, details = "NOT_FOUND_ERROR", answer
    elif kind == "RETRIEVE" and answer:
        data = said if isinstance(said, list) else [answer]
    return {"task_type": kind, "status": status, "retrieved_data": data, "error_details": details}


def with_cookies(har: JsonObject) -> JsonObject:
    """The trace with a `Cookie` header on each request that had cookies; values stay as they were kept."""
    log = har["log"]
    return {"log": {**log, "entries": [_with_cookies(entry) for entry in log["entries"]]}}


def _with_cookies(entry: JsonObject) -> JsonObject:
    request = entry["request"]
    if not request["cookies"]:
        return dict(entry)
    value = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in request["cookies"])
    return {**entry, "request": {**request, "headers": [*request["headers"], {"name": "Cookie", "value": value}]}}


def _kind(task: Task, har: JsonObject) -> str:
    if "string_match" in task.eval.eval_types:
        return "RETRIEVE"
    sent = any(entry["request"]["method"] not in _SAFE for entry in har["log"]["entries"])
    return "MUTATE" if sent and task.eval.program_html else "NAVIGATE"


def _exportable(ended: FinalState, found: ExportReport) -> Closed | None:
    """The end of an episode the scorer can be given; why not, is noted."""
    closed, why = ended.closed, ""
    if closed is None:
        why = "has not ended"
    elif closed.evidence.trace is None:
        why = "was recorded without browser.har=true"
    elif not ended.opened.task.task_id.isdecimal():
        why = "has an id that is not a number, which the scorer needs"
    if why:
        found.left_out.append(f"{_name(ended.opened)} {why}")
    return None if why else closed


def _name(opened: Opened) -> str:
    return f"task {opened.task.task_id}" + (f", trial {opened.trial}" if opened.trial else "")


def _parsed(answer: str) -> Any:
    try:
        return loads(answer.encode())
    except ValueError:
        return None


def _ended(folder: Path) -> Iterator[FinalState]:
    is_wanted = is_selected(run_info(folder))
    for entry in journals_in(folder):
        ended = read_final_state(Path(entry.path))
        if ended is not None and is_wanted(ended.opened.task.task_id, ended.opened.trial):
            yield ended


def trace_of(artifacts: Artifacts, digest: str) -> JsonObject:
    """Raises: JournalError: The artifact is not a trace as we record them."""
    try:
        har = loads(artifacts.read(digest))
    except CodecError as exc:
        raise JournalError(f"artifact {digest} is not a network trace: {exc}") from exc
    match har:
        case {"log": {"entries": list(entries)}} if all(map(_is_exchange, entries)):
            return dict(har)
    raise JournalError(f"artifact {digest} is not a network trace of Cairn")


def lacking_of(har: JsonObject) -> str:
    """Where a trace begins that lacks its beginning; "" = it is whole."""
    return str(har["log"].get("comment") or "")


def _is_exchange(entry: Any) -> bool:
    match entry:
        case {"request": {"method": str(), "cookies": list(cookies), "headers": list()}}:
            return all(isinstance(one, dict) and {"name", "value"} <= one.keys() for one in cookies)
    return False


def _environments(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Placeholder to the address its site has in traces: the canonical one, whatever the site was served at."""
    sites = recorded_sites(read_recorded(folder))
    shown = {name: recorded_address(sites[name]) for name in SITES if name in sites}
    known = {f"__{name.upper()}__": {"urls": [address]} for name, address in shown.items() if address is not None}
    if not known:
        raise ConfigError(
            f"{folder} is on {', '.join(name[:60] for name in [*sites][:20])}; webarena-verified knows"
            f" {', '.join(SITES)}"
        )
    return known


def _write(path: Path, data: bytes, within: Within) -> None:
    with translate_os_errors(path), safe_files.open_folder(path.parent, within.run, make=0o777):
        pass
    write_atomic(path, data, durable=False, within=within)
