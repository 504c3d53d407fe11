"""Reads the `render_{id}.html` WebArena leaves of a task: what its agent saw and answered, step by step.

The file is not escaped, so a page whose text holds the file's own markup cannot be told apart from it; what does not
fit is left out. Pure.
"""

import ast
import re
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Any

from harness.api import JsonObject

_CONFIG = re.compile(r"<body>\s*<pre>")
_LINE = re.compile(
    r"^(sites|task_id|require_login|storage_state|start_url|geolocation|intent_template|instantiation_dict|intent"
    r"|require_reset|eval|intent_template_id|string_note): ",
    re.MULTILINE,
)
_STEP = "<h2>New Page</h2>\n"
_URL = re.compile(r"<h3 class='url'><a href=")
_TEXT = re.compile(r"<div class='state_obv'><pre>")
_PICTURE = re.compile(r"<img src='data:image/png;base64,([A-Za-z0-9+/=]+)'")
_REPLY = re.compile(r"<div class='raw_parsed_prediction'[^<>]*><pre>")
_PARSED = re.compile(r"<div class='parsed_action'[^<>]*><pre>")
_CODE = re.compile(r"<div class='predict_action'>")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedStep:
    """One step: what was seen, and what was answered to it."""

    url: str
    """Real address."""
    text: str
    picture: bytes | None
    reply: str
    """The model's text; "" when the run itself ended the task, or under the playwright action set."""
    action: str
    """As WebArena read it, in words; "" when it read none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedTask:
    task: JsonObject
    """The task's configuration, as far as the file prints it."""
    steps: tuple[RenderedStep, ...]


def read_render(html: str) -> RenderedTask | None:
    """What the file tells; None when it is none of WebArena's."""
    config = _between(html, _CONFIG, "</pre>")
    if config is None:
        return None
    steps = tuple(step for part in html.split(_STEP)[1:] if (step := _step(part)) is not None)
    return RenderedTask(task=_config(config), steps=steps)


def _step(part: str) -> RenderedStep | None:
    url, text = _between(part, _URL, ">URL: "), _between(part, _TEXT, "</pre><div>\n")
    if url is None or text is None:
        return None
    reply = _between(part, _REPLY, "</pre></div><div class='action_object'")
    action = _between(part, _PARSED, "</pre></div></div>")
    if action is None and reply is None:
        action = _between(part, _CODE, "</div>", last=True)
    return RenderedStep(url=url, text=text, picture=_picture(part), reply=reply or "", action=action or "")


def _between(text: str, opening: re.Pattern[str], closing: str, *, last: bool = False) -> str | None:
    """From the first opening to the first closing after it, or to the last; None when there is none.

    One pattern for both would look for a closing that is missing once for each opening.
    """
    if (found := opening.search(text)) is None:
        return None
    end = text.rfind(closing, found.end()) if last else text.find(closing, found.end())
    return None if end < 0 else text[found.end() : end]


def _picture(part: str) -> bytes | None:
    found = _PICTURE.search(part)
    try:
        return b64decode(found[1], validate=True) if found else None
    except Base64Error:
        return None


def _config(text: str) -> JsonObject:
    """Keys and values as printed: texts bare, everything else as Python writes it."""
    starts = list(_LINE.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {
        start[1]: _value(text[start.end() : end].removesuffix("\n")) for start, end in zip(starts, ends, strict=True)
    }


def _value(text: str) -> Any:
    if not re.match(r"[\[{]|-?\d+$|None$|True$|False$", text):
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
