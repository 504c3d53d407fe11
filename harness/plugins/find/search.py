"""Steps of runs for which a query holds, one journal after the other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.api import Stop
from harness.errors import JournalError
from harness.plugins.find.query import NUMBERS, TEXTS, Term, holds
from harness.runs import Episode, Run, Step
from harness.runs.episode_fields import field_of

_AROUND = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A step that was found."""

    run: str
    task: str
    trial: int
    step: int
    action: str
    url: str
    """Of the page that it was decided upon."""
    outcome: str
    field: str
    """The first field in which the first word was found; "" = the query has no word."""
    quote: str
    """The text around it there."""


def find(run: Run, terms: Sequence[Term], name: str = "") -> Iterator[Hit]:
    """The steps for which all terms hold, in task order; a journal is read only if its episode may have one.

    Journals that are damaged are left out: `run.damaged` names them, after the last hit also those that were only found
    to be so here.

    Raises:
        HarnessError: What a plug-in knows of the run cannot be read, and a term asks for it.
    """
    own = {"", *TEXTS, *NUMBERS}
    known = {**_OF_EPISODE, **{one.field: field_of(run, one.field) for one in terms if one.field not in own}}
    first = [term for term in terms if term.field in known]
    order = {(one.task_id, one.trial): at for at, one in enumerate(run.results)}
    episodes = sorted(run.readable(), key=lambda one: order.get((one.task_id, one.trial), 0))
    while episodes:
        episode = episodes.pop(0)  # let go of, with its journal
        of_episode = {term.field: known[term.field](episode) for term in first}
        if not holds(first, of_episode.__getitem__):
            continue
        try:
            steps = episode.steps
        except JournalError as error:  # damaged since it was looked at
            run.leave_out(error)
            continue
        for step in steps:
            value = _Values(episode, step, of_episode)
            if holds(terms, value):
                yield _hit(name or run.name, episode, step, _quote(terms, value))


_OF_EPISODE: Mapping[str, Callable[[Episode], Sequence[str]]] = {
    "task": lambda one: (one.task_id,),
    "site": lambda one: ("+".join(one.sites),),
    "status": lambda one: (one.status,),
    "class": lambda one: (one.attribution.kind if one.attribution else "",),
    "rule": lambda one: (one.attribution.rule if one.attribution else "",),
    "steps": lambda one: (str(one.result.steps),),
    "trial": lambda one: (str(one.trial),),
}
_OF_STEP: Mapping[str, Callable[[Step], str]] = {
    "action": lambda step: step.text,
    "action.kind": lambda step: step.action.kind,
    "target": lambda step: next((target.name for target in step.action.targets), ""),
    "target.role": lambda step: next((target.role for target in step.action.targets), ""),
    "outcome": lambda step: step.outcome,
    "why": lambda step: step.why_not,
    "url": lambda step: step.seen.url if step.seen else "",
    "title": lambda step: step.seen.title if step.seen else "",
    "page": lambda step: step.seen.text if step.seen else "",
    "thought": lambda step: step.reply,
    "answer": lambda step: step.action.answer if isinstance(step.action, Stop) else "",
    "request": lambda step: "\n".join(one.reply for one in step.requests),
    "effect": lambda step: "\n".join(f"{one.method} {one.url} {one.status or ''}" for one in step.effects),
    "step": lambda step: str(step.number),
    "tokens": lambda step: str(step.usage.tokens),
    "cost": lambda step: str(step.usage.cost_usd),
}


class _Values:
    """The fields of one step; each is made when it is asked for, and once."""

    def __init__(self, episode: Episode, step: Step, of_episode: Mapping[str, Sequence[str]]) -> None:
        """Args: of_episode: The fields of the episode that terms name."""
        self._episode, self._step = episode, step
        self._known = dict(of_episode)

    def __call__(self, field: str) -> Sequence[str]:
        if field not in self._known:
            of_step = _OF_STEP.get(field)
            self._known[field] = (of_step(self._step),) if of_step else _OF_EPISODE[field](self._episode)
        return self._known[field]


def _quote(terms: Sequence[Term], value: _Values) -> tuple[str, str]:
    """The first field in which the first word is, and the text around it there."""
    word = next((term for term in terms if term.sign == "~"), None)
    if word is None:
        return "", ""
    fields = (word.field,) if word.field else TEXTS
    found = ((one, text) for one in fields for text in value(one) if word.value in text.casefold())
    field, text = next(found, ("", ""))
    at = max(0, text.casefold().find(word.value))
    return field, text[max(0, at - _AROUND) : at + len(word.value) + _AROUND]


def _hit(run: str, episode: Episode, step: Step, quote: tuple[str, str]) -> Hit:
    return Hit(
        run=run,
        task=episode.task_id,
        trial=episode.trial,
        step=step.number,
        action=step.text,
        url=step.seen.url if step.seen else "",
        outcome=step.outcome,
        field=quote[0],
        quote=quote[1],
    )
