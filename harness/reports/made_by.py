"""The origin of a run as a page shows it; read from `run.json`, in which anything may be missing or damaged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.codec import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeBy:
    """By what a start was made."""

    facts: tuple[tuple[str, str], ...] = ()
    """Name and value, as they are shown."""
    packages: tuple[tuple[str, str], ...] = ()


def made_by(run: Mapping[str, object]) -> tuple[MadeBy, ...]:
    """Provenance from `run.json`: the latest invocation first, then earlier ones that differed."""
    earlier = run.get("earlier")
    others = [one for one in earlier if isinstance(one, dict)] if isinstance(earlier, list) else []
    return tuple(made for made in map(_made, (run, *reversed(others))) if made.facts)


def package_versions(run: Mapping[str, object]) -> dict[str, str]:
    """Package to version, from `run.json`; a version that is no text is left out."""
    return {name: version for name, version in _tree(run.get("packages")).items() if isinstance(version, str)}


def _made(run: Mapping[str, object]) -> MadeBy:
    packages = package_versions(run)
    return MadeBy(facts=tuple(_facts(run, packages)), packages=tuple(packages.items()))


def _facts(run: Mapping[str, object], packages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    revision, browser, fonts, sites = (_tree(run.get(name)) for name in ("revision", "browser", "fonts", "sites"))
    changed = ", with uncommitted changes" if revision.get("dirty") else ""
    for name, value in (
        ("Cairn", run.get("harness")),
        ("Revision", f"{revision['commit']}{changed}" if revision.get("commit") else None),
        ("Browser", browser.get("version") or browser.get("program")),
        ("Packages", f"sha256 {digest(dict(packages))}" if packages else None),
        ("Sites", ", ".join(f"{name} {version or 'not declared'}" for name, version in sites.items())),
        ("Prompt", run.get("prompt")),
        ("Python", run.get("python")),
        ("Platform", run.get("platform")),
        ("Fonts", f"{fonts.get('files')} files, {fonts['sha256']}" if fonts.get("sha256") else None),
    ):
        if value:
            yield name, str(value)


def _tree(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
