"""The attributions of a whole run, and `attribution.json` in its folder.

Only journals of episodes that did not pass are read, one at a time, and none that an earlier look by the same rules
still holds for: a start that had nothing to do costs nothing here.
"""

from collections.abc import Iterator

from harness.errors import JournalError
from harness.plugins.attribution.rules import VERSION, attribute
from harness.runs import PASSED, Episode, Run
from harness.runs.attribution import (
    ATTRIBUTION_NAME,
    NO_ATTRIBUTIONS,
    Attribution,
    Attributions,
    basis_of,
    entry_of,
    read_attributions,
)
from harness.runs.derived_files import write_derived
from harness.runs.outcome import NOT_JUDGED
from harness.runs.verified import key_of


def attributions_of(run: Run) -> Attributions:
    """The attributions of the episodes that can be read."""
    known = read_attributions(run.folder)
    if known.rules != VERSION:
        known = NO_ATTRIBUTIONS
    # A judge may have been paid for those of episodes that the run is not about at the moment.
    found = {key: said for one in run.surplus if (said := known.by_trial.get(key := key_of(one.task_id, one.trial)))}
    found |= {
        key_of(one.task_id, one.trial): (basis_of(one.result, one.score), said) for one, said in _looked(run, known)
    }
    return Attributions(by_trial=found, rules=VERSION)


def write_attributions(run: Run) -> Attributions:
    """Bring `attribution.json` up to date; without a failure there is none.

    Raises:
        UnsafeFile: It is a link, a FIFO or a device.
        StorageError: The disk refuses.
    """
    found = attributions_of(run)
    keep_attributions(run, found)
    return found


def keep_attributions(run: Run, found: Attributions) -> None:
    """Write them, unless the file has them already. Raises: as `write_attributions`."""
    known = read_attributions(run.folder)
    if found.by_trial == known.by_trial and known.rules in (VERSION, 0):
        return
    episodes = [(one.task_id, one.trial) for one in run.readable()] + [(one.task_id, one.trial) for one in run.surplus]
    by_key = {key_of(*one): one for one in episodes}
    entries = [entry_of(*by_key[key], basis, said) for key, (basis, said) in found.by_trial.items()]
    write_derived(run.folder, ATTRIBUTION_NAME, {"rules": VERSION, "episodes": entries})


def _looked(run: Run, known: Attributions) -> Iterator[tuple[Episode, Attribution]]:
    for episode in run.readable():
        if episode.status == PASSED or episode.score.cause == NOT_JUDGED:
            continue
        said = known.of(episode.result, episode.score)
        if said is None:
            try:
                said = attribute(episode)
            except JournalError as error:  # changed or damaged since it was looked at
                run.leave_out(error)
                continue
        if said is not None:
            yield episode, said
