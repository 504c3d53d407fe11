"""From a session to a task that is accepted or not, step by step; what was done before is not done again."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import CloseReason, ConfigError, JsonObject, dumps
from harness.api.configuration import SitesSettings
from harness.api.files import write_atomic
from harness.api.records import plain
from harness.plugins.record import draft as drafts
from harness.plugins.record.checks import Check, checks_of, plays
from harness.plugins.record.plan import plan_of, write_plan
from harness.plugins.record.probing import MOST_PAGES, pages_of, targets_of
from harness.plugins.record.proposals import Proposal, Session, eval_of, proposals_of
from harness.plugins.record.stages import Stages

if TYPE_CHECKING:
    from harness.runs import Episode, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What came of a session."""

    proposals: tuple[Proposal, ...] = ()
    checks: tuple[Check, ...] = ()
    why_not: str = ""
    """Why there is no task to check; "" = there is one."""


def record(options: argparse.Namespace, say: Callable[[str], None]) -> Recorded:
    """Let a person play, propose evaluators, check the task.

    Args:
        options: Of the command.
        say: Prints a sentence.
    Raises:
        Stopped: The person asked to stop.
        UsageError: Something that was given is wrong.
    """
    from harness.api.evaluation import configured

    out: Path = options.out
    sites = configured(options.overrides, options.config_dir).sites
    if drafts.is_address(options.of):
        entry = drafts.draft_of_address(
            options.of, sites, intent=options.intent, task_id=options.id, logins=tuple(options.login)
        )
    else:
        entry = drafts.draft_of_task(Path(options.of), options.task, out)
    _check_resets(entry, sites)
    tasks = drafts.keep_draft(out, entry)
    stages = Stages(folder=out / "runs", overrides=tuple(options.overrides), config_dir=options.config_dir)
    session = stages.session(tasks)
    if why := _unfinished(session) or _password(session, stages.folder):
        return Recorded(why_not=f"{why}; to play again, give another folder with --out")
    plan, task = out / "plan.json", out / "task.json"
    if not plan.is_file():
        write_plan(plan, plan_of(session))
    proposals: tuple[Proposal, ...] = ()
    if not task.is_file():
        say("what you did is done again, and its pages are compared with those of a fresh site …")
        proposals = _proposed(stages, session, entry, out=out, sites=sites)
        if (judged := eval_of(proposals)) is None:
            return Recorded(proposals=proposals, why_not=_nothing(session))
        mutates = {"mutates": True} if any(one.chosen and one.kind == "program_html" for one in proposals) else {}
        write_atomic(task, dumps([{**entry, **mutates, "eval": judged}], pretty=True) + b"\n")
    say(f"{task} is checked …")
    checks = checks_of(stages, task, plan, trials=options.random, plays_audit=options.play_audit)
    return Recorded(proposals=proposals, checks=tuple(checks))


def _check_resets(entry: JsonObject, sites: SitesSettings) -> None:
    """Raises: ConfigError: A site cannot be reset, so nothing can be replayed on it as it was."""
    for name in entry.get("sites") or ():
        site = sites.by_name.get(name)
        if site is None:
            raise ConfigError(f"the settings have no site {str(name)[:60]}; give sites=NAME or +sites.{name}.url=…")
        hooks = (site.reset_command, site.reset_url, sites.reset.command, sites.reset.url)
        if not (site.is_embedded or site.read_only or any(hooks)):
            raise ConfigError(
                f"site {name} cannot be reset, so a recorded task cannot be checked on it; give"
                f" sites.{name}.reset_url=…, sites.{name}.reset_command=… or, if it cannot be changed,"
                f" sites.{name}.read_only=true"
            )


def _unfinished(session: "Episode") -> str:
    closed = session.record.closed
    if closed is not None and closed.reason is not CloseReason.STOPPED:
        return f"the session ended by itself ({closed.detail or closed.reason})"
    return "you gave the task up" if session.steps and _remembers(session.steps[-1], "gave_up") else ""


def _remembers(step: "Step", what: str) -> bool:
    """Whether `agent=human` keeps this with a decision."""
    return isinstance(step.decided.memory, dict) and bool(step.decided.memory.get(what))


def _password(session: "Episode", runs: Path) -> str:
    """What a plan or a task must not hold."""
    steps = [one.number for one in session.steps if _remembers(one, "password")]
    if not steps:
        return ""
    return (
        f"at step {steps[0]} you typed into a field for a password, which the task's plan would hold; log in by the"
        f" settings (sites.NAME.login and --login NAME), and delete {runs}, whose journal has what you typed"
    )


def _nothing(session: "Episode") -> str:
    if any(step.effects for step in session.steps):
        return (
            "what you did sent something to the site, but none of the pages that you opened shows it; play again, and"
            " open the page that shows it before you press Done"
        )
    return "you gave no answer, changed nothing, and ended where you began, so there is nothing to judge by"


def _proposed(
    stages: Stages, session: "Episode", entry: JsonObject, *, out: Path, sites: SitesSettings
) -> tuple[Proposal, ...]:
    urls = _pages(session, sites)
    probe = out / "probe.json"
    judged = {"eval_types": ["program_html"], "program_html": targets_of(urls) or [drafts.NOT_YET]}
    write_atomic(probe, dumps([{**entry, "eval": judged}], pretty=True) + b"\n")
    done = stages.probe("probe-done", probe, plays(out / "plan.json"), trials=2)
    (undone,) = stages.probe("probe-undone", probe, ("agent=null",))
    known = Session(
        intent=entry["intent"],
        texts=[step.seen.text for step in session.steps if step.seen is not None],
        sent=any(step.effects for step in session.steps),
    )
    found = proposals_of(
        plan_of(session),
        known,
        done=[pages_of(one, urls) for one in done],
        undone=pages_of(undone, urls),
    )
    found = tuple(_with_placeholders(one, sites) for one in found)
    write_atomic(out / "proposals.json", dumps([plain(one) for one in found], pretty=True) + b"\n")
    return found


def _pages(session: "Episode", sites: SitesSettings) -> list[str]:
    """Addresses that the person saw, the newest first."""
    seen = [step.seen.url for step in session.steps if step.seen is not None]
    found = dict.fromkeys(url for url in reversed(seen) if drafts.site_of(url, sites) is not None)
    return list(found)[:MOST_PAGES]


def _with_placeholders(one: Proposal, sites: SitesSettings) -> Proposal:
    content = {
        key: drafts.with_placeholders(value, sites) if key in ("url", "reference_url") else value
        for key, value in one.content.items()
    }
    return replace(one, content=content)
