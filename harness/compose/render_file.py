"""Reads the `render_{id}.html` WebArena leaves of a task: what its agent saw and answered, step by step.

The file is not escaped, so a page whose text holds the file's own markup cannot be told apart from it; what does not fit
is left out. Pure.
"""

import ast
import re
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Any

_CONFIG = re.compile(r"<body>\s*<pre>(.*?)</pre>", re.DOTALL)
_LINE = re.compile(
    r"^(sites|task_id|require_login|storage_state|start_url|geolocation|intent_template|instantiation_dict|intent"
    r"|require_reset|eval|intent_template_id|string_note): ",
    re.MULTILINE,
)
_STEP = "<h2>New Page</h2>\n"
_URL = re.compile(r"<h3 class='url'><a href=(.*?)>URL: ", re.DOTALL)
_TEXT = re.compile(r"<div class='state_obv'><pre>(.*?)</pre><div>\n", re.DOTALL)
_PICTURE = re.compile(r"<img src='data:image/png;base64,([A-Za-z0-9+/=]+)'")
_REPLY = re.compile(
    r"<div class='raw_parsed_prediction'[^>]*><pre>(.*?)</pre></div><div class='action_object'", re.DOTALL
)
_PARSED = re.compile(r"<div class='parsed_action'[^>]*><pre>(.*?)</pre></div></div>", re.DOTALL)
_CODE = re.compile(r"<div class='predict_action'>(.*)</div>", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
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
class Rendered:
    task: dict[str, Any]
    """The task's configuration, as far as the file prints it."""
    steps: tuple[Shown, ...]


def read_render(html: str) -> Rendered | None:
    """What the file tells; None when it is none of WebArena's."""
    found = _CONFIG.search(html)
    if found is None:
        return None
    steps = tuple(step for part in html.split(_STEP)[1:] if (step := _step(part)) is not None)
    return Rendered(task=_config(found[1]), steps=steps)


def _step(part: str) -> Shown | None:
    url, text = _URL.search(part), _TEXT.search(part)
    if url is None or text is None:
        return None
    reply, parsed, code = _REPLY.search(part), _PARSED.search(part), _CODE.search(part)
    action = parsed[1] if parsed else code[1] if code and reply is None else ""
    return Shown(url=url[1], text=text[1], picture=_picture(part), reply=reply[1] if reply else "", action=action)


def _picture(part: str) -> bytes | None:
    found = _PICTURE.search(part)
    try:
        return b64decode(found[1], validate=True) if found else None
    except Base64Error:
        return None


def _config(text: str) -> dict[str, Any]:
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
