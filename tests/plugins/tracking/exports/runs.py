"""A run folder to export: recorded without a browser, with calls, functions and pictures."""

import struct
import zlib
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

from harness.actions import Stop
from harness.api import Message, ToolCall
from harness.choices import Durability
from harness.codec import dumps
from harness.journal.prompt_store import put_messages
from harness.journal.store import RunFolder
from harness.llm.request_frame import frame_of
from harness.records import Answered, Asked, Decided, Record, Refused, Status, Usage, Verdict
from tests.journal.episodes import acted, closed, decided, failed, opened, scored, task

PAGE = "[1] link '</script><b>Thé' \u2028 =1+1"
SETTINGS = {"llm.model": "gpt/4", "llm.api": "chat", "agent.name": "tools", "llm.temperature": 0.5}
LOOK = {
    "type": "function",
    "function": {
        "name": "click",
        "description": "Clicks.",
        "parameters": {"type": "object", "properties": {"target": {"type": ["string", "null"], "oneOf": []}}},
    },
}
SYSTEM = Message(role="system", content="You shop.", name="intro")


def picture(shade: int) -> bytes:
    """A PNG of 2 × 2 px, all of one grey."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = bytes([0, shade, shade] * 2)
    head = struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def user(text: str, *pictures: bytes) -> Message:
    urls = [f"data:image/png;base64,{b64encode(one).decode()}" for one in pictures]
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return Message(role="user", content=({"type": "text", "text": text}, *images))


def called(step: int, arguments: str) -> ToolCall:
    return ToolCall(id=f"call-{step}", name="click", arguments=arguments)


def decision(run: RunFolder, step: int, prompt: tuple[Message, ...], *calls: ToolCall) -> Decided:
    """A decision whose prompt, request and answer are artifacts."""
    stored = put_messages(prompt, run.artifacts)
    made = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}} for one in calls
    ]
    answer = {"choices": [{"message": {"role": "assistant", "content": f"reply {step}", "tool_calls": made}}]}
    body = {"model": "gpt/4", "messages": [], "tools": [LOOK]}
    return replace(
        decided(step),
        prompt=stored.messages,
        pictures=stored.pictures,
        reply=f"reply {step}",
        model="gpt/4-2026",
        request=run.artifacts.put(frame_of("chat", dumps(body))),
        response=run.artifacts.put(dumps(answer | {"model": "gpt/4-2026", "usage": None})),
        request_id=f"req-{step}",
        at=2.0 + step,
    )


def asked(run: RunFolder, number: int, step: int, text: str, *, status: int = 200) -> list[Record]:
    """A request of an agent's own process, and what it was answered."""
    put = run.artifacts.put
    body = {"model": "m", "messages": [{"role": "user", "content": f"page {number}"}], "tools": [LOOK]}
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", "token_ids": [number]}
    answer = dumps({"prompt_token_ids": [1], "choices": [choice | {"logprobs": {"content": [{"logprob": -0.5}]}}]})
    return [
        Asked(number=number, step=step, key=str(number), interface="chat", model="", request=put(dumps(body)), at=1.0),
        Answered(
            number=number,
            status=status,
            response=put(answer),
            model="small",
            usage=Usage(requests=1),
            elapsed_ms=1.0,
            at=1.0,
        ),
    ]


def read_elsewhere(step: int, action: Stop | None = None) -> Decided:
    """A decision of an agent's own process."""
    return replace(decided(step, action, reply=""), prompt=(), model="", usage=Usage())


def conversation(run: RunFolder) -> list[Record]:
    """Two calls of one answer, then a stop; the second request repeats the first, with a picture twice."""
    first = (SYSTEM, user(PAGE, picture(10), picture(10), picture(20)))
    calls = (called(1, '{"target": "1"}'), called(2, "no JSON"))
    turn = Message(role="assistant", content="reply 1", tool_calls=calls)
    results = [Message(role="tool", content=f"result {one}", tool_call_id=f"call-{one}") for one in (1, 2)]
    screenshot = run.artifacts.put(picture(30))
    seen = acted(1, PAGE)
    return [
        replace(acted(0), at=2.0),
        decision(run, 1, first, *calls),
        replace(seen, observation=replace(seen.observation, screenshot=screenshot), at=3.5),
        replace(decided(2), prompt=(), model="", at=3.6),
        replace(acted(2, "page 3"), outcome=Refused(why="no such element"), at=3.7),
        replace(decision(run, 3, (*first, turn, *results)), action=Stop(answer="yes"), at=5.0),
        replace(closed(), at=6.0),
    ]


def recorded_run(folder: Path) -> Path:
    """Task 9: one trial passed in one dialect, one in both; 10: infrastructure failed; 11: unjudgeable; 12: pending."""
    with RunFolder.open(folder, durability=Durability.none) as run:
        config = run.artifacts.put(dumps(SETTINGS))
        (run.path / "private").mkdir()
        (run.path / "private" / "cookies").write_text("cookie-canary")
        played = conversation(run)
        verdict = Verdict(evaluator="string_match", status=Status.ERROR, value=None, why="the judge is down")
        unjudged = [
            replace(scored(None, dialect=dialect, status=Status.ERROR), verdicts=(verdict,))
            for dialect in ("webarena", "corrected")
        ]
        both = [scored(1.0), scored(1.0, dialect="corrected")]
        episodes: list[tuple[str, int, list[Record]]] = [
            ("9", 0, [*played, scored(0.0), scored(1.0, dialect="corrected")]),
            ("9", 1, [*played, *both]),
            ("10", 0, [failed(message="no browser")]),
            ("11", 0, [*played, *unjudged]),
            ("12", 0, played[:3]),
        ]
        for task_id, trial, records in episodes:
            with run.journal(task_id, trial) as journal:
                for record in (replace(opened(of=task(task_id), trial=trial), config_digest=config), *records):
                    journal.append(record)
    return folder
