"""What a reader must know to believe a rate, in one place: with what it was made, and what it leaves out.

Read from `run.json` and `drift.jsonl`, in which anything may be missing, damaged or forged, and from the counts of the
run. `summary.json` and `summary.md` hold all of it; the line below the table holds what is read first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.actions.truncate import cut
from harness.codec import JsonObject, digest
from harness.errors import UnsafeFile
from harness.escape import one_line
from harness.files import safe_files
from harness.runs.about import DESCRIPTION
from harness.runs.figures import as_data
from harness.runs.format import percent
from harness.runs.judge_error import judge_sentence, with_errors
from harness.runs.made_by import package_versions, sites_said, tree_of
from harness.runs.statistics import Statistics

_LONGEST = 120
_SHORT = 12
"""Characters of a digest that are shown."""
UNKNOWN = "unknown"


def basis(folder: Path, dialect: str, found: Statistics) -> JsonObject:
    """The facts beside `found`, as `summary.json` has them; null = unknown."""
    run = DESCRIPTION.glimpse(folder) or {}
    revision, browser, packages = tree_of(run.get("revision")), tree_of(run.get("browser")), package_versions(run)
    sites, earlier = run.get("sites"), run.get("earlier")
    return {
        "harness": _text(run.get("harness")),
        "revision": _text(revision.get("commit")),
        "dirty": revision.get("dirty") if isinstance(revision.get("dirty"), bool) else None,
        "browser": _text(browser.get("version")) or _text(browser.get("program")),
        "packages": digest(packages) if packages else None,
        "sites": {str(name)[:_LONGEST]: _text(version) for name, version in tree_of(sites).items()},
        "agent": _text(run.get("agent")),
        "model": _text(run.get("model")),
        "prompt": _text(run.get("prompt")),
        "scoring": dialect,
        "cached_share": as_data(found.all)["reply_cache"]["share"],
        "divergences": found.all.divergences,
        "unscored": found.all.unscored,
        "judges": [judge_sentence(use) for use in with_errors(found.judges, folder)],
        "earlier_environments": len(earlier) if isinstance(earlier, list) else 0,
        "accepted_drifts": _drifts(folder / "drift.jsonl"),
    }


def facts(found: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Name and value of each fact of `basis`, as they are shown."""
    earlier, drifts, judges = found["earlier_environments"], found["accepted_drifts"], found["judges"]
    dirty = ", with uncommitted changes" if found["dirty"] else ""
    commit = found["revision"]
    return (
        ("Cairn", f"{found['harness'] or UNKNOWN}, revision {_short(commit)}{dirty}"),
        ("browser", str(found["browser"] or UNKNOWN)),
        ("packages", _short(found["packages"])),
        ("sites", sites_said(found["sites"]) or UNKNOWN),
        ("agent", f"{found['agent'] or UNKNOWN}, model {found['model'] or UNKNOWN}, prompt {_short(found['prompt'])}"),
        ("scoring", str(found["scoring"])),
        ("from the reply cache", percent(found["cached_share"])),
        ("divergences", str(found["divergences"])),
        ("unscored", str(found["unscored"])),
        ("judge", "; ".join(judges) or "none"),
        *((("earlier environments", str(earlier)),) if earlier else ()),
        *((("accepted drifts", str(drifts)),) if drifts else ()),
    )


def sentence(found: Mapping[str, Any]) -> str:
    """What a reader of the table looks for first, in one line: nothing that is zero, unknown or a digest."""
    commit, sites = found["revision"], found["sites"]
    revision = f" ({commit[:_SHORT]}{', uncommitted changes' if found['dirty'] else ''})" if commit else ""
    cached, divergences = found["cached_share"], found["divergences"]
    earlier, drifts = found["earlier_environments"], found["accepted_drifts"]
    said = (
        f"Cairn {found['harness'] or UNKNOWN}{revision}",
        found["browser"],
        *(f"{name} {version}" for name, version in sites.items() if version),
        found["agent"] and f"agent {found['agent']}",
        found["model"] and f"model {found['model']}",
        cached and f"{percent(cached)} from the reply cache",
        divergences and f"divergences: {divergences}",
        earlier and f"earlier environments: {earlier}",
        drifts and f"accepted drifts: {drifts}",
    )
    return f"made with: {', '.join(one_line(str(one)) for one in said if one)}; summary.json has the digests"


def _drifts(path: Path) -> int:
    try:
        return len((safe_files.read_if_there(path) or b"").splitlines())
    except (OSError, UnsafeFile):
        return 0


def _short(value: object) -> str:
    return str(value)[:_SHORT] if value else UNKNOWN


def _text(value: object) -> str | None:
    return cut(value, _LONGEST) if isinstance(value, str) and value else None
