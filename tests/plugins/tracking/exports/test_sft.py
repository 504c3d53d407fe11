"""Runs as training data: which answers are learned, of what conversations, and that a fine-tuning endpoint takes them."""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import InvalidAction, Stop
from harness.actions.truncate import cut
from harness.api import Message
from harness.choices import Durability
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.tracking.episodes import run_groups
from harness.plugins.tracking.exports.sft_rules import fault_of
from harness.records import Answered, Asked, Decided, Record, Refused, Usage
from harness.secrets.redaction import Redactor
from tests.journal.episodes import acted, closed, opened, scored, task
from tests.plugins.tracking.exports.runs import LOOK, PAGE, SETTINGS, called, decision, picture, recorded_run, user

SYSTEM = Message(role="system", content="You shop.")
EXAMPLE = (Message(role="user", content="an example"), Message(role="assistant", content="its answer"))
Sample = dict[str, Any]


def samples(folder: Path, *options: str) -> list[Sample]:
    assert main(["export", "sft", str(folder), *options]) == 0
    lines = (folder / "export" / "sft.jsonl").read_bytes().splitlines()
    found = [json.loads(line) for line in lines]
    assert [fault_of(one) for one in found] == [None] * len(found)
    return found


def write(
    folder: Path, *episodes: tuple[str, Callable[[RunFolder], list[Record]], float], redactor: Redactor | None = None
) -> Path:
    """A run of these episodes, each with its score."""
    opening = RunFolder.open(folder, durability=Durability.none, redactor=redactor or Redactor())
    with opening as run:
        config = run.artifacts.put(dumps(SETTINGS))
        for task_id, played, value in episodes:
            with run.journal(task_id) as journal:
                journal.append(replace(opened(of=task(task_id)), config_digest=config))
                for record in (*played(run), closed(), scored(value, dialect="corrected")):
                    journal.append(record)
    return folder


def test_each_run_is_exported_in_its_own_scoring(tmp_path: Path) -> None:
    """Task 9 passed in both trials by `corrected`, and in one by `webarena`."""
    found = {}
    for scoring in ("webarena", "corrected"):
        folder = recorded_run(tmp_path / scoring)
        (folder / "run.json").write_bytes(dumps({"scoring": scoring}))
        found[scoring] = folder
    assert main(["export", "csv", *map(str, found.values()), "--to", str(tmp_path / "out")]) == 0
    passed = {one: (tmp_path / "out" / one / "tasks.csv").read_text().count(",passed,") for one in found}
    assert passed == {"webarena": 1, "corrected": 2}
    assert main(["export", "csv", str(found["webarena"]), "--scoring", "corrected"]) == 0
    assert (found["webarena"] / "export" / "tasks.csv").read_text().count(",passed,") == 2


def test_what_is_not_exported_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "run", *((name, shown_afresh, 1.0) for name in "123"))
    (folder / "run.json").write_bytes(dumps({"scoring": "corrected", "tasks": ["1", "3"], "trials": 1}))
    assert main(["export", "csv", str(folder)]) == 0
    assert [line.split(",")[0] for line in (folder / "export" / "tasks.csv").read_text().splitlines()[1:]] == ["1", "3"]
    assert "not counted: 1 episode of earlier starts with other tasks or trials (task 2)" in capsys.readouterr().err


def said(text: str) -> Message:
    return Message(role="assistant", content=text)


def shown_afresh(run: RunFolder) -> list[Record]:
    """An agent that is shown each page alone, after an example; the page refuses its second action."""
    head = (SYSTEM, *EXAMPLE)
    return [
        acted(0),
        decision(run, 1, (*head, user(PAGE, picture(10)))),
        acted(1),
        decision(run, 2, (*head, user("page 2"))),
        replace(acted(2), outcome=Refused(why="no such element")),
        stop(decision(run, 3, (*head, user("page 3")))),
    ]


def in_conversation(run: RunFolder) -> list[Record]:
    """An agent that has a conversation, and calls a function; its second answer could not be read."""
    first = (SYSTEM, user(PAGE))
    call = called(1, '{"target": "1"}')
    second = (*first, Message(role="assistant", content="reply 1", tool_calls=(call,)), result("done", "call-1"))
    third = (*second, said("reply 2"), user("that was not an action"))
    return [
        acted(0),
        decision(run, 1, first, call),
        acted(1),
        replace(decision(run, 2, second), action=InvalidAction(why="no call")),
        acted(2),
        stop(decision(run, 3, third)),
    ]


