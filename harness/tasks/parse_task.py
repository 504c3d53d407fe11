"""From a raw task to a checked `Task`.

Everything a task says about its pages and itself is checked here; how it is judged, in `parse_eval`.
"""

import os.path
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from harness.records import ScriptedUser, Task, UserAnswer
from harness.tasks.further_keys import wanted_by
from harness.tasks.parse_eval import build_eval, is_web_address, unknown_in_targets
from harness.tasks.placeholders import expand
from harness.tasks.task_file import TaskEntry
from harness.tasks.validation import Fields

_SEVERAL_PAGES = " |AND| "
_PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif")
_MOST_PICTURES = 16
_LONGEST_ANSWER = 400


def build(entry: TaskEntry, bases: Mapping[str, str], evaluators: Collection[str] = ()) -> Task:
    """The task of an entry.

    Args:
        bases: Site to its address, for the places of the entry that name a site.
        evaluators: Eval types besides the shipped ones.
    Raises:
        TaskError: Something in it is wrong.
    """
    raw = expand(entry.place, entry.fields, bases)
    fields = Fields(entry.place, raw)
    # Taken here, or `rest` would keep it as a remark.
    fields.get("task_id")
    intent = fields.text("intent")
    if not intent.strip():
        raise fields.wrong("intent", "is empty; describe the task of the agent")
    judged, wanted = fields.inner("eval"), wanted_by(Fields(entry.place, raw))
    return Task(
        task_id=entry.task_id,
        sites=fields.texts("sites"),
        intent=intent,
        start_urls=_start_urls(fields),
        eval=build_eval(judged, evaluators),
        require_login=bool(fields.flag("require_login")),
        storage_state=_storage_state(fields, entry.file.parent),
        geolocation=_geolocation(fields),
        intent_template=fields.text("intent_template", ""),
        intent_template_id=_template_id(fields),
        instantiation_dict=fields.mapping("instantiation_dict"),
        require_reset=bool(fields.flag("require_reset")),
        mutates=_mutates(fields),
        images=_images(fields, entry.file.parent),
        user=_user(fields),
        probes=wanted.probes,
        selectors=wanted.selectors,
        metadata={
            **fields.rest(),
            **{f"eval.{key}": value for key, value in judged.rest().items()},
            **unknown_in_targets(judged),
        },
    )


def _user(fields: Fields) -> ScriptedUser | None:
    """`ask_user`: what the user says, a list of answers."""
    if fields.get("ask_user") is None:
        return None
    return ScriptedUser(answers=tuple(_answer(one) for one in fields.inners("ask_user")))


def _answer(fields: Fields) -> UserAnswer:
    says = fields.text("says").strip()
    if not 0 < len(says) <= _LONGEST_ANSWER:
        raise fields.wrong("says", f"has {len(says)} characters; give 1 to {_LONGEST_ANSWER}")
    answer = UserAnswer(
        says=says,
        about=() if fields.get("about") is None else fields.texts("about"),
        consents=fields.flag("consents"),
    )
    if unknown := sorted(fields.rest()):
        raise fields.wrong(unknown[0], "is unknown; an answer has says, about and consents")
    return answer


def _start_urls(fields: Fields) -> tuple[str, ...]:
    urls = tuple(url.strip() for url in fields.text("start_url").split(_SEVERAL_PAGES))
    for url in urls:
        if url != "about:blank" and not is_web_address(url):
            raise fields.wrong("start_url", f"contains {url!r}, which is neither a placeholder nor an http(s) address")
    return urls


def _storage_state(fields: Fields, folder: Path) -> str | None:
    value = fields.optional_text("storage_state")
    if not value:
        return None
    if not value.endswith(".json") or "\0" in value:
        raise fields.wrong("storage_state", f"is {value!r}; give the path of a .json file, or null")
    return os.path.normpath(folder.absolute() / value)


def _images(fields: Fields, folder: Path) -> tuple[str, ...]:
    """VisualWebArena's `image`: null, one picture, or a list of them."""
    value = fields.get("image")
    if value in (None, "", [], {}):
        return ()
    given = fields.texts("image") if isinstance(value, list) else (fields.text("image"),)
    if len(given) > _MOST_PICTURES:
        raise fields.wrong("image", f"contains {len(given)} pictures; the limit is {_MOST_PICTURES}")
    return tuple(_picture(fields, one, folder) for one in given)


def _picture(fields: Fields, value: str, folder: Path) -> str:
    if is_web_address(value):
        return value
    if not value.lower().endswith(_PICTURES) or "://" in value or "\0" in value:
        raise fields.wrong(
            "image", f"contains {value!r}; give an http(s) address, or the path of a {', '.join(_PICTURES)} file"
        )
    return os.path.normpath(folder.absolute() / value)


def _mutates(fields: Fields) -> bool | tuple[str, ...] | None:
    if not isinstance(fields.get("mutates"), list):
        return fields.flag("mutates")
    changed = fields.texts("mutates")
    if strange := sorted(set(changed) - set(fields.texts("sites"))):
        raise fields.wrong("mutates", f"names {strange[0]}, which is not among the task's sites")
    return changed


def _geolocation(fields: Fields) -> dict[str, float] | None:
    if fields.get("geolocation") is None:
        return None
    value = fields.mapping("geolocation")
    bounds = {"latitude": (-90, 90), "longitude": (-180, 180), "accuracy": (0, 1e9)}
    if not {"latitude", "longitude"} <= value.keys() <= bounds.keys():
        raise fields.wrong("geolocation", "must contain latitude and longitude, and may contain accuracy")
    for key, number in value.items():
        least, most = bounds[key]
        if not _is_number(number) or not least <= number <= most:
            raise fields.wrong(f"geolocation.{key}", f"is {number!r}; give a number from {least:g} to {most:g}")
    return {key: float(number) for key, number in value.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _template_id(fields: Fields) -> str:
    value = fields.get("intent_template_id")
    if value is None:
        return ""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise fields.wrong("intent_template_id", f"must be a number or a string, not {value!r}")
    return str(value)
