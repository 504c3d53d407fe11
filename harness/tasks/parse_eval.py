"""From a raw `eval` to a checked `Eval`.

What cannot be judged is refused before anything runs. `func:` calls are kept as they are, and never run as code: what
is not a call of a known function is an error of that one task, found when its evidence is gathered.
"""

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from harness.codec import JsonObject
from harness.records import Eval, HtmlTarget
from harness.tasks.validation import Fields

EVAL_TYPES = ("string_match", "url_match", "program_html")
URL_NOTE = "GOLD in PRED"
_OR = " |OR| "
_TARGET_KEYS = ("url", "locator", "required_contents", "prep_actions")
_SCRIPT_STARTS = ("document.", "[...document.")


def build_eval(fields: Fields, evaluators: Collection[str] = ()) -> Eval:
    """`evaluators` are eval types of classes of the person's own; what they need of a task is for them to say."""
    eval_types, known = fields.texts("eval_types"), (*EVAL_TYPES, *evaluators)
    for name in eval_types:
        if name not in known:
            raise fields.wrong(
                "eval_types",
                f"contains {name!r}; choose from {', '.join(known)} (or your own: evaluators.NAME._target_)",
            )
    if not eval_types:
        raise fields.wrong("eval_types", f"is empty; name at least one of {', '.join(known)}")
    judged = Eval(
        eval_types=eval_types,
        reference_answers=_reference_answers(fields),
        reference_url=_reference_url(fields),
        url_note=_url_note(fields),
        string_note=fields.text("string_note", ""),
        program_html=tuple(_target(inner) for inner in fields.inners("program_html")),
    )
    needs = {
        "string_match": ("reference_answers", judged.reference_answers),
        "url_match": ("reference_url", judged.reference_url),
        "program_html": ("program_html", judged.program_html),
    }
    for name in (name for name in eval_types if name in needs):
        key, value = needs[name]
        # Where one is empty, WebArena scores 1, whatever was done.
        if not value:
            raise fields.wrong(key, f"is empty, but eval_types contains {name}; fill it in, or remove {name}")
    _refuse_blank(fields, judged)
    return judged


def _refuse_blank(fields: Fields, judged: Eval) -> None:
    """A blank text is in every other one, so nothing but blank texts would pass whatever was done."""
    lists: dict[str, Sequence[str]] = {}
    if "string_match" in judged.eval_types:
        answers = (judged.reference_answers or {}).items()
        lists |= {f"reference_answers.{kind}": items for kind, items in answers if isinstance(items, list)}
    if "program_html" in judged.eval_types:
        for index, target in enumerate(judged.program_html):
            if target.exact_match is None and target.must_include is not None:
                lists[f"program_html[{index}].required_contents.must_include"] = target.must_include
    for key, items in lists.items():
        if all(map(_has_blank, items)):
            raise fields.wrong(key, "has no text to look for, so whatever was done would pass; fill it in")
    if "url_match" in judged.eval_types and _has_blank(judged.reference_url or ""):
        raise fields.wrong(
            "reference_url", f"is {judged.reference_url!r}, which has a blank alternative; fill it in, or remove it"
        )


def _has_blank(text: str) -> bool:
    """Whether one of the alternatives of a text is blank."""
    return not all(one.strip() for one in text.split(_OR))


def unknown_in_targets(fields: Fields) -> JsonObject:
    """Keys of `program_html` entries that mean nothing to us, by their place."""
    raw = fields.get("program_html") or []
    return {
        f"eval.program_html[{index}].{key}": value
        for index, target in enumerate(raw)
        for key, value in target.items()
        if key not in _TARGET_KEYS
    }


def is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _reference_answers(fields: Fields) -> dict[str, str | list[str]] | None:
    value = fields.get("reference_answers")
    if value is None:
        return None
    if isinstance(value, list):
        raise fields.wrong(
            "reference_answers",
            'is a list, as in WebArena\'s oldest examples; write {"must_include": […]} or {"exact_match": "…"}',
        )
    answers = fields.inner("reference_answers")
    return {kind: _reference(answers, kind) for kind in value}


def _reference_url(fields: Fields) -> str | None:
    reference = fields.optional_text("reference_url")
    try:
        for alternative in (reference or "").split(_OR):
            urlsplit(alternative)
    except ValueError as exc:
        raise fields.wrong("reference_url", f"is {reference!r}, which is not a valid address ({exc})") from exc
    return reference


def _reference(answers: Fields, kind: str) -> str | list[str]:
    if kind == "exact_match":
        return answers.text(kind)
    if kind == "must_include":
        return list(answers.texts(kind))
    if kind == "fuzzy_match":
        # The only bare text that WebArena knows here; it stops at any other.
        return "N/A" if answers.get(kind) == "N/A" else list(answers.texts(kind))
    raise answers.wrong(kind, "is not a known kind of answer; use exact_match, must_include or fuzzy_match")


def _url_note(fields: Fields) -> str | None:
    note = fields.optional_text("url_note")
    if note not in (None, URL_NOTE):
        raise fields.wrong("url_note", f"is {note!r}; the only rule is {URL_NOTE!r}")
    return note


def _target(fields: Fields) -> HtmlTarget:
    contents = fields.inner("required_contents")
    exact_match = contents.optional_text("exact_match")
    must_include = contents.texts("must_include") if contents.has("must_include") else None
    if exact_match is None and must_include is None:
        raise fields.wrong("required_contents", "must contain exact_match or must_include")
    return HtmlTarget(
        url=_target_url(fields),
        locator=_locator(fields),
        exact_match=exact_match,
        must_include=must_include,
        prep_actions=fields.texts("prep_actions") if fields.has("prep_actions") else (),
    )


def _target_url(fields: Fields) -> str:
    url = fields.text("url")
    # What follows `func:` is not checked here, as one wrong call would keep 811 other tasks from being played.
    if not url.startswith("func:") and url != "last" and not is_web_address(url):
        raise fields.wrong("url", f"is {url!r}; give `last`, an address or `func:NAME(…)`")
    return url


def _locator(fields: Fields) -> str:
    locator = fields.text("locator", "")
    # A leading blank is refused, too: WebArena stops at it.
    if locator.strip() and not locator.startswith(("func:", *_SCRIPT_STARTS)):
        raise fields.wrong(
            "locator", f"starts with {locator[:20]!r}; give nothing, `document.…`, `[...document.…` or `func:NAME(…)`"
        )
    return locator