def result(text: str, call: str) -> Message:
    return Message(role="tool", content=text, tool_call_id=call)


def stop(decided: Decided) -> Decided:
    return replace(decided, action=Stop(answer="yes"))


def weights(sample: Sample) -> list[tuple[str, int]]:
    return [(one["content"], one["weight"]) for one in sample["messages"] if one["role"] == "assistant"]


def test_a_sample_for_each_answer_that_was_performed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "run", ("1", shown_afresh, 1.0))
    first, last = samples(folder)
    assert weights(first) == [("its answer", 0), ("reply 1", 1)]
    assert weights(last) == [("its answer", 0), ("reply 3", 1)]
    text, image = first["messages"][3]["content"]
    assert text == {"type": "text", "text": PAGE} and image["image_url"]["url"].startswith("data:image/png;base64,")
    assert last["messages"][3] == {"role": "user", "content": "page 3"} and last["tools"] == [LOOK]
    out = capsys.readouterr().out
    assert "run: 2 samples of 1 episode" in out and "left out: 1 sample: it has nothing to learn" in out


def test_one_conversation_is_one_sample_of_an_episode(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", ("1", in_conversation, 1.0))
    by_step = samples(folder)
    assert [weights(one)[-1] for one in by_step] == [("reply 1", 1), ("reply 3", 1)]
    assert [weight for _, weight in weights(by_step[1])] == [0, 0, 1], "each answer is taught once"
    assert by_step[0]["messages"][-1]["tool_calls"][0]["function"] == {"name": "click", "arguments": '{"target": "1"}'}
    (whole,) = samples(folder, "--per", "episode")
    assert weights(whole) == [("reply 1", 1), ("reply 2", 0), ("reply 3", 1)]
    assert [one["role"] for one in whole["messages"]] == [
        *("system", "user", "assistant", "tool", "assistant", "user", "assistant"),
    ]


def test_pages_that_the_model_never_saw_together_are_no_conversation(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", ("1", shown_afresh, 1.0))
    assert samples(folder, "--per", "episode") == samples(folder)


def test_only_what_passed_is_learned_unless_less_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "run", ("1", shown_afresh, 1.0), ("2", in_conversation, 0.0), ("3", shown_afresh, 0.5))
    assert len(samples(folder)) == 2 and "not chosen: 2 episodes" in capsys.readouterr().out
    assert len(samples(folder, "--min-score", "0.5")) == 4
    assert len(samples(folder, "--min-score", "0")) == 6
    assert len(samples(folder, "--min-score", "0", "--where", "task=2", "--where", "task=3")) == 4
    assert len(samples(folder, "--min-score", "0", "--where", "task=*", "--where", "closed=STOPPED")) == 6
    assert samples(folder, "--where", "site=none") == samples(folder, "--scoring", "webarena") == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--min-score", "2"), "--min-score 2 is not a score; give a number from 0 to 1"),
        (("--where", "colour=red"), "is not FIELD=PATTERN; the fields are task, site, template, trial, closed"),
        (("--where", "task"), "is not FIELD=PATTERN"),
    ],
)
def test_what_cannot_be_chosen_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], why: str
) -> None:
    folder = write(tmp_path / "run", ("1", shown_afresh, 1.0))
    assert main(["export", "sft", str(folder), *options]) == 2
    assert why in capsys.readouterr().err and not (folder / "export").exists()


SHOT = {"media_type": "image/png", "data": b64encode(picture(10)).decode()}
URL = f"data:image/png;base64,{SHOT['data']}"
FUNCTION = LOOK["function"]
CLICK = {"id": "c", "type": "function", "function": {"name": "click", "arguments": "{}"}}
CHAT = {
    "model": "m",
    "tools": [LOOK],
    "messages": [
        {"role": "system", "content": "You shop."},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": "I click", "tool_calls": [CLICK]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
    ],
}
"""The same conversation in each interface."""
MESSAGES = {
    "model": "m",
    "tools": [{"name": "click", "description": "Clicks.", "input_schema": FUNCTION["parameters"]}],
    "system": [{"type": "text", "text": "You shop."}],
    "messages": [
        {"role": "user", "content": "go on"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I click"},
                {"type": "tool_use", "id": "c", "name": "click", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c",
                    "content": [
                        {"type": "text", "text": "done"},
                        {"type": "image", "source": {"type": "base64", **SHOT}},
                    ],
                }
            ],
        },
    ],
}
RESPONSES = {
    "model": "m",
    "tools": [{"type": "function", **FUNCTION}],
    "instructions": "You shop.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "go on"}]},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I click"}]},
        {"type": "function_call", "call_id": "c", "name": "click", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
        {"role": "user", "content": [{"type": "input_image", "image_url": URL}]},
    ],
}


