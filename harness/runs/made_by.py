"""The origin of a run as a page shows it; read from `run.json`, in which anything may be missing or damaged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.codec import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFact:
    """One of the things that a start was made with."""

    name: str
    text: str = ""
    digest: str = ""
    """In full, before the text; a page abbreviates it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeBy:
    """The versions that made a start."""

    facts: tuple[MadeFact, ...] = ()
    packages: tuple[tuple[str, str], ...] = ()
    packages_digest: str = ""
    """Digest of all of them; "" without any."""


def made_by(run: Mapping[str, object]) -> tuple[MadeBy, ...]:
    """Provenance from `run.json`: the latest invocation first, then earlier ones that differed."""
    earlier = run.get("earlier")
    # A start in another environment keeps the earlier description: a run is the result of all its starts.
    others = [one for one in earlier if isinstance(one, dict)] if isinstance(earlier, list) else []
    return tuple(made for made in map(_made, (run, *reversed(others))) if made.facts)


def package_versions(run: Mapping[str, object]) -> dict[str, str]:
    """Package to version, from `run.json`; a version that is not text is left out."""
    return {name: version for name, version in tree_of(run.get("packages")).items() if isinstance(version, str)}


def sites_said(sites: Mapping[str, object]) -> str:
    """The versions of sites, and which do not say theirs: `shop 1.2; no version declared: code, forum`."""
    declared = ", ".join(f"{name} {version}" for name, version in sites.items() if version)
    silent = ", ".join(name for name, version in sites.items() if not version)
    return "; ".join(filter(None, (declared, silent and f"no version declared: {silent}")))


def _made(run: Mapping[str, object]) -> MadeBy:
    packages = package_versions(run)
    return MadeBy(
        facts=tuple(_facts(run)),
        packages=tuple(packages.items()),
        packages_digest=digest(dict(packages)) if packages else "",
    )


def _facts(run: Mapping[str, object]) -> Iterator[MadeFact]:
    revision, browser, fonts, sites = (tree_of(run.get(name)) for name in ("revision", "browser", "fonts", "sites"))
    # Changes in `harness/` alone: a task file in the checkout does not change the program.
    changed = "with uncommitted changes" if revision.get("dirty") and revision.get("commit") else ""
    for name, text, full in (
        ("Cairn", run.get("harness"), None),
        ("Revision", changed, revision.get("commit")),
        ("Browser", browser.get("version") or browser.get("program"), None),
        ("Prompt", None, run.get("prompt")),
        ("Sites", sites_said(sites), None),
        ("Python", run.get("python"), None),
        ("Platform", run.get("platform"), None),
        ("Fonts", f"{fonts.get('files')} files" if fonts.get("sha256") else None, fonts.get("sha256")),
    ):
        if text or full:
            yield MadeFact(name=name, text=str(text or ""), digest=str(full or ""))


def tree_of(value: object) -> Mapping[str, object]:
    """An empty object for what is not an object."""
    return value if isinstance(value, dict) else {}
