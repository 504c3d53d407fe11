"""Made-up replies of judges, and made-up trajectories with real pictures."""

import random
from collections.abc import Iterator
from io import BytesIO

from PIL import Image, ImageDraw

from harness.api import RecordedEpisode, TrajectoryStep
from harness.api.sealed_answers import encrypt
from harness.testing import MemoryArtifacts, a_task, closed

_WORDS = (
    "the filter is set",
    "price below $50",
    "3 of 4 items",
    "no evidence",
    "Scored high",
    "a cart",
    "résumé",
    "42",
)
_RATINGS = (
    *("{n}", "**{n}**", "{n}/5", "{n}.0", "[{n}]", "({n})", "{n} out of 5", "{n} - partial", "{n}.", " {n} ", "\n{n}"),
    *("five", "N/A", "0", "", "7/10", "10", "[1-5]: {n}", "**Score**: {n}", "-{n}", "{n}{n}", "{n}\n\nScore: 1"),
)
_HEADINGS = (
    "**Score**:",
    "Score:",
    "2. **Score**:",
    "### Score",
    "score:",
    "**Score:**",
    "Score",
    "Rating:",
    "SCORE:",
    "",
)
_REASONS = ("**Reasoning**:", "1. **Reasoning**:", "Reasoning:", "**Reasoning:**", "", "**Reasoning**:\n\n")
_STATUS = ("Status:", "status:", "STATUS:", "**Status**:", "**Status:**", "Status :", "Final status:", "", "Verdict:")
_SUCCESS = (
    *(
        '"success"',
        "success",
        "Success",
        "SUCCESS",
        "**success**",
        "successful",
        "unsuccessful",
        "success.",
        "not success",
    ),
    *(
        '"failure"',
        "failure",
        "Failure",
        "FAILURE",
        "failed",
        "",
        "NOT SUCCESS",
        "NOT  SUCCESS",
        "Not Success",
        "unclear",
    ),
)
_CORRECT = (
    *(
        "correct: yes",
        "correct: no",
        "Correct: yes",
        "correct: Yes",
        "**correct**: yes",
        "correct: **yes**",
        "correct:yes",
    ),
    *('correct: "yes"', "incorrect: yes", "correct:  yes", "correct: yesterday", "correct: none", "correct:\nyes", ""),
    *("correct: no\ncorrect: yes", "correct: yes\n\nconfidence: 90", "yes", "correct", "CORRECT: YES"),
)


def _prose(rng: random.Random) -> str:
    return rng.choice((". ", "\n", "\n\n", " ")).join(rng.choices(_WORDS, k=rng.randrange(4)))


def ratings(seed: int, count: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(count):
        number = rng.choice(_RATINGS).replace("{n}", str(rng.randrange(1, 6)))
        parts = [f"{rng.choice(_REASONS)} {_prose(rng)}", f"{rng.choice(_HEADINGS)} {number}", _prose(rng)]
        if rng.random() < 0.2:
            rng.shuffle(parts)
        yield rng.choice(("\n", "\n\n", " ", "  \n")).join(parts)


def verdicts(seed: int, count: int) -> Iterator[str]:
    """Of WebJudge and of WebVoyager's judge."""
    rng = random.Random(seed)
    for _ in range(count):
        said = [f"{rng.choice(_STATUS)} {rng.choice(_SUCCESS)}" for _ in range(rng.choice((1, 1, 1, 2)))]
        parts = [f"Thoughts: {_prose(rng)}", *said, _prose(rng)]
        if rng.random() < 0.2:
            rng.shuffle(parts)
        yield rng.choice(("\n", "\n\n", " ")).join(parts)


def grades(seed: int, count: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(count):
        lines = [f"extracted_final_answer: {_prose(rng)}", f"reasoning: {_prose(rng)}", rng.choice(_CORRECT)]
        yield "\n\n".join(lines if rng.random() < 0.8 else lines[::-1])


def points(seed: int, count: int) -> Iterator[str]:
    """Key points of a task."""
    rng = random.Random(seed)
    headings = ("**Key Points**:", "Key Points:", "- **Key Points**:", "### Key Points", "", "**Key Points:**")
    for _ in range(count):
        lines = [f"{' ' * rng.randrange(4)}{n}. {rng.choice(_WORDS)}" for n in range(1, rng.randrange(1, 6))]
        listed = rng.choice(("\n", "\n\n", "\n\n\n")).join(lines)
        again = f"\n{rng.choice(headings)} {_prose(rng)}" if rng.random() < 0.2 else ""
        yield f"{_prose(rng)}{rng.choice(headings)}{rng.choice((chr(10), ' ', ''))}{listed}{again}"


def answers(seed: int, count: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(count):
        text = "".join(rng.choices("ab c]d[\n;.1é", k=rng.randrange(1, 12)))
        yield text if text.strip() else "x"


def picture(rng: random.Random, kind: str) -> bytes:
    """A screenshot: a PNG with or without transparency, or a JPEG."""
    size = (rng.randrange(8, 60), rng.randrange(8, 60))
    drawn = Image.new("RGBA" if kind == "RGBA" else "RGB", size, rng.choice(("white", "navy", "teal")))
    ImageDraw.Draw(drawn).rectangle((1, 1, rng.randrange(2, 8), rng.randrange(2, 8)), fill=tuple(rng.randbytes(3)))
    written = BytesIO()
    drawn.save(written, "JPEG" if kind == "JPEG" else "PNG")
    return written.getvalue()


def trajectories(seed: int, count: int) -> Iterator[RecordedEpisode]:
    """Pages that stay the same, refused actions, steps without a screenshot, more pictures than a judge is shown."""
    rng = random.Random(seed)
    for number in range(count):
        artifacts, steps = MemoryArtifacts(), list[TrajectoryStep]()
        shot = None
        for step in range(rng.choice((1, 2, 3, 7, 16, 20)) if number else 62):
            if shot is None or rng.random() < 0.7:
                shot = artifacts.put(picture(rng, rng.choice(("RGB", "RGB", "RGBA", "JPEG"))))
            steps.append(
                TrajectoryStep(
                    action=f"click [{step}] on link 'Mugs <{step}>'" if step else "",
                    why_not="element is covered" if step and rng.random() < 0.2 else "",
                    url=f"http://shop.example/{step}",
                    title="Shop",
                    screenshot=shot if not step or rng.random() < 0.9 else None,
                )
            )
        held = {"answer": encrypt("Harbor Mug", "canary"), "canary": "canary"}
        yield RecordedEpisode(
            task=a_task(intent=f"Find mug <{number}>\n\nand {{buy}} it.", **{"eval.browsecomp": held}),
            closed=closed(next(answers(seed + number, 1))),
            trajectory=tuple(steps),
            artifacts=artifacts,
        )