def events(*trees: Sample) -> bytes:
    return b"".join(b"data: " + dumps(one) + b"\n\n" for one in trees)


def chunk(delta: Sample, finish: str | None = None) -> Sample:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


ANSWERS: dict[str, tuple[Sample, bytes]] = {
    "chat": (
        CHAT,
        events(
            chunk({"role": "assistant", "content": "and "}),
            chunk({"content": "again", "tool_calls": [{"index": 0, **CLICK}]}),
            chunk({}, "tool_calls"),
        ),
    ),
    "messages": (
        MESSAGES,
        events(
            {"type": "message_start", "message": {"role": "assistant", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "and again"}},
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "c", "name": "click", "input": {}},
            },
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "}"}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        ),
    ),
    "responses": (
        RESPONSES,
        dumps(
            {
                "status": "completed",
                "output": [
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "and again"}]},
                    {"type": "function_call", "call_id": "c", "name": "click", "arguments": "{}"},
                ],
            }
        ),
    ),
}


def of_a_process(interface: str, status: int = 200, answer: bytes | None = None) -> Callable[[RunFolder], list[Record]]:
    """One request of a process."""

    def played(run: RunFolder) -> list[Record]:
        body, whole = ANSWERS[interface]
        request = run.artifacts.put(dumps(body))
        response = run.artifacts.put(whole if answer is None else answer)
        return [
            acted(0),
            Asked(number=1, step=1, key="1", interface=interface, model="m", request=request, at=1.0),
            Answered(number=1, status=status, response=response, model="m", usage=Usage(), elapsed_ms=1.0, at=1.0),
            stop(decision(run, 1, ())),
        ]

    return played


@pytest.mark.parametrize("interface", list(ANSWERS))
def test_requests_of_a_process_are_as_it_made_them(tmp_path: Path, interface: str) -> None:
    (sample,) = samples(write(tmp_path / "run", ("1", of_a_process(interface), 1.0)))
    *asked, answer = sample["messages"]
    assert [{key: one[key] for key in one if key != "weight"} for one in asked] == CHAT["messages"]
    assert sample["tools"][0]["function"] == FUNCTION
    assert answer == {"role": "assistant", "content": "and again", "tool_calls": [CLICK], "weight": 1}
    assert asked[2]["weight"] == 0


@pytest.mark.parametrize("interface", list(ANSWERS))
def test_what_a_process_was_not_answered_is_no_sample(
    tmp_path: Path, interface: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_off = ANSWERS[interface][1][:40]
    folder = write(
        tmp_path / "run",
        ("1", of_a_process(interface, status=500), 1.0),
        ("2", of_a_process(interface, answer=cut_off), 1.0),
    )
    assert samples(folder) == []
    assert "left out: 1 sample: a request or an answer of the agent's process that cannot be read" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("messages", value)
            for value in (5, None, [5], [{"role": {}, "content": 5}], [{"role": "user", "content": [5]}])
        ),
        *(("tools", value) for value in (5, [5], [{"type": "function", "function": {"name": 5}}])),
        ("messages", [{"role": "assistant", "content": "a", "tool_calls": 5}]),
        ("input", [{"type": "function_call"}]),
    ],
)
@pytest.mark.parametrize("interface", list(ANSWERS))
def test_whatever_a_process_asked_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interface: str, key: str, value: object
) -> None:
    body, answer = ANSWERS[interface]
    monkeypatch.setitem(ANSWERS, interface, ({**body, key: value}, answer))
    folder = write(tmp_path / "run", ("1", of_a_process(interface), 1.0))
    assert len(samples(folder)) <= 1
    (group,) = run_groups(folder)
    assert len(group.trajectories[0].seen or ()) <= 1


