"""What a policy is, and how one is read from a task: ST-WebAgentBench's form, checked.

A policy says who set it (organization, user, task), what it is about, and how it is judged: by one evaluator over the
trace of steps. A value that is not understood is an error of its task; nothing is ignored, as that would be a policy
that nobody can break.

Source: https://github.com/segev-shlomov/ST-WebAgentBench (Apache-2.0), `evaluation_harness/evaluators.py`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness.api import Task
from harness.api.records import HtmlTarget, Wanted
from harness.api.tasks import Fields
from harness.plugins.policies.words import ACTIONS, alternatives

KEY = "policies"
"""Of a task."""
SOURCES = ("organization", "user", "task")
"""Who may set a policy; the first takes precedence over the others."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MOST = 200
_SCRIPTS = ("document.", "[...document.")
_XPATHS = ("//", ".//")
_REMARKS = ("policy_template", "description", "policy_template_id", "policy_category", "source", "eval")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlCheck:
    """`is_url_match`: pages that must not be reached, or one that must be."""

    patterns: tuple[str, ...]
    """A page fits if one of them is part of its host, path and fragment."""
    is_forbidden: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementCheck:
    """`element_action_match`: something that must not be done to an element."""

    texts: tuple[str, ...] = ()
    """In small letters; one of them is part of the element's text."""
    selector: str = ""
    """CSS or XPath; "" = the texts say which elements."""
    action: str = ""
    """One of `ACTIONS`; "" = any."""
    reads_input: bool = False
    """What is typed may hold one of the texts, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a page may have at the end."""

    target: HtmlTarget
    """Where it is looked for."""
    exact_match: str | None = None
    must_include: tuple[str, ...] = ()
    not_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentCheck:
    """`is_program_html`: a state that must not be there at the end, or one that must."""

    contents: tuple[Content, ...]
    is_forbidden: bool = True
    """All of them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCheck:
    """`is_ask_the_user`: the user is asked before something is done, or is asked for what the task leaves out."""

    terms: tuple[str, ...]
    """In small letters."""
    is_missing_fact: bool = False
    """False: before an element with one of the terms is touched, the user consents to it. True: some question holds one
    of the terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveCheck:
    """`is_sensitive_data`: a text that must not be typed, sent or said."""

    text: str
    """In small letters."""
    may_be_typed: bool = False
    """Only addresses, messages and answers must not hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCheck:
    """`is_action_count`: how often something may be done."""

    action: str
    selectors: tuple[str, ...] = ()
    """Of the elements that count; () = all."""
    exactly: int | None = None
    fewer_than: int | None = None
    """One of the two is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PopupCheck:
    """`popup_error`: the user is told of an error that the page shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputCheck:
    """`is_input_hallucination`: nothing is typed or chosen but this."""

    allowed: tuple[str, ...]
    """In small letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One action of an order."""

    action: str
    selector: str = ""
    text: str = ""
    """Of the element, in small letters; one of the two is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderCheck:
    """`is_sequence_match`: actions that have to be done in this order."""

    moves: tuple[Move, ...]
    is_contiguous: bool = True
    """Nothing else is done between them."""


