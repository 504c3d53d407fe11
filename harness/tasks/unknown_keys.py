"""Which keys of a raw task are read, which are remarks, and which ask for something that is not done here.

A key that is not read can change what a task is: VisualWebArena's `viewport_size` is one. So a key is read,
or it is known to be a remark and kept as such, or the task is refused; a key without a value (null, "", [], {}) asks
for nothing. Values are not looked at here, nor is anything of the wrong type: that is for those who read them.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from harness.errors import TaskError

_NOTES = r"_.*|comments?|remarks?|notes?|.*_annotation|annotation_note"


@dataclass(frozen=True, slots=True)
class _Place:
    """What one object of a task may hold."""

    read: frozenset[str]
    remarks: re.Pattern[str]
    unsupported: Mapping[str, str]
    """Key to what it asks for and what to do instead."""


_TASK = _Place(
    read=frozenset(
        "task_id sites intent start_url eval require_login storage_state geolocation intent_template intent_template_id"
        " instantiation_dict require_reset mutates image ask_user metadata".split()
    ),
    remarks=re.compile(
        rf"{_NOTES}|(.*_)?(difficulty|note|notes|comment|comments|id|ids)|description|tags?|labels?|"
        r"category|categories|level|"
        "split|source|authors?|annotators?|version|revision|created_at|updated_at"
    ),
    unsupported={
        "images": "is not read; write `image`, with one picture or a list of them",
        "viewport_size": ("sets a viewport; remove it, and set browser.width and browser.height for the run"),
    },
)
_EVAL = _Place(
    read=frozenset("eval_types reference_answers reference_url url_note string_note program_html".split()),
    remarks=re.compile(_NOTES),
    unsupported={
        "page_image_query": ("asks about the images of a page, which is not evaluated here; leave this task out")
    },
)
_TARGET = _Place(
    read=frozenset("url locator required_contents prep_actions".split()), remarks=re.compile(_NOTES), unsupported={}
)
_CONTENTS = _Place(
    read=frozenset({"exact_match", "must_include"}),
    remarks=re.compile(_NOTES),
    unsupported=dict.fromkeys(
        ("must_exclude", "required_values", "fuzzy_match"),
        "is a kind of content that is not evaluated here (only exact_match and must_include); leave this task out",
    ),
)


def refuse_unread(
    place: str, task: Mapping[str, Any], evaluators: Collection[str] = (), keys: Collection[str] = ()
) -> None:
    """Refuse a task with a key that is not read here.

    Args:
        place: In the file, as messages name it.
        evaluators: Eval types of the person's own; a key of `eval` with such a name is for its evaluator.
        keys: Keys of a task that plug-ins read.
    Raises:
        TaskError: A key of it is neither read nor a remark; one sentence with file, task and key.
    """
    for prefix, known, values in _objects(task):
        for key, value in values.items():
            if key in known.read or _is_empty(value) or (known is _EVAL and key in evaluators):
                continue
            if known is _TASK and key in keys:
                continue
            if (why := known.unsupported.get(key)) is not None:
                raise TaskError(f"{place}: field `{prefix}{key}` {why}")
            if not known.remarks.fullmatch(key):
                raise TaskError(f"{place}: field `{prefix}{key}` {_unknown(key, known)}")


def _objects(task: Mapping[str, Any]) -> Iterator[tuple[str, _Place, Mapping[str, Any]]]:
    """Every object whose keys we know, with the path that messages put before them."""
    yield "", _TASK, task
    judged = task.get("eval")
    if not isinstance(judged, Mapping):
        return
    yield "eval.", _EVAL, judged
    targets = judged.get("program_html")
    for index, target in enumerate(targets if isinstance(targets, list) else []):
        if isinstance(target, Mapping):
            yield f"eval.program_html[{index}].", _TARGET, target
            if isinstance(contents := target.get("required_contents"), Mapping):
                yield f"eval.program_html[{index}].required_contents.", _CONTENTS, contents


def _is_empty(value: Any) -> bool:
    # Benchmark files have `"image": null` in every task.
    return value is None or value in ("", [], {})


def _unknown(key: str, known: _Place) -> str:
    near = get_close_matches(key, known.read, 1, 0.75)
    fix = f"did you mean `{near[0]}`" if near else "remove it, or move it to `metadata` of the task if it is a remark"
    return f"is unknown, and ignoring it could give a wrong score; {fix}"
