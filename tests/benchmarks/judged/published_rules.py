"""The published rules of the three judges, stated again for the tests: what is asked, and how replies are read.

Of `src/methods/webjudge_online_mind2web.py` and `src/utils.py` (Online-Mind2Web), `evaluation/auto_eval.py`
(WebVoyager) and `browsecomp_eval.py` (simple-evals). `test_checkouts` compares with that code itself, where it is there.
"""

import re
from base64 import b64encode
from io import BytesIO
from typing import Any

from PIL import Image

Content = dict[str, Any]


def rating(reply: str) -> int:
    """0 = there is none."""
    pieces = reply.split("Score")
    digits = [letter for letter in pieces[1] if letter in "12345"] if len(pieces) > 1 else []
    return int(digits[0]) if digits else 0


def note(reply: str) -> str:
    after = reply.split("**Reasoning**:")[-1]
    return " ".join(after.strip().split("\n\n")[0].split("\n"))


def key_points(reply: str) -> str:
    text = reply.replace("\n\n", "\n")
    if "**Key Points**:" in text:
        text = text.split("**Key Points**:")[1]
    else:
        text = text.split("Key Points:")[-1]
    return "\n".join([line.lstrip() for line in text.splitlines()])


def status_is_success(reply: str) -> bool:
    pieces = reply.lower().split("status:")
    return len(pieces) > 1 and "success" in pieces[1]


def says_success(reply: str) -> bool | None:
    """None = there is no verdict."""
    if "SUCCESS" not in reply:
        return None
    return "NOT SUCCESS" not in reply


def is_graded_correct(reply: str) -> bool:
    """As it was meant: the code compares the whole match with `yes`."""
    yes, no = reply.find("correct: yes"), reply.find("correct: no")
    return yes >= 0 and (no < 0 or yes < no)


def answer_read(answer: str) -> str:
    """What `ANSWER; [answer]` gives: one character that is not a line break, then all up to the first `]`."""
    written = f"[{answer}]"
    body = written[1:] if written[1] != "\n" else written
    end = body.find("]", 1)
    return (body if end < 0 else body[:end]).strip()


def jpeg(data: bytes) -> Content:
    written, image = BytesIO(), Image.open(BytesIO(data))
    (image.convert("RGB") if image.mode == "RGBA" else image).save(written, format="JPEG")
    url = f"data:image/jpeg;base64,{b64encode(written.getvalue()).decode()}"
    return {"type": "image_url", "image_url": {"url": url, "detail": "high"}}


def as_it_is(data: bytes) -> Content:
    kind = "png" if re.match(rb"\x89PNG", data) else "jpeg"
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{b64encode(data).decode()}"}}


def text(value: str) -> Content:
    return {"type": "text", "text": value}


def webjudge_rating(task: str, points: str, screenshot: bytes) -> list[Content]:
    asked = (
        f"**Task**: {task}\n\n**Key Points for Task Completion**: {points}\n\n"
        "The snapshot of the web page is shown in the image."
    )
    return [text(asked), jpeg(screenshot)]


def webjudge_verdict(
    task: str, points: str, actions: list[str], rated: list[tuple[bytes, str]], threshold: int, most: int
) -> list[Content]:
    """Of `rated`, each a screenshot and the reply about it."""
    keys = [(shot, reply) for shot, reply in rated if rating(reply) >= threshold]
    notes = [note(reply) for _, reply in keys if note(reply) != ""][:most]
    asked = f"User Task: {task}\n\nKey Points: {points}\n\nAction History:\n" + "\n".join(
        f"{number + 1}. {action}" for number, action in enumerate(actions)
    )
    if keys:
        asked += "\n\nThe potentially important snapshots of the webpage in the agent's trajectory and their reasons:\n"
        asked += "\n".join(f"{number + 1}. {one}" for number, one in enumerate(notes))
    return [text(asked), *(jpeg(shot) for shot, _ in keys[:most])]


def webvoyager(task: str, answer: str, screenshots: list[bytes], last: int) -> list[Content]:
    asked = f"TASK: {task.strip()}\nResult Response: {answer_read(answer)}\n{last} screenshots at the end: "
    return [text(asked), *map(as_it_is, screenshots[-last:]), text("Your verdict:\n")]