Check = (
    UrlCheck
    | ElementCheck
    | ContentCheck
    | AskCheck
    | SensitiveCheck
    | CountCheck
    | PopupCheck
    | InputCheck
    | OrderCheck
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy of a task."""

    number: int
    """Its place in the task's `policies`, from 0."""
    name: str
    """Of its template."""
    category: str
    source: str
    """One of `SOURCES`."""
    description: str
    """In words, as the agent may be told; "" = it has none."""
    kind: str
    """Of its evaluator: `is_url_match`, …"""
    check: Check


def policies_of(task: Task) -> tuple[Policy, ...]:
    """Those of a recorded task; () = it has none.

    Raises:
        TaskError: They cannot be understood, as in a task that was recorded by other rules.
    """
    return read_policies(Fields(f"task {task.task_id}", task.metadata)) if KEY in task.metadata else ()


def check_policies(task: Fields) -> Wanted:
    """What `cairn.task_keys` asks for: the pages and the elements that its policies look at.

    Raises:
        TaskError: A policy cannot be judged; one sentence with file, task, field and fix.
    """
    policies = read_policies(task)
    return Wanted(probes=targets_of(policies), selectors=tuple(dict.fromkeys(_selectors(policies))))


def _selectors(policies: tuple[Policy, ...]) -> Iterator[str]:
    for check in (policy.check for policy in policies):
        match check:
            case ElementCheck(selector=selector) if selector:
                yield selector
            case CountCheck(selectors=selectors):
                yield from selectors
            case OrderCheck(moves=moves):
                yield from (move.selector for move in moves if move.selector)


def targets_of(policies: tuple[Policy, ...]) -> tuple[HtmlTarget, ...]:
    """What has to be selected from pages for these policies, each once."""
    checks = (policy.check for policy in policies)
    contents = (content for check in checks if isinstance(check, ContentCheck) for content in check.contents)
    return tuple(dict.fromkeys(content.target for content in contents))


def read_policies(task: Fields) -> tuple[Policy, ...]:
    """Check `policies` of a task.

    Raises:
        TaskError: A field of one is missing, unknown or of the wrong kind.
    """
    found = task.inners(KEY)
    if len(found) > _MOST:
        raise task.wrong(KEY, f"has {len(found)} policies; the limit is {_MOST}")
    return tuple(_policy(number, fields) for number, fields in enumerate(found))


def _policy(number: int, fields: Fields) -> Policy:
    judged = fields.inner("eval")
    kinds = judged.texts("eval_types")
    if len(kinds) != 1:
        raise judged.wrong("eval_types", f"names {len(kinds)} evaluators; give one, and write a policy for each")
    (kind,) = kinds
    if (read := _READERS.get(kind)) is None:
        raise judged.wrong("eval_types", f"contains {kind[:60]!r}; choose one of {', '.join(_READERS)}")
    source = fields.text("source", "task")
    if source not in SOURCES:
        raise fields.wrong("source", f"is {source[:60]!r}; choose one of {', '.join(SOURCES)}")
    name = _name(fields, "policy_template_id", kind)
    policy = Policy(
        number=number,
        name=name,
        category=_name(fields, "policy_category", name),
        source=source,
        description=fields.text("description", ""),
        kind=kind,
        check=read(judged, name),
    )
    fields.get("policy_template")
    _refuse_rest(fields, _REMARKS)
    _refuse_rest(judged, _FIELDS)
    return policy


def _name(fields: Fields, key: str, default: str) -> str:
    name = fields.text(key, default)
    if not _NAME.fullmatch(name):
        raise fields.wrong(key, f"is {name[:60]!r}; write a name in small letters, digits and _")
    return name


def _refuse_rest(fields: Fields, known: tuple[str, ...]) -> None:
    """Fields of other evaluators may stand beside, empty, as in ST-WebAgentBench; one with a value is a mistake."""
    for key, value in fields.rest().items():
        if value in (None, "", [], {}) and key in known:
            continue
        fix = f"known are {', '.join(known)}" if key not in known else "its evaluator does not read it; remove it"
        raise fields.wrong(key, f"would not be judged: {fix}")


def _url(fields: Fields, _: str) -> UrlCheck:
    note = fields.text("url_note", "contains_any")
    if note != "contains_any":
        raise fields.wrong("url_note", f"is {note[:60]!r}; the only rule is 'contains_any'")
    patterns = alternatives(fields.text("reference_url"))
    for pattern in patterns:
        try:
            urlsplit(pattern)
        except ValueError as error:
            raise fields.wrong(
                "reference_url", f"contains {pattern[:60]!r}, which is not part of an address"
            ) from error
    if not patterns:
        raise fields.wrong("reference_url", "is empty; give a part of an address, several joined by ' |OR| '")
    return UrlCheck(patterns=patterns, is_forbidden=_is_forbidden(fields))


def _is_forbidden(fields: Fields) -> bool:
    return fields.flag("check_absence") is not False


def _element(fields: Fields, name: str) -> ElementCheck:
    texts = tuple(one.lower() for one in alternatives(fields.text("must_include", "")))
    selector = fields.text("element_selector", "")
    if not texts and not selector:
        raise fields.wrong("must_include", "is empty; give texts of elements, or element_selector")
    reads = fields.flag("check_action_args") is True or name == "jailbreaking"
    return ElementCheck(
        texts=texts, selector=selector, action=_action(fields, "must_include_action"), reads_input=reads
    )


def _action(fields: Fields, key: str, *, is_needed: bool = False) -> str:
    action = fields.text(key, None if is_needed else "").lower()
    if (action or is_needed) and action not in ACTIONS:
        raise fields.wrong(key, f"is {action[:60]!r}; choose one of {', '.join(ACTIONS)}")
    return action


def _content(fields: Fields, _: str) -> ContentCheck:
    given = fields.inners("program_html") if fields.has("program_html") else (fields,)
    contents = tuple(_content_of(one) for one in given)
    if not contents:
        raise fields.wrong("program_html", "is empty; give what to look at, or url, locator and required_contents")
    for one in given if given != (fields,) else ():
        _refuse_rest(one, ("url", "locator", "required_contents", "prep_actions"))
    return ContentCheck(contents=contents, is_forbidden=_is_forbidden(fields))


def _content_of(fields: Fields) -> Content:
    required = fields.inner("required_contents")
    exact = required.optional_text("exact_match")
    includes = required.texts("must_include") if required.has("must_include") else ()
    not_empty = required.is_given("not_empty")
    required.get("not_empty")
    if exact is None and not includes and not not_empty:
        raise fields.wrong("required_contents", "must contain exact_match, must_include or not_empty")
    _refuse_rest(required, ())
    target = HtmlTarget(
        url=_target_url(fields),
        locator=_locator(fields),
        prep_actions=fields.texts("prep_actions") if fields.has("prep_actions") else (),
    )
    return Content(target=target, exact_match=exact, must_include=includes, not_empty=not_empty)


def _target_url(fields: Fields) -> str:
    url = fields.text("url", "last")
    if url != "last" and not url.startswith(("func:", "http://", "https://")):
        raise fields.wrong("url", f"is {url[:60]!r}; give `last`, an address or `func:NAME(…)`")
    return url


def _locator(fields: Fields) -> str:
    """As the browser evaluates it: an XPath gives the value of its field."""
    locator = fields.text("locator", "")
    if locator.startswith(_XPATHS):
        return f"document.evaluate({json.dumps(locator)}, document, null, 9, null).singleNodeValue?.value ?? ''"
    if locator.strip() and not locator.startswith(("func:", *_SCRIPTS)):
        raise fields.wrong(
            "locator", f"starts with {locator[:20]!r}; give nothing, `document.…`, `//…` or `func:NAME(…)`"
        )
    return locator


def _ask(fields: Fields, name: str) -> AskCheck:
    terms = tuple(one.lower() for one in alternatives(fields.text("must_include")))
    if not terms:
        raise fields.wrong("must_include", "is empty; give texts of elements, or words of the question")
    return AskCheck(terms=terms, is_missing_fact=name == "missing_params")


def _sensitive(fields: Fields, _: str) -> SensitiveCheck:
    text = fields.text("sensitive_data").strip().lower()
    if not text:
        raise fields.wrong("sensitive_data", "is empty; give the text that must not be typed or sent")
    return SensitiveCheck(text=text, may_be_typed=fields.flag("leak_only") is True)


def _count(fields: Fields, _: str) -> CountCheck:
    exactly, fewer = _number(fields, "global_count"), _number(fields, "global_count_less_than")
    if (exactly is None) == (fewer is None):
        raise fields.wrong("global_count", "and global_count_less_than: give one of the two, a whole number from 0")
    return CountCheck(
        action=_action(fields, "action_type", is_needed=True),
        selectors=fields.texts("element_selectors") if fields.has("element_selectors") else (),
        exactly=exactly,
        fewer_than=fewer,
    )


def _number(fields: Fields, key: str) -> int | None:
    value = fields.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 10**9):
        raise fields.wrong(key, f"is {str(value)[:60]!r}; give a whole number from 0")
    return value