def asks(run: RunFolder, number: int, messages: list[Sample], text: str, *, step: int = 0) -> list[Record]:
    """A request of a process, by default for the step of the same number, and its answer."""
    request = run.artifacts.put(dumps({"model": "m", "messages": messages}))
    answer = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    response = run.artifacts.put(dumps(answer))
    return [
        Asked(
            number=number, step=step or number, key=str(number), interface="chat", model="m", request=request, at=1.0
        ),
        Answered(number=number, status=200, response=response, model="m", usage=Usage(), elapsed_ms=1.0, at=1.0),
    ]


def shown(*texts: str) -> list[Sample]:
    """A conversation that begins with the user."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def test_an_answer_that_a_process_repeats_in_other_words_is_taught_as_it_was_given(tmp_path: Path) -> None:
    def rewritten(run: RunFolder) -> list[Record]:
        return [
            acted(0),
            *asks(run, 1, shown("page 1"), "what the model said"),
            decision(run, 1, ()),
            acted(1),
            *asks(run, 2, shown("page 1", "what the process made of it", "page 2"), "second"),
            decision(run, 2, ()),
            acted(2),
            *asks(run, 3, shown("page 1", "what the process made of it", "page 2", "second", "page 3"), "third"),
            stop(decision(run, 3, ())),
        ]

    first, second = samples(write(tmp_path / "run", ("1", rewritten, 1.0)), "--per", "episode")
    assert weights(first) == [("what the model said", 1)]
    assert weights(second) == [("what the process made of it", 0), ("second", 1), ("third", 1)]


def test_an_answer_that_an_agent_repeats_shortened_is_taught_whole(tmp_path: Path) -> None:
    long = "x" * 30_000

    def shortened(run: RunFolder) -> list[Record]:
        first = (SYSTEM, user(PAGE))
        second = (*first, said(cut(long, 20_000)), user("page 2"))
        return [
            acted(0),
            replace(decision(run, 1, first), reply=long),
            acted(1),
            stop(decision(run, 2, second)),
        ]

    one, other = samples(write(tmp_path / "run", ("1", shortened, 1.0)), "--per", "episode")
    assert weights(one) == [(long, 1)]
    assert [weight for _, weight in weights(other)] == [0, 1]


def test_an_answer_of_a_process_whose_action_failed_is_not_learned(tmp_path: Path) -> None:
    def failing(run: RunFolder) -> list[Record]:
        return [
            acted(0),
            *asks(run, 1, shown("page 1"), "click what is not there"),
            decision(run, 1, ()),
            replace(acted(1), outcome=Refused(why="no such element")),
            *asks(run, 2, shown("page 2"), "nonsense"),
            replace(decision(run, 2, ()), action=InvalidAction(why="no action")),
            acted(2),
            *asks(run, 3, shown("page 3"), "two actions"),
            decision(run, 3, ()),
            acted(3),
            decision(run, 4, ()),
            replace(acted(4), outcome=Refused(why="no such element")),
            *asks(run, 4, shown("page 5"), "stop", step=5),
            stop(decision(run, 5, ())),
        ]

    (sample,) = samples(write(tmp_path / "run", ("1", failing, 1.0)))
    assert weights(sample) == [("stop", 1)]


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_a_request_whose_messages_the_provider_keeps_is_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    body, answer = ANSWERS["responses"]
    monkeypatch.setitem(ANSWERS, "responses", ({**body, key: "x"}, answer))
    folder = write(tmp_path / "run", ("1", of_a_process("responses"), 1.0))
    assert samples(folder) == []
    (group,) = run_groups(folder)
    assert group.trajectories[0].messages_and_choices == []
    told = f"left out: 1 sample: a request of the agent's process with {key}: the provider keeps a part"
    assert told in capsys.readouterr().out
    monkeypatch.setitem(ANSWERS, "responses", ({**body, key: None}, answer))
    assert len(samples(write(tmp_path / "other", ("1", of_a_process("responses"), 1.0)))) == 1


def test_secrets_stay_out_and_the_file_appears_whole(tmp_path: Path) -> None:
    def with_secret(run: RunFolder) -> list[Record]:
        return [acted(0), stop(decision(run, 1, (user("log in as hunter-22-canary"),)))]

    secret = Redactor({"sites.shop.login": "hunter-22-canary"})
    folder = write(tmp_path / "run", ("1", with_secret, 1.0), redactor=secret)
    (sample,) = samples(folder)
    assert "[redacted:sites.shop.login]" in sample["messages"][0]["content"]
    assert b"canary" not in (before := (folder / "export" / "sft.jsonl").read_bytes())
    for path in (folder / "artifacts").rglob("*"):
        if path.is_file() and b"log in as" in path.read_bytes():
            path.unlink()
    assert main(["export", "sft", str(folder)]) == 3
    assert (folder / "export" / "sft.jsonl").read_bytes() == before
    assert [path.name for path in (folder / "export").iterdir()] == ["sft.jsonl"]


GOOD: Sample = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "weight": 1}]}
CALL = {"id": "1", "type": "function", "function": {"name": "click", "arguments": "{}"}}


def with_call(call: Any = CALL, *after: Sample) -> Sample:
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"messages": [GOOD["messages"][0], calling, *after], "tools": [LOOK]}


@pytest.mark.parametrize(
    ("sample", "why"),
    [
        ({}, "not an object with messages"),
        ({"messages": []}, "not an object with messages"),
        ({**GOOD, "reward": 1}, "not an object with messages"),
        ({"messages": [{"role": "robot", "content": "a"}]}, "a role or a key"),
        ({"messages": [{"role": "user", "content": "a", "items": []}]}, "a role or a key"),
        ({"messages": [{"role": [], "content": "a"}]}, "a role or a key"),
        ({"messages": [{"role": "user", "content": "a", "name": {}}]}, "a name is not text"),
        ({"messages": GOOD["messages"][:1]}, "does not end with an answer"),
        ({"messages": [{"role": "user", "content": "a", "weight": 1}]}, "a weight is not 0 or 1 of an answer"),
        ({"messages": [{"role": "assistant", "content": "a", "weight": 0}]}, "nothing to learn"),
        ({"messages": [{"role": "assistant", "content": ""}]}, "an answer is empty"),
        ({"messages": [{"role": "assistant", "content": None}]}, "an answer is empty"),
        (with_call({**CALL, "function": {"name": "other", "arguments": "{}"}}), "was not offered"),
        (with_call({**CALL, "function": {"name": "click", "arguments": "no JSON"}}), "not a JSON object"),
        (with_call(CALL, *GOOD["messages"]), "a call has no result"),
        (with_call(CALL, {"role": "tool", "content": "a", "tool_call_id": "2"}), "a result is of no call"),
        ({"messages": GOOD["messages"], "tools": [{"type": "computer"}]}, "a tool is not a function"),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}, GOOD["messages"][1]]},
            "neither a text nor a picture",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]}]},
            "not a PNG, JPEG or WebP",
        ),
        (
            {"messages": [{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}]},
            "a message of the role system has a picture",
        ),
    ],
)
def test_what_an_endpoint_would_refuse_is_no_sample(sample: Sample, why: str) -> None:
    assert fault_of(GOOD) is None and fault_of(with_call()) is None
    assert why in str(fault_of(sample))


@pytest.mark.filterwarnings("default")
def test_datasets_reads_it(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed here: run `make test-exports`")
    folder = write(tmp_path / "run", ("1", shown_afresh, 1.0), ("2", in_conversation, 1.0))
    wanted = samples(folder)
    path = str(folder / "export" / "sft.jsonl")
    found = datasets.load_dataset("json", data_files=path, split="train", cache_dir=str(tmp_path / "cache"))
    assert found.num_rows == len(wanted) == 4
    for row, sample in zip(found, wanted, strict=True):
        assert [one["role"] for one in row["messages"]] == [one["role"] for one in sample["messages"]]
        assert [one["content"] for one in row["messages"]] == [one["content"] for one in sample["messages"]]


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.integration
def test_what_agents_played_is_what_an_endpoint_takes(request: pytest.FixtureRequest) -> None:
    """An agent with a conversation has one sample of an episode, one that sees each page alone has one of each answer."""
    for name, per_episode in (("tools", 2), ("vision", None)):
        folder = request.getfixturevalue("played")[name]
        by_step, whole = samples(folder), samples(folder, "--per", "episode")
        assert len(whole) == (per_episode or len(by_step)) and len(by_step) > 2
        taught = [sum(weight for _, weight in weights(one)) for one in (*by_step, *whole)]
        assert sum(taught) == 2 * len(by_step), "each answer is taught once"
        pictures = [
            part for one in by_step for said in one["messages"] for part in said["content"] or () if "image_url" in part
        ]
        assert bool(pictures) == (name == "vision")
