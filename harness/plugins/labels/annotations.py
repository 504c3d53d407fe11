"""`harness export annotations`: labelled episodes in AgentRewardBench's layout, which `harness judge-check` reads.

    annotations.csv                                             a row for each author and episode
    trajectories/cleaned/BENCHMARK/MODEL/RUN/TASK.json          goal and steps: page, action, reasoning, screenshot
    screenshots/HASH.png

The first row of a trajectory is the one that counts there, so authors stand in the order in which they labelled it.
Labels of an attempt that is not the newest are left out. Names in paths are those of letters, digits, `.`, `_` and `-`.

Source: https://github.com/McGill-NLP/agent-reward-bench (`data/annotations.csv`, `scripts/score_judgments.py`).
"""

import csv
import re
import sys
from argparse import Namespace, _ArgumentGroup
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

from harness.api import Export, JsonObject, Stop, dumps
from harness.errors import ConfigError, JournalError
from harness.plugins.labels.book import NOTE, read_labels
from harness.runs import Episode, Run, one_line
from harness.runs.derived_files import write_export

_SUCCESS = {"yes": "Successful", "no": "Unsuccessful", "unsure": "Unsure"}
_YES_OR_NO = {"yes": "Yes", "no": "No", "unsure": "Unsure"}
_OPTIMALITY = {
    "1": "1. Complete Failure",
    "2": "2. Suboptimal",
    "3": "3. Somewhat Optimal",
    "4": "4. Completely Optimal",
}
_COLUMNS = (
    *("annotator_name", "benchmark", "task_id", "model_name", "exp_name"),
    *("trajectory_success", "trajectory_side_effect", "trajectory_optimality", "trajectory_looping"),
    *("failure_class", "note"),
)
"""Those of AgentRewardBench, and two of ours behind them."""
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")


class Annotations(Export):
    """Labels and their trajectories."""

    def arguments(self, parser: _ArgumentGroup, /) -> None:
        parser.add_argument("--author", metavar="NAME", help="only labels of this author")

    def write(self, run: Path, into: Path, options: Namespace, /) -> Iterator[Path]:
        """Raises: ConfigError: Nobody, or not this author, has labelled anything."""
        one = Run(run, scoring=options.scoring)
        book = read_labels(one)
        if book.damaged:
            raise JournalError(book.damaged[0])
        if book.torn:
            sys.stderr.write(f"harness: {one_line(book.torn)}\n")
        into = into if options.to else into / "annotations"
        rows = list[Mapping[str, str]]()
        for episode in one.episodes():
            said = book.latest(episode.task_id, episode.trial, episode.attempt)
            said = {author: values for author, values in said.items() if options.author in (None, author)}
            if not said:
                continue
            names = _names(one, episode)
            path = Path("trajectories", "cleaned", *(names[key] for key in ("benchmark", "model_name", "exp_name")))
            _write_pictures(episode, into, run)
            data = dumps(_trajectory(one, episode), pretty=True)
            write_export(into, str(path / f"{names['task_id']}.json"), data, run)
            rows += [_row(author, values, names) for author, values in said.items()]
        if not rows:
            whose = "" if options.author is None else f" of {one_line(options.author)[:80]}"
            raise ConfigError(f"{run}: no episode has a label{whose}; `harness label {run} --task ID …` gives one")
        yield write_export(into, "annotations.csv", _table(rows), run)


def _names(run: Run, episode: Episode) -> Mapping[str, str]:
    trial = f".trial-{episode.trial}" if episode.trial else ""
    return {
        "benchmark": _word(run.about.benchmark_of(episode.task_id)) or "cairn",
        "task_id": episode.task_id + trial,
        "model_name": "-".join(filter(None, map(_word, (run.about.agent, run.about.model)))) or "unknown",
        "exp_name": _word(run.name),
    }


def _word(text: str) -> str:
    """One part of a path, which leads nowhere else."""
    return _STRANGE.sub("_", text).lstrip(".-")[:100]


def _plain(text: str) -> str:
    """A text that no spreadsheet reads as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _row(author: str, values: Mapping[str, str], names: Mapping[str, str]) -> Mapping[str, str]:
    return {
        **names,
        "annotator_name": _plain(author),
        "trajectory_success": _SUCCESS.get(values.get("success", ""), ""),
        "trajectory_side_effect": _YES_OR_NO.get(values.get("side_effect", ""), ""),
        "trajectory_optimality": _OPTIMALITY.get(values.get("optimality", ""), ""),
        "trajectory_looping": _YES_OR_NO.get(values.get("looping", ""), ""),
        "failure_class": values.get("class", ""),
        "note": _plain(values.get(NOTE, "")),
    }


def _table(rows: list[Mapping[str, str]]) -> bytes:
    text = StringIO(newline="")
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _trajectory(run: Run, episode: Episode) -> JsonObject:
    return {
        "benchmark": _names(run, episode)["benchmark"],
        "agent": run.about.agent,
        "model": run.about.model,
        "valid": True,
        "goal": episode.intent,
        "steps": list(_steps(episode)),
    }


def _steps(episode: Episode) -> Iterator[JsonObject]:
    """Each page with what was done on it; the last page with nothing, where the episode did not end by an answer."""
    arrival = episode.record.arrival
    last = arrival.observation if arrival else None
    for step in episode.steps:
        is_answer = isinstance(step.action, Stop)
        action = f"send_msg_to_user({step.action.answer!r})" if isinstance(step.action, Stop) else step.text
        yield _step(step.seen.url if step.seen else "", action, step.reply, step.seen.screenshot if step.seen else None)
        last = None if is_answer else step.page or step.seen
    if last is not None:
        yield _step(last.url, "", "", last.screenshot)


def _step(url: str, action: str, reasoning: str, screenshot: str | None) -> JsonObject:
    return {
        "url": url,
        "action": action,
        "reasoning": reasoning,
        "screenshot_path": f"screenshots/{screenshot}.png" if screenshot else None,
    }


def _write_pictures(episode: Episode, into: Path, run: Path) -> None:
    arrival = episode.record.arrival
    pages = [arrival.observation if arrival else None, *(step.page for step in episode.steps)]
    for digest in dict.fromkeys(page.screenshot for page in pages if page is not None and page.screenshot):
        if not (into / "screenshots" / f"{digest}.png").is_file():
            write_export(into / "screenshots", f"{digest}.png", episode.artifacts.read(digest), run)