def _popup(fields: Fields, _: str) -> PopupCheck:
    return PopupCheck()


def _input(fields: Fields, _: str) -> InputCheck:
    allowed = tuple(one.strip().lower() for one in fields.texts("only_fill"))
    if not allowed:
        raise fields.wrong("only_fill", "is empty; list what may be typed")
    return InputCheck(allowed=allowed)


def _order(fields: Fields, _: str) -> OrderCheck:
    how = fields.text("matching_type", "contiguous").lower()
    if how not in ("contiguous", "non-contiguous"):
        raise fields.wrong("matching_type", f"is {how[:60]!r}; choose contiguous or non-contiguous")
    moves = tuple(_move(one) for one in fields.inners("action_sequence"))
    if not moves:
        raise fields.wrong("action_sequence", "is empty; list the actions in their order")
    return OrderCheck(moves=moves, is_contiguous=how == "contiguous")


def _move(fields: Fields) -> Move:
    selector = fields.text("element_selector", "") or fields.text("action_selector", "")
    text = fields.text("element_text", "").lower()
    if not selector and not text:
        raise fields.wrong("element_selector", "is missing; give it, or element_text")
    move = Move(action=_action(fields, "action_type", is_needed=True), selector=selector, text="" if selector else text)
    _refuse_rest(fields, ("action_selector", "element_text"))
    return move


_READERS: Mapping[str, Callable[[Fields, str], Check]] = {
    "is_url_match": _url,
    "element_action_match": _element,
    "is_program_html": _content,
    "is_ask_the_user": _ask,
    "is_sensitive_data": _sensitive,
    "is_action_count": _count,
    "popup_error": _popup,
    "is_input_hallucination": _input,
    "is_sequence_match": _order,
}
_FIELDS = (
    *(
        "eval_types",
        "must_include",
        "must_include_action",
        "check_action_args",
        "element_selector",
        "element_selectors",
    ),
    *("url_note", "reference_url", "check_absence", "url", "locator", "required_contents", "program_html"),
    *("sensitive_data", "leak_only", "only_fill", "action_type", "global_count", "global_count_less_than"),
    *("action_sequence", "matching_type"),
)
