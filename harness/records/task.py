"""What is asked: tasks, and the sites they are on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.records.optional import optional


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlTarget:
    """One `program_html` target: where to look, what to select, what must be there."""

    url: str
    """`last`, a canonical URL, or `func:NAME(...)`."""
    locator: str = ""
    """"" (whole page), a `document…`/`[...document…` expression, or `func:NAME(...)`."""
    exact_match: str | None = None
    must_include: tuple[str, ...] | None = None
    prep_actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Eval:
    """How a task is judged (WebArena's `eval`)."""

    eval_types: tuple[str, ...]
    reference_answers: Mapping[str, Any] | None = None
    """Kind (`exact_match`, `must_include`, `fuzzy_match`) to reference; the order is meaningful."""
    reference_url: str | None = None
    url_note: str | None = None
    string_note: str = ""
    program_html: tuple[HtmlTarget, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAnswer:
    """One thing that the user of a task says when asked."""

    says: str
    """Word for word."""
    about: tuple[str, ...] = ()
    """Given to a question that holds one of these, whatever their case; () = to any question."""
    consents: bool | None = None
    """True = it is a yes, False = a no, None = a fact."""


NOTHING_TO_SAY = UserAnswer(says="I have nothing to say to that.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedUser:
    """Whom an agent may ask in a task. What is said depends on the question alone, so a replay hears the same."""

    answers: tuple[UserAnswer, ...] = ()
    """The first that fits is given; empty in what an agent is given."""

    def answer_to(self, question: str) -> UserAnswer:
        """What the user says to a question."""
        asked = question.casefold()
        fitting = (one for one in self.answers if not one.about or any(word.casefold() in asked for word in one.about))
        return next(fitting, NOTHING_TO_SAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task in WebArena's schema, placeholders expanded to canonical URLs."""

    task_id: str
    """Path-safe; WebArena's integers as decimal text."""
    sites: tuple[str, ...]
    """Names of the sites that it needs."""
    intent: str
    """The objective, as the agent is given it."""
    start_urls: tuple[str, ...]
    """Opened in order, one tab each; the first is current."""
    eval: Eval
    """How it is scored; empty in what an agent is given."""
    require_login: bool = False
    """Whether its start needs somebody logged in."""
    storage_state: str | None = None
    """Absolute path of a storage state file, whose name also says which sites to log in to."""
    geolocation: Mapping[str, float] | None = None
    """Where the browser says it is; None = as `browser.geolocation`."""
    intent_template: str = ""
    """The sentence that the intent was made of; "" = unknown."""
    intent_template_id: str = ""
    """Tasks with the same one are made of one template."""
    instantiation_dict: Mapping[str, Any] = field(default_factory=dict)
    """What was filled into the template."""
    require_reset: bool = False
    """Whether its sites must be reset before it."""
    mutates: bool | tuple[str, ...] | None = None
    """Whether the task may change its sites, or which of them; None = not said."""
    images: tuple[str, ...] = optional(())
    """Pictures that belong to the intent, in order: canonical http(s) addresses or absolute paths of files."""
    user: ScriptedUser | None = optional(None)  # noqa: RUF009 (a field)
    """Whom the agent may ask; None = nobody."""
    probes: tuple[HtmlTarget, ...] = optional(())
    """What else is selected from the pages when an episode ends: it scores nothing, and is there for what is judged
    beside the score."""
    selectors: tuple[str, ...] = optional(())
    """Of each action it is recorded which of them fit an element that it is aimed at, for the same: CSS, or XPath that
    begins with `//` or `.//`."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the file we do not know, kept as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be recorded of an episode for what is judged beside its score; see `Task.probes`."""

    probes: tuple[HtmlTarget, ...] = ()
    selectors: tuple[str, ...] = ()
    """Each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """How a task is judged, where that was corrected after an attempt was opened."""

    # Whole, so that a bundle is verified without the task file.
    eval: Eval
    metadata: Mapping[str, Any] = optional(factory=dict)
    """Those of the task's whose keys begin with `eval.`: what `eval` has beyond WebArena's keys."""
    task_digest: str
    """Of the task with this reference."""


def benchmark_of(task_id: str) -> str:
    """The benchmark of a task of a suite, whose ids are `BENCHMARK.ID`; names of benchmarks have no dot."""
    # A dot, as ids become names of files, which hold no slash.
    return task_id.partition(".")[0]
